"""What replies about scores look like, for readers of the OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

Bounds = tuple[float, float]


class SpanShown(BaseModel):
    """A stretch of text that is evidence."""

    field: str = Field(description="Which text: response, prompt or history.")
    start: int
    end: int
    text: str = Field(description="The stretch itself, or its beginning.")
    label: str = Field("", description="What it is evidence of.")


class RuleShown(BaseModel):
    """What one rule gave or took, and why."""

    dimension: str
    rule: str
    type: str
    points: float
    reason: str
    category: str
    count: int
    spans: list[SpanShown]
    error: str | None = Field(None, description="Why the rule could not be applied; its points are then 0.")


class DimensionShown(BaseModel):
    """How one dimension came out."""

    model_config = ConfigDict(extra="allow")

    value: float | None = Field(description="On its own scale, from `low` to `high`.")
    share: float | None = Field(description="0 to 1.")
    status: str
    reason: str
    weight: float | None
    low: float
    high: float
    confidence: float
    parts: dict[str, Any] | None = None
    bounds: Bounds | None = Field(None, description="An offline score is only known within these.")


class ScoreRow(BaseModel):
    """A score as lists show it. It names the version it was made by."""

    id: UUID
    game_id: UUID | None
    player_id: UUID | None
    player: str | None = Field(description="The player's name.")
    evaluation_id: UUID
    evaluation: str = Field(description="Its slug.")
    version: str
    revision: int
    attachment_id: UUID | None = Field(description="What it was attached as, if it was part of a game.")
    round_number: int | None
    raw_score: float | None = Field(description="Points on the rubric's own count; null: it is open.")
    normalized_score: float | None = Field(description="0 to 1.")
    verdict: str
    created_by: UUID | None
    created_at: datetime


class ScorePage(BaseModel):
    """Scores, the newest first."""

    items: list[ScoreRow]
    next: str | None = Field(description="The cursor of the following page; null after the last one.")


class ScoreShown(ScoreRow):
    """A score with all that was kept of it."""

    rule_breakdown: list[RuleShown] = Field(description="Where every point came from.")
    dimension_scores: dict[str, DimensionShown]
    context_snapshot: dict[str, Any] = Field(
        description="The context as it was judged. Of a game's earlier rounds it has their numbers, and the scores "
        "they had then; the rounds themselves are under /api/games/{id}/rounds."
    )
    record: dict[str, Any] = Field(description="The whole evaluation.")


class ScoreMade(BaseModel):
    """A new score."""

    id: UUID
    game_id: UUID | None
    player_id: UUID | None
    evaluation_id: UUID
    evaluation: str = Field(description="Its slug.")
    version: str
    revision: int
    round_number: int | None
    raw_score: float | None = Field(description="Points on the rubric's own count; null: it is open.")
    normalized_score: float | None = Field(description="0 to 1.")
    bounds: Bounds = Field(description="The normalised score lies between these.")
    verdict: str
    reason: str = Field(description="Why this verdict.")
    rule_breakdown: list[RuleShown] = Field(description="Where every point came from.")
    dimension_scores: dict[str, DimensionShown]
    errors: list[str] = Field(description="Rules, gates and formulas that could not be applied.")
    notes: list[str] = Field(description="What was assumed.")
    offline: bool = Field(description="An offline scorer stood in for a judge.")
    created_at: datetime
