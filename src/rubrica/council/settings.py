"""How a council is set up: one YAML file, ``LLM_COUNCIL_*`` variables over it, and options over both."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from rubrica.engine.document import Document, read_document
from rubrica.errors import Problem, RubricaError, RubricError
from rubrica.hints import did_you_mean
from rubrica.llm.reasoning import Effort
from rubrica.model.bounds import LARGEST_NUMBER, Label
from rubrica.phrases import fault_words

from .member_access import MemberAccess
from .ranking import Pool
from .tiers import TIERS, Rounds, Seconds, Tier, TierChange, TierName, TokenLimit

Scoring = Literal["rubric", "holistic", "both"]
MOST_MEMBERS = 26
"""A letter labels each answer."""

WEIGHT_VARIABLE = "LLM_COUNCIL_WEIGHT_"
GATE_VARIABLE = "LLM_COUNCIL_SAFETY_GATE"
CAP_VARIABLE = "LLM_COUNCIL_SAFETY_SCORE_CAP"
TOLERANCE = 0.001
"""How far from 1 weights may sum to; they are then divided by their sum."""

_YES, _NO = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


def _several(value: object) -> object:
    if isinstance(value, str):
        return tuple(name for part in value.split(",") if (name := part.strip()))
    return value


class CouncilSettings(BaseModel):
    """Everything about a council but its question.

    >>> CouncilSettings(models="local:,openai:gpt-4o-mini").models
    ('local:', 'openai:gpt-4o-mini')
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    models: Annotated[tuple[Label, ...], BeforeValidator(_several)] = Field(
        (), max_length=MOST_MEMBERS, description="the members: each answers, and reviews the others"
    )
    chair: Label | None = Field(None, description="who writes the final answer; left out: whoever ranks best")
    rubric: Annotated[str, Field(max_length=1_000)] = Field(
        "auto", description="what members review by: a bundled rubric, a file, or auto: as the question asks for"
    )
    scoring: Scoring = Field("rubric", description="by rubric, by one score for the whole, or both side by side")
    pool: Pool = Field("mean", description="how reviewers' scores become one ranking")
    tier: TierName = Field("balanced", description="how long it may take: 20, 60, 180 or 600 seconds a stage")
    tiers: dict[TierName, TierChange] = Field({}, max_length=len(TIERS), description="what is different about a tier")
    deadline: Seconds | None = Field(None, description="seconds a stage; left out: as the tier says")
    quorum: int = Field(2, ge=1, le=MOST_MEMBERS, description="members that must answer for the council to go on")
    exclude_self: bool = Field(True, description="nobody reviews their own answer")
    safety_gate: bool = Field(False, description="cap the score of answers with unsafe statements")
    safety_score_cap: float = Field(
        0.0, ge=0, le=LARGEST_NUMBER, allow_inf_nan=False, description="what such an answer scores at most"
    )
    weights: dict[Label, Annotated[float, Field(ge=0, le=1)]] = Field(
        {}, max_length=200, description="by dimension, in place of the rubric's own"
    )
    reviewer_weights: dict[Label, Annotated[float, Field(ge=0, le=1_000)]] = Field(
        {}, max_length=1_000, description="by model, what its reviews count; `rubrica council learn` finds them"
    )
    seed: int | None = Field(None, ge=0, lt=2**63, description="of labels and orders; left out: a new one each time")
    max_tokens: TokenLimit | None = Field(None, description="of one answer; left out: as the tier says")
    review_tokens: TokenLimit | None = Field(None, description="of one review; left out: by the number of answers")
    final_tokens: TokenLimit | None = Field(None, description="of the final answer; left out: as the tier says")
    debate: Rounds | None = Field(
        None, description="rounds in which reviewers see each other's points; left out: as the tier says"
    )
    effort: Effort | None = Field(None, description="of models that reason; left out: as the tier says")
    early: bool | None = Field(
        None, description="stop asking reviewers once none can change the winner; left out: as the tier says"
    )
    longest_answer: int = Field(40_000, ge=1, le=10_000_000, description="characters that are used of an answer")
    access: tuple[MemberAccess, ...] = Field(
        (), max_length=MOST_MEMBERS + 1, description="keys and addresses of single members; `models` may hold them too"
    )

    @property
    def limits(self) -> Tier:
        """What this council may take: the tier, with what the settings make different."""
        change = self.tiers.get(self.tier, TierChange())
        own = {
            "seconds": _first(self.deadline, change.deadline),
            "tokens": _first(self.max_tokens, change.max_tokens),
            "final_tokens": _first(self.final_tokens, change.final_tokens),
            "review_tokens": _first(self.review_tokens, change.review_tokens),
            "debate": _first(self.debate, change.debate),
            "effort": _first(self.effort, change.effort),
            "early": _first(self.early, change.early),
        }
        return replace(TIERS[self.tier], **{name: value for name, value in own.items() if value is not None})

    @property
    def seconds(self) -> float:
        """The deadline of each stage."""
        return self.limits.seconds

    @property
    def tokens(self) -> int:
        """The most tokens of one answer."""
        return self.limits.tokens

    @property
    def everybody(self) -> tuple[str, ...]:
        """Every model that may be asked: the members, and a chair from outside."""
        outside = () if self.chair is None or self.chair in self.models else (self.chair,)
        return (*self.models, *outside)

    @property
    def roster(self) -> tuple[str, ...]:
        """Every model that may be asked at some tier."""
        others = (name for change in self.tiers.values() for name in change.models or ())
        return tuple(dict.fromkeys((*self.everybody, *others)))

    def access_of(self, name: str) -> MemberAccess | None:
        """The key and address of a member, where it has its own."""
        return next((one for one in self.access if one.title == name), None)

    def spec_of(self, name: str) -> str:
        """The model behind a member's name."""
        own = self.access_of(name)
        return name if own is None else own.model

    @model_validator(mode="before")
    @classmethod
    def _members_by_name(cls, given: Any) -> Any:
        """Members that are written with a key or an address, as names and their access."""
        if not isinstance(given, dict) or not isinstance(given.get("models"), list | tuple):
            return given
        written = [one for one in given["models"] if isinstance(one, dict)]
        if not written:
            return given
        names = [one.get("name") or one.get("model") if isinstance(one, dict) else one for one in given["models"]]
        return {**given, "models": names, "access": (*(given.get("access") or ()), *written)}

    @model_validator(mode="after")
    def _members_can_meet(self) -> Self:
        twice = next((name for at, name in enumerate(self.models) if name in self.models[:at]), None)
        if twice is not None:
            raise ValueError(f"models: {twice} is named twice")
        if len(self.models) > 1 and self.quorum > len(self.models):
            raise ValueError(
                f"quorum: {self.quorum} of {len(self.models)} models cannot answer (name more, or lower it)"
            )
        return self


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def load_council(
    file: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> CouncilSettings:
    """The settings that hold: a file's, variables over them, and options over both; None counts as not given.

    >>> load_council(environ={"LLM_COUNCIL_SAFETY_GATE": "true"}, options={"tier": "quick"}).safety_gate
    True
    """
    given, document = _from_file(file) if file is not None else ({}, Document({}, {}))
    variables = from_variables(os.environ if environ is None else environ)
    weights = {**(given.get("weights") or {}), **variables.pop("weights", {})}
    chosen = {name: value for name, value in (options or {}).items() if value is not None}
    whole = {**given, **variables, **({"weights": weights} if weights else {}), **chosen}
    tier = (whole.get("tiers") or {}).get(whole.get("tier", "balanced"))
    if isinstance(tier, dict) and tier.get("models") and "models" not in chosen:
        whole["models"] = tier["models"]
    try:
        return CouncilSettings.model_validate(whole)
    except ValidationError as error:
        faults = [Problem(_fault_message(fault), tuple(fault["loc"]), fix=_fix(fault)) for fault in error.errors()]
        raise RubricError([document.place(fault) for fault in faults]) from None


def from_variables(environ: Mapping[str, str]) -> dict[str, Any]:
    """What the environment sets. An empty variable counts as not set.

    >>> from_variables({"LLM_COUNCIL_WEIGHT_ACCURACY": "0.5", "LLM_COUNCIL_SAFETY_SCORE_CAP": "2"})
    {'safety_score_cap': 2.0, 'weights': {'accuracy': 0.5}}
    """
    found: dict[str, Any] = {}
    texts = {
        name: text for name, value in environ.items() if name.startswith("LLM_COUNCIL_") and (text := value.strip())
    }
    if GATE_VARIABLE in texts:
        found["safety_gate"] = _switch(GATE_VARIABLE, texts[GATE_VARIABLE])
    if CAP_VARIABLE in texts:
        found["safety_score_cap"] = _number(CAP_VARIABLE, texts[CAP_VARIABLE], most=math.inf)
    weights = {
        name.removeprefix(WEIGHT_VARIABLE).lower(): _number(name, text, most=1.0)
        for name, text in sorted(texts.items())
        if name.startswith(WEIGHT_VARIABLE)
    }
    return {**found, "weights": weights} if weights else found


def replace_weights(own: Mapping[str, float], chosen: Mapping[str, float]) -> dict[str, float]:
    """A rubric's weights with some of them replaced, checked to sum to 1.

    >>> replace_weights({"accuracy": 0.6, "clarity": 0.4}, {"accuracy": 0.7})
    Traceback (most recent call last):
    rubrica.errors.RubricaError: the council's weights sum to 1.1, not 1: accuracy 0.7, clarity 0.4 (set them all with \
LLM_COUNCIL_WEIGHT_ACCURACY, LLM_COUNCIL_WEIGHT_CLARITY or `weights`; 0 leaves a dimension out)
    """
    for name in chosen:
        if name not in own:
            hint = did_you_mean(name, own, f"it has {', '.join(own)}")
            variable = f"{WEIGHT_VARIABLE}{name.upper()}"
            raise RubricaError(f"{variable} (or `weights`): the rubric has no dimension {name}; {hint}")
    weights = {**own, **chosen}
    total = math.fsum(weights.values())
    if abs(total - 1) > TOLERANCE:
        shown = ", ".join(f"{name} {weight:g}" for name, weight in weights.items())
        variables = ", ".join(f"{WEIGHT_VARIABLE}{name.upper()}" for name in weights)
        raise RubricaError(
            f"the council's weights sum to {total:g}, not 1: {shown} (set them all with {variables} or `weights`; "
            "0 leaves a dimension out)"
        )
    return weights if abs(total - 1) < 1e-9 else {name: weight / total for name, weight in weights.items()}


def _from_file(file: Path) -> tuple[dict[str, Any], Document]:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise RubricaError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RubricaError(f"{file}: not UTF-8 text at byte {error.start}") from None
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return {}, Document({}, {})  # nothing but comments
    document = read_document(text, str(file))
    if not isinstance(document.data, dict):
        raise RubricError([Problem("settings are keys with values, such as `tier: quick`", file=str(file))])
    return {key: value for key, value in document.data.items() if value is not None}, document


def _switch(variable: str, text: str) -> bool:
    if text.lower() not in _YES + _NO:
        raise RubricaError(f"{variable}: {text!r} is neither true nor false (correct or unset it)")
    return text.lower() in _YES


def _number(variable: str, text: str, *, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and 0 <= number <= most):
        wanted = f"a number from 0 to {most:g}" if math.isfinite(most) else "a number from 0 up"
        raise RubricaError(f"{variable}: {text!r} is not {wanted} (correct or unset it)")
    return number


def _fault_message(fault: Any) -> str:
    if fault["type"] == "extra_forbidden":
        return "there is no such setting"
    return fault_words(fault)


def _fix(fault: Any) -> str:
    """The setting that was probably meant."""
    if fault["type"] != "extra_forbidden":
        return ""
    known = CouncilSettings.model_fields
    return did_you_mean(str(fault["loc"][-1]), known, f"there are {', '.join(known)}")
