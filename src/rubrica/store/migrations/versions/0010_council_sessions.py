"""Council sessions with their events, and webhooks with their deliveries."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "council_sessions",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("owner_id", sa.Uuid, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("request", sa.JSON, nullable=False),
        sa.Column("result", sa.JSON),
        sa.Column("record", sa.JSON),
        sa.Column("usd", sa.Double),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("ended_at", TIME),
        sa.Column("held_until", TIME, nullable=False),
        sa.CheckConstraint("state IN ('running', 'finished', 'failed', 'stopped', 'interrupted')", name="state"),
    )
    op.create_index("ix_council_sessions_owner", "council_sessions", ["owner_id", "id"])
    op.create_index("ix_council_sessions_state", "council_sessions", ["state", "held_until"])
    op.create_table(
        "council_events",
        sa.Column("session_id", sa.Uuid, sa.ForeignKey("council_sessions.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("owner_id", sa.Uuid, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("url", sa.String(2000), nullable=False),
        sa.Column("events", sa.JSON, nullable=False),
        sa.Column("secret", sa.String(100), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
    )
    op.create_index("ix_webhooks_owner_id", "webhooks", ["owner_id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("webhook_id", sa.Uuid, sa.ForeignKey("webhooks.id"), nullable=False),
        sa.Column("event", sa.String(40), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("due_at", TIME, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("error", sa.String(500), nullable=False, server_default=""),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("ended_at", TIME),
        sa.CheckConstraint("state IN ('waiting', 'delivered', 'failed')", name="state"),
    )
    op.create_index("ix_webhook_deliveries_due", "webhook_deliveries", ["state", "due_at"])
    op.create_index("ix_webhook_deliveries_webhook", "webhook_deliveries", ["webhook_id", "id"])
