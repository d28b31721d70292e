"""What servers side by side share: runs that workers take, sessions of browsers, and how often keys ask."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "run_queue",
        sa.Column("run", sa.String(255), primary_key=True),
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("owner_id", sa.Uuid, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("payer", sa.JSON, nullable=False),
        sa.Column("ticket", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("stopping", sa.Boolean, nullable=False),
        sa.Column("worker", sa.String(200), nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("expected", sa.Integer),
        sa.Column("broken", sa.Integer, nullable=False),
        sa.Column("usd", sa.Double),
        sa.Column("note", sa.String(500), nullable=False),
        sa.Column("queued_at", moment, nullable=False),
        sa.Column("held_until", moment),
        sa.CheckConstraint("state IN ('waiting', 'running', 'ended')", name="state"),
    )
    op.create_index("ix_run_queue_owner", "run_queue", ["owner_id", "state"])
    op.create_index("ix_run_queue_state", "run_queue", ["state"])
    op.create_table(
        "browser_sessions",
        sa.Column("token", sa.LargeBinary(32), primary_key=True),
        sa.Column("key_digest", sa.LargeBinary(32), nullable=False),
        sa.Column("used_at", moment, nullable=False),
    )
    op.create_index("ix_browser_sessions_used_at", "browser_sessions", ["used_at"])
    op.create_index("ix_browser_sessions_key_digest", "browser_sessions", ["key_digest"])
    op.create_table(
        "rate_buckets",
        sa.Column("key_id", sa.Uuid, sa.ForeignKey("api_keys.id"), primary_key=True),
        sa.Column("level", sa.Double, nullable=False),
        sa.Column("filled_at", moment, nullable=False),
    )
