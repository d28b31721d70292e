"""The rubrics of a Rubrica server for an agent: listed, shown and judged as the user of a key."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec

from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.server.mcp_rubrics import StoredRubrics
from rubrica.server.mcp_shapes import RubricLine, RubricReply

from .remote import KEY_VARIABLE, TIMEOUT, Export, Remote, check_address

MOST = 200
"""Rubrics that a list shows."""


class _Listed(msgspec.Struct, frozen=True):
    slug: str
    name: str
    description: str


class _Page(msgspec.Struct, frozen=True):
    items: list[_Listed]
    next: str | None


class _Identity(msgspec.Struct, frozen=True):
    name: str
    role: str


class _Judged(msgspec.Struct, frozen=True):
    evaluation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RemoteRubrics:
    """The rubrics of one server."""

    remote: Remote

    @property
    def address(self) -> str:
        return self.remote.url

    async def user(self) -> str:
        found = (await self.remote.get("/api/whoami")).read(_Identity)
        return f"{found.name}, {found.role}"

    async def lines(self) -> tuple[list[RubricLine], bool]:
        found = (await self.remote.get(f"/api/evaluations?limit={MOST}")).read(_Page)
        lines = [
            RubricLine(name=one.slug, title=one.name, about=one.description, source="server") for one in found.items
        ]
        return lines, found.next is not None

    async def show(self, reference: str) -> RubricReply:
        found = (await self.remote.get(f"{_path(reference)}/export?format=json")).read(Export)
        return RubricReply(name=found.provenance.name, version=found.provenance.version, definition=found.rubric)

    async def judge(self, reference: str, context: Context) -> Evaluation:
        asked = {"context": context.as_given()}
        told = (await self.remote.post(f"{_path(reference)}/test", asked)).read(_Judged)
        return Evaluation.from_json(msgspec.json.encode(told.evaluation))


@asynccontextmanager
async def server_rubrics(url: str | None) -> AsyncIterator[StoredRubrics | None]:
    """The rubrics of a server by its address; None where none is named."""
    if url is None:
        yield None
        return
    check_address(url)
    async with aiohttp.ClientSession(timeout=TIMEOUT, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield RemoteRubrics(Remote(url, os.environ.get(KEY_VARIABLE, "").strip() or None, session))


def _path(reference: str) -> str:
    return f"/api/evaluations/{quote(reference, safe='@')}"
