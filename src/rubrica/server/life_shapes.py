"""What bodies and replies about a game's invitations, teams, seasons and tournaments look like."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from rubrica.games.games import LONGEST_NAME
from rubrica.games.invitations import DAYS, LONGEST_DAYS
from rubrica.games.schedule import MatchState
from rubrica.games.teams import LONGEST_TEAM
from rubrica.games.tournaments import MOST_ENTRANTS, MOST_MATCH_ROUNDS
from rubrica.store.tournaments import Tiebreak, TournamentForm

Title = Annotated[str, Field(min_length=1, max_length=LONGEST_TEAM)]


class GameCopy(BaseModel):
    """What a copy shall be called."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(None, min_length=1, max_length=LONGEST_NAME, description="Left out: Copy of …")


class NewInvitationBody(BaseModel):
    """Whom to invite, and for how long."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"most_uses": 10, "days": 2}]})

    user: str | None = Field(None, max_length=100, description="One person, by name. Left out: a link.")
    most_uses: int | None = Field(None, ge=1, le=1_000_000, description="Of a link; null: no limit.")
    days: float = Field(DAYS, gt=0, le=LONGEST_DAYS, description="Until it expires.")


class InvitationShown(BaseModel):
    """An invitation."""

    id: UUID
    game_id: UUID
    game: str
    user: str | None = Field(description="Whom it names; null: whoever has the link.")
    most_uses: int | None
    uses: int
    expires_at: datetime
    revoked_at: datetime | None
    created_by: UUID | None
    created_at: datetime


class InvitationMade(InvitationShown):
    """A new invitation."""

    token: str | None = Field(description="Of a link; it is told this once.")
    link: str | None = Field(description="The page where it is accepted.")


class InvitationList(BaseModel):
    """Invitations, the newest first."""

    items: list[InvitationShown]


class Acceptance(BaseModel):
    """Which invitation is accepted: a link's by its token, one's own by its id."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"token": "3sV…"}]})

    token: str | None = Field(None, max_length=200)
    id: UUID | None = None


class AcceptedShown(BaseModel):
    """A game that an invitation led to."""

    game_id: UUID
    game: str
    player_id: UUID
    player: str


class NewTeam(BaseModel):
    """A team to be made."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Moths"}]})

    name: Title


class TeamShown(BaseModel):
    """A team."""

    id: UUID
    game_id: UUID
    name: str
    created_at: datetime


class TeamRow(BaseModel):
    """How a team stands."""

    rank: int | None = Field(description="null: there is no score to rank by.")
    team_id: UUID
    team: str
    score: float | None = Field(description="The mean over its players who have a score.")
    players: int
    scored: int = Field(description="Players who have a score.")
    rounds: int


class TeamList(BaseModel):
    """Teams in their order."""

    items: list[TeamRow]


class TeamChoice(BaseModel):
    """Which team a player is put into."""

    model_config = ConfigDict(extra="forbid")

    team: str | None = Field(max_length=LONGEST_TEAM, description="Its id or name; null: none.")


class NewSeason(BaseModel):
    """A season to be made."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"name": "Spring", "starts_at": "2026-03-01T00:00:00Z", "ends_at": "2026-06-01T00:00:00Z"}]
        },
    )

    name: Title
    starts_at: datetime
    ends_at: datetime = Field(description="Rounds from then on are not of this season.")


class SeasonShown(BaseModel):
    """A season."""

    id: UUID
    game_id: UUID
    name: str
    starts_at: datetime
    ends_at: datetime
    created_at: datetime


class SeasonList(BaseModel):
    """Seasons, the latest first."""

    items: list[SeasonShown]


class NewTournament(BaseModel):
    """A tournament to be made."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Cup", "size": 8}]})

    name: Title
    form: TournamentForm = "elimination"
    rounds_per_match: int = Field(1, ge=1, le=MOST_MATCH_ROUNDS)
    tiebreak: Tiebreak | None = Field(None, description="Left out: next_round; draw in a round robin.")
    entrants: list[str] = Field(
        default_factory=list,
        max_length=MOST_ENTRANTS,
        description="Players by id or name, the strongest first. Left out: the best of the leaderboard.",
    )
    size: int = Field(8, ge=2, le=MOST_ENTRANTS, description="How many of the best, where nobody is named.")


class MatchShown(BaseModel):
    """Two who meet."""

    stage: int
    home: str | None
    away: str | None
    state: MatchState
    winner: str | None = Field(description="null in a match that is decided: a draw.")
    home_score: float | None
    away_score: float | None
    reason: str


class TableRowShown(BaseModel):
    """How one stands in a round robin."""

    player: str
    points: float
    won: int
    drawn: int
    lost: int


class TournamentShown(BaseModel):
    """A tournament, how far it is, and who has won."""

    id: UUID
    name: str
    form: TournamentForm
    rounds_per_match: int
    tiebreak: Tiebreak
    created_at: datetime
    entrants: list[str]
    matches: list[MatchShown]
    table: list[TableRowShown]
    winner: str | None
    finished: bool


class TournamentList(BaseModel):
    """Tournaments, the newest first."""

    items: list[TournamentShown]
