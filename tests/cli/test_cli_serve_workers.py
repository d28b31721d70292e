"""`rubrica serve --workers`: processes on one port share sessions and rates, and pages live in one of them."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode
from uuid import uuid4

import aiohttp
import httpx
import pytest
from cli_runs import Cli
from socketio import AsyncClient

from databases import Server
from rubrica.server.service import utc_now
from rubrica.store.database import Database
from rubrica.workspace.keys import KeyRequest, issue
from warm_start import rubrica_command

_CLIENT = re.compile(r"""client_id['"]: ?['"]([0-9a-f-]{36})""")


async def key(url: str, user: str, per_minute: int) -> str:
    async with Database.open(url) as database:
        return (await database.write(issue, KeyRequest("author", user, per_minute=per_minute), utc_now())).secret


@contextmanager
def served(url: str, folder: Path) -> Iterator[str]:
    """The address of a server of two processes."""
    command = rubrica_command("serve", "--offline", "--port", "0", "--workers", "2", "--db", url)
    with (folder / "errors").open("w") as errors:
        server = subprocess.Popen(
            [*command, "--runs", str(folder / "runs")],
            stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, "COLUMNS": "200"},
        )  # fmt: skip
        assert server.stdout is not None
        try:
            found = next(filter(None, (re.search(r"http://\S+", line) for line in server.stdout)), None)
            assert found is not None, (folder / "errors").read_text()
            yield found[0]
        finally:
            server.terminate()
            server.wait(60)
            server.stdout.close()


def asked(base: str, path: str, cookie: str = "", bearer: str = "") -> httpx.Response:
    """The reply to a request over a connection of its own, which any process may get."""
    headers = {"Cookie": cookie} if cookie else {}
    return httpx.get(base + path, headers=headers | ({"Authorization": f"Bearer {bearer}"} if bearer else {}))


async def connects(base: str, page: str, cookie: str) -> bool:
    """Whether a page's socket reaches the page, by a connection that any process may get."""
    names = {"client_id": page, "tab_id": str(uuid4()), "document_id": str(uuid4())}
    query = urlencode({**names, "next_message_id": 0, "implicit_handshake": "true"})
    async with aiohttp.ClientSession() as session:
        socket = AsyncClient(reconnection=False, http_session=session)
        headers = {"Cookie": cookie, "Origin": base}
        await socket.connect(
            f"{base}?{query}", headers, transports=["websocket"], socketio_path="/_nicegui_ws/socket.io"
        )
        await socket.disconnect()
    return True


@pytest.mark.slow
def test_two_processes_on_one_port_are_one_server(postgres: Server, postgres_template: str, tmp_path: Path) -> None:
    name = postgres.create(postgres_template)
    url = postgres.url(name)
    mine, slow = asyncio.run(key(url, "ann", 100_000)), asyncio.run(key(url, "bob", 10))
    with served(url, tmp_path) as base:
        reply = httpx.post(f"{base}/signin", data={"key": mine}, headers={"Origin": base})
        cookie = reply.headers["Set-Cookie"].partition(";")[0]
        assert {asked(base, "/api/whoami", cookie).status_code for _ in range(8)} == {200}
        statuses = [asked(base, "/api/whoami", bearer=slow).status_code for _ in range(16)]
        assert 10 <= statuses.count(200) <= 12  # some fill up again while they are asked
        for _ in range(4):
            page = asked(base, "/rubrics", cookie)
            assert page.status_code == 200, page.text
            assert "content-security-policy" in page.headers
            found = _CLIENT.search(page.text)
            assert found is not None
            assert asyncio.run(connects(base, found[1], cookie))
        assert asked(base, "/rubrics").status_code == 401
        assert asked(base, "/rubrics/nowhere/at/all", cookie).status_code == 404
        httpx.post(f"{base}/signout", headers={"Cookie": cookie, "Origin": base})
        asyncio.run(asyncio.sleep(1.1))
        assert {asked(base, "/api/whoami", cookie).status_code for _ in range(4)} == {401}
    assert "Traceback" not in (tmp_path / "errors").read_text()
    postgres.drop(name)


def test_what_needs_postgresql_says_so(cli: Cli, tmp_path: Path) -> None:
    for command in (["serve", "--workers", "2"], ["serve", "--run-jobs", "0"], ["worker"]):
        result = cli(*command, "--db", str(tmp_path / "rubrica.db"))
        assert (result.exit_code, "postgresql://" in result.stderr) == (1, True), result.stderr
