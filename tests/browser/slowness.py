"""A browser, and a way to the server, that are slow on purpose: what does not wait for a page fails here first.

``RUBRICA_SLOW_BROWSER=8 pytest tests/browser`` leaves each tab an eighth of its speed, and what is sent takes a while.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from playwright.sync_api import Page

SLOWNESS = float(os.environ.get("RUBRICA_SLOW_BROWSER") or 1)
UNDERWAY = 0.01
"""Seconds that what is sent needs to arrive, for each unit of slowness."""


def slow_down(page: Page) -> None:
    """Let a tab work as slowly as is wished."""
    if SLOWNESS > 1:
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWNESS})


@contextmanager
def far_away(url: str) -> Iterator[str]:
    """Another address of a server, from which everything takes a while; the same one where nothing shall be slow."""
    if SLOWNESS <= 1:
        yield url
        return
    started: Future[tuple[int, Callable[[], object]]] = Future()
    thread = threading.Thread(target=asyncio.run, args=(_stand_between(int(urlsplit(url).port or 80), started),))
    thread.start()
    port, end = started.result()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        end()
        thread.join()


async def _stand_between(server: int, started: Future[tuple[int, Callable[[], object]]]) -> None:
    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            theirs, ours = await asyncio.open_connection("127.0.0.1", server)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_later(reader, ours), _later(theirs, writer))

    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    listening = await asyncio.start_server(pass_on, "127.0.0.1", 0)
    started.set_result((listening.sockets[0].getsockname()[1], lambda: loop.call_soon_threadsafe(ended.set)))
    await ended.wait()
    listening.close()


async def _later(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    loop, delay = asyncio.get_running_loop(), UNDERWAY * SLOWNESS
    with suppress(OSError):
        while said := await reader.read(65_536):
            loop.call_later(delay, writer.write, said)
    loop.call_later(delay, writer.close)
