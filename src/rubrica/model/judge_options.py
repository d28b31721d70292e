"""How judges are asked: modes and panels, notes and context for them, and how scores are made comparable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from .bounds import LONGEST_NOTE, MOST_JUDGES, MOST_NOTES, MOST_REPEATS, Label, Number, Prose, choice_words
from .rules import FROZEN, Name

MOST_BATCHED = 50


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
    pool: Literal["mean", "median", "trimmed", "weighted", "majority", "unanimous", "any"] = Field(
        "median",
        title="Votes become",
        description="how the votes of a panel become one value. Answers become the one of most judges (majority, and "
        "so by mean, median and trimmed), of most weight (weighted), the worst that was given (unanimous: the best "
        "needs all judges) or the best (any); scores are pooled by the median where one of these is named",
        json_schema_extra=choice_words(
            "mean", "median", "trimmed mean", "weighted", "the answer of most", "what all reach", "the best of any"
        ),
    )
    repeats: Annotated[int, Field(ge=1, le=MOST_REPEATS)] = Field(
        1, description="how often each judge is asked; `--repeats` wins"
    )
    deadline: Annotated[FiniteFloat, Field(gt=0, le=86_400)] | None = Field(
        None,
        title="Deadline, seconds",
        description="seconds that judging one response may take; what is not answered then is not scored",
    )
    reasons: Literal["full", "short"] = Field(
        "full",
        title="Reasons",
        description="how much a judge writes. full: up to 60 words for each score and, asked for all at once, remarks; "
        "short: up to 15 words and no remarks, which costs a fraction",
        json_schema_extra=choice_words("with remarks", "short"),
    )
    max_tokens: Annotated[int, Field(ge=16, le=200_000)] | None = Field(
        None,
        title="Tokens of a reply at most",
        description="with the thoughts of a model that reasons. Left out: by what is asked, and more for models that "
        "are known to reason",
    )
    effort: Literal["low", "medium", "high"] | None = Field(
        None,
        title="Effort",
        description="how long a model that reasons may think; others are asked without it. Left out: as the provider "
        "has it",
        json_schema_extra=choice_words("low", "medium", "high"),
    )
    batch: Annotated[int, Field(ge=1, le=MOST_BATCHED)] = Field(
        1,
        title="Dimensions a call",
        description="with `mode: each` or `yes_no`: how many dimensions, parts or criteria one call asks about. More "
        "is cheaper, and answers may drift towards each other: `rubrica agreement --against` tells how far",
    )
    stop: Literal["never", "decided"] = Field(
        "never",
        description="decided: do not pay for what cannot change the verdict",
        json_schema_extra=choice_words("ask for everything", "stop once the verdict is decided"),
    )
    issue_classes: dict[Name, Prose] = Field(
        {},
        max_length=20,
        title="Classes of issues",
        description="with `mode: together`: the judge begins each issue it reports with one of these, in brackets",
    )
    offline: Literal["bounds", "point"] | None = Field(
        None,
        title="Offline scores count",
        json_schema_extra=choice_words("as all within their bounds", "as their values"),
        description="what an offline score counts. bounds: all between the bounds of its `reliability`, so that the "
        "verdict stands only where no score within them could change it; point: its value alone. Left out: point, and "
        "bounds in the gateway and where `offline.uncertain` holds",
    )
    judged: Literal["bounds", "point"] | None = Field(
        None,
        title="Judged scores count",
        json_schema_extra=choice_words("as all within their bounds", "as their values"),
        description="what a judge's score counts, where `calibration.reliability` says how far people's lie from it. "
        "bounds: all that lies so far from it; point: its value alone. Left out: as `offline` says",
    )

    @property
    def bounds_judges(self) -> bool:
        """Whether a judge's score counts as all that people may have given in its place."""
        return (self.judged or self.offline) == "bounds"

    @property
    def one_by_one(self) -> bool:
        """Whether every dimension, or every batch of them, is a call of its own."""
        return self.mode in ("each", "yes_no")

    def calls_for(self, axes: int) -> int:
        """How many calls one judge takes at most, asked once about so many axes.

        >>> Judging(mode="each", batch=5).calls_for(12), Judging(mode="together").calls_for(12)
        (3, 1)
        """
        if self.stop == "decided":  # each may turn out to be asked about alone
            return axes
        return -(-axes // self.batch) if self.one_by_one else min(axes, 1)

    @model_validator(mode="after")
    def _batches_are_of_one_by_one(self) -> Self:
        if self.batch > 1 and not self.one_by_one:
            raise ValueError(f"batch goes with mode: each or yes_no; mode: {self.mode} asks about all at once anyway")
        return self


class Normalisation(BaseModel):
    """How a game's leaderboard compares the mean scores of its players."""

    model_config = FROZEN

    method: Literal["none", "percentage_of_max", "min_max", "log", "z_score"] = Field(
        "none",
        title="Scores are compared",
        description="how a game's leaderboard compares the mean scores of its players",
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
