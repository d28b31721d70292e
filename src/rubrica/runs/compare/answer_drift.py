"""The drift of a judge's answers: the same cases judged in two ways, such as in batches and one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rubrica.model.evaluation import DimensionResult, Evaluation
from rubrica.scoring.rater_pairs import ScoreAgreement, score_agreement

NO_DIFFERENCE = 1e-9


@dataclass(slots=True)
class DimensionDrift:
    """The answers to one dimension, or to all its parts or criteria, in both ways."""

    pairs: list[tuple[float, float]] = field(default_factory=list)
    lost: int = 0  # scored in the other way only
    gained: int = 0  # scored in this way only

    @property
    def changed(self) -> int:
        return sum(abs(one - other) > NO_DIFFERENCE for one, other in self.pairs)

    @property
    def agreement(self) -> ScoreAgreement:
        return score_agreement(self.pairs)

    @property
    def plain(self) -> dict[str, Any]:
        return {"changed": self.changed, "lost": self.lost, "gained": self.gained, **self.agreement.plain}


@dataclass(slots=True)
class AnswerDrift:
    """How the answers and verdicts of some cases differ from those of the same cases judged in another way."""

    cases: int = 0  # in both
    verdicts: int = 0  # that differ
    dimensions: dict[str, DimensionDrift] = field(default_factory=dict)  # by rubric/dimension


def answer_drift(these: Iterable[Evaluation], others: Iterable[Evaluation]) -> AnswerDrift:
    """Hold evaluations against others of the same cases and rubrics, whatever their versions.

    Parts count in place of their dimension: their values are what a judge answered.
    """
    known = {_key(one): one for one in others}
    found = AnswerDrift()
    for evaluation in these:
        other = known.get(_key(evaluation))
        if other is None:
            continue
        found.cases += 1
        found.verdicts += evaluation.verdict != other.verdict
        before = dict(_answers(other))
        after = dict(_answers(evaluation))
        for key in {**before, **after}:  # in the order of the rubric
            drift = found.dimensions.setdefault(f"{evaluation.rubric}/{key[0]}", DimensionDrift())
            one, given = after.get(key), before.get(key)
            if one is not None and given is not None:
                drift.pairs.append((one, given))
            else:
                drift.lost += one is None
                drift.gained += given is None
    return found


def _key(evaluation: Evaluation) -> tuple[str, str | None, int]:
    return evaluation.rubric, evaluation.case, evaluation.repeat


def _answers(evaluation: Evaluation) -> Iterator[tuple[tuple[str, str], float]]:
    """What a judge answered, by dimension and part."""
    for name, result in evaluation.dimensions.items():
        for part, own in _leaves(name, result):
            if own.value is not None and own.source == "llm":
                yield (name, part), own.value


def _leaves(name: str, result: DimensionResult) -> Iterator[tuple[str, DimensionResult]]:
    if not result.parts:
        yield name, result
    for part, own in result.parts.items():
        yield from _leaves(f"{name}/{part}", own)
