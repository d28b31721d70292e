"""School grades as files write them: 3, "Grade 3", "3rd", "third grade", "K"; or why it is none."""

from __future__ import annotations

import re

from rubrica.errors import InputError

HIGHEST_GRADE = 13
_WORDS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
]
_NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NAMED = {word: place for words in (_WORDS, _NUMBERS) for place, word in enumerate(words, 1)}
_AROUND = re.compile(r"\b(?:grades?|gr|g|class|klasse|grado)\b[.:#]?|[#]", re.IGNORECASE)
_GLUED = re.compile(r"(?:grade|gr|g|class)\.?(\d{1,2})")
_NUMBER = re.compile(r"(\d{1,2})(?:\.0*|st|nd|rd|th|º|ª)?")
_RANGE = re.compile(r"(?:\d{1,2}|k)\s*(?:-|–|to|,|/|&|and)\s*\d{1,2}")
_YEAR = re.compile(r"(?:year|yr|y)\s*(?:group)?\s*(\d{1,2})")
_KINDERGARTEN = frozenset({"k", "kg", "kindergarten", "kinder"})
_UNTOLD = frozenset({"", "n/a", "na", "none", "null", "nan", "-", "–", "?", "unknown", "not known"})


def grade_of(value: object) -> int | None:
    """A grade as files write it; None where it is none.

    >>> [grade_of(value) for value in (3, "3", "Grade 3", "K", "4th", "fifth grade", "", 99, "banana", 3.5)]
    [3, 3, 3, 0, 4, 5, None, None, None, None]
    """
    try:
        return read_grade(value)
    except InputError:
        return None


def read_grade(value: object) -> int | None:
    """A grade; None where nothing is said, an InputError where something else is.

    >>> read_grade("3.0"), read_grade(" n/a ")
    (3, None)
    >>> read_grade("Year 5")
    Traceback (most recent call last):
    rubrica.errors.InputError: 'Year 5' is grade 4 in England and grade 5 in Australia (write the grade as a number)
    >>> read_grade("3-5")
    Traceback (most recent call last):
    rubrica.errors.InputError: '3-5' is several grades (write one of them)
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _no_grade(value)
    text = " ".join(str(value).split()).lower()
    if text in _UNTOLD:
        return None
    bare = _AROUND.sub(" ", text)
    found = _glued(text) or (text if bare == text else bare.strip(" -_.:"))
    if found in _KINDERGARTEN:
        return 0
    if found in _NAMED:
        return _NAMED[found]
    if (year := _YEAR.fullmatch(found)) is not None:
        number = int(year[1])
        said = f"{value!r} is grade {max(number - 1, 0)} in England and grade {number} in Australia"
        raise InputError(f"{said} (write the grade as a number)")
    if _RANGE.fullmatch(found):
        raise InputError(f"{value!r} is several grades (write one of them)")
    match = _NUMBER.fullmatch(found)
    if match is None or not found.isascii() or int(match[1]) > HIGHEST_GRADE:
        raise _no_grade(value)
    return int(match[1])


def _glued(text: str) -> str:
    match = _GLUED.fullmatch(text)
    return match[1] if match else ""


def _no_grade(value: object) -> InputError:
    said = str(value)
    shown = repr(said[:40] + "…") if len(said) > 40 else repr(value)
    return InputError(f"grade {shown} is no grade (write a number from 0 to {HIGHEST_GRADE}, or K)")
