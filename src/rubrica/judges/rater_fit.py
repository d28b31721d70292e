"""What labels teach about the people who gave them, and the labels without their harshness and spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from rubrica.model.calibration import DimensionRaters, RaterEffect, RaterFigures
from rubrica.model.scale import Scale
from rubrica.scoring.agreement import krippendorff_alpha, spearman
from rubrica.scoring.isotonic import DECIMALS
from rubrica.scoring.raters import RaterEffects, Rating, rater_effects

from .curve_fit import Pairs, by_item, learn_curve, pooled_score, split_folds, within_folds
from .labels import Label


def ratings_of(labels: Sequence[Label]) -> list[Rating]:
    """What every named person gave every item, once: several judges of an item repeat it."""
    given: dict[tuple[str, str, str], list[float]] = {}
    for label in labels:
        if label.rater is not None:
            given.setdefault((label.unit, label.item, label.rater), []).append(label.human)
    return [(f"{unit}/{item}", rater, fmean(values)) for (unit, item, rater), values in given.items()]


def adjust_for_raters(labels: Sequence[Label], effects: RaterEffects, scale: Scale) -> list[Label]:
    """One label per item and judge: what people gave on average, each person's harshness and spread taken out."""
    merged: list[Label] = []
    for own in by_item(labels).values():
        people: dict[str | None, list[float]] = {}
        for label in own:
            value = label.human if label.rater is None else effects.adjusted(label.rater, label.human)
            people.setdefault(label.rater, []).append(value)
        human = scale.clamp(fmean(fmean(values) for values in people.values()))
        by_judge: dict[str, list[Label]] = {}
        for label in own:
            by_judge.setdefault(label.judge, []).append(label)
        merged += [
            replace(given[0], score=fmean(label.score for label in given), human=human, rater=None)
            for given in by_judge.values()
        ]
    return merged


def effects_of(labels: Sequence[Label]) -> RaterEffects:
    """Harshness and spread of the people behind some labels; of one person alone, nothing is known."""
    ratings = ratings_of(labels)
    return rater_effects(ratings) if len({rater for _, rater, _ in ratings}) > 1 else RaterEffects()


def fit_raters(labels: Sequence[Label], scale: Scale, seed: int) -> DimensionRaters | None:
    """Everybody's harshness and spread, and what knowing them is worth; None where fewer than two are named."""
    effects = effects_of(labels)
    if not effects.offsets:
        return None
    plain, adjusted = _person_pairs(labels, scale, seed)
    raw, levelled = _units(labels, RaterEffects()), _units(labels, effects)
    figures = RaterFigures(
        spearman=within_folds(plain, spearman),
        adjusted=within_folds(adjusted, spearman),
        alpha=_rounded(krippendorff_alpha(raw).value),
        alpha_adjusted=_rounded(krippendorff_alpha(levelled).value),
    )
    return DimensionRaters(
        level=round(effects.level, DECIMALS),
        raters={
            rater: RaterEffect(
                offset=round(offset, DECIMALS),
                spread=round(effects.spreads[rater], DECIMALS),
                labels=effects.counts[rater],
            )
            for rater, offset in effects.offsets.items()
        },
        shared=sum(len(given) > 1 for given in raw),
        figures=figures,
    )


def _person_pairs(labels: Sequence[Label], scale: Scale, seed: int) -> tuple[list[Pairs], list[Pairs]]:
    """By fold, scores beside each person's own rating: as given, and as that person is expected to rate."""
    plain: list[Pairs] = []
    expected: list[Pairs] = []
    for fold in split_folds(labels, seed):
        others = [label for label in labels if label.unit not in fold]
        held_out = [label for label in labels if label.unit in fold]
        if not others or not held_out:
            continue
        effects = effects_of(others)
        curve = learn_curve(adjust_for_raters(others, effects, scale), scale)
        plain.append([])
        expected.append([])
        for own in by_item(held_out).values():
            score, corrected = pooled_score(own, None), pooled_score(own, curve)
            for _, rater, value in ratings_of(own):
                plain[-1].append((score, value))
                expected[-1].append((effects.expected(rater, corrected), value))
    return plain, expected


def _units(labels: Sequence[Label], effects: RaterEffects) -> list[list[float]]:
    units: dict[str, list[float]] = {}
    for item, rater, value in ratings_of(labels):
        units.setdefault(item, []).append(effects.adjusted(rater, value))
    return list(units.values())


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)
