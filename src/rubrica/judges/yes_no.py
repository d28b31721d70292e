"""One question about one quality, answered yes or no: the score is how likely the judge says yes.

A small model that cannot write five scores into JSON can still tell yes from no, and the chances of the two words say
more than the word that it chose. Where a provider does not give chances, the word alone counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from rubrica.jsontext import unwrap_json, with_repeated_keys
from rubrica.llm.model import Reply, TokenChance
from rubrica.model.dimensions import Axis
from rubrica.model.scale import Scale

from .mark import UNREADABLE, UNSTATED_CONFIDENCE, NoScore, ReplyScore
from .reply import without_thoughts

MOST_ALTERNATIVES = 20
LONGEST_ANSWER = 16  # tokens

_YES = frozenset({"yes", "y", "true"})
_NO = frozenset({"no", "n", "false"})
_CERTAIN = math.log(0.99)
_BEFORE = frozenset({"", "answer", "jsonanswer", "json"})
"""Letters that may stand before the answer: those of the form that it was asked for in."""

_ANNOUNCED = re.compile(
    r"\A[\s*_#\"]*(?:(?:the|my|final) ){0,2}answer\b(?: is\b)?(?: ?\([^()\n]{1,20}\))?[\s*_:]*", re.IGNORECASE
)
"""Words that announce an answer."""

BOTH = NoScore("the reply says both yes and no")


def question_of(name: str, axis: Axis) -> str:
    """What is asked, with what yes and what no look like where the axis has anchors."""
    lines = [asks_of(name, axis)]
    anchors = axis.anchor_list
    if anchors:
        best, worst = anchors[0], anchors[-1]
        lines += ["", f"- yes looks like this: {' '.join(best.text.split())}"]
        lines += [f"- no looks like this: {' '.join(worst.text.split())}"] if worst is not best else []
    return "\n".join(lines)


def asks_of(name: str, axis: Axis) -> str:
    """The question in a line.

    >>> asks_of("warm_tone", Axis())
    'Is it good in its warm tone?'
    """
    asks = " ".join(axis.asks.split())
    return asks if asks else f"Is it good in its {(axis.title or name.replace('_', ' ')).lower()}?"


def read_yes_no(reply: Reply, scale: Scale) -> ReplyScore | NoScore:
    """The score of a reply: on the scale by the chance of yes, else by the word."""
    text = _ANNOUNCED.sub("", without_thoughts(reply.text))
    word = _said(text)
    if word in _YES | _NO and _takes_back(text, word):
        return BOTH
    chance = chance_of_yes(reply.chances)
    if chance is not None:
        value = scale.min + chance * (scale.max - scale.min)
        return ReplyScore(value, f"yes with a chance of {chance:.0%}", abs(2 * chance - 1))
    if word in _YES:
        return ReplyScore(scale.max, "yes, in a word: the model gives no chances", UNSTATED_CONFIDENCE)
    if word in _NO:
        return ReplyScore(scale.min, "no, in a word: the model gives no chances", UNSTATED_CONFIDENCE)
    return UNREADABLE


def chance_of_yes(chances: Sequence[TokenChance]) -> float | None:
    """How likely yes was where the model answered, next to no; None where it did not begin with either.

    Also where it was not certain and nothing is known of what else it might have written.

    >>> token = TokenChance("Yes", -0.2, {"Yes": -0.2, " no": -2.0, "Maybe": -4.0})
    >>> round(chance_of_yes([TokenChance('"', 0.0, {}), token]), 2)
    0.86
    """
    before = ""
    for token in chances[:LONGEST_ANSWER]:
        if "".join(filter(str.isalpha, before)).lower() not in _BEFORE:
            return None
        before += token.token
        if _word(token.token) in _YES | _NO:
            if token.logprob < _CERTAIN and not set(token.alternatives) - {token.token}:
                return None
            given = {**token.alternatives, token.token: token.logprob}
            yes = math.fsum(math.exp(min(log, 0.0)) for word, log in given.items() if _word(word) in _YES)
            no = math.fsum(math.exp(min(log, 0.0)) for word, log in given.items() if _word(word) in _NO)
            return yes / (yes + no) if yes + no > 0 else None
    return None


def _said(text: str) -> str:
    """The answer in a reply: of a JSON object, or its first word.

    >>> _said('{"answer": true}'), _said("**No**, it is wrong."), _said("Answerable")
    ('yes', 'no', 'answerable')
    """
    source, parsed = unwrap_json(text)
    if isinstance(parsed, dict):
        answer = with_repeated_keys(source, parsed).get("answer", "")
        if isinstance(answer, bool):
            return "yes" if answer else "no"
        return _word(answer) if isinstance(answer, str) else ""
    words = text.split()
    return _word(words[0]) if words else ""


def _takes_back(text: str, word: str) -> bool:
    """Whether a reply that begins with one word also answers with the other: ``Yes and no``, not ``Yes, no error``."""
    other = "no" if word in _YES else "yes"
    return re.search(rf"\b{other}\b[*_`\"']{{0,3}}\s*(?:[.,;:!?)]|$)", text, re.I) is not None


def _word(token: str) -> str:
    return token.strip(" \t\r\n\"'*_`.,:;!{}▁Ġ").lower()
