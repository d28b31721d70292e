"""Levelling: takes the harshness and spread of judges out of stored evaluations, and decides them again.

Nothing but numbers is kept of the file, which is read twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from rubrica.engine.cases import BadLine
from rubrica.engine.compile import compile_rubric
from rubrica.engine.plan import Plan
from rubrica.engine.rejudge import rejudge
from rubrica.errors import RubricaError
from rubrica.judges.panel import Pooling
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import DimensionResult, Evaluation, Score, Unscored
from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of
from rubrica.runs.files.case_source import lines_of
from rubrica.scoring.pooling import level_judges

from .broken_lines import BrokenLines
from .output_files import JsonLines
from .stored import evaluations_file, stored_evaluations

Place = tuple[int, int]
"""Which evaluation of the file and which repeat."""
Scores = dict[str, dict[str, dict[Place, float]]]
"""Votes as they were given, by axis, judge and place."""
Levels = Mapping[str, Mapping[str, Mapping[Place, float]]]
"""The same, levelled."""


@dataclass(slots=True)
class Levelling:
    """The levelled votes of a file, and what judging again by them came to."""

    plan: Plan
    pooling: Pooling
    levels: Levels
    notes: list[str]  # what could not be levelled, and why
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)  # before and after

    @property
    def changed(self) -> int:
        return sum(count for (before, after), count in self.verdicts.items() if before != after)

    @property
    def description(self) -> str:
        total = count_of(self.verdicts.total(), "verdict")
        return f"{self.changed:,} of {total} changed with the judges levelled; no model was asked"


def axes_of(evaluation: Evaluation) -> Iterator[tuple[str, DimensionResult]]:
    """The dimensions of an evaluation and their parts, by name."""
    for name, result in evaluation.dimensions.items():
        yield name, result
        yield from result.parts.items()


async def _refuse_to_judge(axes: Mapping[str, Axis], context: Context) -> dict[str, Score | Unscored]:  # noqa: ARG001
    raise RubricaError("stored votes are judged again; no judge is asked")


def levelled_votes(stored: str, rubric: Rubric) -> Levelling:
    """Read the votes of all evaluations by this rubric, and level them."""
    weights = rubric.calibration.weights if rubric.calibration is not None else {}
    if rubric.judging.pool == "weighted" and not weights:
        raise RubricaError(f"{rubric.reference} pools by weight and has no weights; `rubrica calibrate` learns them")
    # A plan that has a judge keeps a verdict open where repeats come to different ones; the judge is never asked.
    plan = compile_rubric(rubric, _refuse_to_judge)
    scores: Scores = {}
    with lines_of(evaluations_file(stored)) as lines:
        for number, evaluation in enumerate(stored_evaluations(lines, _ignore_broken_line)):
            if evaluation.rubric == rubric.name:
                _collect_votes(scores, number, evaluation)
    levels, notes = _levels(scores, plan)
    return Levelling(plan, Pooling.of(rubric), levels, notes)


def judge_again(stored: str, levelling: Levelling, sink: JsonLines | None, complaints: BrokenLines) -> None:
    """Judge every evaluation of the file again by its levelled votes, and count the verdicts."""
    name = levelling.plan.rubric.name
    with lines_of(evaluations_file(stored)) as lines:
        for number, before in enumerate(stored_evaluations(lines, _ignore_broken_line)):
            if before.rubric != name:
                complaints(BadLine(lines.number, f"judged by {before.rubric}, not by {name}: left out"))
                continue
            dimensions = {axis: _levelled(axis, own, number, levelling) for axis, own in before.dimensions.items()}
            try:
                after = rejudge(levelling.plan, msgspec.structs.replace(before, dimensions=dimensions))
            except RubricaError as error:
                complaints(BadLine(lines.number, str(error)))
                continue
            levelling.verdicts[before.verdict, after.verdict] += 1
            if sink is not None:
                sink.write(after)


def _ignore_broken_line(_: BadLine) -> None:
    """Broken lines are told when the file is first read."""


def _collect_votes(scores: Scores, number: int, evaluation: Evaluation) -> None:
    for axis, result in axes_of(evaluation):
        for vote in result.votes:
            if vote.value is not None and not vote.label:  # an answer is no score that could be moved
                scores.setdefault(axis, {}).setdefault(vote.judge, {})[number, vote.repeat] = vote.value


def _levels(scores: Scores, plan: Plan) -> tuple[Levels, list[str]]:
    """Levelled scores of every axis that two judges or more scored, on the scale the rubric has for it."""
    scales = {axis.name: axis.scale for whole in plan.axes for axis in (whole, *whole.parts)}
    levels: dict[str, Mapping[str, Mapping[Place, float]]] = {}
    notes: list[str] = []
    for axis, by_judge in scores.items():
        if axis in scales and len(by_judge) > 1:
            levelled = level_judges(by_judge, scales[axis])
            notes += [f"{axis}: {told}" for told in levelled.notes]
            levels[axis] = levelled.scores
    if not levels:
        raise RubricaError(f"there is nothing to level: no dimension of {plan.rubric.name} has votes of two judges")
    return levels, notes


def _levelled(name: str, result: DimensionResult, number: int, levelling: Levelling) -> DimensionResult:
    """A result with its votes, and those of its parts, levelled and pooled again; without levels, as it was."""
    parts = {part: _levelled(part, own, number, levelling) for part, own in result.parts.items()}
    result = msgspec.structs.replace(result, parts=parts) if parts else result
    levels, pooling = levelling.levels.get(name), levelling.pooling
    if levels is None or result.status != "scored" or not result.votes:
        return result
    votes = tuple(
        vote if vote.value is None else msgspec.structs.replace(vote, value=levels[vote.judge][number, vote.repeat])
        for vote in result.votes
    )
    value = pooling.value(name, votes)
    if value is None:
        return result
    pairs = zip(result.votes, votes, strict=True)
    moved = ", ".join(f"{old.judge} {old.value:.4g} → {new.value:.4g}" for old, new in pairs if old.value is not None)
    reason = f"judges levelled: {moved}: {pooling.called(name, {vote.judge for vote in votes})} {value:.4g}"
    return msgspec.structs.replace(result, value=value, reason=reason, votes=votes)
