"""What an explanation says about the options that are wrong, told apart from the way to the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.amounts import amounts_of
from rubrica.text.maths.conclusion import SENTENCE

_HEADING = lazy_pattern(  # from here on it is about the others
    r"\W*(?:why\b[^.\n]{0,40}\b(?:others?|wrong|incorrect)\b[^.\n]{0,30}|(?:common\s+)?(?:distractors?|mistakes?|errors?)"
    r"|(?:about\s+)?(?:the\s+)?(?:other|wrong|incorrect)\s+(?:options?|answers?|choices?)[^.\n]{0,30})\W*",
    re.IGNORECASE,
)
_ABOUT_OTHERS = lazy_pattern(
    r"\b(?:other|wrong|incorrect|remaining)\s+(?:options?|choices?|answers?)\b|"
    r"\b(?:students?|learners?|those|anyone)\s+who\s+(?:(?:answer|pick|choose|chose|select|get|got)(?:ed)?\s+(?:[A-J]\b|[$€£]?\d)"
    r"|(?:add|subtract|multipl|divid|forg[eo]t))"
    r"|\bdistractors?\b|^\W*compare\b",
    re.IGNORECASE,
)
_LABEL = lazy_pattern(r"\W*(?:(?:[Oo]ption|[Cc]hoice)\s+\(?([A-J])\b|\(?([A-J])(?:\)|:)(?=\s))")
_OPTION_DOES = lazy_pattern(  # "B is 7 × 6", "For D you add", "E adds: 56 + 6": what another option comes from
    r"\W*(?:([A-J])\s+(?:is|was|has|had|would|comes|uses|means|does|adds?|subtracts|multiplies|divides|doubles|halves"
    r"|forgets|ignores|counts|gives|leaves|makes|mixes|swaps)|(?:[Ff]or|[Ii]n)\s+([A-J])\s+(?:the|you|one|it|this|that))\b"
)
_RIGHT = lazy_pattern(r"\b(?:right|correct|answer|best)\b", re.IGNORECASE)
_LETTERS = lazy_pattern(r"\b[A-J]{1,5}\b")  # in a question: points and unknowns, not options
_NAMED = lazy_pattern(r"\(([A-J])\)")


def without_remarks(explanation: str, options: Sequence[tuple[str, str]], right: int | None, stem: str = "") -> str:
    """An explanation without what it says about other options than the right one, after its first sentence.

    >>> told = "6 × 7 = 42. C) is for 6 × 8 = 48. Students who add get 13."
    >>> without_remarks(told, [("A", "13"), ("B", "42"), ("C", "48")], 1)
    '6 × 7 = 42.'
    """
    free = set("".join(_LETTERS.findall(stem)))
    others = {label: text for place, (label, text) in enumerate(options) if place != right}
    kept: list[str] = []
    begun = False
    for line in explanation.splitlines():
        if begun and _HEADING.fullmatch(line):
            break
        sentences: list[str] = []
        for sentence in SENTENCE.split(line):
            if not begun or not (_is_remark(sentence, others) or _is_on_option(sentence, others.keys() - free)):
                sentences.append(sentence)
            begun = begun or bool(sentence.strip())
        if sentences:
            kept.append(" ".join(sentences))
    return "\n".join(kept)


def _is_remark(sentence: str, others: Mapping[str, str]) -> bool:
    """Whether a sentence names other options by letter, with what they say, or speaks of them in words."""
    if _ABOUT_OTHERS.search(sentence):
        return True
    label, named = _LABEL.match(sentence), set(_NAMED.findall(sentence))
    named |= {letter for letter in (label.groups() if label else ()) if letter}
    return bool(named) and all(letter in others and _has(sentence, others[letter]) for letter in named)


def _is_on_option(sentence: str, others: Set[str]) -> bool:
    """Whether a sentence begins with another option's letter and tells what that one comes from."""
    found = _OPTION_DOES.match(sentence)
    return found is not None and (found[1] or found[2]) in others and not _RIGHT.search(sentence)


def _has(sentence: str, option: str) -> bool:
    values = [amount.value for amount in amounts_of(option)]
    if not values:
        return bool(option) and option.casefold() in sentence.casefold()
    return set(values) <= {amount.value for amount in amounts_of(sentence)}
