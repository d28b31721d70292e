"""Counterfactuals: another score for a dimension, a gate left out, other weights, and what would follow.

Everything is found by trying: the scores stay, and the rubric is applied to them again. Nothing is scored anew, and
nobody who listens for evaluations hears of what was only tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from rubrica.formula import composed
from rubrica.model.context import Context
from rubrica.model.evaluation import DimensionResult, Evaluation, Score, Unscored
from rubrica.scorers.namespace import Namespace
from rubrica.scoring.decision_plan import DimensionReading, share_name

from .case_plan import case_plan
from .evaluate import open_state
from .plan import Plan
from .record import record_state

STEPS = 20
"""Values tried on a scale that has no room for whole numbers."""
MOST_TRIED = 5 * STEPS
"""Values tried on any scale."""

Wanted = Callable[[Evaluation], bool]


@dataclass(frozen=True, slots=True)
class VerdictFlip:
    """The value of a dimension nearest to its own from which on, all else the same, the verdict is another.

    The end of the scale in that direction leads to another verdict, too. Where only values between do, as where one
    exact score would settle what bounds leave open, there is no flip.
    """

    dimension: str
    value: float
    now: float | None  # None: it has no score
    verdict: str

    @property
    def is_increase(self) -> bool:
        return self.now is None or self.value > self.now


@dataclass(frozen=True, slots=True)
class GateRelease:
    """A gate that fired, and what would have been without it."""

    gate: str
    verdict: str
    score: float | None


@dataclass(frozen=True, slots=True)
class Attainability:
    """Whether something wanted can be had by higher scores: which dimension alone does it, and whether all together."""

    rests_on_scores: bool  # no: with the very same scores it is met already
    alone: tuple[VerdictFlip, ...]
    together: bool  # full marks everywhere would do


def attainability(plan: Plan, evaluation: Evaluation, wanted: Wanted) -> Attainability:
    """What brings an evaluation to what is wanted of it."""
    trial = _Trial(plan, evaluation)
    if wanted(trial({})):
        return Attainability(False, (), True)
    alone = []
    for name, result in trial.counting.items():
        if wanted(trial({name: _best(result)})):
            better = _below(result) if _costs(result) else _above(result)
            found = next((value for value in better if wanted(trial({name: value}))), None)
            if found is not None:
                alone.append(VerdictFlip(name, found, result.value, trial({name: found}).verdict))
    tops = {name: _best(result) for name, result in trial.counting.items()}
    return Attainability(True, tuple(alone), bool(alone) or wanted(trial(tops)))


def verdict_flips(plan: Plan, evaluation: Evaluation) -> tuple[VerdictFlip, ...]:
    """For every dimension, the nearest value above and below with another verdict, as far as there is one."""
    trial = _Trial(plan, evaluation)
    now = evaluation.verdict
    if trial({}).verdict != now:
        return ()  # what was found does not rest on the scores alone
    found = []
    for name, result in trial.counting.items():
        for end, values in ((result.high, _above(result)), (result.low, _below(result))):
            tried = ((value, trial({name: value}).verdict) for value in values)
            turn = next(((value, verdict) for value, verdict in tried if verdict != now), None)
            if turn is not None and (turn[0] == end or trial({name: end}).verdict != now):
                found.append(VerdictFlip(name, turn[0], result.value, turn[1]))
    return tuple(found)


def gate_releases(plan: Plan, evaluation: Evaluation) -> tuple[GateRelease, ...]:
    """The gates that fired without which the verdict or the score would be another."""
    found = []
    for gate in evaluation.gates:
        if gate.fired:
            rules, vetoes = (
                tuple(rule for rule in some if rule.gate.name != gate.name)
                for some in (plan.decision.gates, plan.decision.vetoes)
            )
            without = replace(plan, decision=replace(plan.decision, gates=rules, vetoes=vetoes), conclusions={})
            ended = _Trial(without, evaluation)({})
            if (ended.verdict, ended.score) != (evaluation.verdict, evaluation.score):
                found.append(GateRelease(gate.name, ended.verdict, ended.score))
    return tuple(found)


def weights_of(plan: Plan, profile: str | None) -> Mapping[str, float]:
    """The weights under a profile, every dimension named; empty where a formula of the author's makes the score."""
    terms = plan.decision.terms[profile]
    return {axis.name: terms.weights.get(axis.name, 0.0) for axis in plan.axes} if terms.weights else {}


def reweigh(plan: Plan, profile: str | None, weights: Mapping[str, float]) -> Plan:
    """The same plan with other weights under one profile; that they sum to 1 is the business of whoever sets them."""
    rubric, terms = plan.rubric, plan.decision.terms[profile]
    as_shares = any(s != rubric.scale for s in plan.decision.scales.values()) or rubric.scale.min < 0  # as compiled
    counted = [name for name in rubric.dimensions if weights.get(name, 0.0) > 0]
    reads = []
    for name in counted:
        scale = rubric.scale_of(name)
        lowest = scale.share(scale.min) if as_shares else scale.min
        reads.append(DimensionReading(name, share_name(name) if as_shares else name, lowest))
    pairs = ", ".join(f"{weights[read.dimension]!r}, {read.name}" for read in reads)
    changed = replace(
        terms, score=composed(f"weighted({pairs})" if pairs else "0"), weights=dict(weights), reads=tuple(reads)
    )
    decision = replace(
        plan.decision,
        terms={**plan.decision.terms, profile: changed},
        reads_shares=plan.decision.reads_shares | {read.name for read in reads if as_shares},
    )
    return replace(plan, decision=decision, conclusions={})


class _Trial:
    """Applies a plan to the scores of an evaluation, some of them changed. What it reads of the texts is read once."""

    def __init__(self, plan: Plan, evaluation: Evaluation) -> None:
        context = evaluation.context or Context()
        plan = case_plan(plan, context)
        self._plan, self._terms = plan, plan.terms(context)
        self._namespace = Namespace(context, plan.sources, self._terms.constants)
        self.counting = {
            name: result
            for name, result in evaluation.dimensions.items()
            if result.status not in ("not_applicable", "not_needed")
        }
        self._given = {name: _outcome_of(result) for name, result in self.counting.items()}

    def __call__(self, changed: Mapping[str, float]) -> Evaluation:
        state = open_state(self._plan, self._terms, self._namespace)
        for axis in self._plan.axes:
            if axis.name in changed:
                state.outcomes[axis.name] = Score(changed[axis.name])
            elif axis.name in self._given:
                state.outcomes[axis.name] = self._given[axis.name]
            elif axis.name not in state.outcomes:
                state.outcomes[axis.name] = Unscored("no score was given")
        return record_state(state, None)


def _outcome_of(result: DimensionResult) -> Score | Unscored:
    if result.status != "scored" or result.value is None:
        return Unscored(result.reason, between=result.between)
    return Score(result.value, result.reason, result.confidence, result.source, bounds=result.bounds, kind=result.kind)


def _costs(result: DimensionResult) -> bool:
    """Whether full marks lose points."""
    return result.points is not None and result.points < 0


def _best(result: DimensionResult) -> float:
    return result.low if _costs(result) else result.high


def _above(result: DimensionResult) -> Iterator[float]:
    """Values above the one there is, rising to the end of the scale; whole numbers where it has room for them."""
    low, high = result.low if result.value is None else result.value, result.high
    if high > low:
        step = 1.0 if _has_whole_steps(result) else (high - low) / STEPS
        first = math.floor(low) + 1.0 if step == 1.0 else low + step
        tried = [first + step * number for number in range(math.floor((high - first) / step + 1e-9) + 1)][:MOST_TRIED]
        yield from (value for value in tried if value < high)
        yield high


def _below(result: DimensionResult) -> Iterator[float]:
    """Values below the one there is, falling; none where there is none."""
    if result.value is not None and result.value > result.low:
        low, high = result.low, result.value
        step = 1.0 if _has_whole_steps(result) else (high - low) / STEPS
        first = math.ceil(high) - 1.0 if step == 1.0 else high - step
        tried = [first - step * number for number in range(math.floor((first - low) / step + 1e-9) + 1)][:MOST_TRIED]
        yield from (value for value in tried if value > low)
        yield low


def _has_whole_steps(result: DimensionResult) -> bool:
    return (result.high - result.low).is_integer() and result.high - result.low >= 2
