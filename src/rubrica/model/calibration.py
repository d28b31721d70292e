"""What calibration adds to a rubric: corrections of judges' scores, learned from human labels."""

from __future__ import annotations

import datetime
from itertools import pairwise
from typing import Annotated, Self

from pydantic import BaseModel, Field, FiniteFloat, model_validator

from .bounds import LARGEST_NUMBER, Label, Number
from .rules import FROZEN, Name
from .scale import Scale


class CalibrationFigures(BaseModel):
    """A judge or panel against people: errors on the dimension's scale, rank correlations from -1 to 1."""

    model_config = FROZEN

    mae: Number = Field(description="mean absolute error")
    rmse: Number = Field(description="root of the mean squared error")
    bias: Number = Field(description="mean of score minus label: above 0 is too kind")
    spearman: Number | None = Field(None, description="left out where scores or labels do not vary")
    kendall: Number | None = Field(None, description="the same by pairs (tau-b)")
    below: Annotated[Number, Field(ge=0)] | None = Field(
        None, description="how far people's scores lie below the score that counts; together with `above`, 90 % of them"
    )
    above: Annotated[Number, Field(ge=0)] | None = Field(None, description="how far they lie above it")


class JudgeCorrection(BaseModel):
    """What is known of one judge on one dimension."""

    model_config = FROZEN

    offset: Number = Field(0.0, description="added to its scores before the curve")
    weight: Annotated[FiniteFloat, Field(ge=0, le=LARGEST_NUMBER)] = Field(
        1.0, description="for pool: weighted; the mean judge has 1"
    )
    labels: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(0, description="labels of this judge")


class JudgeWeight(BaseModel):
    """What one judge of a learned panel counts."""

    model_config = FROZEN

    weight: Number = Field(description="below 0 where the judge is mostly wrong")
    centre: Number = Field(0.0, description="its own mean: only the distance from it counts")


class LearnedPanel(BaseModel):
    """Judges put together as labels taught: the level, plus each weight times a score's distance from its centre."""

    model_config = FROZEN

    level: Number = Field(0.0, description="the value where every judge is at its centre")
    judges: Annotated[dict[Label, JudgeWeight], Field(min_length=1, max_length=200)] = Field(
        description="by the judge's name"
    )


class PanelTrial(BaseModel):
    """How ways to put judges together did on labels they were not learned from."""

    model_config = FROZEN

    mean: Number = Field(description="of all judges alike")
    best: Number = Field(description="of the one judge that looked best on the labels it was chosen by")
    learned: Number = Field(description="of the learned panel")


class RaterEffect(BaseModel):
    """How one person rates, next to all others."""

    model_config = FROZEN

    offset: Number = Field(description="above 0 is kinder than the others about the same responses")
    spread: Annotated[FiniteFloat, Field(gt=0, le=LARGEST_NUMBER)] = Field(
        1.0, description="how far the person's ratings lie apart, next to those of the others"
    )
    labels: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(0, description="ratings of this person")


class RaterFigures(BaseModel):
    """How well scores tell what each single person gave: as they are, and with what is known of that person."""

    model_config = FROZEN

    spearman: Number | None = Field(None, description="with every person's own ratings")
    adjusted: Number | None = Field(
        None, description="the same with each person's harshness and spread, cross-validated"
    )
    alpha: Number | None = Field(None, description="Krippendorff's, of the people among each other")
    alpha_adjusted: Number | None = Field(None, description="the same without their harshness and spread")


class DimensionRaters(BaseModel):
    """The people who gave the labels of one dimension. Told, and kept in no rubric: others read those."""

    model_config = FROZEN

    level: Number = Field(0.0, description="what people give on average")
    raters: dict[Label, RaterEffect] = Field({}, max_length=2_000, description="by the name of the person")
    shared: Annotated[int, Field(ge=0)] = Field(0, description="responses that several of them rated")
    figures: RaterFigures = Field(RaterFigures(), description="agreement with and without them")


class Correction(BaseModel):
    """The correction of one dimension, and how it did on labels it was not learned from."""

    model_config = FROZEN

    scale: Scale = Field(description="of the dimension when it was learned")
    knots: Annotated[tuple[tuple[Number, Number], ...], Field(min_length=1, max_length=1_000)] = Field(
        description="the curve: pairs of a score and what it becomes, straight in between"
    )
    judges: dict[Label, JudgeCorrection] = Field({}, max_length=200, description="by the judge's name")
    labels: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(
        description="labelled items it was learned from; 0: judges of verdicts were only held against each other"
    )
    before: CalibrationFigures | None = Field(
        None, description="how the judges' mean did; absent where nobody labelled any"
    )
    after: CalibrationFigures | None = Field(None, description="cross-validated; absent where nobody labelled any")
    panel: LearnedPanel | None = Field(None, description="used in place of `judging.pool` where it did better")

    @model_validator(mode="after")
    def _rising(self) -> Self:
        for (x0, y0), (x1, y1) in pairwise(self.knots):
            if x1 <= x0 or y1 < y0:
                raise ValueError(f"the curve must rise: [{x1:g}, {y1:g}] cannot follow [{x0:g}, {y0:g}]")
        if not all(self.scale.holds(y) for _, y in self.knots):
            raise ValueError(f"the curve leaves the scale {self.scale}")
        return self


class ChoiceWeights(BaseModel):
    """What each judge's choice between two responses counts."""

    model_config = FROZEN

    judges: Annotated[dict[Label, Number], Field(min_length=1, max_length=200)] = Field(
        description="weight by the judge's name; below 0 where its choices are mostly wrong"
    )
    labels: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(description="labelled pairs it was learned from")
    right: PanelTrial | None = Field(None, description="share of right choices; absent where nobody labelled any")


class Calibration(BaseModel):
    """Corrections by dimension: the `calibration:` block of a rubric."""

    model_config = FROZEN

    version: Annotated[int, Field(ge=1, le=1_000_000)] = Field(description="counts up with each calibration")
    date: datetime.date = Field(description="when it was learned")
    dimensions: Annotated[dict[Name, Correction], Field(max_length=1_000)] = Field(
        {}, description="by dimension or part"
    )
    choices: ChoiceWeights | None = Field(None, description="for choices between responses (`rubrica prefer`)")
    reliability: Annotated[
        dict[Name, Annotated[dict[Label, CalibrationFigures], Field(max_length=200)]], Field(max_length=1_000)
    ] = Field({}, description="by dimension and judge: each alone against people, as it gave its scores")

    @property
    def weights(self) -> dict[str, dict[str, float]]:
        """Judge weights by dimension, as `Pooling` takes them."""
        return {
            name: {judge: known.weight for judge, known in correction.judges.items()}
            for name, correction in self.dimensions.items()
        }

    @property
    def panels(self) -> dict[str, LearnedPanel]:
        """The learned panels by dimension."""
        return {name: own.panel for name, own in self.dimensions.items() if own.panel is not None}

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.dimensions and self.choices is None and not self.reliability:
            raise ValueError("a calibration corrects a dimension, weighs choices or says how reliable judges are")
        return self

    def __str__(self) -> str:
        return f"calibration {self.version} of {self.date}"
