"""Health check, identity and usage of the caller."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field

from rubrica import __version__
from rubrica.server.depends import Serving, Signed
from rubrica.server.reference import reference_page
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, render

router = APIRouter(route_class=JsonRoute, tags=["server"])


class Health(BaseModel):
    """A server that can work."""

    status: str = "ok"
    version: str = __version__


class Identity(BaseModel):
    """Who a key belongs to, and what it may do."""

    user_id: str
    name: str
    role: str
    key_id: str | None


class SpendingReply(BaseModel):
    """US dollars of one day (UTC)."""

    spent: float = Field(description="As far as prices are known.")
    reserved: float = Field(description="For work under way: the most it can cost.")
    limit: float | None = Field(description="null: there is none.")
    left: float | None = Field(description="null: there is no limit.")


class UsageReply(BaseModel):
    """What was spent today, and what may be."""

    user: SpendingReply
    key: SpendingReply | None = Field(None, description="Absent on a server without keys.")
    server: SpendingReply | None = Field(None, description="Everybody together, for admins.")


@router.get("/", include_in_schema=False)
async def start(request: Request) -> Response:
    """To the studio where there is one, else to the docs."""
    return RedirectResponse(getattr(request.app.state, "first_page", "/docs"))


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """This API, for people."""
    state = request.app.state
    if not hasattr(state, "reference"):  # it never changes, and everybody may ask for it
        state.reference = await asyncio.to_thread(lambda: reference_page(request.app.openapi()))
    return HTMLResponse(state.reference)


@router.get("/healthz", response_model=Health, summary="Whether the server and its database work")
async def healthz(service: Serving) -> Response:
    """Needs no key. 503 while the database cannot be reached."""
    await service.database.reach()
    return render(RouteAnswer(Health()))


@router.get("/readyz", response_model=Health, summary="Whether the server can take work")
async def readyz(service: Serving) -> Response:
    """Needs no key. 503 while the database cannot be changed, such as one that takes over from another."""
    await service.database.reach_to_write()
    return render(RouteAnswer(Health()))


@router.get("/api/whoami", response_model=Identity, summary="Who this key belongs to")
async def whoami(caller: Signed) -> Response:
    """The user and role behind the key of this request; on a server without keys, the local admin."""
    return render(
        RouteAnswer({"user_id": caller.user_id, "name": caller.name, "role": caller.role, "key_id": caller.key_id})
    )


@router.get("/api/usage", response_model=UsageReply, summary="What this key has spent today")
async def usage(caller: Signed, service: Serving) -> Response:
    """What calls to models have cost today (UTC), by key and user; for admins of the whole server too. What is reserved
    for work under way is not left. `null` where there is no limit."""
    found = await service.spending.shown(caller)
    return render(RouteAnswer({kind: asdict(one) for kind, one in found.items()}))
