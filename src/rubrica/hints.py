"""Hints for words that nobody knows: what somebody may have meant. A hint never repeats the word itself."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known word that is most like another, whatever its capitals; None where none is.

    >>> nearest("respnse", ["prompt", "response"]), nearest("Score", ["score"]), nearest("rules", ["rules", "rule"])
    ('response', 'score', 'rule')
    >>> nearest("rules", ["rules", "name"]) is None
    True
    """
    others = [other for other in known if other != word]
    near = get_close_matches(word, others, n=1, cutoff=likeness)
    if near:
        return near[0]
    lowered = {other.lower(): other for other in others}  # difflib minds capitals, authors often do not
    return next((lowered[other] for other in get_close_matches(word.lower(), lowered, n=1, cutoff=likeness)), None)


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """The hint as a question, or something else to say. Where the two look the same, it says what tells them apart.

    >>> did_you_mean("respnse", ["response"]), did_you_mean("zzz", ["response"], "remove it")
    ("did you mean 'response'?", 'remove it')
    >>> did_you_mean("parts ", ["parts"])
    "did you mean 'parts', without blanks or invisible characters?"
    """
    near = nearest(word, known)
    if near is None:
        return otherwise
    looks_the_same = "".join(letter for letter in word if letter.isprintable() and not letter.isspace()) == near
    return f"did you mean {near!r}{', without blanks or invisible characters' if looks_the_same else ''}?"
