"""Webhooks and what is sent to them. The deliveries that wait are the queue: it survives a restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy import Connection, delete, func, insert, select, update

from .session_tables import webhook_deliveries, webhooks
from .tables import users

DeliveryState = Literal["waiting", "delivered", "failed"]


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where somebody wants to be told of what."""

    id: UUID
    owner_id: UUID
    owner: str
    url: str
    events: Sequence[str]
    secret: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to one webhook."""

    id: UUID
    webhook_id: UUID
    event: str
    body: str
    state: DeliveryState
    attempts: int
    due_at: datetime
    status: int | None
    error: str
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A message with where it goes and what signs it."""

    delivery: Delivery
    url: str
    secret: str


_WEBHOOK = tuple(users.c.name if name == "owner" else webhooks.c[name] for name in Webhook.__dataclass_fields__)
_DELIVERY = tuple(webhook_deliveries.c[name] for name in Delivery.__dataclass_fields__)
_WITH_OWNER = webhooks.join(users, users.c.id == webhooks.c.owner_id)


def add_webhook(conn: Connection, webhook: Webhook) -> None:
    values = {name: getattr(webhook, name) for name in Webhook.__dataclass_fields__ if name != "owner"}
    conn.execute(insert(webhooks).values(values | {"events": list(webhook.events)}))


def get_webhook(conn: Connection, webhook_id: UUID) -> Webhook | None:
    row = conn.execute(select(*_WEBHOOK).select_from(_WITH_OWNER).where(webhooks.c.id == webhook_id)).one_or_none()
    return None if row is None else Webhook(*row)


def list_webhooks(conn: Connection, owner_id: UUID | None) -> list[Webhook]:
    """A user's webhooks in the order they were made; for None everybody's."""
    query = select(*_WEBHOOK).select_from(_WITH_OWNER).order_by(webhooks.c.id)
    if owner_id is not None:
        query = query.where(webhooks.c.owner_id == owner_id)
    return [Webhook(*row) for row in conn.execute(query)]


def delete_webhook(conn: Connection, webhook_id: UUID) -> None:
    """Forget a webhook, what waits for it and what was sent to it."""
    conn.execute(delete(webhook_deliveries).where(webhook_deliveries.c.webhook_id == webhook_id))
    conn.execute(delete(webhooks).where(webhooks.c.id == webhook_id))


def count_waiting(conn: Connection, webhook_id: UUID) -> int:
    """How many messages wait for a webhook."""
    row = webhook_deliveries.c
    query = select(func.count()).where(row.webhook_id == webhook_id, row.state == "waiting")
    return conn.execute(query).scalar_one()


def add_delivery(conn: Connection, delivery: Delivery) -> None:
    conn.execute(
        insert(webhook_deliveries).values({name: getattr(delivery, name) for name in Delivery.__dataclass_fields__})
    )


def list_deliveries(conn: Connection, webhook_id: UUID, limit: int) -> list[Delivery]:
    """What was sent to a webhook and what waits for it, the latest first."""
    row = webhook_deliveries.c
    query = select(*_DELIVERY).where(row.webhook_id == webhook_id).order_by(row.id.desc()).limit(limit)
    return [Delivery(*found) for found in conn.execute(query)]


def claim_due(conn: Connection, now: datetime, lease: timedelta, limit: int) -> list[DueDelivery]:
    """The messages to be sent now. Each is put off by the lease, so that no other server sends it meanwhile."""
    row = webhook_deliveries.c
    query = (
        select(*_DELIVERY, webhooks.c.url, webhooks.c.secret)
        .join(webhooks, webhooks.c.id == row.webhook_id)
        .where(row.state == "waiting", row.due_at <= now)
        .order_by(row.due_at)
        .limit(limit)
        .with_for_update(skip_locked=True, of=webhook_deliveries)
    )
    found = [DueDelivery(Delivery(*one[:-2]), one[-2], one[-1]) for one in conn.execute(query)]
    if found:
        claimed = row.id.in_([one.delivery.id for one in found])
        conn.execute(update(webhook_deliveries).where(claimed).values(due_at=now + lease))
    return found


def save_attempt(conn: Connection, delivery: Delivery) -> None:
    """Keep what came of an attempt, unless the webhook is gone."""
    changed = {name: getattr(delivery, name) for name in ("state", "attempts", "due_at", "status", "error", "ended_at")}
    conn.execute(update(webhook_deliveries).where(webhook_deliveries.c.id == delivery.id).values(changed))


def next_due(conn: Connection) -> datetime | None:
    """When the next message is to be sent; None: none waits."""
    row = webhook_deliveries.c
    query = select(row.due_at).where(row.state == "waiting").order_by(row.due_at).limit(1)
    found: datetime | None = conn.execute(query).scalar_one_or_none()
    return found


def forget_deliveries(conn: Connection, before: datetime) -> None:
    """Drop what ended long ago."""
    row = webhook_deliveries.c
    conn.execute(delete(webhook_deliveries).where(row.state != "waiting", row.ended_at < before))
