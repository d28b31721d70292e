"""What an explanation says about the options that are wrong, told apart from the way to the answer."""

from __future__ import annotations

import re

from rubrica.text.conclusion import SENTENCE

_HEADING = re.compile(  # from here on it is about the others
    r"\W*(?:why\b[^.\n]{0,40}\b(?:others?|wrong|incorrect)\b[^.\n]{0,30}|(?:common\s+)?(?:distractors?|mistakes?|errors?)"
    r"|(?:about\s+)?(?:the\s+)?(?:other|wrong|incorrect)\s+(?:options?|answers?|choices?)[^.\n]{0,30})\W*",
    re.IGNORECASE,
)
_ABOUT_OTHERS = re.compile(
    r"\b(?:other|wrong|incorrect|remaining)\s+(?:options?|choices?|answers?)\b|\b(?:students?|learners?|those|anyone)\s+who\b"
    r"|\bdistractors?\b|\bif\s+(?:it|there|they)\s+(?:were|was|had)\b|^\W*compare\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\W*(?:(?:[Oo]ption|[Cc]hoice)\s+\(?([A-J])\b|\(?([A-J])(?:\)|:)(?=\s))")
_NAMED = re.compile(r"\(([A-J])\)")


def without_remarks(explanation: str, right: str) -> str:
    """An explanation without what it says about other options than the right one, after its first sentence.

    >>> without_remarks("6 × 7 = 42. C) is for 6 × 8 = 48. Students who add get 13.", "B")
    '6 × 7 = 42.'
    """
    kept: list[str] = []
    begun = False
    for line in explanation.splitlines():
        if begun and _HEADING.fullmatch(line):
            break
        sentences: list[str] = []
        for sentence in SENTENCE.split(line):
            if not begun or not _is_remark(sentence, right):
                sentences.append(sentence)
            begun = begun or bool(sentence.strip())
        if sentences:
            kept.append(" ".join(sentences))
    return "\n".join(kept)


def _is_remark(sentence: str, right: str) -> bool:
    label, named = _LABEL.match(sentence), set(_NAMED.findall(sentence))
    if (
        label
        and right not in label.groups()
        and not re.search(r"\b(?:correct|right|answer)\b", sentence, re.IGNORECASE)
    ):
        return True
    return (bool(named) and right not in named) or _ABOUT_OTHERS.search(sentence) is not None
