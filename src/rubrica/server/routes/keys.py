"""Keys: made and revoked by admins; everybody may list and revoke their own."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from rubrica.errors import InputError
from rubrica.server.depends import Serving, Signed
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, decode_cursor, encode_cursor, page, render
from rubrica.store.keys import Key
from rubrica.workspace.access import Role
from rubrica.workspace.keys import (
    MOST_PER_MINUTE,
    MOST_USD,
    PER_MINUTE,
    KeyRequest,
    create_key,
    end_key,
    visible_keys,
)

router = APIRouter(prefix="/api/keys", route_class=JsonRoute, tags=["keys"])
PAGE = 100
MOST = 200


class NewKey(BaseModel):
    """What a new key shall be."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"role": "author", "user": "ann"}]})

    role: Role = Field(description="Each may do what those before it may: viewer, player, author, admin.")
    user: str | None = Field(None, max_length=100, description="Whose key it is; made if there is none of that name.")
    label: str = Field("", max_length=100, description="What it is for, to be told from others.")
    per_minute: int = Field(PER_MINUTE, ge=1, le=MOST_PER_MINUTE, description="Requests a minute.")
    usd_per_day: float | None = Field(
        None, ge=0, le=MOST_USD, allow_inf_nan=False, description="Most US dollars it may have the server spend a day."
    )


class KeyShown(BaseModel):
    """What is known of a key. The key itself is shown once, when it is made."""

    id: UUID
    user_id: UUID
    user: str
    role: Role
    label: str
    prefix: str = Field(description="Its first characters.")
    per_minute: int
    usd_per_day: float | None = Field(description="That it may have the server spend; null: no limit of its own.")
    created_at: datetime
    last_used_at: datetime | None = Field(description="To the minute.")
    revoked_at: datetime | None


class KeyMade(KeyShown):
    """A new key, with the key itself."""

    key: str = Field(description="Keep it: nobody sees it again.")


class KeyPage(BaseModel):
    """Keys in the order they were made."""

    items: list[KeyShown]
    next: str | None = Field(description="The cursor of the following page; null after the last one.")


@router.post("", status_code=201, response_model=KeyMade, summary="Make a key")
async def make(request: Request, body: NewKey, caller: Signed, service: Serving) -> Response:
    """Admins only. The reply holds the key, which is shown this once; an Idempotency-Key is refused, because the reply
    cannot be kept."""
    if request.scope["state"].get("claim") is not None:
        raise InputError("a key is made without an Idempotency-Key: its reply holds a secret and is kept nowhere")
    key_request = KeyRequest(body.role, body.user, body.label, body.per_minute, body.usd_per_day)
    issued = await service.database.write(create_key, caller, key_request, service.clock())
    headers = {"Location": f"/api/keys/{issued.key.id}", "Cache-Control": "no-store"}
    return render(RouteAnswer({**_key_dict(issued.key), "key": issued.secret}, 201, headers))


@router.get("", response_model=KeyPage, summary="List keys")
async def listed(
    caller: Signed,
    service: Serving,
    limit: Annotated[int, Query(ge=1, le=MOST)] = PAGE,
    cursor: Annotated[str | None, Query()] = None,
) -> Response:
    """Everybody's for an admin, one's own for others. Revoked ones are listed too."""
    after = None if cursor is None else decode_cursor(cursor, UUID)[0]
    keys = await service.database.read(visible_keys, caller, after=after, limit=limit + 1)
    following = encode_cursor([keys[limit - 1].id]) if len(keys) > limit else None
    return render(RouteAnswer(page([_key_dict(key) for key in keys[:limit]], following)))


@router.delete("/{key_id}", status_code=204, summary="Revoke a key")
async def revoke(key_id: UUID, caller: Signed, service: Serving) -> Response:
    """One's own, or anybody's for an admin. It stops working within a second."""
    await service.database.write(end_key, caller, key_id, service.clock())
    return render(RouteAnswer(None, 204))


def _key_dict(key: Key) -> dict[str, object]:
    return {
        "id": key.id,
        "user_id": key.user_id,
        "user": key.user,
        "role": key.role,
        "label": key.label,
        "prefix": key.prefix,
        "per_minute": key.per_minute,
        "usd_per_day": key.usd_per_day,
        "created_at": key.created_at,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
    }
