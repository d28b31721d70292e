"""The groups of a gateway's settings, each about one thing."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from rubrica.model.bounds import MOST_JUDGES, Label, Number, PositiveNumber

from .limits import DollarLimits

Seconds = Annotated[float, Field(gt=0, le=3600)]
Share = Annotated[float, Field(ge=0, le=1)]
Days = Annotated[float, Field(ge=1, le=36_500)]
ModelName = Annotated[str, Field(max_length=1_000)]
"""A model, a rubric or a file, as it is named in a setting."""


def several(value: object) -> object:
    """One name as a list of one."""
    return (value,) if isinstance(value, str) else value


class SettingGroup(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class GradingSettings(SettingGroup):
    """How tier-0's answers are graded."""

    rubric: ModelName = Field(
        "answer-quality", description="a bundled rubric or a file; its profiles are question types"
    )
    mode: Literal["each", "together"] = Field(
        "together", description="all dimensions in one call, or each in a call of its own, at several times the cost"
    )
    stop: Literal["never", "decided"] | None = Field(
        None,
        examples=["decided"],
        description="decided: ask judges only while they can change the verdict; left out: as the rubric says",
    )
    offline: Literal["bounds", "point"] | None = Field(
        None,
        examples=["point"],
        description="without a grader. bounds: an answer passes only where no score that people give such texts would "
        "fail it; point: by the offline values alone. Left out: as the rubric says, bounds where it says nothing",
    )
    deadline: Seconds = Field(20.0, description="seconds; an answer that is not graded by then counts as failed")
    characters: int = Field(
        20_000,
        ge=1_000,
        le=1_000_000,
        description="of a question and of an answer that judges are shown; of longer ones their head and tail. Rules, "
        "gates and safety read the whole answer",
    )
    graders: dict[
        Label, Annotated[tuple[ModelName, ...], Field(min_length=1, max_length=MOST_JUDGES), BeforeValidator(several)]
    ] = Field(
        {},
        max_length=200,
        description="by question type, in place of `grader`",
        examples=[{"TECHNICAL": ["anthropic:claude-sonnet-4-5"]}],
    )
    thresholds: dict[Label, Number] = Field(
        {}, max_length=200, description="by question type, in place of the rubric's own"
    )
    unsafe: Literal["refuse", "mark"] = Field(
        "refuse",
        description="what is sent where a gate vetoes every answer: a refusal, or tier-0's answer, marked as degraded",
    )
    ungraded: Literal["tier-0", "tier-1"] = Field(
        "tier-1", description="who answers what cannot be graded: several answers at once, sound"
    )


class ClassifierSettings(SettingGroup):
    """How question types are told apart."""

    model: ModelName | None = Field(
        None,
        description="asked where the offline classifier is not sure; left out: nobody is",
        examples=["anthropic:claude-haiku-4-5"],
    )
    sure_from: Share = Field(0.55, description="the offline classifier's own confidence from which it decides alone")
    remembered: int = Field(10_000, ge=0, le=10_000_000, description="questions whose type is kept in memory")


class CacheSettings(SettingGroup):
    """Answers that are given again."""

    exact: bool = Field(True, description="answer equal requests once: those at temperature 0, and those that ask")
    entries: int = Field(2_000, ge=1, le=1_000_000, description="answers kept in memory")
    seconds: Seconds = Field(3600.0, description="how long an answer may be given again")
    shared: bool = Field(False, description="give answers again to other keys than the one that asked for them first")
    semantic: bool = Field(
        False,
        description="also answer the same question in other dress: capitals, white space, contractions, greetings",
    )
    database: bool | None = Field(
        None,
        description="share answers between workers and machines through the database; left out: where "
        "`records.prompts: keep` lets texts be kept there",
        examples=[True],
    )


class RecordSettings(SettingGroup):
    """What is kept of each request."""

    prompts: Literal["keep", "hash", "drop"] = Field("hash", description="personal data is masked in what is kept")
    waiting: int = Field(
        10_000, ge=1, le=1_000_000, description="records that may wait to be written; more are counted and dropped"
    )
    days: Days | None = Field(None, examples=[90], description="after which records are deleted; left out: never")
    text_days: Days | None = Field(
        None,
        examples=[14],
        description="after which prompts, answers and comments are deleted; left out: with the record",
    )


class PatienceSettings(SettingGroup):
    """How long a tier may take for an answer, or for the first word of a stream, with all its attempts."""

    tier0: Seconds = Field(
        30.0, description="seconds; then tier-1 is asked. A provider that asks for a longer pause is not waited for"
    )
    tier1: Seconds | None = Field(None, description="seconds; left out: as long as any call may take", examples=[120])


class HedgeSettings(SettingGroup):
    """Asking somebody else as well where a tier has not begun to answer; the first answer is taken, both are paid."""

    tier0: Seconds | None = Field(
        None,
        description="seconds; then its next deployment is asked, or tier-1 where it has but one. Left out: nobody is",
        examples=[4],
    )
    tier1: Seconds | None = Field(
        None, description="seconds; then its next deployment is asked, of which it has to have several", examples=[10]
    )


class TracingSettings(SettingGroup):
    """Traces of requests. OTEL_EXPORTER_OTLP_ENDPOINT in the environment sends them to a collector."""

    langfuse: bool = Field(False, description="send them to Langfuse, too, by LANGFUSE_PUBLIC_KEY and its others")
    texts: bool = Field(False, description="send prompts and answers along, personal data and keys masked")


class ShadowSettings(SettingGroup):
    """Finding out what both tiers' answers are worth, to learn what sending tier-0's costs in quality."""

    share: Share = Field(0.0, description="of requests; whoever was not asked is asked after the client has its answer")
    grader: Annotated[tuple[ModelName, ...], BeforeValidator(several)] = Field(
        (),
        max_length=MOST_JUDGES,
        description="who grades what is compared, best another model than the grader; none: the grader, once more",
        examples=["openai:gpt-4o"],
    )


class LearnedGateSettings(SettingGroup):
    """Doing without the grade, or without tier-0, where the records show that it can be done."""

    points: Annotated[float, Field(gt=0, le=50)] | None = Field(
        None,
        examples=[1.0],
        description="of 100 that answers may lose on average against asking tier-1 always; left out: all are graded",
    )
    confidence: Annotated[float, Field(ge=0.5, le=0.999)] = Field(
        0.95, description="the probability with which that holds, for traffic like the recorded"
    )
    days: Annotated[float, Field(gt=0, le=3650)] = Field(30.0, description="of records that it is learnt from")
    every: Seconds = Field(600.0, description="seconds until the records are looked at again")


class ExperimentSettings(SettingGroup):
    """Another rubric for a share of the traffic, compared with the first."""

    name: str = Field("b", min_length=1, max_length=40, description="of the other arm; the first is called a")
    rubric: ModelName = Field(description="a bundled rubric or a file", examples=["other-weights.yaml"])
    share: Share = Field(0.5, description="of requests; a conversation stays in one arm")

    @field_validator("name")
    @classmethod
    def _not_the_first(cls, name: str) -> str:
        if name == "a":
            raise ValueError("the first arm is called a; choose another name")
        return name


class GatewayCouncilSettings(SettingGroup):
    """Who answers requests for the model `council`: all of them together."""

    models: Annotated[tuple[ModelName, ...], BeforeValidator(several)] = Field(
        (),
        max_length=MOST_JUDGES,
        description="two or more; none: there is no such model",
        examples=[["openai:gpt-4o-mini", "anthropic:claude-haiku-4-5"]],
    )
    chair: ModelName | None = Field(
        None,
        description="who of them writes the final answer; left out: whoever ranks best",
        examples=["anthropic:claude-haiku-4-5"],
    )
    tier: Literal["quick", "balanced", "high"] | None = Field(
        None, description="20, 60 or 180 seconds for each of its three stages; left out: 60", examples=["quick"]
    )
    config: ModelName | None = Field(
        None, description="a council.yaml with all else; what stands here wins over it", examples=["council.yaml"]
    )


class BudgetSettings(DollarLimits):
    """What may be spent by all keys together."""

    usd_per_day: PositiveNumber | None = Field(
        None, description="US dollars a day (UTC) by all keys together; later requests are refused", examples=[50]
    )
    usd_per_month: PositiveNumber | None = Field(
        None, description="US dollars a calendar month (UTC) by all keys together", examples=[1000]
    )
    unpriced: Literal["refuse", "allow"] = Field(
        "refuse", description="models without a known price where anything limits spending; allow: they count as 0"
    )
    answer_tokens: int = Field(
        8_192,
        ge=1,
        le=1_000_000,
        description="reserved for an answer before it is asked for, where a request sets no limit to it",
    )
