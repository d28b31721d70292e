"""How a gateway is set up: one YAML file, or the options of the command line over it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from rubrica.engine.document import read_document
from rubrica.errors import Problem, RubricError
from rubrica.model.bounds import MOST_JUDGES, Label, Number, PositiveNumber

from .controls import TIERS, Allowance
from .deployment_settings import MOST_DEPLOYMENTS, CooldownSettings, DeploymentSettings, TierModels, tier_models
from .limits import DollarLimits, ModelPrice, TeamName, UsageLimits

Seconds = Annotated[float, Field(gt=0, le=3600)]
Share = Annotated[float, Field(ge=0, le=1)]
Days = Annotated[float, Field(ge=1, le=36_500)]
Origin = Annotated[str, Field(max_length=300, pattern=r"^https?://[A-Za-z0-9.\-\[\]:]+$")]
EMBEDDED = "local:"
NAMED = ("auto", *TIERS, "council")
"""What an alias may stand for, beside a model."""

ModelName = Annotated[str, Field(max_length=1_000)]
"""A model, a rubric or a file, as it is named in a setting."""


def _several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _not_empty(deployments: tuple[DeploymentSettings, ...]) -> tuple[DeploymentSettings, ...]:
    if not deployments:
        raise ValueError("a tier has at least one deployment")
    return deployments


_ONE, _SEVERAL = "one model", "deployments"
TierChoice = Annotated[
    Annotated[ModelName, Tag(_ONE)]
    | Annotated[
        tuple[DeploymentSettings, ...], Field(max_length=MOST_DEPLOYMENTS), AfterValidator(_not_empty), Tag(_SEVERAL)
    ],
    Discriminator(lambda value: _SEVERAL if isinstance(value, list | tuple) else _ONE),
]
"""One model, or several that stand in for each other."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GradingSettings(_Part):
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
        Label, Annotated[tuple[ModelName, ...], Field(min_length=1, max_length=MOST_JUDGES), BeforeValidator(_several)]
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


class ClassifierSettings(_Part):
    """How question types are told apart."""

    model: ModelName | None = Field(
        None,
        description="asked where the offline classifier is not sure; left out: nobody is",
        examples=["anthropic:claude-haiku-4-5"],
    )
    sure_from: Share = Field(0.55, description="the offline classifier's own confidence from which it decides alone")
    remembered: int = Field(10_000, ge=0, le=10_000_000, description="questions whose type is kept in memory")


class CacheSettings(_Part):
    """Answers that are given again."""

    exact: bool = Field(True, description="answer equal requests once: those at temperature 0, and those that ask")
    entries: int = Field(2_000, ge=1, le=1_000_000, description="answers kept in memory")
    seconds: Seconds = Field(3600.0, description="how long an answer may be given again")
    shared: bool = Field(False, description="give answers again to other keys than the one that asked for them first")
    semantic: bool = Field(
        False,
        description="also answer the same question in other dress: capitals, white space, contractions, greetings",
    )


class RecordSettings(_Part):
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


class PatienceSettings(_Part):
    """How long a tier may take for an answer, or for the first word of a stream, with all its attempts."""

    tier0: Seconds = Field(
        30.0, description="seconds; then tier-1 is asked. A provider that asks for a longer pause is not waited for"
    )
    tier1: Seconds | None = Field(None, description="seconds; left out: as long as any call may take", examples=[120])


class TracingSettings(_Part):
    """Traces of requests. OTEL_EXPORTER_OTLP_ENDPOINT in the environment sends them to a collector."""

    langfuse: bool = Field(False, description="send them to Langfuse, too, by LANGFUSE_PUBLIC_KEY and its others")
    texts: bool = Field(False, description="send prompts and answers along, personal data and keys masked")


class ShadowSettings(_Part):
    """Finding out what both tiers' answers are worth, to learn what sending tier-0's costs in quality."""

    share: Share = Field(0.0, description="of requests; whoever was not asked is asked after the client has its answer")
    grader: Annotated[tuple[ModelName, ...], BeforeValidator(_several)] = Field(
        (),
        max_length=MOST_JUDGES,
        description="who grades what is compared, best another model than the grader; none: the grader, once more",
        examples=["openai:gpt-4o"],
    )


class LearnedGateSettings(_Part):
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


class ExperimentSettings(_Part):
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


class GatewayCouncilSettings(_Part):
    """Who answers requests for the model `council`: all of them together."""

    models: Annotated[tuple[ModelName, ...], BeforeValidator(_several)] = Field(
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
    tier: Literal["quick", "balanced", "high", "reasoning"] | None = Field(
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


class GatewaySettings(_Part):
    """Everything about a gateway. Without keys and options it runs offline, on the embedded model.

    >>> GatewaySettings().tier0, GatewaySettings().tier1
    ('local:', None)
    """

    tier0: TierChoice = Field(
        EMBEDDED,
        description="the cheap model, asked first; or a list of deployments that stand in for each other, such as "
        "[{model: openai:gpt-4o-mini, weight: 2}, {model: openai:gpt-4o-mini, key_env: OTHER_KEY, order: 1}]",
    )
    tier1: TierChoice | None = Field(
        None,
        description="the better model, or a list; left out: there is none to escalate to",
        examples=["anthropic:claude-sonnet-4-5"],
    )
    tiers: tuple[TierChoice, ...] = Field(
        (),
        max_length=len(TIERS),
        description="in place of tier0 and tier1: any number, the cheapest first. Each is graded; the last answers "
        "what none of them does",
        examples=[["openai:gpt-4o-mini", "anthropic:claude-haiku-4-5", "anthropic:claude-sonnet-4-5"]],
    )
    grader: Annotated[tuple[ModelName, ...], BeforeValidator(_several)] = Field(
        (),
        max_length=MOST_JUDGES,
        description="a model that grades, or several as a panel; none: offline scorers do",
        examples=["anthropic:claude-haiku-4-5"],
    )
    patience: PatienceSettings = PatienceSettings()
    cooldown: CooldownSettings = CooldownSettings()
    grading: GradingSettings = GradingSettings()
    classifier: ClassifierSettings = ClassifierSettings()
    cache: CacheSettings = CacheSettings()
    records: RecordSettings = RecordSettings()
    tracing: TracingSettings = TracingSettings()
    shadow: ShadowSettings = ShadowSettings()
    learned_gate: LearnedGateSettings = LearnedGateSettings()
    experiment: ExperimentSettings | None = None
    council: GatewayCouncilSettings = GatewayCouncilSettings()
    aliases: dict[Label, ModelName] = Field(
        {},
        max_length=1_000,
        description="names to ask for, and what they stand for: auto, tier-0, tier-1, council, or a model",
        examples=[{"gpt-4": "auto", "fast": "tier-0"}],
    )
    embeddings: ModelName | None = Field(
        None,
        description="who answers /v1/embeddings, by OpenAI's protocol; left out: nobody",
        examples=["openai:text-embedding-3-small"],
    )
    budget: BudgetSettings = BudgetSettings()
    prices: dict[ModelName, ModelPrice] = Field(
        {},
        max_length=1_000,
        description="your own, by model, in US dollars for a million tokens; they win over the list",
        examples=[{"openai:my-model": {"input": 1.0, "output": 3.0, "cached_input": 0.1}}],
    )
    teams: dict[TeamName, UsageLimits] = Field(
        {},
        max_length=10_000,
        description="what all keys of a team may use together (rubrica keys allow --team)",
        examples=[{"research": {"usd_per_month": 200, "requests_per_minute": 600}}],
    )
    allowance: Allowance = Field(Allowance(), description="of keys that have none of their own")
    max_body: int = Field(
        20_000_000, ge=1_000, le=1_000_000_000, description="most bytes of a request; pictures come within it"
    )
    cors: Annotated[tuple[Origin, ...], BeforeValidator(_several)] = Field(
        (),
        max_length=100,
        description="origins whose web pages may use the gateway from a browser; none: no page may",
        examples=[["https://app.example"]],
    )
    keep_alive: Seconds = Field(10.0, description="seconds between signs of life while a stream waits for its grade")

    @field_validator("aliases")
    @classmethod
    def _stand_for_something(cls, aliases: dict[str, str]) -> dict[str, str]:
        unknown = [f"{name}: {meant}" for name, meant in aliases.items() if ":" not in meant and meant not in NAMED]
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: an alias stands for {', '.join(NAMED)} or PROVIDER:MODEL")
        return aliases

    @property
    def middle(self) -> tuple[TierModels, ...]:
        """The tiers between tier0 and tier1, which are the first and the last."""
        return self.tiers[1:-1]

    @model_validator(mode="before")
    @classmethod
    def _first_and_last(cls, data: Any) -> Any:
        """With `tiers`, the first is tier0 and the last tier1."""
        tiers = data.get("tiers") if isinstance(data, dict) else None
        if not tiers or not isinstance(tiers, list | tuple):
            return data
        if data.get("tier0") is not None or data.get("tier1") is not None:
            raise ValueError("tiers stands in place of tier0 and tier1: leave those out")
        if len(tiers) < 2:
            raise ValueError("tiers has at least two; tier0 is for one alone")
        return {**data, "tier0": tiers[0], "tier1": tiers[-1]}

    @property
    def models(self) -> list[str]:
        """Every model that is named here, but for the council's."""
        tiers = tier_models(self.tier0, *self.middle, self.tier1)
        others = [self.embeddings] if self.embeddings is not None else []
        return list(dict.fromkeys([*tiers, *self.judges, *self.shadow.grader, *others]))

    @property
    def judges(self) -> list[str]:
        """The models that classify and grade."""
        graders = [*self.grader, *(name for names in self.grading.graders.values() for name in names)]
        return [self.classifier.model, *graders] if self.classifier.model is not None else graders

    @property
    def limits_spending(self) -> bool:
        """Whether anything here does."""
        return any(one.limits_spending for one in (self.budget, self.allowance, *self.teams.values()))

    @model_validator(mode="after")
    def _team_is_known(self) -> Self:
        if self.allowance.team is not None and self.allowance.team not in self.teams:
            raise ValueError(f"allowance.team: there is no team {self.allowance.team!r} (name it under `teams`)")
        return self

    @model_validator(mode="after")
    def _gate_has_records(self) -> Self:
        if self.learned_gate.points is None:
            return self
        if self.shadow.share == 0:
            raise ValueError("learned_gate learns from compared requests: set shadow.share, such as 0.1")
        if self.middle:
            raise ValueError("learned_gate promises what it measures, which is about two tiers: leave one of them out")
        if self.experiment is not None:
            raise ValueError("learned_gate and experiment cannot go together: one changes what the other measures")
        return self


def settings_from_text(text: str, file: str | None = None) -> GatewaySettings:
    """Settings from YAML text; a RubricError lists everything that cannot be used, with its line."""
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return GatewaySettings()  # nothing but comments
    document = read_document(text, file)
    if not isinstance(document.data, dict):
        raise RubricError([Problem("settings are keys with values, such as `tier0: openai:gpt-4o-mini`", file=file)])
    try:
        return GatewaySettings.model_validate(_drop_empty(document.data))
    except ValidationError as error:
        faults = [
            Problem(_fault_message(fault), _place(fault), fix=_fix(fault))
            for fault in error.errors()
            if not fault["loc"] or fault["loc"][0] in document.data  # not what `tiers` tells already
        ]
        raise RubricError([document.place(fault) for fault in faults]) from None


def _drop_empty(data: Any) -> Any:
    """What has a value: a key with nothing behind it is as good as left out."""
    if not isinstance(data, dict):
        return data
    return {key: _drop_empty(value) for key, value in data.items() if value is not None}


def _fault_message(fault: Any) -> str:
    known = "there is no such setting" if fault["type"] == "extra_forbidden" else None
    return known or str(fault["msg"]).removeprefix("Value error, ")


def _place(fault: Any) -> tuple[str | int, ...]:
    """Where in the file a fault is."""
    return tuple(step for step in fault["loc"] if step not in (_ONE, _SEVERAL))


def _fix(fault: Any) -> str:
    """The setting that was probably meant."""
    if fault["type"] != "extra_forbidden":
        return ""
    model: Any = GatewaySettings
    for step in _place(fault)[:-1]:
        if step in model.model_fields:  # else the key of a team, or the number of a deployment
            model = _model_in(model.model_fields[step].annotation)
    near = get_close_matches(str(fault["loc"][-1]), model.model_fields, n=1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(model.model_fields)}"


def _model_in(kind: Any) -> Any:
    """The group of settings that an annotation holds, however deep."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    return next((found for one in get_args(kind) if (found := _model_in(one)) is not None), None)
