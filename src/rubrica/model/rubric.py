"""The rubric document, as an author writes it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, StringConstraints, model_validator

from .bounds import Label, Number, Prose
from .calibration import Calibration
from .decisions import Gate, OnUnscored, Profiles, ScoreSpec, Section, Verdict
from .dimensions import Dimension
from .judge_options import ContextName, Judging, Normalisation, Notes
from .rules import HOLDS_RULES, Name, Pattern
from .scale import Scale

Share = Annotated[float, Field(ge=0, le=1)]


class Rubric(BaseModel):
    """A versioned, immutable definition of quality for one kind of output."""

    model_config = HOLDS_RULES

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", max_length=64)] = Field(
        description="lower-case letters, digits and hyphens"
    )
    version: Annotated[str, StringConstraints(pattern=r"^\d+(\.\d+){0,2}([-+][0-9A-Za-z.-]+)?$", max_length=100)] = (
        Field("1.0.0", description="one to three numbers")
    )
    title: Label = Field("", description="shown in place of the name")
    description: Prose = Field(
        "",
        title="What good means here, in a sentence or two",
        description="what good means here, in a sentence or two",
    )
    category: Label = Field("", description="for lists")
    tags: tuple[Label, ...] = Field((), max_length=100, description="for lists")
    scale: Scale = Field(Scale(), description="what dimensions are scored on; 0 to 1 when left out")
    dimensions: Annotated[dict[Name, Dimension], Field(min_length=1, max_length=200)] = Field(
        description="at least one"
    )
    sections: dict[Name, Section] = Field({}, max_length=100, description="named groups of dimensions")
    threshold: Number | None = Field(None, description="named `threshold` in formulas; profiles may set their own")
    profiles: Profiles | None = Field(None, description="weights and thresholds by a value of the context")
    score: ScoreSpec = Field(ScoreSpec(), description="how dimensions become one score")
    bands: dict[Label, Share] = Field(
        {}, max_length=100, description="quality levels by the share of full marks they start at"
    )
    gates: tuple[Gate, ...] = Field(
        (), max_length=200, description="conditions that cap the score, lift it or force the verdict"
    )
    verdicts: Annotated[tuple[Verdict, ...], Field(min_length=1, max_length=100)] = Field(
        description="tried from top to bottom; the last has no condition"
    )
    on_unscored: OnUnscored = Field(OnUnscored(), description="also written as one word: `on_unscored: skip`")
    judging: Judging = Field(Judging(), description="how judges are asked")
    notes: Notes | None = Field(None, description="what judges are told besides, by a value of the context")
    normalization: Normalisation = Field(
        Normalisation(), description="how a game's leaderboard compares the scores of its players"
    )
    calibration: Calibration | None = Field(None, description="corrections of judges, from `rubrica calibrate`")
    settings: dict[Name, Number | bool] = Field(
        {}, max_length=1_000, description="named numbers that formulas read and users may set"
    )
    patterns: dict[Name, Pattern] = Field(
        {}, max_length=1_000, description="named patterns; in a formula the name is the number of matches"
    )
    context: Annotated[dict[Name, ContextName], Field(max_length=1_000)] | None = Field(
        None,
        description="the context names formulas may read, with what they mean; given, other names are refused",
    )

    @property
    def display_title(self) -> str:
        return self.title or self.name

    @property
    def reference(self) -> str:
        return f"{self.name}@{self.version}"

    @cached_property
    def hash(self) -> str:
        """Identifies the content: equal documents have equal hashes, whatever their formatting and order."""
        content = self.model_dump(mode="json", exclude_defaults=True, exclude={"category", "tags"})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def scale_of(self, dimension: str) -> Scale:
        found = self.dimensions[dimension]
        return found.scale or (Scale() if found.filled_from is not None else self.scale)

    @cached_property
    def axis_scales(self) -> Mapping[str, Scale]:
        """The scale of every dimension and of every part, by name."""
        every = ((names[-1], name) for name, spec in self.dimensions.items() for names, _ in spec.every(name))
        return {axis: self.scale_of(dimension) for axis, dimension in every}

    @property
    def criteria_scale(self) -> Scale | None:
        """The scale of criteria that a case brings; None where the rubric reads none."""
        return next((self.scale_of(name) for name, spec in self.dimensions.items() if spec.filled_from), None)

    def with_settings(self, **settings: float | bool) -> Rubric:
        """The same rubric with some of its settings changed (and so with another hash)."""
        unknown = settings.keys() - self.settings.keys()
        if unknown:
            raise ValueError(f"{self.name} has no setting {sorted(unknown)[0]!r}; it has {sorted(self.settings)}")
        return self._changed(settings={**self.settings, **settings})

    def with_offline(self, offline: Literal["bounds", "point"]) -> Rubric:
        """The same rubric with offline scores taken as bounds, or as the points they are."""
        return self._changed(judging=self.judging.model_copy(update={"offline": offline}))

    def scored_in_full(self) -> Rubric:
        """The same rubric with every dimension scored, even if the verdict is already decided."""
        if self.judging.stop == "never":
            return self
        return self._changed(judging=self.judging.model_copy(update={"stop": "never"}))

    def _changed(self, **changes: object) -> Rubric:
        fields = {name: getattr(self, name) for name in Rubric.model_fields}
        return Rubric.model_validate({**fields, **changes})

    @model_validator(mode="after")
    def _last_verdict_is_open(self) -> Self:
        if self.verdicts[-1].when is not None:
            raise ValueError("the last verdict must have no `when`, so that there always is one")
        return self
