"""Clients who write to a server while it is killed or its database crashes, and what must be there afterwards.

What was acknowledged is there, nothing is half there, and asking again for what was not acknowledged has its effect
exactly once: `settled` checks it all.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from sqlalchemy import Connection, func, select, update

from process_forks import Fork, start_fork
from rubrica.store.database import Database
from rubrica.store.idempotency import ABANDONED
from rubrica.store.tables import evaluation_scores, game_rubrics, replies, rounds, rubric_versions, rubrics
from warm_start import rubrica_command

WORKERS = 5
PATIENCE = 60.0
LOST = (aiohttp.ClientError, ConnectionError, TimeoutError)


def definition(name: str, words: int = 9) -> dict[str, Any]:
    rule = {"type": "custom_expression", "name": "brief", "expression": f"1 if word_count < {words} else 0"}
    return {"name": name, "scoring_type": "binary", "rules": [rule]}


@asynccontextmanager
async def process(url: str) -> AsyncIterator[tuple[subprocess.Popen[str], str]]:
    """`rubrica serve` over a database, and its address."""
    command = rubrica_command("serve", "--offline", "--port", "0", "--db", url)
    environment = {**os.environ, "COLUMNS": "200"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert server.stdout is not None
    try:
        lines = iter(server.stdout.readline, "")
        found = await asyncio.to_thread(lambda: next(filter(None, (re.search(r"http://\S+", line) for line in lines))))
        yield server, found[0]
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


@asynccontextmanager
async def forked(url: str, output: Path, *options: str) -> AsyncIterator[tuple[Fork, str]]:
    """The same as a fork, which starts ten times as fast, without the studio."""
    output.unlink(missing_ok=True)
    command = ("serve", "--offline", "--no-studio", "--port", "0", "--db", url, *options)
    server = start_fork(*command, env={**os.environ, "COLUMNS": "200"}, output=output)
    try:
        async with asyncio.timeout(PATIENCE):
            while (found := re.search(r"http://\S+", output.read_text() if output.exists() else "")) is None:
                assert server.poll() is None, output.read_text()
                await asyncio.sleep(0.005)
        yield server, found[0]
    finally:
        server.kill()


async def kill_often(url: str, output: Path, moments: Sequence[float], load: Load) -> None:
    """Kill a server under load, once for each of the moments, in seconds after it was up; then start another."""
    for moment in moments:
        async with forked(url, output) as (server, base), client(base) as ask:
            if not load.game:
                await load.prepare(ask)
            before = len(load.told)
            working = asyncio.create_task(load.run(ask, asyncio.Event()))
            await asyncio.sleep(moment)
            while len(load.told) < before + 2 and not working.done():
                await asyncio.sleep(0.005)
            await asyncio.to_thread(server.kill)
            await working


@dataclass
class Load:
    """Clients who create, change, execute and play at the same time, and what they were told."""

    game: str = ""
    told: dict[str, Any] = field(default_factory=dict)  # replies, by idempotency key
    sent: dict[str, tuple[str, Any]] = field(default_factory=dict)  # path and body, by idempotency key
    changed: dict[tuple[str, str], int] = field(default_factory=dict)  # words, by evaluation and version
    numbers: Iterator[int] = field(default_factory=itertools.count)

    async def prepare(self, ask: Ask) -> None:
        for name in ("First", "Second"):
            assert (await ask("POST", "/api/evaluations", definition(name)))[0] == 201
        _, made = await ask("POST", "/api/games", {"name": "Moth night"})
        self.game = f"/api/games/{made['id']}"
        weighted = [{"evaluation_id": name, "weight": 0.5} for name in ("first", "second")]
        assert (await ask("POST", f"{self.game}/evaluations", {"evaluations": weighted}))[0] == 201

    async def run(self, ask: Ask, stop: asyncio.Event) -> None:
        """Ask until told to stop, or until the server is gone."""
        workers = (self._work(ask, worker, stop) for worker in range(WORKERS))
        await asyncio.gather(*workers)

    async def _work(self, ask: Ask, worker: int, stop: asyncio.Event) -> None:
        try:
            while not stop.is_set():
                number = next(self.numbers)
                made = await self._post(ask, f"create-{number}", "/api/evaluations", definition(f"Made {number}"))
                if made is not None:
                    await self._change(ask, made["id"], number)
                body = {"prompt": f"execute-{number}", "response": "A moth."}
                await self._post(ask, f"execute-{number}", "/api/evaluations/first/execute", body)
                round_ = {"player": f"player {worker}", "round": {"prompt": f"play-{number}", "response": "A moth."}}
                await self._post(ask, f"play-{number}", f"{self.game}/evaluate", round_)
        except LOST:
            return

    async def _post(self, ask: Ask, key: str, path: str, body: Any) -> Any:
        self.sent[key] = (path, body)
        status, reply = await ask("POST", path, body, key)
        if status == 503:  # the database is away
            await asyncio.sleep(0.05)
            return None
        assert status in (200, 201), reply
        self.told[key] = reply
        return reply

    async def _change(self, ask: Ask, evaluation: str, words: int) -> None:
        status, reply = await ask("PUT", f"/api/evaluations/{evaluation}", definition(f"Changed {words}", words + 20))
        assert status in (200, 503), reply
        if status == 200:
            self.changed[evaluation, reply["version"]] = words + 20

    async def check_told(self, ask: Ask) -> None:
        """Whatever was acknowledged is there."""
        for key, reply in self.told.items():
            kind = key.partition("-")[0]
            if kind == "create":
                status, found = await ask("GET", f"/api/evaluations/{reply['id']}/versions/1")
                assert (status, found["hash"]) == (200, reply["hash"])
            elif kind == "execute":
                status, found = await ask("GET", f"/api/scores/{reply['id']}")
                assert (status, found["context_snapshot"]["prompt"]) == (200, key)
            else:
                (told,) = reply["rounds"]
                path = f"{self.game}/rounds/{told['player_id']}/{told['round_number']}"
                status, found = await ask("GET", path)
                assert (status, found["content"]["prompt"], len(found["scores"])) == (200, key, 2)
        for (evaluation, version), words in self.changed.items():
            status, found = await ask("GET", f"/api/evaluations/{evaluation}/versions/{version}")
            assert (status, f"< {words} " in found["rules"][0]["expression"]) == (200, True)

    async def repeat(self, ask: Ask) -> int:
        """Send again whatever was not acknowledged; how much that was."""
        open_ends = [key for key in self.sent if key not in self.told]
        for key in open_ends:
            status, reply = await ask("POST", *self.sent[key], key)
            while status in (409, 503):  # still held by the server that is gone
                assert status == 503 or "under way" in reply["detail"], reply
                await asyncio.sleep(0.2)
                status, reply = await ask("POST", *self.sent[key], key)
            assert status in (200, 201), reply
            self.told[key] = reply
        return len(open_ends)


Ask = Callable[..., Awaitable[tuple[int, Any]]]


@asynccontextmanager
async def client(base: str) -> AsyncIterator[Ask]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE)) as session:

        async def ask(method: str, path: str, body: Any = None, key: str | None = None) -> tuple[int, Any]:
            headers = {"If-Match": "*"} if key is None else {"Idempotency-Key": key}
            async with session.request(method, base + path, json=body, headers=headers) as reply:
                return reply.status, await reply.json(content_type=None)

        yield ask


def halves(conn: Connection) -> list[str]:
    """Whatever is there in part only."""
    found = []
    for rubric in conn.execute(select(rubrics.c.id, rubrics.c.revision, rubrics.c.version)):
        versions = select(rubric_versions.c.revision, rubric_versions.c.version).where(
            rubric_versions.c.rubric_id == rubric.id
        )
        own = [(row.revision, row.version) for row in conn.execute(versions.order_by(rubric_versions.c.revision))]
        if [number for number, _ in own] != [*range(1, rubric.revision + 1)] or own[-1][1] != rubric.version:
            found.append(f"rubric {rubric.id} at {rubric.revision} has the versions {own}")
    scores = select(func.count()).where(
        evaluation_scores.c.attachment_id.in_(select(game_rubrics.c.id)),
        evaluation_scores.c.player_id == rounds.c.player_id,
        evaluation_scores.c.round_number == rounds.c.round_number,
    )
    for round_ in conn.execute(select(rounds.c.id, scores.scalar_subquery().label("scores"))):
        if round_.scores != 2:
            found.append(f"round {round_.id} has {round_.scores} scores")
    attached = select(func.count()).where(evaluation_scores.c.attachment_id.is_not(None))
    if conn.execute(attached).scalar_one() != 2 * conn.execute(select(func.count(rounds.c.id))).scalar_one():
        found.append("there are scores without their round")
    return found


def effects(conn: Connection) -> Counter[str]:
    """How often each request had its effect, by idempotency key."""
    named = conn.execute(select(rubric_versions.c.definition).where(rubric_versions.c.revision == 1)).scalars()
    names = [name.replace("Made ", "create-") for row in named if (name := str(row["name"])).startswith("Made ")]
    executed = select(evaluation_scores.c.context_snapshot).where(evaluation_scores.c.attachment_id.is_(None))
    prompts = [str(row["prompt"]) for row in conn.execute(executed).scalars()]
    played = [str(row["prompt"]) for row in conn.execute(select(rounds.c.content)).scalars()]
    return Counter([*names, *prompts, *played])


def age(conn: Connection) -> int:
    """Make reservations as old as they would be a while later; how many there are."""
    held = conn.execute(
        select(replies.c.user_id, replies.c.key, replies.c.created_at).where(replies.c.status.is_(None))
    )
    rows = held.all()
    for row in rows:
        mine = (replies.c.user_id == row.user_id, replies.c.key == row.key)
        conn.execute(update(replies).where(*mine).values(created_at=row.created_at - ABANDONED))
    return len(rows)


def open_reservations(conn: Connection) -> int:
    return conn.execute(select(func.count()).where(replies.c.status.is_(None))).scalar_one()


async def settled(url: str, load: Load) -> int:
    """Start anew after a crash and check it all; how much had not been acknowledged."""
    async with Database.open(url) as database:
        async with process(url) as (server, base), client(base) as ask:
            assert await database.read(halves) == []
            await load.check_told(ask)
            await database.write(age)
            repeated = await load.repeat(ask)
            server.send_signal(signal.SIGINT)
            assert await asyncio.to_thread(server.wait, PATIENCE) == 0
        assert await database.read(halves) == []
        assert await database.read(effects) == Counter(load.sent.keys())
        assert await database.read(open_reservations) == 0
    return repeated
