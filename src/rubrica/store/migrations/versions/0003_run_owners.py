"""Who owns runs and who may see them, who reviews them, and which players joined which games."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "run_access",
        sa.Column("run", sa.String(255), nullable=False),
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("owner_id", sa.Uuid),
        sa.Column("sharing", sa.String(10), nullable=False),
        sa.Column("review_sharing", sa.String(10), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.CheckConstraint("sharing IN ('private', 'shared')", name=op.f("ck_run_access_sharing")),
        sa.CheckConstraint("review_sharing IN ('private', 'shared')", name=op.f("ck_run_access_review_sharing")),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_run_access_owner_id"),
        sa.PrimaryKeyConstraint("run", name="pk_run_access"),
    )
    op.create_index("ix_run_access_owner", "run_access", ["owner_id"])

    op.create_table(
        "run_reviewers",
        sa.Column("run", sa.String(255), nullable=False),
        sa.Column("user_id", sa.Uuid, nullable=False),
        sa.ForeignKeyConstraint(["run"], ["run_access.run"], name="fk_run_reviewers_run"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_run_reviewers_user_id"),
        sa.PrimaryKeyConstraint("run", "user_id", name="pk_run_reviewers"),
    )

    op.create_table(
        "game_players",
        sa.Column("game_session_id", sa.Uuid, nullable=False),
        sa.Column("player_id", sa.Uuid, nullable=False),
        sa.Column("joined_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["game_session_id"], ["games.id"], name="fk_game_players_game_session_id"),
        sa.ForeignKeyConstraint(["player_id"], ["players.id"], name="fk_game_players_player_id"),
        sa.PrimaryKeyConstraint("game_session_id", "player_id", name="pk_game_players"),
    )
    # Whoever stands behind a player and submitted a round for it has joined that game.
    op.execute(
        "INSERT INTO game_players (game_session_id, player_id, joined_at) "
        "SELECT s.game_session_id, s.player_id, MIN(s.created_at) FROM evaluation_scores s "
        "JOIN players p ON p.id = s.player_id "
        "WHERE s.attachment_id IS NOT NULL AND s.created_by = COALESCE(p.user_id, p.created_by) "
        "GROUP BY s.game_session_id, s.player_id"
    )
