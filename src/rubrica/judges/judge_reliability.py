"""How far judges' scores can be trusted: where people's lie around them by labels, and the bounds that follow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from rubrica.llm.public import public_name
from rubrica.model.calibration import Calibration, CalibrationFigures, Correction
from rubrica.model.evaluation import Score
from rubrica.model.scale import Scale
from rubrica.scoring.isotonic import DECIMALS
from rubrica.scoring.spread import upper_quantile

from .curve_fit import Pairs, figures_of, learn_curve, pooled_pairs
from .labels import Label
from .panel_fit import FEWEST_WEIGHT, weight_share

COVERED = 0.9
"""Of people's scores, how many lie within the bounds of a judge's: as many miss them below as above."""

Spread = tuple[float, float]  # how far people's scores lie below a judge's, and above it


def spread_of(pairs: Pairs) -> dict[str, float]:
    """Where people's scores lie around those they stand beside, as fields of `CalibrationFigures`.

    Nothing where there are too few to tell; 19 are the fewest.
    """
    level = (1 + COVERED) / 2
    ends = {
        "below": upper_quantile([score - human for score, human in pairs], level),
        "above": upper_quantile([human - score for score, human in pairs], level),
    }
    if any(map(math.isinf, ends.values())):
        return {}
    return {name: round(max(end, 0.0), DECIMALS) for name, end in ends.items()}


def with_spread(figures: CalibrationFigures, folds: Sequence[Pairs]) -> CalibrationFigures:
    """The figures of some scores, with where people's lie around them."""
    return figures.model_copy(update=spread_of([pair for fold in folds for pair in fold]))


def each_alone(
    labels: Sequence[Label], scale: Scale, folds: Sequence[set[str]] | None, fewest: int
) -> dict[str, CalibrationFigures]:
    """Every judge with labels enough against people.

    Errors and correlations are of the scores as it gave them. People's scores lie around what counts in the end: with
    `folds`, the score as it is corrected by a curve that was learned from the other folds.
    """
    by_judge: dict[str, list[Label]] = {}
    for label in labels:
        by_judge.setdefault(label.judge, []).append(label)
    counted: dict[str, Pairs] = {judge: pooled_pairs(own, None) for judge, own in by_judge.items()}
    if folds is not None:
        counted = {judge: [] for judge in by_judge}
        for fold in folds:
            learned = learn_curve([label for label in labels if label.unit not in fold], scale)
            for label in labels:
                if label.unit in fold:
                    counted[label.judge].append((learned.corrected(label.judge, label.score), label.human))
    return {
        judge: with_spread(figures_of([pooled_pairs(own, None)]), [counted[judge]])
        for judge, own in sorted(by_judge.items())
        if len(own) >= fewest
    }


def judged_bounds(calibration: Calibration, axis: str, score: Score, scale: Spread) -> Spread | None:
    """Between which scores people's lie for nine in ten such judgements; None where that was not measured.

    A pooled score errs no more than its judges do on average, so it has the mean of their spreads; one by a learned
    panel has the panel's own. The score itself always lies within.
    """
    judges = tuple(dict.fromkeys(vote.judge for vote in score.votes if vote.value is not None)) or (score.judge,)
    correction, known = calibration.dimensions.get(axis), calibration.reliability.get(axis, {})
    found = _panel_spread(correction, judges) or _mean_spread(known, judges)
    if found is None:
        return None
    below, above = found
    (least, most), value = scale, score.value
    low, high = round(value - below, DECIMALS), round(value + above, DECIMALS)
    return min(max(low, least), value), max(min(high, most), value)


def _panel_spread(correction: Correction | None, judges: Sequence[str]) -> Spread | None:
    if correction is None or correction.panel is None or correction.after is None:
        return None
    weighed = correction.panel.judges
    named = [judge for judge in weighed if judge in judges or public_name(judge) in judges]
    return _spread(correction.after) if weight_share(correction.panel, named) >= FEWEST_WEIGHT else None


def _mean_spread(known: Mapping[str, CalibrationFigures], judges: Sequence[str]) -> Spread | None:
    """The mean of the judges' spreads; None where one of them was not measured."""
    public = {public_name(judge): figures for judge, figures in known.items()}
    found = [figures for judge in judges if (figures := known.get(judge) or public.get(judge)) is not None]
    spreads = [spread for figures in found if (spread := _spread(figures)) is not None]
    if not judges or len(spreads) < len(judges):
        return None
    return fmean(below for below, _ in spreads), fmean(above for _, above in spreads)


def _spread(figures: CalibrationFigures) -> Spread | None:
    return None if figures.below is None or figures.above is None else (figures.below, figures.above)
