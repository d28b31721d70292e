"""What calibration from the labels of the queue would change, as it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rubrica.judges.calibration import apply
from rubrica.model.calibration import CalibrationFigures
from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale
from rubrica.report.figures import figure, signed
from rubrica.report.titles import title_of
from rubrica.runs.review.calibration_fit import CalibrationFit

MOST_STEPS = 11
"""Scores of a scale that are shown with what becomes of them."""
FEWER_STEPS = 6
"""As many of a scale that has more, or is not counted in whole numbers."""


@dataclass(frozen=True, slots=True)
class DimensionChange:
    """One dimension: how far judges and people were apart, and how far they are by the correction."""

    title: str
    labels: int
    corrected: bool
    error: str  # mean absolute error, before → after
    kinder: str  # judge minus people, before → after
    order: str  # rank correlation, before → after


@dataclass(frozen=True, slots=True)
class Curve:
    """What becomes of judges' scores on one dimension."""

    title: str
    judges: str  # that are corrected so; empty where all are
    scores: Sequence[float]  # of the scale
    become: Sequence[float]  # what each of them counts as


def changes(fit: CalibrationFit) -> list[DimensionChange]:
    """What calibration comes to, dimension by dimension, in the order of the labels."""
    kept = fit.found.calibration.dimensions if fit.found.calibration is not None else {}
    found = []
    for name, items in fit.items.items():
        of = kept.get(name) or fit.found.refused[name]
        found.append(DimensionChange(title_in(fit.rubric, name), items, name in kept, *_moves(of.before, of.after)))
    return found


def title_in(rubric: Rubric, name: str) -> str:
    """What a dimension, or a part of one, is called."""
    parts = (axis.parts for axis in rubric.dimensions.values())
    axes: dict[str, Axis] = {**rubric.dimensions, **{part: axis for own in parts for part, axis in own.items()}}
    return title_of(name, axes[name])


def _moves(before: CalibrationFigures | None, after: CalibrationFigures | None) -> tuple[str, str, str]:
    if before is None or after is None:
        return ("—",) * 3
    places = 2 if before.rmse >= 0.3 else 3  # of a small error, one more
    ranks = [figure(None if rank is None else round(rank, 2)) for rank in (before.spearman, after.spearman)]
    return (
        f"{figure(round(before.mae, places))} → {figure(round(after.mae, places))}",
        f"{signed(round(before.bias, places))} → {signed(round(after.bias, places))}",
        " → ".join(ranks),
    )


def curves(fit: CalibrationFit) -> list[Curve]:
    """What becomes of judges' scores. Judges that are corrected alike are one curve."""
    calibration = fit.found.calibration
    if calibration is None:
        return []
    found = []
    for name, correction in calibration.dimensions.items():
        if correction.panel is not None:
            continue  # its judges are weighed against each other, not corrected one by one
        scores = values_of(correction.scale)
        alike: dict[tuple[float, ...], list[str]] = {}
        for judge in correction.judges:
            become = tuple(round(apply(calibration, name, judge, score), 2) for score in scores)
            alike.setdefault(become, []).append(judge)
        title = title_in(fit.rubric, name)
        found += [
            Curve(title, ", ".join(judges) if len(alike) > 1 else "", scores, become)
            for become, judges in alike.items()
        ]
    return found


def values_of(scale: Scale) -> list[float]:
    """Scores of a scale to show: each whole one where they are few, else some of them.

    >>> values_of(Scale(min=1, max=5)), values_of(Scale())
    ([1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    low, high = scale.ends
    if low.is_integer() and high.is_integer() and high - low < MOST_STEPS and high - low > 1:
        return [low + step for step in range(int(high - low) + 1)]
    return [round(low + (high - low) * step / (FEWER_STEPS - 1), 4) for step in range(FEWER_STEPS)]
