"""Fair play in games: what players may report and see, rounds that were voided or begun, open scores judged again."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0008"


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.add_column("games", sa.Column("fair_play", sa.JSON))
    op.add_column("games", sa.Column("vouched_by", sa.Uuid))
    op.add_column("games", sa.Column("vouched_at", moment))
    op.add_column("rounds", sa.Column("voided_at", moment))
    op.add_column("rounds", sa.Column("voided_by", sa.Uuid))
    op.add_column("rounds", sa.Column("void_reason", sa.String(500)))
    op.create_table(
        "round_starts",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("game_session_id", sa.Uuid, sa.ForeignKey("games.id"), nullable=False),
        sa.Column("player_id", sa.Uuid, sa.ForeignKey("players.id"), nullable=False),
        sa.Column("round_number", sa.Integer, nullable=False),
        sa.Column("started_at", moment, nullable=False),
        sa.UniqueConstraint("game_session_id", "player_id", "round_number"),
    )
    op.add_column("evaluation_scores", sa.Column("low", sa.Double))
    op.add_column("evaluation_scores", sa.Column("high", sa.Double))
    op.add_column("evaluation_scores", sa.Column("tries", sa.Integer, nullable=False, server_default="0"))
    op.add_column("evaluation_scores", sa.Column("retry_at", moment))
    op.add_column("evaluation_scores", sa.Column("voided_at", moment))
    waiting = sa.column("retry_at").is_not(None)
    op.create_index(
        "ix_evaluation_scores_retry",
        "evaluation_scores",
        ["retry_at"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
