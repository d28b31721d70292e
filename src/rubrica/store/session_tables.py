"""The tables of council sessions with their events, and of webhooks with their deliveries."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Double, ForeignKey, Index, Integer, String, Table, Text, Uuid

from .columns import Document, UtcDateTime
from .tables import metadata

council_sessions = Table(
    "council_sessions",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("owner_id", ForeignKey("users.id"), nullable=False),
    Column("state", String(12), nullable=False),
    Column("title", String(200), nullable=False),  # the beginning of the question, on one line
    Column("request", Document, nullable=False),  # what was asked, as the API takes it
    Column("result", Document),  # as the API gives it; None: it came to none
    Column("record", Document),  # the same as this version of Rubrica reads it back
    Column("usd", Double),  # None: not known, or not yet
    Column("created_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    Column("held_until", UtcDateTime, nullable=False),  # unless it is renewed: its server is gone after that
    CheckConstraint("state IN ('running', 'finished', 'failed', 'stopped', 'interrupted')", name="state"),
)
Index("ix_council_sessions_owner", council_sessions.c.owner_id, council_sessions.c.id)
Index("ix_council_sessions_state", council_sessions.c.state, council_sessions.c.held_until)

council_events = Table(
    "council_events",
    metadata,
    Column("session_id", ForeignKey("council_sessions.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # from 1
    Column("name", String(40), nullable=False),
    Column("data", Document, nullable=False),  # of the last one without the result, which its session has
    Column("created_at", UtcDateTime, nullable=False),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("owner_id", ForeignKey("users.id"), nullable=False, index=True),
    Column("url", String(2000), nullable=False),
    Column("events", Document, nullable=False),  # their names
    Column("secret", String(100), nullable=False),  # signs what is sent: it cannot be kept as a digest
    Column("created_at", UtcDateTime, nullable=False),
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("webhook_id", ForeignKey("webhooks.id"), nullable=False),
    Column("event", String(40), nullable=False),
    Column("body", Text, nullable=False),  # what is signed and sent, the same at every attempt
    Column("state", String(10), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due_at", UtcDateTime, nullable=False),  # when it is tried next
    Column("status", Integer),  # of the last reply; None: there was none
    Column("error", String(500), nullable=False, server_default=""),
    Column("created_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    CheckConstraint("state IN ('waiting', 'delivered', 'failed')", name="state"),
)
Index("ix_webhook_deliveries_due", webhook_deliveries.c.state, webhook_deliveries.c.due_at)
Index("ix_webhook_deliveries_webhook", webhook_deliveries.c.webhook_id, webhook_deliveries.c.id)
