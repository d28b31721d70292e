"""The rule types: what each one says in a rubric document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Self, Union, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    StringConstraints,
    Tag,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema

from rubrica.plugins import added

from .bounds import FormulaText, Label, Number, Prose, choice_words
from .evidence import Field as TextField

FROZEN = ConfigDict(frozen=True, extra="forbid")

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$", max_length=64)]
"""A name that formulas can read: a letter, then letters, digits and underscores."""

Match = Literal["word", "prefix", "substring"]
Amount = Number | FormulaText
"""A number, or a formula that yields one."""


class Pattern(BaseModel):
    """A regular expression (linear time: no lookaround, no backreferences) or a list of keywords.

    Keywords ignore case. A regex heeds it unless `ignore_case` is set.
    """

    model_config = FROZEN

    regex: Annotated[str, Field(max_length=10_000)] | None = Field(
        None, title="Pattern (RE2, linear time)", description="in the syntax of RE2"
    )
    keywords: tuple[Annotated[str, Field(min_length=1, max_length=500)], ...] = Field(
        (), max_length=10_000, description="words and phrases, in any case"
    )
    field: TextField = Field(
        "response",
        title="Where",
        description="the text it is looked for in",
        json_schema_extra=choice_words("in the prompt", "in the response", "in earlier replies"),
    )
    match: Match = Field(
        "word",
        description="keywords: whole words, word beginnings, or anywhere",
        json_schema_extra=choice_words("whole words", "beginnings of words", "anywhere"),
    )
    ignore_case: bool = Field(False, title="Any case", description="of a regex")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.regex is None) == (not self.keywords):
            raise ValueError("give either a regex or a list of keywords")
        return self


class CountedPattern(Pattern):
    """A pattern whose matches count."""

    name: Label = Field("", description="shown in the result")
    category: Label = Field("", description="kept in the result")
    count: Literal["once", "each", "capped"] = Field(
        "once",
        description="points once, per match, or per match up to at_most",
        json_schema_extra=choice_words("once", "for each match", "for each, up to"),
    )
    at_most: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        None, description="with `count: capped`, the matches that count"
    )

    @model_validator(mode="after")
    def _cap_given(self) -> Self:
        if (self.count == "capped") != (self.at_most is not None):
            raise ValueError("count: capped goes with at_most: N, and only with it")
        return self


class ScoredPattern(CountedPattern):
    """A pattern worth points when it is found."""

    score: Number = Field(title="Points", description="points when it is found")


class PenalisedPattern(CountedPattern):
    """A pattern that costs points when it is found."""

    penalty: Annotated[
        Number, Field(le=0, title="Points taken (below 0)", description="points taken, as a negative number")
    ]
    reason: Prose = Field("", title="Reason that is shown", description="the reason that is shown")


class RuleDocument(BaseModel):
    """What every rule says in a document: its type, and its name if it has one."""

    model_config = FROZEN

    type: str
    name: Label = ""


class PatternDetection(RuleDocument):
    """Points for patterns found in a text."""

    type: Literal["pattern_detection"]
    patterns: Annotated[tuple[ScoredPattern, ...], Field(min_length=1, max_length=1_000)]


class Penalty(RuleDocument):
    """Points taken for patterns found in a text, with a reason."""

    type: Literal["penalty"]
    patterns: Annotated[tuple[PenalisedPattern, ...], Field(min_length=1, max_length=1_000)]


class Threshold(BaseModel):
    """One row of a metric_threshold: a comparison or the default, and what it is worth."""

    model_config = FROZEN

    operator: Literal["<", "<=", ">", ">=", "==", "!="] | None = Field(None, title="If it is")
    value: Number | None = Field(None, title="than / to", description="what the metric is compared with")
    default: bool = Field(False, description="meets everything; comes last")
    score: Number | None = Field(None, title="Points", description="points")
    score_formula: FormulaText | None = Field(
        None, title="Points by formula", description="a formula that gives the points"
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.default == (self.operator is not None and self.value is not None):
            raise ValueError("a threshold is either {operator, value, ...} or {default: true, ...}")
        if (self.score is None) == (self.score_formula is None):
            raise ValueError("give either score or score_formula")
        return self


class MetricThreshold(RuleDocument):
    """Points by the first threshold that a metric meets; rows are tried from top to bottom."""

    type: Literal["metric_threshold"]
    metric: Annotated[str, Field(min_length=1, max_length=500)] = Field(
        title="Number to look at", description="a context name, a text feature or a named pattern"
    )
    thresholds: Annotated[tuple[Threshold, ...], Field(min_length=1, max_length=500)]

    @field_validator("thresholds")
    @classmethod
    def _default_last(cls, rows: tuple[Threshold, ...]) -> tuple[Threshold, ...]:
        if any(row.default for row in rows[:-1]):
            raise ValueError("the default row catches everything: put it last")
        return rows


class CrossRoundScoring(BaseModel):
    """Points per finding of a cross-round analysis; a finding that is left out is not looked for."""

    model_config = FROZEN

    callback_detected: Number = Field(0.0, title="Callback")
    escalation_detected: Number = Field(0.0, title="Escalation")
    consistency_bonus: Number = Field(0.0, title="Consistency")


class CrossRoundAnalysis(RuleDocument):
    """Points for how this round continues the player's earlier rounds.

    callback     at least `callback_items` tracked items of this round were also in an earlier round that lies
                 `callback_gap` or more rounds back (1 = the round before). Of a name, a part is enough: "Gerald"
                 recalls "Gerald Fitzwilliam". A metric: this round repeats a value.
    escalation   the tracked count (for years: the latest year; for a metric: its value) rose strictly over each of
                 the last `escalation_rounds` rounds, this one included.
    consistency  at least `consistency_share` of the earlier rounds share an item with this round. A metric: this
                 value is within `consistency_tolerance` (relative) of the earlier mean.
    """

    type: Literal["cross_round_analysis"]
    track: Annotated[
        str,
        Field(
            min_length=1,
            max_length=500,
            title="Track: entity_mentions, year_mentions or a metric",
            description="entity_mentions, year_mentions or the name of a custom metric",
        ),
    ]
    scoring: CrossRoundScoring = Field(description="points per finding")
    callback_items: Annotated[int, Field(ge=1, le=10_000)] = Field(
        1, title="Items that recur", description="items that must recur for a callback"
    )
    callback_gap: Annotated[int, Field(ge=1, le=10_000)] = Field(
        1, title="Rounds back", description="rounds that a callback must reach back, 1 being the round before"
    )
    escalation_rounds: Annotated[int, Field(ge=2, le=10_000)] = Field(
        2, title="Rounds that rise", description="rounds over which the level must rise, this one included"
    )
    consistency_share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, title="Share of rounds", description="share of earlier rounds that must share an item with this one"
    )
    consistency_tolerance: Annotated[float, Field(ge=0, le=1_000)] = Field(
        0.2,
        title="Tolerance",
        description="for a metric: how far from the earlier mean it may lie, relative to that mean",
    )


class CustomExpression(RuleDocument):
    """Points by a formula over the context."""

    type: Literal["custom_expression"]
    expression: FormulaText = Field(title="Points", description="a formula that gives the points")
    required_context: tuple[Label, ...] = Field(
        (),
        max_length=200,
        title="Names it cannot do without",
        description="names without which the rule is reported as not applied",
    )


class Adjust(RuleDocument):
    """Raises or lowers the score when a condition holds: ``{when: "word_count > 50", add: -0.2, because: …}``."""

    type: Literal["adjust"] = "adjust"
    when: FormulaText = Field("True", description="the condition; left out, it always holds")
    add: Amount = Field(title="Add (number or formula)", description="points, or a formula that gives them")
    because: Prose = Field("", description="the reason that is shown")


@dataclass(frozen=True)
class RuleShape:
    """A rule type as documents know it: the name under `type`, and the model that reads such a rule."""

    name: str
    document: type[RuleDocument]


RULE_DOCUMENTS: tuple[type[RuleDocument], ...] = (
    PatternDetection,
    Penalty,
    MetricThreshold,
    CrossRoundAnalysis,
    CustomExpression,
    Adjust,
)
"""Rubrica's own. `scorers.rule_table` has what each of them does."""


@cache
def rule_documents() -> Mapping[str, type[RuleDocument]]:
    """The models of every rule type by its name: Rubrica's own, and what installed packages add."""
    own = {get_args(document.model_fields["type"].annotation)[0]: document for document in RULE_DOCUMENTS}
    return {**own, **{name: kind.document for name, kind in added("rubrica.rules", RuleShape, own).items()}}


def rule_type(rule: Any) -> str:
    """The type that a rule of a document, or a rule that was read, says; one that says none adjusts."""
    kind = rule.get("type") if isinstance(rule, dict) else getattr(rule, "type", None)
    return str(kind or "adjust")


def _any_rule(source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ARG001
    kinds = tuple(Annotated[document, Tag(name)] for name, document in rule_documents().items())
    return handler.generate_schema(Annotated[Union[kinds], Discriminator(rule_type)])  # noqa: UP007 - made here


Rule = Annotated[RuleDocument, GetPydanticSchema(_any_rule)]
"""A rule of any type. Models that hold one are built when they are first used: installed packages may add types."""

HOLDS_RULES = ConfigDict(**FROZEN, defer_build=True)
