"""Calibration: corrections learned from human labels, kept in the rubric, applied to every judge's score.

A judge's score first gets that judge's own offset (how much harsher than the average judge it is), then the
dimension's curve, which never falls (so a better score stays a better score). Where judges put together by learned
weights do better than that, those are used instead. All of it is learned from labels, without the harshness of the
people who gave them, and kept only where it helps on labels it was not learned from. Verdicts that nobody labelled
are the exception: there judges are weighed by how far they agree, and nothing tells whether it helps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from statistics import fmean, stdev

import msgspec

from rubrica.model.calibration import Calibration, CalibrationFigures, Correction, DimensionRaters, JudgeCorrection
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score, Unscored
from rubrica.model.judge import Judge, Judgement
from rubrica.model.scale import Scale
from rubrica.phrases import count_of
from rubrica.scoring.pooling import Pool
from rubrica.scoring.raters import RaterEffects

from .curve_fit import FOLDS, LearnedCurve, Pairs, figures_of, learn_curve, pooled_pairs, split_folds
from .judge_reliability import each_alone, with_spread
from .labels import ChoiceLabel, Label, UnlabelledScore
from .panel_fit import ChoiceFit, learn_choices, learn_panel, learn_verdicts, try_panel
from .rater_fit import adjust_for_raters, effects_of, fit_raters

FEWEST_LABELS = 20
"""Labelled items a dimension needs; below this, cross-validation cannot tell a correction from luck."""

WORTH_A_PANEL = 0.2
"""By this share of the squared error a learned panel must beat a curve that helps: a curve also serves judges alone."""

NO_CHOICES = ChoiceFit(None)


def apply(calibration: Calibration, dimension: str, judge: str, value: float) -> float:
    """A judge's score, corrected: never falling in `value`, always on the scale.

    A judge without labels has no offset; a dimension without a correction keeps its value.
    """
    correction = calibration.dimensions.get(dimension)
    if correction is None:
        return value
    return LearnedCurve(correction.scale, correction.knots, correction.judges).corrected(judge, value)


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
        if correction.panel is not None:
            return given  # the panel weighs what its judges gave
        value = apply(self.calibration, axis, self.name, given.value)
        note = f"{given.value:.4g} corrected to {value:.4g} by {self.calibration}"
        return msgspec.structs.replace(given, value=value, reason=f"{given.reason} ({note})" if given.reason else note)


def expected_rating(people: DimensionRaters, rater: str, value: float) -> float:
    """What one person is expected to give where people give `value` on average; of a stranger, just that."""
    if rater not in people.raters:
        return value
    own = people.raters[rater]
    return RaterEffects(people.level, {rater: own.offset}, {rater: own.spread}).expected(rater, value)


@dataclass(frozen=True, slots=True)
class UncorrectedDimension:
    """Why a dimension is not corrected, with the figures where there were labels enough to have some."""

    reason: str
    before: CalibrationFigures | None = None
    after: CalibrationFigures | None = None


@dataclass(frozen=True, slots=True)
class CalibrationOutcome:
    """What came of a calibration: None where nothing was learned, not even how reliable a judge is."""

    calibration: Calibration | None
    refused: Mapping[str, UncorrectedDimension] = field(default_factory=dict)
    choices: ChoiceFit = NO_CHOICES
    people: Mapping[str, DimensionRaters] = field(default_factory=dict)
    reliability: Mapping[str, Mapping[str, CalibrationFigures]] = field(default_factory=dict)

    @property
    def helps(self) -> bool:
        """Whether scores or choices come out otherwise than without it."""
        found = self.calibration
        return found is not None and (bool(found.dimensions) or found.choices is not None)


def calibrate(
    labels: Iterable[Label | UnlabelledScore | ChoiceLabel],
    scales: Mapping[str, Scale],
    *,
    version: int,
    on: date,
    seed: int = 0,
    how: Pool = "median",
) -> CalibrationOutcome:
    """Learn corrections from labels, dimension by dimension, and keep those that help.

    A dimension is refused with fewer than FEWEST_LABELS labelled items; where what is learned ranks the items no more
    like the labels than chance may (by one standard error); and where it, learned on four fifths of the groups and
    tried on the rest, does not lower the squared error by more than the standard error of that gain. `seed` deals the
    groups into the folds. Figures are per item, and of what counts there: the judges as they were given and as they are
    corrected, both pooled by `how`, or the learned panel.

    A dimension that has no label is learned from its judges' verdicts alone, without figures, or refused.
    """
    by_dimension: dict[str, list[Label]] = {}
    unlabelled: dict[str, list[UnlabelledScore]] = {}
    choices: list[ChoiceLabel] = []
    for label in labels:
        match label:
            case Label():
                by_dimension.setdefault(label.dimension, []).append(label)
            case UnlabelledScore():
                unlabelled.setdefault(label.dimension, []).append(label)
            case ChoiceLabel():
                choices.append(label)
    kept: dict[str, Correction] = {}
    refused: dict[str, UncorrectedDimension] = {}
    people: dict[str, DimensionRaters] = {}
    reliability: dict[str, dict[str, CalibrationFigures]] = {}
    for dimension, own in by_dimension.items():
        known = fit_raters(own, scales[dimension], seed)
        if known is not None:
            people[dimension] = known
        merged = adjust_for_raters(own, effects_of(own), scales[dimension])
        found = _calibrated(dimension, merged, scales[dimension], seed, how)
        curve = isinstance(found, Correction) and found.panel is None
        folds = split_folds(merged, seed) if curve else None
        if alone := each_alone(merged, scales[dimension], folds, FEWEST_LABELS):
            reliability[dimension] = alone
        if isinstance(found, UncorrectedDimension):
            refused[dimension] = found
        else:
            kept[dimension] = found
    for dimension, given in unlabelled.items():
        if dimension not in by_dimension:
            learned = _by_agreement(dimension, given, scales[dimension])
            if isinstance(learned, Correction):
                kept[dimension] = learned
            else:
                refused[dimension] = learned
    chosen = learn_choices(choices, seed) if choices else NO_CHOICES
    calibration = None
    if kept or chosen.weights is not None or reliability:
        calibration = Calibration(
            version=version, date=on, dimensions=kept, choices=chosen.weights, reliability=reliability
        )
    return CalibrationOutcome(calibration, refused, chosen, people, reliability)


def _calibrated(
    dimension: str, labels: Sequence[Label], scale: Scale, seed: int, how: Pool
) -> Correction | UncorrectedDimension:
    items = len({(label.unit, label.item) for label in labels})
    if items < FEWEST_LABELS:
        return UncorrectedDimension(
            f"{dimension} has {count_of(items, 'labelled item')}; {FEWEST_LABELS} are the fewest to learn from"
        )
    groups = len({label.unit for label in labels})
    if groups < FOLDS:
        return UncorrectedDimension(
            f"{dimension} has labels of {count_of(groups, 'group')}; {FOLDS} are the fewest to cross-validate with"
        )
    folds = split_folds(labels, seed)
    tried = [_held_out_pairs(labels, fold, scale, how) for fold in folds]
    given, fixed = [pair[0] for pair in tried], [pair[1] for pair in tried]
    before, after = figures_of(given), figures_of(fixed)
    reason = _no_help(dimension, tried, before, after)
    judges = sorted({label.judge for label in labels})
    if len(judges) > 1:
        weighed = try_panel(labels, scale, folds)
        if _clearly_better(weighed, given) if reason else _clearly_better(weighed, fixed, by=WORTH_A_PANEL):
            return Correction(
                scale=scale,
                knots=((scale.min, scale.min), (scale.max, scale.max)),
                judges={judge: JudgeCorrection(labels=sum(x.judge == judge for x in labels)) for judge in judges},
                labels=items,
                before=before,
                after=with_spread(figures_of(weighed), weighed),
                panel=learn_panel(labels, scale, folds),
            )
        if reason:
            reason += f"; {_no_panel(figures_of(weighed))}"
    if reason:
        return UncorrectedDimension(reason, before, after)
    best = learn_curve(labels, scale)
    return Correction(scale=scale, knots=best.knots, judges=dict(best.judges), labels=items, before=before, after=after)


def _by_agreement(dimension: str, given: Sequence[UnlabelledScore], scale: Scale) -> Correction | UncorrectedDimension:
    """Judges of verdicts held against each other, where people said nothing."""
    learned = learn_verdicts(given, scale)
    if isinstance(learned, str):
        return UncorrectedDimension(
            f"{dimension} has no label by people; {learned}. Give what people gave as `human`, of {FEWEST_LABELS} "
            "responses at least (`rubrica review sample` draws some for them)"
        )
    return Correction(
        scale=scale,
        knots=((scale.min, scale.min), (scale.max, scale.max)),
        judges={judge: JudgeCorrection() for judge in learned.judges},
        labels=0,
        panel=learned,
    )


def _no_panel(figures: CalibrationFigures) -> str:
    """What came of a learned panel that is not used."""
    rank = "no rank correlation" if figures.spearman is None else f"rank correlation {figures.spearman:.2f}"
    return (
        "nor does a learned panel of the judges clearly help there: "
        f"{rank}, mean absolute error {figures.mae:.3g}, root mean squared error {figures.rmse:.3g}"
    )


def _held_out_pairs(labels: Sequence[Label], fold: set[str], scale: Scale, how: Pool) -> tuple[Pairs, Pairs]:
    """The labels of one fold as the judges gave them, and corrected by what the other folds teach."""
    learned = learn_curve([label for label in labels if label.unit not in fold], scale)
    held_out = [label for label in labels if label.unit in fold]
    return pooled_pairs(held_out, None, how), pooled_pairs(held_out, learned, how)


def _clearly_better(weighed: Sequence[Pairs], other: Sequence[Pairs], by: float = 0.0) -> bool:
    """Whether a learned panel ranks items like people do, and errs less, by a share, than what it would replace."""
    pairs = [(mine, theirs) for a, b in zip(weighed, other, strict=True) for mine, theirs in zip(a, b, strict=True)]
    gains = [(b - human) ** 2 - (a - human) ** 2 for (a, human), (b, _) in pairs]
    rank = figures_of(weighed).spearman
    if rank is None or rank <= 1 / math.sqrt(len(gains) - 1):
        return False
    usual = fmean((value - human) ** 2 for fold in other for value, human in fold)
    return fmean(gains) > max(stdev(gains) / math.sqrt(len(gains)), by * usual)


def _no_help(
    dimension: str, tried: Sequence[tuple[Pairs, Pairs]], before: CalibrationFigures, after: CalibrationFigures
) -> str:
    """Why a correction is not worth having, in words; empty where it is."""
    gains = [
        (raw - human) ** 2 - (fixed - human) ** 2
        for given, corrected in tried
        for (raw, human), (fixed, _) in zip(given, corrected, strict=True)
    ]
    if before.spearman is None or before.spearman <= 1 / math.sqrt(len(gains) - 1):
        if before.spearman is not None and before.spearman < -1 / math.sqrt(len(gains) - 1):
            return (
                f"scores of {dimension} fall where people's rise (rank correlation {before.spearman:.2f}): check that "
                "the highest score is the best to the judge, and in the labels"
            )
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
