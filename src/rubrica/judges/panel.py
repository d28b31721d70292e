"""A panel: several judges asked at once, perhaps several times, and their votes pooled into one score."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from rubrica.errors import ContextError, RubricaError
from rubrica.model.calibration import Correction
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Remarks, Score, Unscored, Vote, total_cost
from rubrica.model.judge import Judge, Judgement
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale
from rubrica.scoring.agreement import Agreement, krippendorff_alpha, spread
from rubrica.scoring.pooling import Pool, check_weights, pool_judges, pool_labels

from .panel_fit import FEWEST_WEIGHT, learned_value, weight_share

NO_ANSWER = "the judge gave no answer for it"


@dataclass(frozen=True, slots=True)
class Pooling:
    """How votes become one value: each judge's repeats first, then the judges, so that no judge counts twice.

    `weights` are by axis, then by judge, for ``weighted``; a judge not named there counts 1.

    >>> Pooling("median").value("tone", [Vote("a", 7), Vote("b", 8), Vote("c", 4), Vote("d", None)])
    7
    """

    how: Pool = "median"
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    learned: Mapping[str, Correction] = field(default_factory=dict)  # by axis, those with a panel that labels taught

    @classmethod
    def of(cls, rubric: Rubric, names: Mapping[str, str] | None = None) -> Pooling:
        """As a rubric and its calibration say; `names` are what judges are called here, where that is otherwise."""
        if rubric.calibration is None:
            return cls(rubric.judging.pool)
        called = names or {}
        weights = {
            axis: {called.get(judge, judge): weight for judge, weight in by_judge.items()}
            for axis, by_judge in rubric.calibration.weights.items()
        }
        return cls(rubric.judging.pool, weights, _renamed(rubric.calibration.dimensions, called))

    def __post_init__(self) -> None:
        for axis, weights in self.weights.items():
            try:
                check_weights(weights.values())
            except ValueError as error:
                raise ContextError(f"judge weights of {axis}: {error}") from None

    def called(self, axis: str, judges: Collection[str]) -> str:
        """What the pooled value of an axis is, in words."""
        if (known := self._learned_by(axis, judges)) is not None:
            return "learned panel" if known.labels else "learned panel (without people's labels)"
        if axis in self.learned:
            return f"{self.how} (too few judges of the learned panel)"
        return "mean (no weights for it)" if self.how == "weighted" and axis not in self.weights else self.how

    def value(self, axis: str, votes: Iterable[Vote]) -> float | None:
        """The pooled value; None where nobody who counts gave one, or where answers are split evenly."""
        votes = list(votes)
        if any(vote.label for vote in votes):
            label = self.label(axis, votes)
            return next((vote.value for vote in votes if vote.label == label and vote.value is not None), None)
        by_judge: dict[str, list[float]] = {}
        for vote in votes:
            if vote.value is not None:
                by_judge.setdefault(vote.judge, []).append(vote.value)
        learned = self._learned_by(axis, by_judge)
        if learned is not None and learned.panel is not None:
            means = {judge: fmean(own) for judge, own in by_judge.items()}
            return learned_value(learned.panel, means, learned.scale)
        return pool_judges(by_judge, self.how, self.weights.get(axis, {}))

    def label(self, axis: str, votes: Iterable[Vote]) -> str | None:
        """The pooled answer; None where the judges are split evenly, or none has one with a value."""
        by_judge: dict[str, list[tuple[str, float, float]]] = {}
        for vote in votes:
            if vote.value is not None and vote.label:
                by_judge.setdefault(vote.judge, []).append((vote.label, vote.value, 1.0))
        given = self.weights.get(axis, {}) if self.how == "weighted" else {}
        counted = []
        for judge, own in by_judge.items():
            label = pool_labels(own, self.how)
            value = next((value for said, value, _ in own if said == label), None)
            if label is not None and value is not None:
                counted.append((label, value, given.get(judge, 1.0)))
        return pool_labels(counted, self.how)

    def _learned_by(self, axis: str, judges: Collection[str]) -> Correction | None:
        """The learned panel of an axis, where enough of its judges answered."""
        known = self.learned.get(axis)
        if known is None or known.panel is None or weight_share(known.panel, list(judges)) < FEWEST_WEIGHT:
            return None
        return known


@dataclass(frozen=True, slots=True)
class Panel:
    """Several judges as one: asks all of them at once, pools what they give axis by axis.

    `judges` holds each judge by name, once per repeat: a repeat is a judge of its own because its cache entry and
    seed differ. `scales` gives each axis's scale, `of_criteria` that of criteria which a case brings. `quorum` is how
    many judges must have given a value.

    The score's confidence is the mean of the judges' own confidence times their agreement, which is 1 minus the
    standard deviation of all votes over half the scale's width (the most it can be): 1 when all say the same, 0 when
    one half says the lowest and the other the highest. The cost is the sum, failed votes included; the duration that
    of the slowest.
    """

    judges: Mapping[str, Sequence[Judge]]
    scales: Mapping[str, Scale]
    pooling: Pooling = Pooling()
    quorum: int = 1
    of_criteria: Scale | None = None

    def __post_init__(self) -> None:
        if not self.judges or not all(self.judges.values()):
            raise ContextError("a panel needs at least one judge, and each judge at least one repeat")
        if not 1 <= self.quorum <= len(self.judges):
            raise ContextError(f"the quorum is {self.quorum}; this panel of {len(self.judges)} can have 1 to that many")
        if self.pooling.how == "weighted" and not self.pooling.weights:
            raise ContextError(
                "pool: weighted needs judge weights; learn them with `rubrica calibrate`, or pool by mean"
            )

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Judgement:
        """The pooled outcome of every axis, with its votes."""
        if (unknown := axes.keys() - self.scales.keys()) and self.of_criteria is None:
            raise ContextError(f"the panel was not told the scale of {', '.join(sorted(unknown))}")
        async with asyncio.TaskGroup() as group:  # a cancelled panel leaves no judge running
            asked = {
                (name, repeat): group.create_task(_ask(judge, axes, context))
                for name, repeats in self.judges.items()
                for repeat, judge in enumerate(repeats)
            }
        answers = {seat: task.result() for seat, task in asked.items()}
        silent = Unscored(NO_ANSWER, "llm")
        pooled = {
            axis: self._polled(axis, {seat: answer.get(axis, silent) for seat, answer in answers.items()})
            for axis in axes
        }
        return Judgement(pooled, _joined([a.remarks for a in answers.values() if isinstance(a, Judgement)]))

    def _polled(self, axis: str, outcomes: Mapping[tuple[str, int], Score | Unscored]) -> Score | Unscored:
        scale = self.scales.get(axis) or self.of_criteria or Scale()
        votes = tuple(_vote(judge, repeat, given, scale) for (judge, repeat), given in outcomes.items())
        if len(outcomes) == 1 and votes[0].value is not None and axis not in self.pooling.learned:
            return next(iter(outcomes.values()))
        cast = [vote for vote in votes if vote.value is not None]
        present = {vote.judge for vote in cast}
        value = self.pooling.value(axis, cast)
        named = ", ".join(self.judges)
        given = list(outcomes.values())
        costs = [outcome.cost for outcome in given if outcome.cost is not None]
        cost = total_cost(costs) if costs else None
        slowest = max(outcome.duration_ms for outcome in given)
        apart = spread(vote.value for vote in cast)
        if len(present) < self.quorum:
            lack = f"{len(present)} of {len(self.judges)} judges gave a value, {self.quorum} must"
        elif any(vote.label for vote in cast):
            lack = f"the judges are split evenly ({_split(cast)})"
        else:
            lack = "the judges that gave a value have no weight"
        if value is None or apart is None or len(present) < self.quorum:
            reason = f"{lack}: {'; '.join(_in_words(votes))}"
            same = {vote.label for vote in votes}
            label = same.pop() if len(same) == 1 and not cast else ""  # all judges say that they cannot tell
            return Unscored(reason, "llm", cost=cost, duration_ms=slowest, votes=votes, judge=named, label=label)
        label = self.pooling.label(axis, cast) or ""
        nearest = min(cast, key=lambda vote: (abs((vote.value or 0.0) - value), -vote.confidence))
        rule = self.pooling.called(axis, present)
        told = f"{rule} {value:.4g}, spread {apart.range:.4g}"
        if label:
            told = f"{_answer_rule(rule)} {label}, split {_split(votes)}"
        reason = f"{', '.join(_in_words(votes))}: {told}"
        agreement = max(0.0, 1.0 - 2 * apart.std / (scale.max - scale.min))
        return Score(
            value=value,
            reason=reason + (f"; {nearest.judge}: {nearest.reason}" if nearest.reason else ""),
            confidence=fmean(vote.confidence for vote in cast) * agreement,
            source="llm",
            hits=tuple(dict.fromkeys(hit for outcome in given for hit in outcome.hits)),
            cost=cost,
            duration_ms=slowest,
            votes=votes,
            judge=named,
            label=label,
        )


def _answer_rule(rule: str) -> str:
    """How answers are pooled, in words: what pools numbers only pools answers by majority."""
    return "majority" if rule in ("mean", "median", "trimmed") else rule


def _split(votes: Iterable[Vote]) -> str:
    """Votes by label.

    >>> _split([Vote("a", 1, label="yes"), Vote("b", 0, label="no"), Vote("c", 1, label="yes")])
    'yes 2, no 1'
    """
    counts = Counter(vote.label for vote in votes if vote.label)
    return ", ".join(f"{label} {count}" for label, count in counts.most_common())


def _renamed(dimensions: Mapping[str, Correction], called: Mapping[str, str]) -> dict[str, Correction]:
    found = {}
    for axis, own in dimensions.items():
        if own.panel is not None:
            judges = {called.get(judge, judge): weight for judge, weight in own.panel.judges.items()}
            found[axis] = own.model_copy(update={"panel": own.panel.model_copy(update={"judges": judges})})
    return found


async def _ask(judge: Judge, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
    try:
        return await judge(axes, context)
    except RubricaError as error:  # one judge's failure is its own; the others still count
        return dict.fromkeys(axes, Unscored(str(error), "llm"))


def _joined(given: Iterable[Remarks | None]) -> Remarks | None:
    """What several judges said, each thing once."""
    remarks = [each for each in given if each is not None]
    if not remarks:
        return None
    return Remarks(
        issues=tuple(dict.fromkeys(issue for each in remarks for issue in each.issues)),
        strengths=tuple(dict.fromkeys(strength for each in remarks for strength in each.strengths)),
        suggestions=tuple(dict.fromkeys(suggestion for each in remarks for suggestion in each.suggestions)),
        sections={name: note for each in reversed(remarks) for name, note in each.sections.items()},
    )


def _vote(judge: str, repeat: int, outcome: Score | Unscored, scale: Scale) -> Vote:
    if isinstance(outcome, Unscored):
        return Vote(judge, None, outcome.reason, 0.0, repeat, outcome.label)
    if not scale.holds(outcome.value):  # also where it is not a number
        return Vote(judge, None, f"{outcome.value:g} is off the scale {scale}", 0.0, repeat)
    return Vote(judge, outcome.value, outcome.reason, outcome.confidence, repeat, outcome.label)


def _in_words(votes: Iterable[Vote]) -> list[str]:
    """Each judge with what it gave: ``a 7``, with repeats ``a 7 8``, or why it gave none."""
    by_judge: dict[str, list[Vote]] = {}
    for vote in votes:
        by_judge.setdefault(vote.judge, []).append(vote)
    said = []
    for judge, own in by_judge.items():
        values = [vote.label or f"{vote.value:.4g}" for vote in own if vote.value is not None]
        missing = dict.fromkeys(vote.reason for vote in own if vote.value is None)
        said.append(" ".join([judge, *values, *([f"none ({'; '.join(missing)})"] if missing else [])]))
    return said


def verdicts(
    votes: Mapping[str, Sequence[Vote]],
    decide: Callable[[Mapping[str, float]], str],
    *,
    by: Literal["repeat", "judge"] = "repeat",
    pooling: Pooling = Pooling(),  # noqa: B008 - frozen
) -> dict[str | int, str]:
    """The verdict each repeat (or each judge) would give alone, from the votes by axis.

    Where one of them has no vote on an axis, the pooled value of all votes on that axis stands in for it, so that a
    failed call changes nothing; an axis without any vote is left out of what `decide` is given.
    """
    grouped: dict[str | int, dict[str, list[Vote]]] = {}
    for axis, cast in votes.items():
        for vote in cast:
            if vote.value is not None:
                key = vote.repeat if by == "repeat" else vote.judge
                grouped.setdefault(key, {}).setdefault(axis, []).append(vote)
    overall = {axis: value for axis, cast in votes.items() if (value := pooling.value(axis, cast)) is not None}
    found = {}
    for key, own in grouped.items():
        alone = {axis: value for axis, cast in own.items() if (value := pooling.value(axis, cast)) is not None}
        found[key] = decide({**overall, **alone})
    return found


@dataclass(frozen=True, slots=True)
class AxisAgreement:
    """How far the judges agreed on one axis over a run."""

    alpha: Agreement  # Krippendorff's, interval
    spread: float | None  # mean over the evaluations of the highest minus the lowest judge; None: never two judges


def axis_agreement(runs: Iterable[Mapping[str, Sequence[Vote]]]) -> dict[str, AxisAgreement]:
    """Agreement per axis over the evaluations of a run, each given as its votes by axis.

    A judge's repeats count as one score, their mean; with a single judge the repeats take the judges' place, so that
    the figure tells how far the judge agrees with itself.
    """
    units: dict[str, list[list[float]]] = {}
    for evaluation in runs:
        for axis, votes in evaluation.items():
            by_judge: dict[str, list[float]] = {}
            for vote in votes:
                if vote.value is not None:
                    by_judge.setdefault(vote.judge, []).append(vote.value)
            alone = len({vote.judge for vote in votes}) == 1
            means = [fmean(own) for own in by_judge.values()]
            units.setdefault(axis, []).append(next(iter(by_judge.values()), []) if alone else means)
    found = {}
    for axis, own in units.items():
        ranges = [max(unit) - min(unit) for unit in own if len(unit) >= 2]
        found[axis] = AxisAgreement(krippendorff_alpha(own), fmean(ranges) if ranges else None)
    return found
