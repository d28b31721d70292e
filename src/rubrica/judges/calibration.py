"""Calibration: corrections learned from human labels, kept in the rubric, applied to every judge's score.

A judge's score first gets that judge's own offset (how much harsher than the average judge it is), then the
dimension's curve, which never falls (so a better score stays a better score). Both are learned from labels, and kept
only where they help on labels they were not learned from.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from difflib import get_close_matches
from statistics import fmean, stdev
from typing import Any

import msgspec

from rubrica.errors import ContextError, Problem
from rubrica.jsontext import decode_json
from rubrica.model.calibration import Calibration, CalibrationFigures, Correction, JudgeCorrection
from rubrica.model.context import Context
from rubrica.model.evaluation import Score, Unscored
from rubrica.model.judge import Judge, Judgement
from rubrica.model.rubric import Axis
from rubrica.model.scale import Scale
from rubrica.scoring.agreement import errors, kendall, spearman
from rubrica.scoring.isotonic import DECIMALS, Knots, fit_rising, read_off
from rubrica.scoring.pooling import PRIOR_LABELS, weights_from_errors

FEWEST_LABELS = 20
"""Labelled items a dimension needs; below this, cross-validation cannot tell a correction from luck."""

FOLDS = 5
ONE_JUDGE = "judge"
"""What the judge is called where the labels do not name one."""

_Pairs = list[tuple[float, float]]  # per item: the score, and what people gave


def apply(calibration: Calibration, dimension: str, judge: str, value: float) -> float:
    """A judge's score, corrected: never falling in `value`, always on the scale.

    A judge without labels has no offset; a dimension without a correction keeps its value.
    """
    correction = calibration.dimensions.get(dimension)
    if correction is None:
        return value
    return _Learned(correction.scale, correction.knots, correction.judges).corrected(judge, value)


@dataclass(frozen=True, slots=True)
class _Learned:
    """The working part of a Correction."""

    scale: Scale
    knots: Knots
    judges: Mapping[str, JudgeCorrection]

    def corrected(self, judge: str, value: float) -> float:
        offset = self.judges[judge].offset if judge in self.judges else 0.0
        return read_off(self.knots, self.scale.clamp(value + offset), self.scale.min, self.scale.max)


@dataclass(frozen=True, slots=True)
class CalibratedJudge:
    """A judge whose scores are corrected, each saying so in its reason."""

    judge: Judge
    name: str
    calibration: Calibration

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Judgement:
        answers = await self.judge(axes, context)
        remarks = answers.remarks if isinstance(answers, Judgement) else None
        return Judgement({axis: self._one(axis, given) for axis, given in answers.items()}, remarks)

    def _one(self, axis: str, given: Score | Unscored) -> Score | Unscored:
        correction = self.calibration.dimensions.get(axis)
        if correction is None or isinstance(given, Unscored) or not correction.scale.holds(given.value):
            return given  # off its scale it is refused later, not bent into shape
        value = apply(self.calibration, axis, self.name, given.value)
        said = f"{given.value:.4g} corrected to {value:.4g} by {self.calibration}"
        return msgspec.structs.replace(given, value=value, reason=f"{given.reason} ({said})" if given.reason else said)


@dataclass(frozen=True, slots=True)
class Label:
    """What a judge and a person gave the same item on one dimension, on its scale."""

    dimension: str
    score: float
    human: float
    item: str  # labels with the same item are of the same text
    judge: str = ONE_JUDGE
    group: str | None = None  # items of a group are learned from together, or not at all; None: a group of its own

    @property
    def unit(self) -> str:
        return self.item if self.group is None else self.group


def read_labels(lines: Iterable[str], scales: Mapping[str, Scale], file: str = "labels.jsonl") -> list[Label]:
    """The labels of a JSON Lines file; a ContextError lists every line that cannot be used.

    A line is ``{"dimension": …, "score": …, "human": …}`` or ``{"scores": {…}, "human": {…}}`` by dimension, with
    `judge`, `id` and `group` if known. In the second form null means: not given.

    >>> read_labels(['{"scores": {"tone": 7, "wit": 3}, "human": {"tone": 6}, "id": 4}'], {"tone": Scale(min=1, max=9)})
    [Label(dimension='tone', score=7.0, human=6.0, item='4', judge='judge', group=None)]
    """
    labels: list[Label] = []
    problems = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            labels += _labels_of(decode_json(line), scales, number)
        except ValueError as error:
            problems.append(Problem(str(error), line=number, file=file))
    if problems:
        shown = "\n".join(map(str, problems[:20]))
        raise ContextError(shown + (f"\nand {len(problems) - 20} more" if len(problems) > 20 else ""))
    return labels


def _labels_of(row: Any, scales: Mapping[str, Scale], number: int) -> list[Label]:
    if not isinstance(row, dict) or "human" not in row:
        raise ValueError("a label is an object with `human`, and either `dimension` and `score` or `scores`")
    if "scores" in row:
        scores, human = row["scores"], row["human"]
        if not isinstance(scores, dict) or not isinstance(human, dict):
            raise ValueError("with `scores`, both `scores` and `human` are objects by dimension")
        pairs = {name: (scores[name], human[name]) for name in scores if human.get(name) is not None}
        pairs = {name: pair for name, pair in pairs.items() if pair[0] is not None}
        if not pairs:
            raise ValueError("no dimension has both a score and a human label")
    else:
        if not isinstance(row.get("dimension"), str):
            raise ValueError("it lacks the name of its `dimension`")
        pairs = {row["dimension"]: (row.get("score"), row["human"])}
    item = str(row["id"]) if row.get("id") is not None else f"line {number}"
    group = str(row["group"]) if row.get("group") is not None else None
    judge = str(row.get("judge") or ONE_JUDGE)
    return [
        Label(name, _on_scale(score, name, scales), _on_scale(given, name, scales), item, judge, group)
        for name, (score, given) in pairs.items()
    ]


def _on_scale(value: object, dimension: str, scales: Mapping[str, Scale]) -> float:
    if dimension not in scales:
        near = get_close_matches(dimension, scales, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(scales)}"
        raise ValueError(f"the rubric has no dimension {dimension!r}; {hint}")
    if isinstance(value, bool) or not isinstance(value, int | float) or not scales[dimension].holds(value):
        raise ValueError(f"{dimension}: {value!r} is not a number on its scale {scales[dimension]}")
    return float(value)


@dataclass(frozen=True, slots=True)
class UncorrectedDimension:
    """Why a dimension is not corrected, with the figures where there were labels enough to have some."""

    reason: str
    before: CalibrationFigures | None = None
    after: CalibrationFigures | None = None


@dataclass(frozen=True, slots=True)
class CalibrationOutcome:
    """What came of a calibration: None where no dimension could be improved."""

    calibration: Calibration | None
    refused: Mapping[str, UncorrectedDimension] = field(default_factory=dict)


def calibrate(
    labels: Iterable[Label], scales: Mapping[str, Scale], *, version: int, on: date, seed: int = 0
) -> CalibrationOutcome:
    """Learn corrections from labels, dimension by dimension, and keep those that help.

    A dimension is refused with fewer than FEWEST_LABELS labelled items; where its scores rank the items no more like
    the labels than chance may (by one standard error); and where the correction, learned on four fifths of the groups
    and tried on the rest, does not lower the squared error by more than the standard error of that gain, or raises
    the mean absolute error. `seed` deals the groups into the folds. Figures are per item: the judges' mean before,
    their weighted mean after.
    """
    by_dimension: dict[str, list[Label]] = {}
    for label in labels:
        by_dimension.setdefault(label.dimension, []).append(label)
    kept: dict[str, Correction] = {}
    refused: dict[str, UncorrectedDimension] = {}
    for dimension, own in by_dimension.items():
        found = _calibrated(dimension, own, scales[dimension], seed)
        if isinstance(found, UncorrectedDimension):
            refused[dimension] = found
        else:
            kept[dimension] = found
    return CalibrationOutcome(Calibration(version=version, date=on, dimensions=kept) if kept else None, refused)


def _calibrated(dimension: str, labels: Sequence[Label], scale: Scale, seed: int) -> Correction | UncorrectedDimension:
    items = len({(label.unit, label.item) for label in labels})
    if items < FEWEST_LABELS:
        return UncorrectedDimension(
            f"{dimension} has {items} labelled items; {FEWEST_LABELS} are the fewest to learn from"
        )
    groups = len({label.unit for label in labels})
    if groups < FOLDS:
        return UncorrectedDimension(
            f"{dimension} has labels of {groups} groups; {FOLDS} are the fewest to cross-validate with"
        )
    tried = [_held_out_pairs(labels, fold, scale) for fold in _folds(labels, seed)]
    before, after = _figures([given for given, _ in tried]), _figures([fixed for _, fixed in tried])
    if reason := _no_help(dimension, tried, before, after):
        return UncorrectedDimension(reason, before, after)
    best = _learn(labels, scale)
    return Correction(scale=scale, knots=best.knots, judges=dict(best.judges), labels=items, before=before, after=after)


def _held_out_pairs(labels: Sequence[Label], fold: set[str], scale: Scale) -> tuple[_Pairs, _Pairs]:
    """The labels of one fold as the judges gave them, and corrected by what the other folds teach."""
    learned = _learn([label for label in labels if label.unit not in fold], scale)
    held_out = [label for label in labels if label.unit in fold]
    return _pool_labels(held_out, None), _pool_labels(held_out, learned)


def _no_help(
    dimension: str, tried: Sequence[tuple[_Pairs, _Pairs]], before: CalibrationFigures, after: CalibrationFigures
) -> str:
    """Why a correction is not worth having, in words; empty where it is."""
    gains = [
        (raw - human) ** 2 - (fixed - human) ** 2
        for given, corrected in tried
        for (raw, human), (fixed, _) in zip(given, corrected, strict=True)
    ]
    if before.spearman is None or before.spearman <= 1 / math.sqrt(len(gains) - 1):
        found = "do not vary" if before.spearman is None else f"have rank correlation {before.spearman:.2f}"
        return (
            f"scores and labels of {dimension} {found}: its scores say too little about what people think, and a "
            "correction would give every response about the same; ask the question in another way, or another judge"
        )
    if fmean(gains) <= stdev(gains) / math.sqrt(len(gains)) or after.mae > before.mae:
        return (
            f"correcting {dimension} does not clearly help on labels it was not learned from: mean absolute error "
            f"{before.mae:.3g} before, {after.mae:.3g} after, root mean squared error {before.rmse:.3g} before, "
            f"{after.rmse:.3g} after; its scores are used as they are"
        )
    return ""


def _folds(labels: Sequence[Label], seed: int) -> list[set[str]]:
    """Groups dealt into folds of about equally many labels; no group is split."""
    sizes: dict[str, int] = {}
    for label in labels:
        sizes[label.unit] = sizes.get(label.unit, 0) + 1
    order = sorted(sizes)
    random.Random(seed).shuffle(order)  # noqa: S311 - a seeded deal, not a secret
    folds: list[set[str]] = [set() for _ in range(FOLDS)]
    filled = [0] * FOLDS
    for group in sorted(order, key=lambda group: -sizes[group]):
        smallest = filled.index(min(filled))
        folds[smallest].add(group)
        filled[smallest] += sizes[group]
    return folds


def _learn(labels: Sequence[Label], scale: Scale) -> _Learned:
    """Offsets first, then the curve through what they leave, then weights from the errors that remain."""
    residuals: dict[str, list[float]] = {}
    for label in labels:
        residuals.setdefault(label.judge, []).append(label.human - label.score)
    common = fmean(fmean(own) for own in residuals.values())  # what all judges share is the curve's to correct
    judges = {
        judge: JudgeCorrection(
            offset=round((fmean(own) - common) * len(own) / (len(own) + PRIOR_LABELS), DECIMALS), labels=len(own)
        )
        for judge, own in sorted(residuals.items())
    }
    knots = fit_rising((scale.clamp(label.score + judges[label.judge].offset), label.human) for label in labels)
    learned = _Learned(scale, knots, judges)
    left: dict[str, list[float]] = {judge: [] for judge in judges}
    for label in labels:
        left[label.judge].append(learned.corrected(label.judge, label.score) - label.human)
    weights = weights_from_errors(left)
    return replace(
        learned, judges={judge: known.model_copy(update={"weight": weights[judge]}) for judge, known in judges.items()}
    )


def _pool_labels(labels: Iterable[Label], learned: _Learned | None) -> _Pairs:
    """By item the judges' score and the people's: the plain mean as given, the weighted mean when corrected."""
    by_item: dict[tuple[str, str], list[Label]] = {}
    for label in labels:
        by_item.setdefault((label.unit, label.item), []).append(label)
    pairs = []
    for own in by_item.values():
        scores, weights = [label.score for label in own], [1.0] * len(own)
        if learned is not None:
            scores = [learned.corrected(label.judge, label.score) for label in own]
            weights = [learned.judges[label.judge].weight if label.judge in learned.judges else 1.0 for label in own]
        pairs.append((fmean(scores, weights), fmean(label.human for label in own)))
    return pairs


def _figures(folds: Sequence[_Pairs]) -> CalibrationFigures:
    """Errors over all folds; rank correlations within folds, since each fold has a curve of its own."""
    off = errors(*zip(*(pair for fold in folds for pair in fold), strict=True))
    return CalibrationFigures(
        mae=round(off.mae, DECIMALS),
        rmse=round(off.rmse, DECIMALS),
        bias=round(off.bias, DECIMALS),
        spearman=_within(folds, spearman),
        kendall=_within(folds, kendall),
    )


def _within(
    folds: Sequence[_Pairs], correlation: Callable[[Sequence[float], Sequence[float]], float | None]
) -> float | None:
    """The mean of the folds' correlations by their size, of the folds that have one."""
    found = [(correlation(*zip(*fold, strict=True)), len(fold)) for fold in folds]
    known = [(value, size) for value, size in found if value is not None]
    return round(fmean([v for v, _ in known], [n for _, n in known]), DECIMALS) if known else None
