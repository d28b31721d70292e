"""What bodies and replies about fair play in games look like, for readers of the OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from rubrica.games.rounds import LONGEST_REASON
from rubrica.games.submission import HIGHEST_NUMBER

from .score_shapes import Bounds


class RoundStarting(BaseModel):
    """A round to be begun."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"player": "ann"}]})

    player: str | None = Field(None, max_length=255, description="An id or a name; left out: you.")
    round_number: int | None = Field(None, ge=1, le=HIGHEST_NUMBER, description="Left out: the next.")


class RoundBegun(BaseModel):
    """A round that was begun."""

    token: UUID = Field(description="What the round is submitted with.")
    player_id: UUID
    player: str
    round_number: int
    started_at: datetime


class RoundVoiding(BaseModel):
    """Why a round counts no more."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "copied from a rival"}]})

    reason: str = Field(min_length=1, max_length=LONGEST_REASON)


class Vouching(BaseModel):
    """Whether a game counts across games whoever plays in it."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"vouched": True}]})

    vouched: bool


class RatingShown(BaseModel):
    """How strong one player is, by who did better in rounds of the same number."""

    player_id: UUID
    player: str
    mean: float | None = Field(description="Of the composites, 0 to 1.")
    elo: float
    elo_bounds: Bounds = Field(description="95 %.")
    bradley_terry: float = Field(description="On Elo's scale: 400 points are odds of 10 to 1; the mean is 1500.")
    bradley_terry_bounds: Bounds = Field(description="95 %.")
    wins: int
    ties: int
    losses: int
    rounds: int
    provisional: bool = Field(description="Fewer rounds than a rating takes to mean something.")


class RatingsShown(BaseModel):
    """The players of a game, the strongest first."""

    items: list[RatingShown]
    unrated: int = Field(description="Players beyond those that are compared.")
