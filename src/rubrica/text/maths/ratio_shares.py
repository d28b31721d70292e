"""Shares of a ratio that are put down otherwise than the question has them: 2x and 5x for a ratio of 2 : 3."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, islice, pairwise

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.latex import plain_maths
from rubrica.text.maths.word_claims import MOST_CLAIMS, NUMBER

_RATIO = lazy_pattern(r"(?<![\d.:])(\d{1,4}(?:\s?:\s?\d{1,4}){1,4})(?![.:]?\d)")
_SHARES = lazy_pattern(
    r"(?<![\w.+*/^-])(?<![-+*/^]\s)(\d{1,4})\s?([a-zA-Z])\b(?![²³^'’])"
    r"(?:\s?(?:,\s?(?:and\s)?|:\s?|and\s|&\s?)\d{1,4}\s?\2\b){1,4}(?!\s?[-+*/^²³])"
)
_TERM = r"\d{1,7}(?:\.\d{1,3})?[a-zA-Z]?(?:/\d{1,6})?[a-zA-Z]?"
_REDUCED = lazy_pattern(rf"(?<![\w.:/*^%$])(?:{_TERM}\s?:\s?){{1,4}}{_TERM}(?![\w:/^%²³]|[.,]\d)")
_EQUAL, _JOINED = lazy_pattern(r"\s{0,3}=\s{0,3}"), lazy_pattern(r"[-+*/×÷·−–(]\s?\Z|\A\s?[-+*×÷·−–(]")
_CLOCK = lazy_pattern(r"\d{1,2}:[0-5]\d")
_CLAIM = lazy_pattern(
    rf"(?<![\w.,/*×+-])(?P<part>{NUMBER}|(?:an?|one|each)(?=\spart))\s?(?P<of>%|parts?\b)"
    rf"(?:\sof\s[$£€]?(?P<whole>{NUMBER}))?\s?(?:=|is\b|are\b|makes?\b|equals?\b)\s?[$£€]?(?P<is>{NUMBER})"
    r"(?![\d:/%^]|[.,]\d|\s?[-+*/×÷·^(%]|\s\d)",
    re.IGNORECASE,
)


def unlike_shares(explanation: str, stem: str) -> Iterator[str]:
    """The shares that differ in one place from the only ratio of the question with as many terms.

    >>> list(unlike_shares("Let them be 4x, 5x and 7x.", "Three brothers share $90 in the ratio 4 : 5 : 6."))
    ['4x, 5x and 7x']
    """
    ratios = {tuple(_terms(match[1])) for match in islice(_RATIO.finditer(plain_maths(stem)), MOST_CLAIMS)}
    for match in islice(_SHARES.finditer(plain_maths(explanation)), MOST_CLAIMS):
        shares = tuple(_terms(match[0]))
        alike = [ratio for ratio in ratios if len(ratio) == len(shares)]
        if len(alike) == 1 and _has_slip(shares, alike[0]):
            yield match[0]


def unlike_ratios(text: str) -> Iterator[str]:
    """The ratios that are put down as equal, and are not.

    >>> list(unlike_ratios("6x/5 : 3x/2 = 12x : 15x = 4:5, and 144 : 191 : 180 = 12 : 16 : 15"))
    ['144 : 191 : 180 = 12 : 16 : 15']
    """
    for one, two in pairwise(islice(_REDUCED.finditer(text), MOST_CLAIMS)):
        beside = text[max(0, one.start() - 2) : one.start()], text[two.end() : two.end() + 2]
        if not _EQUAL.fullmatch(text, one.end(), two.start()) or any(map(_JOINED.search, beside)):
            continue
        left, right = (_proportions(each[0]) for each in (one, two))
        clocks = _CLOCK.fullmatch(one[0]) and _CLOCK.fullmatch(two[0])
        if left and right and len(left) == len(right) and left != right and not clocks:
            yield text[one.start() : two.end()]


def _proportions(ratio: str) -> tuple[Fraction, ...]:
    """The terms of a ratio over the first one; none where letters differ, or a term is 0."""
    letters = re.findall(r"[a-zA-Z]", ratio)
    written = re.sub(r"[a-zA-Z\s]", "", ratio).split(":")
    if len(set(letters)) > 1 or len(letters) not in (0, len(written)):
        return ()
    parts = [term.partition("/") for term in written]
    terms = [Fraction(over) / (int(under or 1) or 1) for over, _, under in parts]
    return tuple(term / terms[0] for term in terms) if all(terms) else ()


def uneven_shares(text: str) -> Iterator[str]:
    """The one of at least three shares of a whole that is out of proportion to the others, which agree.

    >>> list(uneven_shares("10% of 90 is 9, so 30% is 27 and 5% is 5."))
    ['5% is 5']
    """
    claims: dict[str, list[tuple[Fraction, Fraction, str]]] = {}
    for match in islice(_CLAIM.finditer(text), MOST_CLAIMS):
        part = Fraction(1 if match["part"][0].isalpha() else match["part"].replace(",", ""))
        found = claims.setdefault("%" if match["of"] == "%" else "part", [])
        if match["whole"]:
            found.append((Fraction(100), _number(match["whole"]), ""))
        found.append((part, _number(match["is"]), match[0]))
    for found in claims.values():
        wholes = {whole for _, whole, shown in found if not shown}
        shares = [(is_ / part, shown) for part, is_, shown in dict.fromkeys(found) if part and is_]
        usual, times = Counter(share for share, _ in shares).most_common(1)[0] if shares else (0, 0)
        if len(wholes) < 2 and len(shares) > 2 and times == len(shares) - 1:
            yield from (shown for share, shown in shares if share != usual and shown)


def _number(written: str) -> Fraction:
    return Fraction(written.replace(",", ""))


def _terms(written: str) -> Iterator[int]:
    return map(int, re.findall(r"\d+", written))


def _has_slip(shares: tuple[int, ...], ratio: tuple[int, ...]) -> bool:
    """Whether one share alone is another one, and it is no sum or difference of the terms."""
    unlike = [(one, two) for one, two in zip(shares, ratio, strict=True) if one != two]
    sums = {abs(one + sign * two) for one, two in combinations(ratio, 2) for sign in (-1, 1)} | {sum(ratio)}
    return len(unlike) == 1 and unlike[0][0] not in sums and sorted(shares) != sorted(ratio)
