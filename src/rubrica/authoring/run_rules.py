"""What a run says about criteria: which are always or never met, and which get other answers when asked again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rubrica.engine.document import Path
from rubrica.errors import Problem, RubricaError
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import DimensionResult, Evaluation
from rubrica.model.rubric import Rubric

from .lint_warning import LintWarning

FEWEST_CASES = 10
"""Cases that a criterion must have been scored on before it is said to be always or never met."""
FEWEST_REPEATED = 5
"""Cases that must have been judged more than once before answers are said to change."""
FLIP = 0.5
"""Of the scale: answers further apart than this, or as far, are different ones."""
MOST_FLIPS = 0.2
"""Of the cases judged more than once: where more change their answer, the criterion is unsteady."""


class JudgedRun(Protocol):
    """Evaluations that were kept, with the rubrics that they were made by, as far as those are known."""

    @property
    def name(self) -> str: ...

    def evaluations(self) -> Iterator[Evaluation]: ...

    def rubrics(self) -> Mapping[str, Rubric]: ...


@dataclass(slots=True)
class _AnswerRange:
    """The lowest and the highest answer of one case, 0 to 1, and how many it got."""

    low: float
    high: float
    count: int = 1

    def add(self, share: float) -> None:
        self.low, self.high, self.count = min(self.low, share), max(self.high, share), self.count + 1


@dataclass(slots=True)
class _CriterionTally:
    """One criterion over a run, by case."""

    cases: dict[str, _AnswerRange] = field(default_factory=dict)

    def add(self, case: str, share: float) -> None:
        known = self.cases.get(case)
        if known is None:
            self.cases[case] = _AnswerRange(share, share)
        else:
            known.add(share)

    def warnings(self, path: Path) -> Iterator[LintWarning]:
        count = len(self.cases)
        if count >= FEWEST_CASES:
            if all(found.low == 1 for found in self.cases.values()):
                why = f"all {count:,} cases of the run meet it"
                yield LintWarning("always-met", Problem(why, path), "ask for more, or leave it out")
            elif all(found.high == 0 for found in self.cases.values()):
                why = f"none of the {count:,} cases of the run meets it"
                yield LintWarning("never-met", Problem(why, path), "ask for less, or leave it out")
        repeated = [found for found in self.cases.values() if found.count > 1]
        flips = sum(found.high - found.low >= FLIP for found in repeated)
        if len(repeated) >= FEWEST_REPEATED and flips > MOST_FLIPS * len(repeated):
            why = f"{flips:,} of {len(repeated):,} cases that were judged more than once got different answers"
            yield LintWarning("unsteady", Problem(why, path), "say what counts and what does not, or give examples")


def run_warnings(rubric: Rubric, run: JudgedRun) -> list[LintWarning]:
    """What a stored run says about the criteria of a rubric; those that were worded differently then are left out.

    Scores that code gave in place of a judge say nothing about a criterion, and do not count.
    """
    judged_by = run.rubrics().get(rubric.name)
    tallies: dict[Path, _CriterionTally] = {}
    names = set()
    for evaluation in run.evaluations():
        names.add(evaluation.rubric)
        if evaluation.rubric == rubric.name:
            for path, share in _answers(rubric, judged_by or rubric, evaluation):
                tallies.setdefault(path, _CriterionTally()).add(evaluation.case or "", share)
    if rubric.name not in names:
        known = ", ".join(sorted(names)) or "nothing"
        raise RubricaError(f"{run.name} was not judged by {rubric.name}, but by {known}")
    return [warning for path, tally in tallies.items() for warning in tally.warnings(path)]


def _answers(rubric: Rubric, judged_by: Rubric, evaluation: Evaluation) -> Iterator[tuple[Path, float]]:
    for name, result in evaluation.dimensions.items():
        then = judged_by.dimensions.get(name)
        if then is not None and name in rubric.dimensions:
            yield from _of_axis(rubric.dimensions[name], then, result, ("dimensions", name))


def _of_axis(axis: Axis, then: Axis, result: DimensionResult, path: Path) -> Iterator[tuple[Path, float]]:
    for name, part in result.parts.items():
        if name in axis.parts and name in then.parts:
            yield from _of_axis(axis.parts[name], then.parts[name], part, (*path, "parts", name))
    checks = {check.name: (at, check.that) for at, check in enumerate(axis.checks)}
    for hit in result.hits:
        if hit.type == "check" and not hit.error and hit.rule in checks:
            yield (*path, "checks", checks[hit.rule][0]), float(hit.points > 0)
    if result.offline or axis.kind in ("parts", "check"):
        return
    if (axis.asks, axis.answers, axis.anchors) == (then.asks, then.answers, then.anchors):
        scored = [result.share] if result.status == "scored" and result.share is not None else []
        for share in _votes(result) or scored:  # votes that come to no score tell most
            yield path, share


def _votes(result: DimensionResult) -> list[float]:
    """What each judge gave, 0 to 1, where one was asked more than once: judges may differ, one should not."""
    by_judge: dict[str, list[float]] = {}
    for vote in result.votes:
        if vote.value is not None:
            share = (vote.value - result.low) / (result.high - result.low)
            by_judge.setdefault(vote.judge, []).append(share)
    return max(by_judge.values(), key=_spread) if any(len(shares) > 1 for shares in by_judge.values()) else []


def _spread(shares: Iterable[float]) -> float:
    found = list(shares)
    return max(found) - min(found)
