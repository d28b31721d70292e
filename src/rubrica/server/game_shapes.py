"""What bodies and replies about games and players look like, for readers of the OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rubrica.games.attachments import LONGEST_DIMENSION, MOST_ATTACHED, AttachmentRequest, Weights
from rubrica.games.games import LONGEST_NAME

from .score_shapes import Bounds, DimensionShown, RuleShown

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Next = Annotated[str | None, Field(description="The cursor of the following page; null after the last one.")]
FAIR_PLAY = (
    "`reveal`: when others read a round (never, after_submit, after_close, always). `reports`: metrics that players "
    "may report; null: any. `clock`: whose time counts (server, reported). `missing`: what a metric costs that a "
    "rubric reads and nobody reported (worst, refuse, rubric)."
)
NOTHING: dict[str, Any] = {}


class NewGame(BaseModel):
    """A game to be made."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "Moth night", "config": {"rounds": 5}}]}
    )

    name: Name
    config: dict[str, Any] = Field(NOTHING, description="`game_config` of every context.")
    is_public: bool = Field(False, description="Otherwise it is there for you, its players and admins only.")
    fair_play: dict[str, Any] | None = Field(None, description=FAIR_PLAY)


class GameChange(BaseModel):
    """What shall be different. What is left out stays."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"is_public": True}]})

    name: Name | None = None
    config: dict[str, Any] | None = Field(None, description="Takes the place of the whole config.")
    is_public: bool | None = None
    fair_play: dict[str, Any] | None = Field(None, description=FAIR_PLAY)


class AttachmentShown(BaseModel):
    """A rubric in a game, at the version it was attached with."""

    id: UUID
    game_id: UUID
    evaluation_id: UUID
    version_id: UUID
    slug: str
    name: str
    version: str
    revision: int
    weight: float = Field(description="0 to 1; those of a game sum to 1.")
    dimension: str
    config_overrides: dict[str, Any]
    created_at: datetime


class GameRow(BaseModel):
    """A game."""

    id: UUID
    name: str
    config: dict[str, Any]
    is_public: bool
    created_by: UUID | None
    created_at: datetime
    fair_play: dict[str, Any] | None = Field(description=f"{FAIR_PLAY} null: made before there was a choice.")
    vouched_by: UUID | None = Field(description="An admin: the game counts across games whoever plays in it.")
    vouched_at: datetime | None


class GameShown(GameRow):
    """A game and what is attached to it."""

    evaluations: list[AttachmentShown]


class GamePage(BaseModel):
    """Games, the newest first."""

    items: list[GameRow]
    next: Next


class Attaching(BaseModel):
    """A rubric to be attached."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"evaluation_id": "speed-demon", "weight": 0.4, "dimension": "speed"}]},
    )

    evaluation_id: str = Field(min_length=1, max_length=200, description="An id, a slug, or slug@version.")
    weight: float = Field(1.0, description="0 to 1.", json_schema_extra={"minimum": 0, "maximum": 1})
    dimension: str | None = Field(None, max_length=LONGEST_DIMENSION, description="Left out: the slug.")
    config_overrides: dict[str, Any] | None = Field(
        None, description="A JSON merge patch (RFC 7396) on the definition; the result has to work."
    )
    version: str | None = Field(None, max_length=60, description="Left out: the newest. The game stays at it.")

    @model_validator(mode="before")
    @classmethod
    def _as_shown(cls, data: Any) -> Any:
        """What GET gives can be sent back."""
        read_only = AttachmentShown.model_fields.keys() - cls.model_fields.keys()
        return {k: v for k, v in data.items() if k not in read_only} if isinstance(data, dict) else data

    def request(self) -> AttachmentRequest:
        return AttachmentRequest(self.evaluation_id, self.weight, self.dimension, self.config_overrides, self.version)


class AttachingAll(BaseModel):
    """Rubrics to be attached."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "evaluations": [
                        {"evaluation_id": "speed-demon", "weight": 0.4, "dimension": "speed"},
                        {"evaluation_id": "norm-macdonald-classic", "weight": 0.6, "dimension": "style"},
                    ]
                }
            ]
        },
    )

    evaluations: list[Attaching] = Field(max_length=MOST_ATTACHED)
    weights: Weights = Field("exact", description="renormalise: scale all of the game's weights so that they sum to 1.")
    sum: Any = Field(None, exclude=True, description="As GET gives it; not looked at.")


class AttachingOne(Attaching):
    """One rubric to be attached."""

    weights: Weights = Field("exact", description="renormalise: scale all of the game's weights so that they sum to 1.")


class AttachedShown(BaseModel):
    """Everything that is attached to a game."""

    evaluations: list[AttachmentShown]
    sum: float = Field(description="Of the weights.")


class MissingShown(BaseModel):
    """An attached rubric that gave no score."""

    attachment_id: UUID
    evaluation: str
    dimension: str
    reason: str


class CompositeShown(BaseModel):
    """The weighted mean; a missing score leaves it open, and never becomes a number."""

    score: float | None
    by_dimension: dict[str, float | None]
    missing: list[MissingShown]
    bounds: Bounds = Field(description="The score lies between these.")


class RoundScore(BaseModel):
    """One score of a round."""

    id: UUID
    attachment_id: UUID
    evaluation_id: UUID
    evaluation: str = Field(description="Its slug.")
    version: str
    dimension: str
    weight: float
    raw_score: float | None
    normalized_score: float | None
    verdict: str
    reason: str
    rule_breakdown: list[RuleShown]
    dimension_scores: dict[str, DimensionShown]


class JudgedScore(RoundScore):
    """A new score of a round."""

    bounds: Bounds


class RoundJudged(BaseModel):
    """A round that was judged."""

    player_id: UUID
    player: str
    round_number: int
    scores: list[JudgedScore]
    composite: CompositeShown


class RoundsJudged(BaseModel):
    """What one request had judged."""

    game_id: UUID
    rounds: list[RoundJudged]
    complete: bool = Field(description="false: more kept rounds lack a score; ask again.")


class VoidShown(BaseModel):
    """That a round counts no more."""

    at: datetime
    by: UUID | None
    reason: str


class RoundRow(BaseModel):
    """A kept round."""

    player_id: UUID
    player: str
    round_number: int
    content: dict[str, Any] = Field(description="What was sent, with `entities_mentioned` and `patterns_detected`.")
    composite: CompositeShown
    created_at: datetime
    voided: VoidShown | None = Field(description="It counts no more, and why.")
    hidden: bool = Field(description="What was written is not for you to see yet.")


class RoundShown(RoundRow):
    """A kept round with its scores."""

    scores: list[RoundScore]


class RoundPage(BaseModel):
    """Rounds, player by player, each by number."""

    items: list[RoundRow]
    next: Next


class MeanShown(BaseModel):
    """A player's mean under one attached rubric."""

    attachment_id: UUID
    evaluation: str = Field(description="Its slug.")
    dimension: str
    weight: float
    method: str = Field(description="How players are compared, as the rubric's normalization says.")
    raw: float | None = Field(description="Points, over the rounds that have a score.")
    normalized: float | None = Field(description="As the method lays it out.")
    share: float | None = Field(description="0 to 1: what is weighed.")
    rounds: int
    open: int = Field(description="Rounds whose score is open.")


class LeaderboardEntry(BaseModel):
    """How one player stands. Equal scores share a rank: 1, 1, 3."""

    rank: int | None = Field(description="null: there is no score to rank by.")
    tied: bool
    player_id: UUID
    player: str
    score: float | None = Field(description="0 to 1: overall, or in the dimension that was asked for.")
    overall: float | None
    by_dimension: dict[str, float | None]
    rounds: int
    games: int
    missing: list[MissingShown]
    bounds: Bounds | None = Field(description="A composite lies between these, whatever becomes of open scores.")
    scores: list[MeanShown] = Field(description="By attached rubric, the raw figure beside the normalised one.")
    open: int = Field(description="Scores that are open; where there are any, what is told is provisional.")


class UncountedShown(BaseModel):
    """A game that does not count across games."""

    game_id: UUID
    name: str
    reason: str


class LeaderboardShown(BaseModel):
    """Who stands where."""

    by: str
    dimension: str | None
    dimensions: list[str]
    items: list[LeaderboardEntry]
    total: int = Field(description="Players, of whom the first are listed.")
    uncounted: list[UncountedShown] = Field(description="Across games: those that do not count, and why.")


class NewPlayer(BaseModel):
    """A player to be made."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "gpt-4o", "info": {"family": "gpt"}}]}
    )

    name: Name
    info: dict[str, Any] = Field(NOTHING, description="`player_info` of every context.")
    user: str | None = Field(None, max_length=100, description="The person behind it, by name; they may play as it.")


class PlayerShown(BaseModel):
    """Who plays."""

    id: UUID
    name: str
    info: dict[str, Any]
    user_id: UUID | None = Field(description="The person behind it; null: a model, or nobody with a key.")
    created_by: UUID | None
    created_at: datetime


class PlayerPage(BaseModel):
    """Players, the newest first."""

    items: list[PlayerShown]
    next: Next
