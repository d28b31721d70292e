"""The life of games: drafts, deadlines and limits, invitations, teams, seasons, tournaments, and kept standings."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

MOMENT = sa.DateTime(timezone=True)
SORTED_NAME = sa.String(255).with_variant(sa.String(255, collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("games", sa.Column("status", sa.String(10), nullable=False, server_default="open"))
    op.add_column("games", sa.Column("deadline", MOMENT))
    op.add_column("games", sa.Column("most_rounds", sa.Integer))
    op.add_column("games", sa.Column("most_players", sa.Integer))
    op.add_column("games", sa.Column("board_form", sa.Integer, nullable=False, server_default="0"))
    _create_life()
    _create_boards()


def _create_life() -> None:
    op.create_table(
        "game_invitations",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("game_session_id", sa.Uuid, sa.ForeignKey("games.id"), nullable=False),
        sa.Column("digest", sa.LargeBinary(32), unique=True),
        sa.Column("user_id", sa.Uuid, sa.ForeignKey("users.id")),
        sa.Column("most_uses", sa.Integer),
        sa.Column("uses", sa.Integer, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("revoked_at", MOMENT),
        sa.Column("created_by", sa.Uuid, sa.ForeignKey("users.id")),
        sa.Column("created_at", MOMENT, nullable=False),
    )
    op.create_index("ix_game_invitations_game_session_id", "game_invitations", ["game_session_id"])
    op.create_index("ix_game_invitations_user_id", "game_invitations", ["user_id"])
    op.create_table(
        "game_teams",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("game_session_id", sa.Uuid, sa.ForeignKey("games.id"), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.UniqueConstraint("game_session_id", "name"),
    )
    op.create_table(
        "game_team_players",
        sa.Column("game_session_id", sa.Uuid, sa.ForeignKey("games.id"), primary_key=True),
        sa.Column("player_id", sa.Uuid, sa.ForeignKey("players.id"), primary_key=True),
        sa.Column("team_id", sa.Uuid, sa.ForeignKey("game_teams.id"), nullable=False),
    )
    op.create_index("ix_game_team_players_team_id", "game_team_players", ["team_id"])
    op.create_table(
        "game_seasons",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("game_session_id", sa.Uuid, sa.ForeignKey("games.id"), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("starts_at", MOMENT, nullable=False),
        sa.Column("ends_at", MOMENT, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.UniqueConstraint("game_session_id", "name"),
        sa.CheckConstraint("starts_at < ends_at", name="order"),
    )
    op.create_table(
        "tournaments",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("game_session_id", sa.Uuid, sa.ForeignKey("games.id"), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("form", sa.String(20), nullable=False),
        sa.Column("rounds_per_match", sa.Integer, nullable=False),
        sa.Column("tiebreak", sa.String(20), nullable=False),
        sa.Column("entrants", sa.JSON, nullable=False),
        sa.Column("created_by", sa.Uuid, sa.ForeignKey("users.id")),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.CheckConstraint("form IN ('round_robin', 'elimination')", name="form"),
    )
    op.create_index("ix_tournaments_game_session_id", "tournaments", ["game_session_id"])


def _create_boards() -> None:
    op.create_table(
        "player_means",
        sa.Column("attachment_id", sa.Uuid, sa.ForeignKey("game_rubrics.id"), primary_key=True),
        sa.Column("player_id", sa.Uuid, sa.ForeignKey("players.id"), primary_key=True),
        sa.Column("game_session_id", sa.Uuid, sa.ForeignKey("games.id"), nullable=False),
        sa.Column("raw_mean", sa.Double),
        sa.Column("normalized_mean", sa.Double),
        sa.Column("rounds", sa.Integer, nullable=False),
        sa.Column("scored", sa.Integer, nullable=False),
        sa.Column("low", sa.Double, nullable=False),
        sa.Column("high", sa.Double, nullable=False),
    )
    op.create_index("ix_player_means_game_session_id", "player_means", ["game_session_id"])
    op.create_table(
        "standings",
        sa.Column("board_id", sa.Uuid, primary_key=True),
        sa.Column("way", sa.String(20), primary_key=True),
        sa.Column("player_id", sa.Uuid, sa.ForeignKey("players.id"), primary_key=True),
        sa.Column("game_session_id", sa.Uuid, sa.ForeignKey("games.id"), nullable=False),
        sa.Column("name", SORTED_NAME, nullable=False),
        sa.Column("rank_key", sa.Double, nullable=False),
        sa.Column("score", sa.Double),
        sa.Column("rounds", sa.Integer, nullable=False),
        sa.Column("totals", sa.JSON, nullable=False),
    )
    op.create_index("ix_standings_order", "standings", ["board_id", "way", "rank_key", "name", "player_id"])
