"""What labels teach about each judge's scores: offsets and one rising curve, and the figures to tell them by."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from rubrica.model.calibration import CalibrationFigures, JudgeCorrection
from rubrica.model.scale import Scale
from rubrica.scoring.agreement import errors, kendall, spearman
from rubrica.scoring.isotonic import DECIMALS, Knots, fit_rising, interpolate
from rubrica.scoring.pooling import PRIOR_LABELS, Pool, pool_judges, weights_from_errors

from .labels import ChoiceLabel, Label

FOLDS = 5
Pairs = list[tuple[float, float]]
"""Per item: the score, and what people gave."""


@dataclass(frozen=True, slots=True)
class LearnedCurve:
    """Offsets by judge, and the curve that all of them share."""

    scale: Scale
    knots: Knots
    judges: Mapping[str, JudgeCorrection]

    def corrected(self, judge: str, value: float) -> float:
        offset = self.judges[judge].offset if judge in self.judges else 0.0
        return interpolate(self.knots, self.scale.clamp(value + offset), self.scale.min, self.scale.max)


def learn_curve(labels: Sequence[Label], scale: Scale) -> LearnedCurve:
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
    learned = LearnedCurve(scale, knots, judges)
    left: dict[str, list[float]] = {judge: [] for judge in judges}
    for label in labels:
        left[label.judge].append(learned.corrected(label.judge, label.score) - label.human)
    weights = weights_from_errors(left)
    return replace(
        learned, judges={judge: known.model_copy(update={"weight": weights[judge]}) for judge, known in judges.items()}
    )


def by_item(labels: Iterable[Label]) -> dict[tuple[str, str], list[Label]]:
    """Labels of the same text together."""
    found: dict[tuple[str, str], list[Label]] = {}
    for label in labels:
        found.setdefault((label.unit, label.item), []).append(label)
    return found


def pooled_pairs(labels: Iterable[Label], learned: LearnedCurve | None, how: Pool = "mean") -> Pairs:
    """By item the judges' score, pooled as given or as corrected, and the people's."""
    return [(pooled_score(own, learned, how), fmean(label.human for label in own)) for own in by_item(labels).values()]


def pooled_score(own: Sequence[Label], learned: LearnedCurve | None, how: Pool = "mean") -> float:
    """The judges' score of one item; the plain mean where all weights are 0."""
    given: dict[str, list[float]] = {}
    for label in own:
        score = label.score if learned is None else learned.corrected(label.judge, label.score)
        given.setdefault(label.judge, []).append(score)
    weights = {} if learned is None else {judge: known.weight for judge, known in learned.judges.items()}
    pooled = pool_judges(given, how, weights)
    return fmean(score for scores in given.values() for score in scores) if pooled is None else pooled


def split_folds(labels: Sequence[Label] | Sequence[ChoiceLabel], seed: int) -> list[set[str]]:
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


def figures_of(folds: Sequence[Pairs]) -> CalibrationFigures:
    """Errors over all folds; rank correlations within folds, since each fold has a curve of its own."""
    off = errors(*zip(*(pair for fold in folds for pair in fold), strict=True))
    return CalibrationFigures(
        mae=round(off.mae, DECIMALS),
        rmse=round(off.rmse, DECIMALS),
        bias=round(off.bias, DECIMALS),
        spearman=within_folds(folds, spearman),
        kendall=within_folds(folds, kendall),
    )


def within_folds(
    folds: Sequence[Pairs], correlation: Callable[[Sequence[float], Sequence[float]], float | None]
) -> float | None:
    """The mean of the folds' correlations by their size, of the folds that have one."""
    found = [(correlation(*zip(*fold, strict=True)), len(fold)) for fold in folds if fold]
    known = [(value, size) for value, size in found if value is not None]
    return round(fmean([v for v, _ in known], [n for _, n in known]), DECIMALS) if known else None
