"""The tables of a game's life: invitations, teams, seasons, tournaments, and who stands where."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    UniqueConstraint,
    Uuid,
)

from .columns import Document, UtcDateTime
from .tables import metadata

SORTED_NAME = String(255).with_variant(String(255, collation="C"), "postgresql")
"""A name that is sorted the same way everywhere."""

game_invitations = Table(
    "game_invitations",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("game_session_id", ForeignKey("games.id"), nullable=False, index=True),
    Column("digest", LargeBinary(32), unique=True),  # of a link's token, which is kept nowhere; None: for one person
    Column("user_id", ForeignKey("users.id"), index=True),  # whom it names; None: whoever has the link
    Column("most_uses", Integer),  # None: no limit
    Column("uses", Integer, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
    Column("created_by", ForeignKey("users.id")),
    Column("created_at", UtcDateTime, nullable=False),
)

game_teams = Table(
    "game_teams",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("game_session_id", ForeignKey("games.id"), nullable=False),
    Column("name", String(100), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("game_session_id", "name"),
)

game_team_players = Table(
    "game_team_players",  # the key lets a player be in one team of a game only
    metadata,
    Column("game_session_id", ForeignKey("games.id"), primary_key=True),
    Column("player_id", ForeignKey("players.id"), primary_key=True),
    Column("team_id", ForeignKey("game_teams.id"), nullable=False, index=True),
)

game_seasons = Table(
    "game_seasons",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("game_session_id", ForeignKey("games.id"), nullable=False),
    Column("name", String(100), nullable=False),
    Column("starts_at", UtcDateTime, nullable=False),
    Column("ends_at", UtcDateTime, nullable=False),  # rounds from then on are not of this season
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("game_session_id", "name"),
    CheckConstraint("starts_at < ends_at", name="order"),
)

tournaments = Table(
    "tournaments",  # who meets whom, and who wins, follows from the rounds that are played
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("game_session_id", ForeignKey("games.id"), nullable=False, index=True),
    Column("name", String(100), nullable=False),
    Column("form", String(20), nullable=False),
    Column("rounds_per_match", Integer, nullable=False),
    Column("tiebreak", String(20), nullable=False),
    Column("entrants", Document, nullable=False),  # ids of players, the strongest first
    Column("created_by", ForeignKey("users.id")),
    Column("created_at", UtcDateTime, nullable=False),  # rounds count from then on
    CheckConstraint("form IN ('round_robin', 'elimination')", name="form"),
)

player_means = Table(
    "player_means",  # what one attached rubric gave one player, over all rounds
    metadata,
    Column("attachment_id", ForeignKey("game_rubrics.id"), primary_key=True),
    Column("player_id", ForeignKey("players.id"), primary_key=True),
    Column("game_session_id", ForeignKey("games.id"), nullable=False, index=True),
    Column("raw_mean", Double),
    Column("normalized_mean", Double),
    Column("rounds", Integer, nullable=False),
    Column("scored", Integer, nullable=False),
    Column("low", Double, nullable=False),  # the normalised mean over all rounds lies between these
    Column("high", Double, nullable=False),
)

standings = Table(
    "standings",
    metadata,
    Column("board_id", Uuid, primary_key=True),  # a game, or one of its seasons
    Column("way", String(20), primary_key=True),  # how scores come about
    Column("player_id", ForeignKey("players.id"), primary_key=True),
    Column("game_session_id", ForeignKey("games.id"), nullable=False),
    Column("name", SORTED_NAME, nullable=False),  # of the player
    Column("rank_key", Double, nullable=False),  # the score below zero; infinity: there is none
    Column("score", Double),
    Column("rounds", Integer, nullable=False),
    Column("totals", Document, nullable=False),  # everything a leaderboard says of the player
)
Index("ix_standings_order", *(standings.c[name] for name in ("board_id", "way", "rank_key", "name", "player_id")))
