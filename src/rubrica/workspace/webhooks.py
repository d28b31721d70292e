"""Webhooks: an address of one's own that is told when a council session or a run has ended.

What is sent is short: which thing, how it ended and where to read it with a key. The queue of what waits is bounded
for each webhook; what does not fit is kept in the log of deliveries as failed.
"""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import ConflictError, InputError, MissingError
from rubrica.store import webhooks as store
from rubrica.store.columns import new_id
from rubrica.store.webhooks import Delivery, Webhook

from .access import Caller, check_action

EventName = Literal["council.finished", "council.failed", "run.finished", "run.failed"]
EVENT_NAMES: tuple[EventName, ...] = get_args(EventName)
PING = "ping"
MOST_WEBHOOKS = 10
"""For one user."""
MOST_WAITING = 100
"""Messages that wait for one webhook."""
MOST_LISTED = 100
"""Deliveries that are shown of a webhook: the latest."""
SECRET_MARK = "whsec_"  # noqa: S105 - how a secret begins, which is none


def create_webhook(conn: Connection, caller: Caller, url: str, events: Sequence[EventName], now: datetime) -> Webhook:
    """Keep a new webhook. Its secret is shown to whoever makes it, this once."""
    check_action(caller, "making a webhook")
    if not events:
        raise InputError(f"events: name at least one of {', '.join(EVENT_NAMES)}")
    if len(store.list_webhooks(conn, caller.user_id)) >= MOST_WEBHOOKS:
        raise ConflictError(f"you have {MOST_WEBHOOKS} webhooks already (delete one first)")
    secret = SECRET_MARK + b64encode(secrets.token_bytes(32)).decode()
    webhook = Webhook(new_id(now), caller.user_id, caller.name, url, tuple(dict.fromkeys(events)), secret, now)
    store.add_webhook(conn, webhook)
    return webhook


def own_webhooks(conn: Connection, caller: Caller) -> list[Webhook]:
    """One's own; for an admin everybody's."""
    return store.list_webhooks(conn, None if caller.is_admin else caller.user_id)


def remove_webhook(conn: Connection, caller: Caller, webhook_id: UUID) -> None:
    """Delete a webhook with its log; what waits for it is not sent."""
    store.delete_webhook(conn, _own(conn, caller, webhook_id).id)


def webhook_log(conn: Connection, caller: Caller, webhook_id: UUID) -> list[Delivery]:
    """What was sent to a webhook, and what waits for it."""
    return store.list_deliveries(conn, _own(conn, caller, webhook_id).id, MOST_LISTED)


def ping_webhook(conn: Connection, caller: Caller, webhook_id: UUID, now: datetime) -> Delivery:
    """Send a message that says nothing, to try a webhook out."""
    return _enqueue(conn, _own(conn, caller, webhook_id), PING, {"webhook": str(webhook_id)}, now)


def announce(conn: Connection, owner_id: UUID | None, event: EventName, data: Mapping[str, Any], now: datetime) -> None:
    """Put what happened to a thing of somebody's into the queues of their webhooks that want to know."""
    if owner_id is None:
        return
    for webhook in store.list_webhooks(conn, owner_id):
        if event in webhook.events:
            _enqueue(conn, webhook, event, data, now)


def _enqueue(conn: Connection, webhook: Webhook, event: str, data: Mapping[str, Any], now: datetime) -> Delivery:
    body = msgspec.json.encode({"type": event, "timestamp": now, "data": data}).decode()
    full = store.count_waiting(conn, webhook.id) >= MOST_WAITING
    delivery = Delivery(
        id=new_id(now),
        webhook_id=webhook.id,
        event=event,
        body=body,
        state="failed" if full else "waiting",
        attempts=0,
        due_at=now,
        status=None,
        error=f"not sent: {MOST_WAITING} messages were waiting already" if full else "",
        created_at=now,
        ended_at=now if full else None,
    )
    store.add_delivery(conn, delivery)
    return delivery


def _own(conn: Connection, caller: Caller, webhook_id: UUID) -> Webhook:
    found = store.get_webhook(conn, webhook_id)
    if found is None or not (caller.is_admin or caller.owns(found.owner_id)):
        raise MissingError(f"there is no webhook {str(webhook_id)!r}, or it is not yours to see")
    return found
