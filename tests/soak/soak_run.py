"""The soak: ``make soak MINUTES=10`` puts a mixed load on a server with its studio and on a gateway, with providers
that fail and clients that dawdle and vanish, and kills another server under load KILLS times.

It prints requests, errors, p50, p99, memory, descriptors and threads over time. It fails, with exit code 1, where one
of them grows, a reply is a fault of the server, a process ends by itself, or a record is lost or there twice.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import aiohttp
from loopback import Fault, Loopback
from soak_gateway_clients import GatewayClients
from soak_growth import FEWEST, grown
from soak_processes import Served, serving
from soak_server_clients import ServerClients
from sqlalchemy import Connection, func, select

from databases import CARELESS, Server
from rubrica.store.database import Database
from rubrica.store.tables import gateway_requests
from server_load import Load, effects, halves, kill_often, settled

MODEL, BETTER = "openai:gpt-4o-mini", "anthropic:claude-sonnet-4-5"
FAULTS: tuple[Fault, ...] = (
    *("rate_limited", "error", "unavailable", "hang", "drop", "truncated", "garbled", "cut", "unfinished", "stalled"),
    *("garbled_event", "error_event", "lumps", "keep_alives", "refusal", "huge"),
)
FAULT_RATE = 0.2
HANGING = 2.0  # seconds after which a hanging provider is given up
MOST_SAMPLES = 120
SHORTEST_TREND = 45.0
"""Seconds of load below which a process is still warming up, so that growth means nothing."""
PATIENCE = 60.0
HEAD = (
    f"{'time':>7} {'':8} {'answered':>9} {'4xx-5xx':>8} {'p50':>8} {'p99':>8} {'memory':>9} {'files':>6} {'threads':>7}"
)


@dataclass(frozen=True)
class Soak:
    """How long, how many kills, over which kind of database."""

    seconds: float
    kills: int
    database: str = "sqlite"

    @property
    def interval(self) -> float:
        """Seconds between two samples: three for each third of the time at least."""
        return max(min(self.seconds / (FEWEST + 3), 10.0), self.seconds / MOST_SAMPLES)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    given = parser.parse_args(arguments)
    soak = Soak(given.minutes * 60, given.kills, given.database)
    with tempfile.TemporaryDirectory(prefix="rubrica-soak-") as folder, databases(soak.database, Path(folder)) as urls:
        found = asyncio.run(under_load(soak, Path(folder), next(urls), next(urls)))
        found += killed(soak.kills, Path(folder), next(urls)) if soak.kills else []
    for fault in found:
        print(f"FAULT  {fault}")
    print("the soak found nothing" if not found else f"the soak found {len(found)} faults")
    return 1 if found else 0


@contextmanager
def databases(kind: str, folder: Path) -> Iterator[Iterator[str]]:
    """Places for databases, as many as one asks for."""
    if kind == "sqlite":
        yield (f"sqlite:///{folder / name}.db" for name in ("server", "gateway", "killed"))
        return
    server = Server(CARELESS)
    try:
        yield (server.url(server.create()) for _ in range(3))
    finally:
        server.close()


async def under_load(soak: Soak, folder: Path, server_url: str, gateway_url: str) -> list[str]:
    """Everything at once for as long as was asked; what was found."""
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE), cookie_jar=aiohttp.DummyCookieJar())
        )
        server, gateway = await stack.enter_async_context(processes(folder, server_url, gateway_url))
        clients = ServerClients(server, session, stop), GatewayClients(gateway, session, stop)
        working = [asyncio.create_task(one.run()) for one in clients]
        found = await watched(soak, (server, gateway), working)
        stop.set()
        for ended in await asyncio.gather(*working, return_exceptions=True):
            if isinstance(ended, BaseException):
                found.append(f"a client stopped: {type(ended).__name__}: {ended}")
        found += await records_of_server(server_url, clients[0].load, clients[0])
        for served in (server, gateway):
            if (code := await served.end()) != 0:
                found.append(f"{served.name} ended with {code}: {served.output.read_text(errors='replace')[-500:]}")
    return found + await records_of_gateway(gateway_url, clients[1].traces)


@asynccontextmanager
async def processes(folder: Path, server_url: str, gateway_url: str) -> AsyncIterator[tuple[Served, Served]]:
    """A server and a gateway over the same failing providers, one of each protocol."""
    async with AsyncExitStack() as stack:
        judge = '{"reason": "fine", "score": 8, "confidence": 0.9}'
        first, second = (Loopback(judge, FAULTS, FAULT_RATE, seed, retry_after=0.1, pace=0.01) for seed in (1, 2))
        for provider in (first, second):
            await stack.enter_async_context(provider)
        environ = {
            "OPENAI_API_KEY": first.key or "",
            "ANTHROPIC_API_KEY": second.key or "",
            "RUBRICA_OPENAI_BASE_URL": first.openai_url,
            "RUBRICA_ANTHROPIC_BASE_URL": second.anthropic_url,
            "RUBRICA_TIMEOUT": str(HANGING),
            "RUBRICA_DEADLINE": str(4 * HANGING),
            "RUBRICA_CACHE": "off",
        }
        serve = ["serve", "--port", "0", "--db", server_url, "--judge", MODEL]
        gateway = ["gateway", "--port", "0", "--db", gateway_url, "--tier0", MODEL, "--tier1", BETTER]
        stack.callback(_print_faults, first, second)
        yield (
            await stack.enter_async_context(serving("server", serve, folder, environ)),
            await stack.enter_async_context(serving("gateway", gateway, folder, environ)),
        )


def _print_faults(*providers: Loopback) -> None:
    asked, failed = (sum(getattr(one, what) for one in providers) for what in ("requests", "failed"))
    print(f"providers: asked {asked:,} times, failed {failed:,} times")


async def watched(soak: Soak, served: Sequence[Served], working: Sequence[asyncio.Task[None]]) -> list[str]:
    """Print a line for each process now and then; what was wrong at the end of the time."""
    began = time.monotonic()
    print(HEAD, flush=True)
    while (passed := time.monotonic() - began) < soak.seconds:
        await asyncio.wait(working, timeout=min(soak.interval, soak.seconds - passed), return_when="FIRST_EXCEPTION")
        for one in served:
            if (sample := one.look()) is None:
                return [f"{one.name} ended by itself: {one.output.read_text(errors='replace')[-1_000:]}"]
            count, p50, p99 = one.outcomes.window()
            asked = f"{count:9,} {one.outcomes.refused:8,} {p50 * 1000:6.0f}ms {p99 * 1000:6.0f}ms"
            taken = f"{sample.memory:6.0f} MB {sample.descriptors:6} {sample.threads:7}"
            print(f"{time.monotonic() - began:6.0f}s {one.name:8} {asked} {taken}", flush=True)
        if any(task.done() for task in working):
            break
    return [fault for one in served for fault in wrong(one, long_enough=soak.seconds >= SHORTEST_TREND)]


def wrong(served: Served, *, long_enough: bool) -> list[str]:
    """What grew, and what should not have been answered."""
    outcomes = served.outcomes
    told = ", ".join(f"{status}: {number:,}" for status, number in sorted(outcomes.statuses.items()))
    broke = ", ".join(f"{kind}: {number}" for kind, number in outcomes.lost.items()) or "none"
    print(f"{served.name}: answered {told}; connections broke {broke}; clients left {outcomes.left:,} times")
    trend = grown(served.samples) if long_enough else []
    faults = [f"{served.name}: {fault}" for fault in (*trend, *outcomes.unexpected)]
    return faults if outcomes.answered else [*faults, f"{served.name} answered nothing"]


async def records_of_server(url: str, load: Load, clients: ServerClients) -> list[str]:
    """Whether what was acknowledged is there, and everything that was sent had its effect once."""
    try:
        await load.check_told(clients.ask)
        repeated = await load.repeat(clients.ask)
    except AssertionError as error:
        return [f"server: a record is lost or changed: {error}"]
    async with Database.open(url) as database:
        found = [f"server: {half}" for half in await database.read(halves)]
        done, sent = await database.read(effects), Counter(load.sent.keys())
    found += [f"server: {key} had its effect {done[key]} times" for key in sent | done if done[key] != sent[key]][:20]
    print(f"server: {len(load.sent):,} records checked, {repeated} of them sent again")
    return found


async def records_of_gateway(url: str, traces: Sequence[UUID]) -> list[str]:
    """Whether there is a record, and one only, of every request that was answered."""

    def kept(conn: Connection) -> Counter[UUID]:
        rows = conn.execute(select(gateway_requests.c.trace, func.count()).group_by(gateway_requests.c.trace))
        return Counter({UUID(str(trace)): number for trace, number in rows})

    async with Database.open(url) as database:
        found = await database.read(kept)
    print(f"gateway: {len(traces):,} records checked")
    return [f"gateway: {found[trace]} records of {trace}" for trace in traces if found[trace] != 1][:20]


def killed(kills: int, folder: Path, url: str) -> list[str]:
    """Kill a server under load, again and again; what was lost or done twice."""
    dice = random.Random()  # noqa: S311 - moments, not secrets
    load, began = Load(), time.monotonic()
    try:
        for done in range(0, kills, 10):
            moments = [dice.uniform(0.0, 0.4) for _ in range(min(10, kills - done))]
            asyncio.run(kill_often(url, folder / "killed.log", moments, load))
            print(f"{time.monotonic() - began:6.0f}s {done + len(moments)} kills, {len(load.sent):,} requests sent")
        repeated = asyncio.run(settled(url, load))
    except AssertionError as error:
        return [f"after {kills} kills: {error}"]
    print(f"{kills} kills: {len(load.sent):,} records checked, {repeated} of them sent again")
    return []


if __name__ == "__main__":
    sys.exit(main())
