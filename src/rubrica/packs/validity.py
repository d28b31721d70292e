"""What the scores of bundled rubrics are worth: what each rests on, how it agreed with people, where it fails.

The words are in `cards.yaml`, written by hand. The figures are in `validity.json` and come from `make bench-quality`
alone, which measures the very recipes and weights that ship. A score without figures was not measured, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec

from rubrica.model.context import Context, Round
from rubrica.model.rubric import Rubric

from .library import find, load

PAGE = "docs/validity.md"
"""Where all of it is, with the figures of every measurement."""
APART = ("score", "gates")
"""The names under which a rubric's score as a whole and its gates have their cards, after those of its dimensions."""
FEATURES, CLASSIFIERS = "features", "classifiers"
"""The names under which text features and classifiers have their cards, beside those of rubrics."""


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One measurement of one score on one set."""

    score: str  # rubric/dimension, or features/name
    data: str  # what it was measured on
    texts: int
    measure: str  # what the value is: AUC, rank correlation, share right, coverage …
    value: float
    low: float | None = None  # of the interval that holds the true value 95 times in 100
    high: float | None = None
    goal: str = ""  # what would be good enough, as in ≥ 0.85

    @property
    def between(self) -> str:
        """The interval in brackets, if there is one."""
        return "" if self.low is None or self.high is None else f" ({self.low:.2f} to {self.high:.2f})"

    def __str__(self) -> str:
        return f"{self.measure} {self.value:.2f}{self.between} on {self.texts:,} {self.data}"


class KnownFailure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text that the offline score gets wrong, and how."""

    says: str
    response: str
    prompt: str = ""
    earlier: tuple[tuple[str, str], ...] = ()  # rounds: what was said, and the reply
    given: dict[str, float] = {}  # what else the case states, such as the grade

    @property
    def context(self) -> Context:
        """What the score is asked about."""
        rounds = tuple(Round(prompt=said, response=reply) for said, reply in self.earlier)
        return Context.of(self.given, prompt=self.prompt, response=self.response, round_history=rounds)


class ScoreCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be known about one score before anything is decided by it."""

    rests_on: str  # what the number is read off, without a judge
    not_for: str  # where it must not be used
    failures: tuple[KnownFailure, ...] = ()


@cache
def cards() -> Mapping[str, Mapping[str, ScoreCard]]:
    """Every card, by rubric (or `FEATURES`) and score."""
    text = (files(__package__) / "cards.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=dict[str, dict[str, ScoreCard]])


@cache
def figures() -> tuple[Figure, ...]:
    """Everything that was measured, in the order of the tables of `make bench-quality`."""
    return msgspec.json.decode((files(__package__) / "validity.json").read_bytes(), type=tuple[Figure, ...])


def figures_of(rubric: str, score: str) -> tuple[Figure, ...]:
    """What was measured of one score.

    >>> figures_of("answer-quality", "no such score")
    ()
    """
    return tuple(figure for figure in figures() if figure.score == f"{rubric}/{score}")


def cards_of(rubric: Rubric) -> Mapping[str, ScoreCard]:
    """The cards of a rubric's dimensions, and those of `APART`; none unless it is a bundled one, unchanged."""
    known = cards().get(rubric.name)
    if known is None or find(rubric.name) is None or load(rubric.name).hash != rubric.hash:
        return {}
    names = [name for name in (*rubric.dimensions, *APART) if name in known]
    return {name: known[name] for name in names}


def card_place(rubric: str) -> str:
    """Where the cards of a rubric are in the documentation.

    >>> card_place("answer-quality")
    'docs/validity.md#answer-quality'
    """
    return f"{PAGE}#{rubric}"


def agreement_of(rubric: str, score: str) -> tuple[str, ...]:
    """How a score agreed with people, a line for each measurement."""
    return tuple(map(str, figures_of(rubric, score))) or ("not measured",)
