"""Tables of what servers side by side share: runs that workers take, sessions of browsers, and how often keys ask."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, Double, ForeignKey, Index, Integer, LargeBinary, String, Table

from .columns import Document, UtcDateTime
from .tables import metadata

run_queue = Table(
    "run_queue",
    metadata,
    Column("run", String(255), primary_key=True),  # the name of its folder
    Column("run_id", String(40), nullable=False),  # of its manifest
    Column("owner_id", ForeignKey("users.id"), nullable=False),  # who started it, or went on with it
    Column("payer", Document, nullable=False),  # for whom its judges are asked, and for how much
    Column("ticket", Integer, nullable=False),  # counts how often it was queued: a job of an earlier time is void
    Column("attempt", Integer, nullable=False),  # counts who took it: whoever took it before has lost it
    Column("state", String(10), nullable=False),
    Column("stopping", Boolean, nullable=False),  # somebody cancelled it
    Column("worker", String(200), nullable=False),  # who has it, or had it last
    Column("done", Integer, nullable=False),
    Column("expected", Integer),  # None: not known
    Column("broken", Integer, nullable=False),
    Column("usd", Double),  # since it was queued; None: nothing was paid for, or a price is not known
    Column("note", String(500), nullable=False),  # why it could not begin where it was tried last
    Column("queued_at", UtcDateTime, nullable=False),
    Column("held_until", UtcDateTime),  # unless it is renewed: its worker is gone after that
    CheckConstraint("state IN ('waiting', 'running', 'ended')", name="state"),
)
Index("ix_run_queue_owner", run_queue.c.owner_id, run_queue.c.state)
Index("ix_run_queue_state", run_queue.c.state)

browser_sessions = Table(
    "browser_sessions",
    metadata,
    Column("token", LargeBinary(32), primary_key=True),  # its digest
    Column("key_digest", LargeBinary(32), nullable=False, index=True),
    Column("used_at", UtcDateTime, nullable=False, index=True),
)

rate_buckets = Table(
    "rate_buckets",
    metadata,
    Column("key_id", ForeignKey("api_keys.id"), primary_key=True),
    Column("level", Double, nullable=False),  # requests that it may make at once
    Column("filled_at", UtcDateTime, nullable=False),  # by the clock of the database
)
