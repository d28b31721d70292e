"""Whether a text has an end, or breaks off: what a model that ran out of tokens leaves behind."""

from __future__ import annotations

import re

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.style import FENCE, HEADING, LIST_ITEM, has_fence
from rubrica.text.texts import Feature, Texts
from rubrica.text.words import cached_reading

PROSE = 5  # words from which a line is read as prose

RESULT_MARK = lazy_pattern(r"####|\\boxed\{|\banswer(?: is|:)", re.IGNORECASE)
CALCULATOR_STEP = lazy_pattern(r"<<([^<>\n]{1,200})>>")
"""A step in the notation of calculators: 9 * 2 = <<9*2=18>>18."""

_ENDED = lazy_pattern(r"[.!?…。！？｡؟۔।”’\"'`»)\]}>*_~|$]\Z|[^\w\s,;:=+*/({\[<&—–-]\Z")
# A result ("is 19"), a hashtag, a web address: what ends a text without a full stop.
_STATED = lazy_pattern(
    r"(?:\b(?:is|are|was|were|equals)|[=:≈]) ?[$€£]?[\d.,]{1,30}%?\Z|#\w{1,60}\Z|\bhttps?://[^\s]{1,300}\Z"
)
_OPEN_STEP = lazy_pattern(r"<<[\d(][^<>]{0,200}\Z")
# What hardly any line ends in, be it prose or verse: half a number, an operator, a word that wants another.
_DANGLING = lazy_pattern(
    r"(?:[,(\[{=+]|\d ?[x×÷*/-]|(?<!\d)\d{1,3},\d{1,2}"
    r"|\b(?:and|or|but|nor|the|an?|of|because|until|unless|which|than|their|your|my))\Z",
    re.IGNORECASE,
)
_LAST_WORD = 10  # characters at the end of a line that `_DANGLING` can match


@cached_reading
def cut_off(texts: Texts) -> bool:
    """Whether the response breaks off: inside a code block or a calculation, or in the middle of a sentence.

    A last line without a full stop alone proves nothing: only where all other prose ends in one.

    >>> [cut_off(Texts(response=text)) for text in ("Paris", "First, boil it. Then add the", "It costs 80,000 + 5")]
    [False, True, False]
    """
    text = texts.response.rstrip()
    if not text:
        return False
    line = text.rsplit("\n", 1)[-1].strip()
    if len(FENCE.findall(text) if has_fence(text) else ()) % 2 or _OPEN_STEP.search(line):
        return True
    if FENCE.match(line):
        return False
    line = CALCULATOR_STEP.sub("", line).strip()
    if _DANGLING.search(line, max(0, len(line) - _LAST_WORD)) and len(line.split()) >= PROSE:
        return True
    if _ENDED.search(line[-1:]) or _STATED.search(line) or RESULT_MARK.search(line) or not _is_prose(line):
        return False
    others = [part.strip() for part in text.split("\n")[:-1] if _is_prose(part)]
    ended = [part for part in others if _ENDED.search(part[-1:]) or part.endswith(":")]
    inside = len(re.findall(r"[.!?] +[A-Z]", line))
    return len(ended) + inside >= 2 and len(ended) >= 0.8 * len(others)


def _is_prose(line: str) -> bool:
    return len(line.split()) >= PROSE and not (LIST_ITEM.match(line) or HEADING.match(line) or "|" in line)


FEATURES: tuple[Feature, ...] = (
    Feature(
        "cut_off",
        "1 when the response breaks off in the middle of a sentence, a calculation or a code block, else 0",
        0,
        1,
        lambda texts: float(cut_off(texts)),
    ),
)
