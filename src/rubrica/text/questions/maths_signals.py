"""What a maths question works with: the numbers, the operations its words imply, its topics, and how it reads.

English only. Each signal stands for a school grade (kindergarten is 0) in which questions of the kind are usual.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from math import log10

import msgspec

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.style import reading_grade
from rubrica.text.texts import Texts
from rubrica.text.word_files import read_words
from rubrica.text.words import sentences, words

LONGEST = 2_000  # characters of a question that are looked at
MOST_STEPS = 5

_SPELT = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "hundred": 100, "thousand": 1000, "million": 10**6, "dozen": 12,
}  # fmt: skip
_QUANTITY = lazy_pattern(
    r"(?P<mixed>(?<![\d./])\d{1,3} \d{1,2}/\d{1,3}(?![\d/]))"
    r"|(?P<fraction>(?<![\d./])\d{1,4}/\d{1,4}(?![\d/])|\\[dt]?frac\{\d{1,4}\}\{\d{1,4}\}|[½⅓⅔¼¾⅕⅛])"
    r"|(?P<number>(?P<money>\$\s?)?(?<![\w.])(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,12})(?P<decimal>\.\d{1,9})?|(?<![\w.])\.\d{1,9})"
    rf"|\b(?P<spelt>{'|'.join(_SPELT)})\b|\b(?P<share>twice|half|doubled?|tripled?|third of|quarter of)\b",
    re.IGNORECASE,
)


class MathsTopic(msgspec.Struct, frozen=True):
    """Something that a question may be about, and the grade in which that is usual."""

    name: str
    grade: float
    shows: re.Pattern[str]


class MathsSignals(msgspec.Struct, frozen=True):
    """What was read off one question; grades where not said otherwise."""

    size: float  # of its largest whole number
    kind: float  # of its hardest kind of number: money, parts, fractions, decimals; 0 where all are whole
    operation: float  # of the operations its words and signs imply
    topic: float  # of its hardest topic; 0 where none is known
    steps: int  # quantities that are to be joined, less one
    words: int
    sentence_words: float
    reading: float
    topics: tuple[str, ...] = ()  # hardest first
    numbers: int = 0
    largest: float = 0.0
    years_only: bool = False

    @property
    def hardest(self) -> float:
        return max(self.size, self.kind, self.operation, self.topic)

    def described(self) -> tuple[str, ...]:
        """The signals in words.

        >>> read_signals("Jin used 2/3 cup of sugar and 1/4 cup of oil. How much is that altogether?").described()
        ('fractions or decimals', 'a single sum or difference', '2 quantities')
        """
        found = [f"numbers up to {self.largest:,.0f}"] if self.largest else []
        if self.kind:
            found.append("fractions or decimals" if self.kind > 3 else "money or simple parts")
        if self.numbers > 1 and self.topic < 7:
            found.append(next(words for grade, words in _OPERATIONS if self.operation <= grade))
        if self.numbers:
            found.append(f"{self.numbers} quantities" if self.numbers > 1 else "1 quantity")
        if self.topics:
            found.append(f"topics: {', '.join(self.topics[:3])}")
        return tuple(found)


_OPERATIONS = (
    (1.0, "a single sum or difference"),
    (2.9, "a sum or difference of several numbers"),
    (3.0, "equal groups"),
    (3.5, "a sum or difference of several numbers"),
    (4.6, "equal groups with larger numbers or further steps"),
    (5.0, "a rate"),
)


class MathsWords(msgspec.Struct, frozen=True):
    """maths_words.yaml, compiled."""

    topics: tuple[MathsTopic, ...]  # hardest first
    cues: Mapping[str, re.Pattern[str]]
    english: frozenset[str]
    abroad: tuple[tuple[float, re.Pattern[str]], ...]  # topics in other languages, with their grades


@cache
def maths_words() -> MathsWords:
    """The words by which questions are read."""
    written = read_words("questions/maths_words.yaml")
    topics = [MathsTopic(row["topic"], float(row["grade"]), _either(row["shows"])) for row in written["topics"]]
    return MathsWords(
        tuple(sorted(topics, key=lambda topic: -topic.grade)),
        {name: _either(patterns) for name, patterns in written["cues"].items()},
        frozenset(written["english"].split()),
        tuple((float(row["grade"]), _either(row["shows"])) for row in written["abroad"]),
    )


def _either(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def has_cue(text: str, name: str) -> bool:
    """Whether a text has one of the cues of a name."""
    return maths_words().cues[name].search(text) is not None


def found_topics(text: str) -> list[tuple[MathsTopic, re.Match[str]]]:
    """The topics of a text and what first shows each, hardest first."""
    return [(topic, match) for topic in maths_words().topics if (match := topic.shows.search(text)) is not None]


def topic_grade_abroad(text: str) -> float:
    """The grade of the hardest topic of the upper grades that a text names in another language; 0 where there is none.

    >>> topic_grade_abroad("¿Cuál es la derivada de x²?"), topic_grade_abroad("¿Cuánto es 3 + 4?")
    (11.0, 0.0)
    """
    return max((grade for grade, shows in maths_words().abroad if shows.search(text[:LONGEST])), default=0.0)


def is_english(text: str) -> bool:
    """Whether the words of a text are English, or too few to tell.

    >>> is_english("How many apples are left?"), is_english("¿Cuántas manzanas quedan?"), is_english("3 + 4 = ?")
    (True, False, True)
    """
    found = re.findall(r"[^\W\d_₀-₉⁰-⁹²³¹]{2,}|\ba\b", text.lower())
    foreign = sum(not word.isascii() for word in found)
    if len(found) < 3:
        return not foreign
    return foreign * 5 <= len(found) and sum(word in maths_words().english for word in found) * 8 >= len(found)


def read_signals(text: str) -> MathsSignals:
    """The signals of a question.

    >>> found = read_signals("Each box holds 6 pencils. How many pencils are in 8 boxes?")
    >>> found.operation, found.steps, found.topics
    (3.0, 1, ())
    """
    text = text[:LONGEST]
    texts = Texts(response=text)
    number = len(words(texts, "response"))
    quantities = list(_QUANTITY.finditer(text))
    topics = [topic for topic, _ in found_topics(text)]
    whole = [value for match in quantities if (value := _whole(match)) is not None]
    return MathsSignals(
        size=_size(max(whole, default=0)),
        kind=_kind(text, quantities),
        operation=_operation(text, len(quantities), whole),
        topic=max((topic.grade for topic in topics), default=0.0),
        steps=min(MOST_STEPS, max(0, len(quantities) - 1)),
        words=number,
        sentence_words=number / max(1, len(sentences(texts, "response"))),
        reading=reading_grade(texts, "response"),
        topics=tuple(topic.name for topic in topics),
        numbers=len(quantities),
        largest=max(whole, default=0.0),
        years_only=bool(whole) and all(1500 <= value <= 2100 for value in whole) and has_cue(text, "years"),
    )


def _whole(match: re.Match[str]) -> float | None:
    if match["spelt"]:
        return float(_SPELT[match["spelt"].lower()])
    if match["number"]:
        return float(match["number"].lstrip("$ ").replace(",", ""))
    return None


def _size(largest: float) -> float:
    """A grade by the size of the largest number: 0.5 up to ten, 2 up to a hundred, one more for each further digit."""
    if largest <= 10:
        return 0.5
    if largest <= 20:
        return 1.0
    return min(4.5, log10(largest) if largest > 100 else 2.0)


def _kind(text: str, quantities: list[re.Match[str]]) -> float:
    grades = [0.0]
    below = {match[0].rpartition("/")[2] for match in quantities if match["fraction"]}
    for match in quantities:
        if match["mixed"]:
            grades.append(5.0)
        elif match["fraction"]:
            grades.append(4.8 if len(below) > 1 else 4.2)
        elif match["decimal"]:
            grades.append(4.2 if match["money"] else 5.0)
        elif match["money"]:
            grades.append(3.0)
    if has_cue(text, "parts"):
        grades.append(3.0)
    return max(grades)


def _operation(text: str, quantities: int, whole: list[float]) -> float:
    """A grade by what is done with the numbers: sums first, then equal groups, then several of them together."""
    if has_cue(text, "rate"):
        return 5.0
    if not has_cue(text, "groups"):
        return 1.0 if quantities < 3 or not has_cue(text, "sums") else min(3.5, quantities - 1.0)
    if sum(value > 12 for value in whole) >= 2 or (quantities >= 3 and has_cue(text, "sums")):
        return 4.0 if quantities < 5 else 4.6
    return 3.0
