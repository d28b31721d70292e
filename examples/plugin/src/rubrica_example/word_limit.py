"""The rule type ``word_limit``: points taken for each word of the response beyond a limit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from rubrica.model.evaluation import RuleHit
from rubrica.model.rules import RuleDocument
from rubrica.phrases import Code, Phrase, Strong, figure, phrase, signed
from rubrica.scorers.namespace import Namespace
from rubrica.scorers.rule_type import RuleReader, RuleType


class WordLimit(RuleDocument):
    """Points taken for each word of the response beyond a limit."""

    type: Literal["word_limit"]
    at_most: int = Field(ge=1, le=100_000, title="Words that cost nothing", description="in the whole response")
    each: float = Field(-0.1, lt=0, ge=-1000, title="Points for each", description="for each further word, below 0")


@dataclass(frozen=True, slots=True)
class WordLimitRule:
    """A compiled word_limit."""

    label: str
    at_most: int
    each: float

    @property
    def reach(self) -> tuple[float, float]:
        return -math.inf, 0.0

    @property
    def names(self) -> frozenset[str]:
        return frozenset({"word_count"})

    def __call__(self, namespace: Namespace) -> list[RuleHit]:
        count = namespace["word_count"]
        words = int(count) if isinstance(count, int | float) else 0
        if words <= self.at_most:
            return []
        points = (words - self.at_most) * self.each
        return [RuleHit(self.label, "word_limit", points, f"{words} words, {self.at_most} are enough")]


def _compile(rule: WordLimit, reader: RuleReader) -> WordLimitRule:
    return WordLimitRule(rule.name or f"at most {rule.at_most} words", rule.at_most, rule.each)


def _phrases(rule: WordLimit) -> Iterator[Phrase]:
    beyond = f" for each word beyond {figure(rule.at_most)} (by "
    yield phrase(Strong(signed(rule.each)), beyond, Code("word_count"), ").")


WORD_LIMIT = RuleType(
    "word_limit",
    WordLimit,
    title="Points taken for length",
    says="points taken for each word beyond a limit",
    begins={"type": "word_limit", "at_most": 60, "each": -0.1},
    compile=_compile,
    phrases=_phrases,
    summary=lambda draft: f"beyond {draft.get('at_most', '')} words",
    formulas=lambda rule: ("word_count",),
)
