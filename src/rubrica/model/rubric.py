"""The rubric document: dimensions, weights, gates and verdicts, as an author writes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints, model_validator

from .bounds import (
    LONGEST_NOTE,
    MOST_JUDGES,
    MOST_NOTES,
    MOST_PROFILES,
    MOST_REPEATS,
    FormulaText,
    Label,
    Number,
    PositiveNumber,
    Prose,
    choice_words,
)
from .calibration import Calibration
from .reliability import Reliability
from .rules import FROZEN, HOLDS_RULES, Amount, Name, Pattern, Rule
from .scale import Anchor, Scale, anchor_gaps, read_anchors

Weight = Annotated[float, Field(ge=0, le=1)]
Share = Annotated[float, Field(ge=0, le=1)]
ScorerKind = Literal["judge", "rules", "formula", "check", "parts"]


class Check(BaseModel):
    """One line of a checklist: a condition that should hold."""

    model_config = FROZEN

    name: Annotated[str, Field(min_length=1, max_length=500)] = Field(description="shown in the result")
    that: FormulaText = Field(title="Holds when", description="the condition")
    weight: PositiveNumber = Field(1.0, description="beside the other checks")
    otherwise: Prose = Field("", title="Otherwise, say", description="what to say when it does not hold")


class Recipe(BaseModel):
    """A way to score without a model: by rules, by one formula, or by a checklist."""

    model_config = HOLDS_RULES

    rules: tuple[Rule, ...] = Field((), max_length=1_000, description="each gives or takes points")
    start: Number = Field(0.0, description="points before any rule")
    scoring: Literal["cumulative", "proportional", "binary"] = Field(
        "cumulative",
        title="Points",
        description="cumulative: points add up on the scale; proportional: points as a share of those possible, "
        "spread over the scale; binary: full marks when the points reach win_at, else the lowest",
        json_schema_extra=choice_words("add up", "share of those possible", "all or nothing"),
    )
    possible: PositiveNumber | None = Field(None, description="proportional: points for full marks")
    win_at: Number | None = Field(
        None, title="Wins at", description="binary: points that win; left out, anything above 0 wins"
    )
    formula: FormulaText | None = Field(None, title="The score on the scale", description="the score on the scale")
    checks: tuple[Check, ...] = Field(
        (), max_length=500, description="conditions; the weighted share that holds is the score"
    )
    confidence: Share = Field(
        1.0, title="Confidence, 0 to 1", description="how far this way of scoring can be trusted, 0 to 1"
    )

    @property
    def kinds(self) -> list[ScorerKind]:
        """Which ways of scoring are written down here."""
        found: list[tuple[ScorerKind, bool]] = [
            ("rules", bool(self.rules)),
            ("formula", self.formula is not None),
            ("check", bool(self.checks)),
        ]
        return [kind for kind, given in found if given]


class Offline(Recipe):
    """What stands in for a judge when no model is configured. Results that used it say so."""

    reliability: tuple[Reliability, ...] = Field(
        (),
        max_length=100,
        description="how far the score can be trusted, by kind of text; the first kind that a text is of counts",
    )
    uncertain: FormulaText | None = Field(
        None, description="where this score cannot be relied on, such as `safety_uncertain`; goes with judge: uncertain"
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if len(self.kinds) != 1:
            raise ValueError("offline takes exactly one of rules, formula, checks")
        return self


class Axis(Recipe):
    """Anything scored on a scale: a dimension, or a part of one."""

    title: Label = Field("", description="shown in place of the name")
    asks: Prose = Field(
        "",
        title="What a judge is asked about the response",
        description="the question a judge answers about the response",
    )
    anchors: dict[Label, Prose] = Field(
        {}, max_length=100, description="what each range of the scale looks like: {9-10: …, 7-8: …}"
    )
    weight: Weight | None = Field(
        None, description="0 to 1; the weights of a rubric, or of a dimension's parts, sum to 1"
    )
    scorer: ScorerKind | None = Field(
        None,
        title="How it is scored",
        description="left out, it follows from the other keys",
        json_schema_extra=choice_words(
            "A judge answers a question",
            "Rules give and take points",
            "One formula",
            "A checklist",
            "Parts, weighed together",
        ),
    )
    looks: bool = Field(
        False,
        title="Judged by looking at the pictures",
        description="judged by looking at the pictures: where a judge cannot be shown them, this alone is not scored",
    )
    offline: Offline | None = Field(None, description="what stands in for a judge when there is none")
    judge: Literal["always", "uncertain"] = Field(
        "always",
        description="uncertain: code scores first, and a judge is asked only where `offline.uncertain` holds",
    )

    @property
    def kind(self) -> ScorerKind:
        """How this axis is scored; left out, it follows from what is written down, and is `judge` when nothing is."""
        return self.scorer or (self.kinds[0] if self.kinds else "judge")

    @cached_property
    def anchor_list(self) -> tuple[Anchor, ...]:
        return read_anchors(self.anchors)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if len(self.kinds) > 1:
            raise ValueError(f"scored in {len(self.kinds)} ways ({', '.join(self.kinds)}); keep one")
        if self.scorer in ("rules", "formula", "check") and self.kinds != [self.scorer]:
            block = "checks" if self.scorer == "check" else self.scorer
            raise ValueError(f"scorer: {self.scorer} needs a `{block}` block")
        if self.scorer == "judge" and self.kinds:
            raise ValueError(f"a judged dimension puts `{self.kinds[0]}` under `offline`")
        if self.offline and self.kind != "judge":
            raise ValueError("offline goes with scorer: judge; this is scored without a model already")
        if self.looks and self.kind != "judge":
            raise ValueError("looks goes with scorer: judge")
        told = self.offline is not None and self.offline.uncertain is not None
        if told != (self.judge == "uncertain"):
            raise ValueError("judge: uncertain and offline.uncertain, the formula that says where, go together")
        read_anchors(self.anchors)
        return self


class Part(Axis):
    """A weighted part of a dimension, scored on the dimension's scale."""


class Dimension(Axis):
    """A weighted axis of quality."""

    scale: Scale | None = Field(None, description="left out: the rubric's scale")
    parts: dict[Name, Part] = Field(
        {}, max_length=100, description="weighted parts, each scored on the dimension's scale"
    )
    applies: FormulaText | None = Field(
        None,
        title="Applies when (left empty: always)",
        description="when false the dimension has nothing to judge and its weight is shared out",
    )

    @property
    def kind(self) -> ScorerKind:
        return self.scorer or ("parts" if self.parts else super().kind)

    @model_validator(mode="after")
    def _parts_stand_alone(self) -> Self:
        if (self.scorer == "parts") != bool(self.parts) and (self.scorer == "parts" or self.kinds or self.scorer):
            raise ValueError("scorer: parts goes with a `parts` block, and a `parts` block with nothing else")
        return self


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

    @model_validator(mode="after")
    def _default_exists(self) -> Self:
        if not self.named:
            raise ValueError("no profile is listed under profiles")
        if len(self.named) > MOST_PROFILES:
            raise ValueError(f"{len(self.named)} profiles; at most {MOST_PROFILES}")
        if self.default is not None and self.default not in self.named:
            raise ValueError(f"the default profile {self.default!r} is not listed")
        return self


class Note(BaseModel):
    """What a judge is told besides the rubric for one kind of context. Written as plain text, it is the text."""

    model_config = FROZEN

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_NOTE)] = Field(
        title="What the judge is told", description="for the judge"
    )
    also: tuple[Label, ...] = Field(
        (), max_length=100, title="Also for", description="other values of the context that this note is for"
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        return {"text": data} if isinstance(data, str) else data


class Notes(BaseModel):
    """Notes for the judge by the value of one context name: ``{by: subject, mathematics: …, science: …}``."""

    model_config = ConfigDict(frozen=True, extra="allow", json_schema_extra={"maxProperties": MOST_NOTES + 1})
    __pydantic_extra__: dict[Label, Note] = Field(init=False)

    by: Annotated[str, Field(min_length=1, max_length=500)] = Field(
        title="Chosen by the context name",
        description="the context name whose value chooses, letter case aside; every other key is a note",
    )

    @property
    def named(self) -> Mapping[str, Note]:
        return self.__pydantic_extra__ or {}

    def find(self, value: Any) -> tuple[str, Note] | None:
        """The note for a value of the context, with its name; None where there is none.

        >>> Notes(by="subject", mathematics={"text": "Recalculate.", "also": ["math"]}).find("Math ")[0]
        'mathematics'
        """
        wanted = value.strip().casefold() if isinstance(value, str) else None
        for name, note in self.named.items():
            if wanted in (name.casefold(), *(other.casefold() for other in note.also)):
                return name, note
        return None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.named:
            raise ValueError("no note is listed under notes")
        if len(self.named) > MOST_NOTES:
            raise ValueError(f"{len(self.named)} notes; at most {MOST_NOTES}")
        return self


class ScoreSpec(BaseModel):
    """How dimension scores become one score."""

    model_config = FROZEN

    weighted: bool = Field(True, description="the weighted mean of the dimensions")
    formula: FormulaText | None = Field(None, title="Score", description="over dimensions, on the rubric's scale")
    out_of: PositiveNumber = Field(1.0, title="Score out of", description="full marks")
    round: Annotated[int, Field(ge=0, le=9)] | None = Field(
        None, title="Decimals", description="decimals; what is shown is what decides"
    )

    @model_validator(mode="before")
    @classmethod
    def _formula_replaces_weights(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("formula") is not None and data.get("weighted") is None:
            return {**data, "weighted": False}
        return data

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.weighted == (self.formula is not None):
            raise ValueError("score is either weighted: true or a formula")
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

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"policy": data}
        if isinstance(data, dict) and "neutral" in data and "policy" not in data:
            return {"policy": "neutral", **data}
        return data


class Judging(BaseModel):
    """How judges are asked."""

    model_config = FROZEN

    mode: Literal["each", "together", "listwise", "yes_no"] = Field(
        "each",
        title="Judges are asked by",
        description="one call per dimension, one call for all, several responses side by side, or one question per "
        "dimension that is answered yes or no",
        json_schema_extra=choice_words(
            "one call for each dimension", "one call for all", "responses side by side", "yes or no for each dimension"
        ),
    )
    panel: Annotated[int, Field(ge=1, le=MOST_JUDGES)] = Field(
        1, title="Judges at least", description="how many judges must be named at least"
    )
    pool: Literal["mean", "median", "trimmed", "weighted"] = Field(
        "median",
        title="Votes become",
        description="how the votes of a panel become one value",
        json_schema_extra=choice_words("mean", "median", "trimmed mean", "weighted"),
    )
    repeats: Annotated[int, Field(ge=1, le=MOST_REPEATS)] = Field(
        1, description="how often each judge is asked; `--repeats` wins"
    )
    deadline: Annotated[FiniteFloat, Field(gt=0, le=86_400)] | None = Field(
        None,
        title="Deadline, seconds",
        description="seconds that judging one response may take; what is not answered then is not scored",
    )
    stop: Literal["never", "decided"] = Field(
        "never",
        description="decided: do not pay for what cannot change the verdict",
        json_schema_extra=choice_words("ask for everything", "stop once the verdict is decided"),
    )
    offline: Literal["bounds", "point"] | None = Field(
        None,
        title="Offline scores count",
        json_schema_extra=choice_words("as all within their bounds", "as their values"),
        description="what an offline score counts. bounds: all between the bounds of its `reliability`, so that the "
        "verdict stands only where no score within them could change it; point: its value alone. Left out: point, and "
        "bounds in the gateway",
    )

    @property
    def one_by_one(self) -> bool:
        """Whether every dimension is a call of its own."""
        return self.mode in ("each", "yes_no")


class Normalisation(BaseModel):
    """How scores of several players or judges are made comparable."""

    model_config = FROZEN

    method: Literal["none", "percentage_of_max", "min_max", "log", "z_score"] = Field(
        "none",
        title="Scores are compared",
        description="how the scores of one game are laid out between 0 and 1",
        json_schema_extra=choice_words(
            "As they are",
            "As a share of the most",
            "From lowest to highest",
            "From lowest to highest, large leads shrunk",
            "By the distance from the mean",
        ),
    )
    apply_log: bool = Field(False, title="Shrink large leads first (logarithm)", description="take logarithms first")


class ContextName(BaseModel):
    """A name that the context gives a value to. Written as plain text, it must be given; the text says what it is."""

    model_config = FROZEN

    says: Prose = Field("", title="What it means", description="what the name means")
    default: Number | None = Field(None, title="When missing", description="the value when the context gives none")
    optional: bool = Field(
        False,
        title="May be absent",
        description="without a value it is absent: aggregates drop it, given(name) is false",
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        return {"says": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.optional and self.default is not None:
            raise ValueError("a name is either optional or has a default")
        return self


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
        Normalisation(), description="how scores of several players are to be compared"
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
        """Identifies the content: equal documents have equal hashes, however written or listed."""
        content = self.model_dump(mode="json", exclude_defaults=True, exclude={"category", "tags"})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def scale_of(self, dimension: str) -> Scale:
        return self.dimensions[dimension].scale or self.scale

    def with_settings(self, **settings: float | bool) -> Rubric:
        """The same rubric with some of its settings changed (and so with another hash)."""
        unknown = settings.keys() - self.settings.keys()
        if unknown:
            raise ValueError(f"{self.name} has no setting {sorted(unknown)[0]!r}; it has {sorted(self.settings)}")
        return self._changed(settings={**self.settings, **settings})

    def with_offline(self, offline: Literal["bounds", "point"]) -> Rubric:
        """The same rubric with offline scores taken as bounds, or as the points they are."""
        return self._changed(judging=self.judging.model_copy(update={"offline": offline}))

    def _changed(self, **changes: object) -> Rubric:
        fields = {name: getattr(self, name) for name in Rubric.model_fields}
        return Rubric.model_validate({**fields, **changes})

    @model_validator(mode="after")
    def _last_verdict_is_open(self) -> Self:
        if self.verdicts[-1].when is not None:
            raise ValueError("the last verdict must have no `when`, so that there always is one")
        return self


def coverage_problems(axis: Axis, scale: Scale) -> list[str]:
    """Holes and overlaps in an axis's anchors, in words."""
    return anchor_gaps(axis.anchor_list, scale) if axis.anchors else []
