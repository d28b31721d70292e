"""How a rubric decides: the score, gates and verdicts, profiles and sections, and what has no score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from .bounds import MOST_PROFILES, FormulaText, Label, Number, PositiveNumber, Prose, choice_words
from .rules import FROZEN, Amount, Name
from .scale import Scale

Weight = Annotated[float, Field(ge=0, le=1)]


class Verdict(BaseModel):
    """A label and the condition that earns it. Rules are tried from top to bottom; the last has no condition."""

    model_config = FROZEN

    label: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_ -]{0,39}$", max_length=40)] = Field(
        title="Verdict", description="letters, digits, spaces, - and _"
    )
    when: FormulaText | None = Field(None, title="If (left empty: in every other case)", description="the condition")
    because: Prose = Field("", description="the reason that is shown")


class Section(BaseModel):
    """A named group of dimensions with its own aggregate, on the rubric's out_of."""

    model_config = FROZEN

    title: Label = Field("", title="Title of the section", description="shown in place of the name")
    dimensions: Annotated[tuple[Name, ...], Field(min_length=1, max_length=200)] = Field(
        title="Dimensions in it", description="names of dimensions"
    )
    formula: FormulaText | None = Field(
        None, title="Score of the section", description="left out: the mean of its dimensions"
    )
    verdicts: tuple[Verdict, ...] = Field(
        (), max_length=100, description="rules that may read `section`, its own score"
    )


class Profile(BaseModel):
    """Weights and threshold for one type of question."""

    model_config = FROZEN

    title: Label = Field("", description="shown in place of the name")
    threshold: Number | None = Field(None, description="named `threshold` in formulas")
    weights: dict[Name, Weight] = Field({}, max_length=200, description="by dimension; left out: the dimensions' own")


class Profiles(BaseModel):
    """Profiles by the value of one context name: ``{by: question_type, FACTUAL: {…}, …}``."""

    model_config = ConfigDict(frozen=True, extra="allow", json_schema_extra={"maxProperties": MOST_PROFILES + 3})
    __pydantic_extra__: dict[Label, Profile] = Field(init=False)

    by: Annotated[str, Field(min_length=1, max_length=500)] = Field(
        title="Chosen by the context name",
        description="the context name whose value chooses; every other key is a profile",
    )
    default: Label | None = Field(
        None, title="Otherwise", description="the profile used when the context names none, or an unknown one"
    )
    classify: Literal["question_type"] | None = Field(
        None,
        title="Found from the prompt by",
        description="finds the profile from the prompt when the context names none, or an unknown one",
        json_schema_extra=choice_words("the classifier of question types"),
    )

    @property
    def named(self) -> Mapping[str, Profile]:
        return self.__pydantic_extra__ or {}

    def name_for(self, wanted: object) -> str | None:
        """The profile that a context names: as it is written, or else the only one that differs from it in case alone.

        >>> profiles = Profiles.model_validate({"by": "question_type", "FACTUAL": {}, "CREATIVE": {}})
        >>> profiles.name_for(" factual"), profiles.name_for("other"), profiles.name_for(None)
        ('FACTUAL', None, None)
        """
        if not isinstance(wanted, str):
            return None
        if wanted in self.named:
            return wanted
        folded = wanted.strip().casefold()
        alike = [name for name in self.named if name.casefold() == folded]
        return alike[0] if len(alike) == 1 else None

    @model_validator(mode="after")
    def _default_exists(self) -> Self:
        if not self.named:
            raise ValueError("no profile is listed under profiles")
        if len(self.named) > MOST_PROFILES:
            raise ValueError(f"{len(self.named)} profiles; at most {MOST_PROFILES}")
        if self.default is not None and self.default not in self.named:
            raise ValueError(f"the default profile {self.default!r} is not listed")
        return self


class ScoreSpec(BaseModel):
    """How dimension scores become one score."""

    model_config = FROZEN

    weighted: bool = Field(True, description="the weighted mean of the dimensions")
    points: bool = Field(
        False,
        title="In points",
        description="the points earned over the sum of the positive ones; goes with `points` on every dimension, or "
        "with criteria that bring their own",
    )
    clip: bool = Field(
        True, title="Never below 0", description="points: a score below 0 counts as 0; false lets it stand"
    )
    formula: FormulaText | None = Field(None, title="Score", description="over dimensions, on the rubric's scale")
    out_of: PositiveNumber = Field(1.0, title="Score out of", description="full marks")
    round: Annotated[int, Field(ge=0, le=9)] | None = Field(
        None, title="Decimals", description="decimals; what is shown is what decides"
    )

    @model_validator(mode="before")
    @classmethod
    def _formula_replaces_weights(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("weighted") is not None:
            return data
        if data.get("formula") is not None or data.get("points"):
            return {**data, "weighted": False}
        return data

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.weighted + self.points + (self.formula is not None) != 1:
            raise ValueError("score is one of weighted: true, points: true and a formula")
        if not self.clip and not self.points:
            raise ValueError("clip goes with points: true; other scores are never below 0")
        return self


class Gate(BaseModel):
    """A condition that caps the score, lifts it to a floor, or forces the verdict."""

    model_config = FROZEN

    name: Annotated[str, Field(min_length=1, max_length=500)] = Field(
        description="shown in the result; each gate has its own"
    )
    when: FormulaText = Field(title="If", description="the condition")
    cap: Amount | None = Field(
        None,
        title="Score (number or formula)",
        description="the score becomes at most this (number or formula, on out_of)",
    )
    floor: Amount | None = Field(
        None,
        title="Score (number or formula)",
        description="the score becomes at least this; caps win over floors",
    )
    verdict: Label | None = Field(None, description="the verdict becomes this, whatever the score")
    before: bool | FormulaText = Field(
        False,
        title="Checked before anything is scored",
        description="checked before anything is scored; a verdict then saves the scoring. Also a condition, such as "
        "the name of a setting: where it does not hold, the gate waits until everything is scored",
    )
    because: Prose = Field("", description="the reason that is shown")

    @model_validator(mode="after")
    def _one_effect(self) -> Self:
        if sum(effect is not None for effect in (self.cap, self.floor, self.verdict)) != 1:
            raise ValueError("a gate has exactly one of cap, floor, verdict")
        return self


class OnUnscored(BaseModel):
    """What follows when a dimension could not be scored.

    neutral: this value on its scale, at confidence 0. skip: its weight is shared out. inconclusive: nothing is
    assumed, so the verdict stands only where no possible value could change it.
    """

    model_config = FROZEN

    policy: Literal["neutral", "skip", "inconclusive"] = Field(
        "inconclusive",
        title="What cannot be scored",
        description="assume nothing, count a neutral value, or share the weight out",
        json_schema_extra=choice_words("count a neutral value", "share its weight out", "assume nothing"),
    )
    neutral: Number | None = Field(
        None, title="Neutral value", description="left out: the middle of the dimension's scale"
    )

    def value_on(self, scale: Scale) -> float:
        """The neutral value on a scale."""
        return (scale.min + scale.max) / 2 if self.neutral is None else scale.clamp(self.neutral)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"policy": data}
        if isinstance(data, dict) and "neutral" in data and "policy" not in data:
            return {"policy": "neutral", **data}
        return data
