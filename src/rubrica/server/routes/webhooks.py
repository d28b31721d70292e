"""Webhooks: addresses of one's own that are told when a council session or a run has ended."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from rubrica.errors import InputError
from rubrica.server.depends import Serving, Signed
from rubrica.server.idempotency import write_once
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, render
from rubrica.server.webhook_target import LONGEST_URL, check_target
from rubrica.store.webhooks import Delivery, DeliveryState, Webhook
from rubrica.workspace.access import check_action
from rubrica.workspace.webhooks import (
    EVENT_NAMES,
    EventName,
    create_webhook,
    own_webhooks,
    ping_webhook,
    remove_webhook,
    webhook_log,
)

router = APIRouter(prefix="/api/webhooks", route_class=JsonRoute, tags=["webhooks"])


class NewWebhook(BaseModel):
    """Where to tell what."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(max_length=LONGEST_URL, description="With TLS, and not inside the server's own network.")
    events: tuple[EventName, ...] = Field(EVENT_NAMES, max_length=20, description="Left out: all of them.")


class WebhookShown(BaseModel):
    """What is known of a webhook. Its secret is shown once, when it is made."""

    id: UUID
    owner: str
    url: str
    events: list[str]
    created_at: datetime


class WebhookMade(WebhookShown):
    """A new webhook, with its secret."""

    secret: str = Field(description="Keep it: it proves that a message is ours, and nobody sees it again.")


class WebhookList(BaseModel):
    """Webhooks in the order they were made."""

    items: list[WebhookShown]


class DeliveryShown(BaseModel):
    """One message, and what came of it."""

    id: UUID = Field(description="What its `webhook-id` says.")
    event: str
    body: str
    state: DeliveryState
    attempts: int
    status: int | None = Field(description="Of the last reply; null: there was none.")
    error: str
    created_at: datetime
    due_at: datetime | None = Field(description="When it is tried next; null: it is not.")
    ended_at: datetime | None


class DeliveryList(BaseModel):
    """The latest 100 messages to a webhook, the latest first."""

    items: list[DeliveryShown]


@router.post("", status_code=201, response_model=WebhookMade, summary="Make a webhook")
async def make(request: Request, body: NewWebhook, caller: Signed, service: Serving) -> Response:
    """Authors. What happens to your own council sessions and runs is sent to it, signed with the secret that this reply
    holds; it is shown this once, and an Idempotency-Key is refused, because the reply cannot be kept."""
    check_action(caller, "making a webhook")
    if request.scope["state"].get("claim") is not None:
        raise InputError("a webhook is made without an Idempotency-Key: its reply holds a secret and is kept nowhere")
    check_target(body.url, private=service.settings.private_webhooks)
    made = await service.database.write(create_webhook, caller, body.url, body.events, service.clock())
    headers = {"Location": f"/api/webhooks/{made.id}", "Cache-Control": "no-store"}
    return render(RouteAnswer({**_webhook_dict(made), "secret": made.secret}, 201, headers))


@router.get("", response_model=WebhookList, summary="List webhooks")
async def listed(caller: Signed, service: Serving) -> Response:
    """Everybody's for an admin, one's own for others."""
    found = await service.database.read(own_webhooks, caller)
    return render(RouteAnswer({"items": [_webhook_dict(webhook) for webhook in found]}))


@router.delete("/{webhook_id}", status_code=204, summary="Delete a webhook")
async def remove(webhook_id: UUID, caller: Signed, service: Serving) -> Response:
    """Its owner, or an admin. What waits for it is not sent."""
    await service.database.write(remove_webhook, caller, webhook_id)
    return render(RouteAnswer(None, 204))


@router.get("/{webhook_id}/deliveries", response_model=DeliveryList, summary="Read the log of a webhook")
async def deliveries(webhook_id: UUID, caller: Signed, service: Serving) -> Response:
    """What was sent, how often it was tried, and what was answered; for 30 days."""
    found = await service.database.read(webhook_log, caller, webhook_id)
    return render(RouteAnswer({"items": [_delivery_dict(delivery) for delivery in found]}))


@router.post("/{webhook_id}/ping", status_code=202, response_model=DeliveryShown, summary="Try a webhook")
async def ping(request: Request, webhook_id: UUID, caller: Signed, service: Serving) -> Response:
    """Sends it a message of the type `ping`."""
    reply = await write_once(request, _pinged, ping_webhook, caller, webhook_id, service.clock())
    service.webhooks.wake()
    return reply


def _pinged(delivery: Delivery) -> RouteAnswer:
    return RouteAnswer(_delivery_dict(delivery), 202)


def _webhook_dict(webhook: Webhook) -> dict[str, object]:
    return {name: getattr(webhook, name) for name in WebhookShown.model_fields}


def _delivery_dict(delivery: Delivery) -> dict[str, object]:
    shown = {name: getattr(delivery, name) for name in DeliveryShown.model_fields}
    return shown if delivery.state == "waiting" else {**shown, "due_at": None}
