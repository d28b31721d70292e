"""The school grade that a maths question belongs to, with bounds: from its numbers, operations, topics and words.

English only, and only where the text is a maths question; anything else has no grade rather than a guess. A linear
model of few weights joins the signals; `python -m training.maths_grade` finds them, and measures how far they are off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from math import log2

import msgspec

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.latex import plain_maths
from rubrica.text.questions.maths_signals import (
    LONGEST,
    MathsSignals,
    found_topics,
    has_cue,
    is_english,
    read_signals,
    topic_grade_abroad,
)
from rubrica.text.questions.mcq import question_of
from rubrica.text.texts import Feature, Span, Texts
from rubrica.text.words import cached_reading

LOWEST, HIGHEST = 0, 13
"""Kindergarten, and the first year after school."""
MOST_SPANS = 5
_WORD_END = lazy_pattern(r"\w{0,20}")
_SIGNS = str.maketrans("−–∗⋅∙", "--*··")
KNEE = 6.5  # the grade above which topics are of their own, and the estimate follows the hardest one

INPUTS: Mapping[str, Callable[[MathsSignals], float]] = {
    "hardest signal": lambda found: min(found.hardest, KNEE),
    "hardest signal past grade 6": lambda found: max(0.0, found.hardest - KNEE),
    "size of the numbers": lambda found: found.size,
    "kind of numbers": lambda found: found.kind,
    "operations": lambda found: found.operation,
    "hardest topic": lambda found: min(found.topic, KNEE),
    "steps": lambda found: float(found.steps),
    "length": lambda found: log2(1 + min(found.words, 80)),
    "words per sentence": lambda found: min(found.sentence_words, 25.0),
    "reading grade": lambda found: min(found.reading, 14.0),
}
"""What the model reads off the signals, by name."""


class GradeModel(msgspec.Struct, frozen=True):
    """Weights of the inputs, and how far nine in ten questions that were kept apart lay from their estimate."""

    weights: Mapping[str, float]
    intercept: float
    spread: float
    made_from: str = ""

    def value(self, signals: MathsSignals) -> float:
        """The estimate before it is rounded to a grade."""
        found = self.intercept + sum(self.weights[name] * read(signals) for name, read in INPUTS.items())
        return min(float(HIGHEST), max(float(LOWEST), found))


class MathsGrade(msgspec.Struct, frozen=True):
    """The grade of a question: an estimate, bounds that hold nine times in ten, and what it rests on."""

    grade: int
    low: float
    high: float
    value: float  # the estimate before rounding
    signals: tuple[str, ...]

    def fits(self, grade: float) -> bool:
        """Whether the question can be one for a grade."""
        return self.low <= grade <= self.high


class NoGrade(msgspec.Struct, frozen=True):
    """Why a text has no estimate."""

    reason: str


@cache
def grade_model() -> GradeModel:
    """The model that ships with the package."""
    return GradeModel(**json.loads(files(__package__).joinpath("maths_grade.json").read_text(encoding="utf-8")))


def estimate_grade(text: str) -> MathsGrade | NoGrade:
    """The grade of a maths question in English, or the reason why there is none.

    >>> found = estimate_grade("Each box holds 6 pencils. How many pencils are in 8 boxes?")
    >>> found.grade, found.low < 3 < found.high, found.signals[0]
    (3, True, 'numbers up to 8')
    >>> estimate_grade("Who painted the ceiling?").reason
    'it is not a maths question: it has no quantities to reckon with and no maths topic'
    """
    text = plain_maths(text.strip()).translate(_SIGNS)
    if len(text) > LONGEST:
        return NoGrade(f"it is longer than a question: {len(text):,} characters, and {LONGEST:,} are read")
    if not is_english(text):
        return NoGrade("it is not in English, and the signals are English")
    if not has_cue(text, "asks"):
        return NoGrade("it asks nothing")
    signals = read_signals(text)
    if not _is_maths(text, signals):
        return NoGrade("it is not a maths question: it has no quantities to reckon with and no maths topic")
    model = grade_model()
    value = model.value(signals)
    low, high = max(float(LOWEST), value - model.spread), min(float(HIGHEST), value + model.spread)
    return MathsGrade(round(value), low, high, value, signals.described())


def _is_maths(text: str, signals: MathsSignals) -> bool:
    if has_cue(text, "other_tasks"):
        return False
    if has_cue(text, "sure"):
        return True
    if signals.years_only or not signals.numbers:
        return False
    if signals.topics or has_cue(text, "how_many"):
        return True
    return signals.numbers > 1 and has_cue(text, "quantity")


@cached_reading
def maths_grade_of(texts: Texts) -> MathsGrade | NoGrade:
    """The grade of the question in the response: of its stem, or of the text where it is no question with parts."""
    question = question_of(texts)
    return estimate_grade(texts.response if question is None else question.text)


def _abroad(texts: Texts) -> float:
    question = question_of(texts)
    text = texts.response if question is None else question.text
    return 0.0 if is_english(text) else topic_grade_abroad(text)


def _topics(texts: Texts) -> list[Span]:
    """Where the response shows the topics behind its grade."""
    found = maths_grade_of(texts)
    shown = [] if isinstance(found, NoGrade) else found_topics(texts.response[:LONGEST].translate(_SIGNS))
    found_spans = []
    for topic, match in shown[:MOST_SPANS]:
        rest = _WORD_END.match(texts.response, match.end())
        start, end = match.start(), match.end() if rest is None else rest.end()
        label = f"{topic.name}, grade {topic.grade:.0f}"
        found_spans.append(Span("response", start, end, texts.response[start:end][:200], label))
    return found_spans


def _feature(name: str, says: str, read: Callable[[MathsGrade], float], high: float = HIGHEST) -> Feature:
    def compute(texts: Texts) -> float:
        found = maths_grade_of(texts)
        return 0.0 if isinstance(found, NoGrade) else float(read(found))

    return Feature(name, says, 0, high, compute, _topics)


_ABSENT = "0 where `maths_grade_known` is 0"
FEATURES: tuple[Feature, ...] = (
    _feature(
        "maths_grade_known",
        "1 if the response is a maths question in English, so that its grade can be estimated, else 0",
        lambda _: 1,
        1,
    ),
    _feature(
        "maths_grade",
        f"school grade of a maths question, kindergarten as 0, by its numbers, operations, topics and words; {_ABSENT}",
        lambda found: found.grade,
    ),
    _feature(
        "maths_grade_low",
        f"lower bound of that grade: nine in ten questions lie within the bounds; {_ABSENT}",
        lambda found: found.low,
    ),
    _feature("maths_grade_high", f"upper bound of that grade; {_ABSENT}", lambda found: found.high),
    Feature(
        "topic_grade_abroad",
        "school grade of the hardest topic of the upper grades that a question names in Spanish, French, German, "
        "Portuguese, Arabic or Chinese; 0 where it names none, and in English",
        0,
        HIGHEST,
        _abroad,
    ),
)
