"""FastAPI dependencies: the caller and the service."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from rubrica.workspace.access import Caller

from .service import Service


async def _caller(request: Request) -> Caller:
    return cast("Caller", request.scope["state"]["caller"])


async def _service(request: Request) -> Service:
    return cast("Service", request.app.state.service)


Signed = Annotated[Caller, Depends(_caller)]
"""Whoever calls; the sign-in middleware has already recognised them."""

Serving = Annotated[Service, Depends(_service)]
