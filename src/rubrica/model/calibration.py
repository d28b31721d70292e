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


class JudgeCorrection(BaseModel):
    """What is known of one judge on one dimension."""

    model_config = FROZEN

    offset: Number = Field(0.0, description="added to its scores before the curve")
    weight: Annotated[FiniteFloat, Field(ge=0, le=LARGEST_NUMBER)] = Field(
        1.0, description="for pool: weighted; the mean judge has 1"
    )
    labels: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(0, description="labels of this judge")


class Correction(BaseModel):
    """The correction of one dimension, and how it did on labels it was not learned from."""

    model_config = FROZEN

    scale: Scale = Field(description="of the dimension when it was learned")
    knots: Annotated[tuple[tuple[Number, Number], ...], Field(min_length=1, max_length=1_000)] = Field(
        description="the curve: pairs of a score and what it becomes, straight in between"
    )
    judges: dict[Label, JudgeCorrection] = Field({}, max_length=200, description="by the judge's name")
    labels: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(description="labelled items it was learned from")
    before: CalibrationFigures = Field(description="how the judges' mean did")
    after: CalibrationFigures = Field(description="cross-validated")

    @model_validator(mode="after")
    def _rising(self) -> Self:
        for (x0, y0), (x1, y1) in pairwise(self.knots):
            if x1 <= x0 or y1 < y0:
                raise ValueError(f"the curve must rise: [{x1:g}, {y1:g}] cannot follow [{x0:g}, {y0:g}]")
        if not all(self.scale.holds(y) for _, y in self.knots):
            raise ValueError(f"the curve leaves the scale {self.scale}")
        return self


class Calibration(BaseModel):
    """Corrections by dimension: the `calibration:` block of a rubric."""

    model_config = FROZEN

    version: Annotated[int, Field(ge=1, le=1_000_000)] = Field(description="counts up with each calibration")
    date: datetime.date = Field(description="when it was learned")
    dimensions: Annotated[dict[Name, Correction], Field(min_length=1, max_length=1_000)] = Field(
        description="by dimension or part"
    )

    @property
    def weights(self) -> dict[str, dict[str, float]]:
        """Judge weights by dimension, as `Pooling` takes them."""
        return {
            name: {judge: known.weight for judge, known in correction.judges.items()}
            for name, correction in self.dimensions.items()
        }

    def __str__(self) -> str:
        return f"calibration {self.version} of {self.date}"
