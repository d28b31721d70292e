"""The gateway as a plain pass-through, grading off, against a bare Starlette + aiohttp proxy; its memory; its streams.

The gateway is the real command with its database, sign-in, limits, prices, records and figures. It and the bare proxy
are measured in turn, each alone on one core; the provider and the clients share the others. Times are wall times.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from .floor import Ratio
from .gateway_load import Load, hold, load
from .gateway_peers import EVENTS, peer
from .provider import provider

CONCURRENCY = 64
WARM, REQUESTS, ROUNDS = 500, 4_000, 5
GRADED = 1_500
SETTLED = 5_000
"""Requests after which memory is looked at for the first time."""

ALL, BY_DEFAULT = 200_000, 20_000
STREAMS = 500


def pass_through() -> list[Ratio]:
    """Requests a second, and what the slowest hundredth waits for the proxy in between."""
    with _one_core() as own, provider() as upstream, peer("bare", upstream) as (bare, bare_pid):
        os.sched_setaffinity(bare_pid, own)
        with _gateway(f"{upstream}#canned") as (gateway, pid):
            os.sched_setaffinity(pid, own)
            found: dict[str, list[Load]] = {"direct": [], "bare": [], "gateway": []}
            for url in (bare, gateway):
                asyncio.run(load(url, WARM, CONCURRENCY))
            for _ in range(ROUNDS):
                for name, url in (("direct", upstream), ("bare", bare), ("gateway", gateway)):
                    found[name].append(asyncio.run(load(url, REQUESTS, CONCURRENCY)))
    rate = {name: median(one.per_second for one in loads) for name, loads in found.items()}
    slow = {name: median(one.within(0.99) for one in loads) for name, loads in found.items()}
    added = {name: slow[name] - slow["direct"] for name in ("bare", "gateway")}
    what, floor = f"gateway, grading off, {CONCURRENCY} at once", "a bare Starlette + aiohttp proxy, one core"
    detail = f"{rate['gateway']:,.0f} requests/s against {rate['bare']:,.0f}"
    waits = f"{added['gateway'] * 1e3:.1f} ms against {added['bare'] * 1e3:.1f} ms"
    return [
        Ratio(f"{what}: requests/s", floor, rate["gateway"] / rate["bare"], 0.6, detail),
        Ratio(f"{what}: p99 added", floor, added["gateway"] / added["bare"], 3.0, waits, higher_is_better=False),
    ]


def two_workers() -> Ratio:
    """Requests a second of two workers against one, with grading, so that the gateway does most of the work."""
    rates: dict[int, list[float]] = {1: [], 2: []}
    with (
        provider() as upstream,
        _gateway(f"{upstream}#canned") as (one, _),
        _gateway(f"{upstream}#canned", "--workers", "2") as (two, _),
    ):
        for url in (one, two):
            asyncio.run(load(url, WARM, 2 * CONCURRENCY, graded=True))
        for _ in range(ROUNDS):
            for workers, url in ((1, one), (2, two)):
                rates[workers].append(asyncio.run(load(url, GRADED, 2 * CONCURRENCY, graded=True)).per_second)
    rate = {workers: median(found) for workers, found in rates.items()}
    detail = f"{rate[2]:,.0f} requests/s against {rate[1]:,.0f}, on {os.cpu_count()} cores with provider and clients"
    return Ratio("gateway, graded offline, two workers", "one worker", rate[2] / rate[1], 1.6, detail)


def flat_gateway_memory() -> Ratio:
    """Memory of the gateway after many requests against after a few thousand."""
    count = int(os.environ.get("RUBRICA_BENCH_REQUESTS", BY_DEFAULT))
    with provider() as upstream, _gateway(f"{upstream}#canned") as (url, pid):
        asyncio.run(load(url, SETTLED, CONCURRENCY))
        before = _resident(pid)
        asyncio.run(load(url, count - SETTLED, CONCURRENCY))
        after = _resident(pid)
    detail = f"{after:,.0f} MB after {count:,} requests, {before:,.0f} MB after {SETTLED:,}"
    if count < ALL:
        detail += f" (RUBRICA_BENCH_REQUESTS={ALL} makes all of them)"
    return Ratio("memory of the gateway", f"{SETTLED:,} requests", after / before, 1.1, detail, higher_is_better=False)


def held_streams() -> Ratio:
    """Streams that were open at the same time and came through whole."""
    with peer("streams") as (upstream, _), _gateway(f"{upstream}#slow") as (url, pid):
        before = _resident(pid)
        found = asyncio.run(hold(url, STREAMS))
        after = _resident(pid)
    whole = [one for one in found if one.complete and one.events == EVENTS]
    together = max((sum(one.first <= at.first <= one.last for one in whole) for at in whole), default=0)
    spread = max(one.first for one in found) - min(one.first for one in found)
    detail = f"{together} at once, all {EVENTS} events each; begun within {spread:.1f} s, {after - before:+.0f} MB"
    return Ratio(f"{STREAMS} streams through the gateway", "as many asked for", together / STREAMS, 1.0, detail)


@contextmanager
def _gateway(model: str, *options: str) -> Iterator[tuple[str, int]]:
    """The real command over a database of its own: its address and its process id."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "rubrica", "gateway", "--port", "0", "--tier0", model, *options]
        command += ["--db", str(Path(folder) / "gateway.db")]
        environ = {**os.environ, "COLUMNS": "200"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:
            try:
                assert process.stdout is not None
                said = process.stdout.readline()
                found = re.search(r"http://[\d.]+:\d+", said)
                assert found is not None, said
                yield found[0], process.pid
            finally:
                process.kill()


@contextmanager
def _one_core() -> Iterator[set[int]]:
    """A core for what is measured. All else stays on the others, if there are any."""
    before = os.sched_getaffinity(0)
    first, *rest = sorted(before)
    os.sched_setaffinity(0, rest or {first})
    try:
        yield {first}
    finally:
        os.sched_setaffinity(0, before)


def _resident(pid: int) -> float:
    """Resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
