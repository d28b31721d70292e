"""A real browser and a real server for it: what tests of pages, and the pictures of them, are made with."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from playwright.sync_api import APIResponse, Browser, BrowserContext, Page, expect, sync_playwright
from sqlalchemy import Connection

from browser.slowness import SLOWNESS, far_away, slow_down
from rubrica.store.database import Database
from rubrica.workspace.access import Role
from rubrica.workspace.keys import KeyRequest, issue
from warm_start import rubrica_command

P = ParamSpec("P")
T = TypeVar("T")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
MISSING = "no chromium on this machine: pages are not tested (as root, `make test` installs it with apt-get)"
SECONDS = 120.0
"""Within which a server has started, on a machine that has much else to do."""
PATIENCE = 60_000 * max(1.0, SLOWNESS / 4)
"""Milliseconds that an action or an expectation waits. A test that passes never does."""

_GONE: dict[str, list[BrowserContext]] = {}  # by the address of the studio they visited

expect.set_options(timeout=PATIENCE)


@dataclass(frozen=True, slots=True)
class Site:
    """A running studio."""

    url: str
    database: Path
    runs: Path
    _has: set[str] = field(default_factory=set)

    def lacks(self, what: str) -> bool:
        """Whether something is not in it yet; from now on it counts as put there. A module may be come back to."""
        if what in self._has:
            return False
        self._has.add(what)
        return True

    def write(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Write into its database as another program beside it does."""

        async def write() -> T:
            async with Database.open(str(self.database), patience=SECONDS) as database:
                return await database.write(query, *args, **options)

        with ThreadPoolExecutor(1) as apart:  # the browser's driver has the event loop of this thread
            return apart.submit(asyncio.run, write()).result()

    def key(self, name: str, role: Role) -> str:
        """A new key of a user, as ``rubrica keys create`` makes one."""
        return self.write(issue, KeyRequest(role, name), datetime.now(UTC)).secret


@contextmanager
def served(folder: Path, options: Sequence[str] = (), environment: dict[str, str] | None = None) -> Iterator[Site]:
    """Serve a new database with the studio, as a user would, until the block ends."""
    database, runs = folder / "studio.db", folder / "runs"
    runs.mkdir(exist_ok=True)
    command = rubrica_command("serve", "--port", "0", "--db", database, "--runs", runs)
    log = folder / "serve.log"
    with log.open("w") as out:
        clean = {**os.environ, "COLUMNS": "200", **(environment or {})}
        process = subprocess.Popen([*command, *options], stdout=out, stderr=subprocess.STDOUT, env=clean)
        try:
            with far_away(_address(process, log)) as url:
                yield Site(url, database, runs)
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(r"serving\s+(http://\S+)", log.read_text()):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"the server did not start: {log.read_text()}")


@contextmanager
def browser() -> Iterator[Browser]:
    """A fresh browser."""
    assert CHROMIUM is not None, MISSING
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS), timeout=SECONDS * 1000)
        try:
            yield opened
        finally:
            _GONE.clear()
            opened.close()


@contextmanager
def tab(
    opened: Browser, site: Site, *, width: int = 1280, height: int = 900, dark: bool = False, motion: bool = False
) -> Iterator[Page]:
    """A page of a visitor of their own. Requests to elsewhere and errors in the page fail the test that made them.

    Without `motion` the visitor's system asks for pages that do not move, which take less to draw.
    """
    context, page = _visitor(opened, site)
    page.set_viewport_size({"width": width, "height": height})
    moving: Literal["no-preference", "reduce"] = "no-preference" if motion else "reduce"
    page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion=moving)
    slow_down(page)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(f"error in the page: {error}"))
    page.on("console", lambda said: faults.append(f"console: {said.text}") if said.type == "error" else None)

    def check(url: str) -> None:
        if not url.startswith((site.url, "data:", "blob:", "ws://127.0.0.1", "about:")):
            faults.append(f"asked elsewhere: {url}")

    page.on("request", lambda request: check(request.url))
    try:
        yield page
        real = [fault for fault in faults if "401" not in fault and "WebSocket" not in fault]
        assert real == [], real
    except BaseException:
        context.close()
        raise
    for each in context.pages:
        each.close()
    _GONE.setdefault(site.url, []).append(context)


def _visitor(opened: Browser, site: Site) -> tuple[BrowserContext, Page]:
    """Somebody new. In place of somebody who has gone, what all pages are made of need not be fetched once more."""
    gone = _GONE.get(site.url)
    context = gone.pop() if gone else opened.new_context(base_url=site.url)
    context.set_default_timeout(PATIENCE)
    context.clear_cookies()
    page = context.new_page()
    context.new_cdp_session(page).send("Storage.clearDataForOrigin", {"origin": site.url, "storageTypes": "all"})
    return context, page


def asked(page: Page, method: str, path: str, **options: Any) -> APIResponse:
    """What the server answers a visitor beside the page.

    It may just have closed the connection, idle for long, that the request is sent through: then through another.
    """
    return page.request.fetch(path, method=method, max_retries=5, **options)


def sign_in(page: Page, key: str) -> None:
    """Begin the session of a key, without the page where a person does it."""
    reply = asked(page, "POST", "/signin", form={"key": key}, max_redirects=0)
    assert reply.status == 303, reply.text()


def opened(page: Page, path: str) -> Page:
    """Open a page and wait until it lives."""
    page.goto(path)
    page.locator("html[lang|=en] main #content").wait_for()
    expect(page.locator("main, [role=main]")).to_have_count(1)
    page.wait_for_function("() => window.socket?.connected && window.did_handshake")
    return page


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something outside of the page holds."""
    until = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < until, "it does not come to hold"
        time.sleep(0.05)


def expect_to_fit(page: Page, width: int) -> None:
    """Wait until what is drawn is no wider than the window."""
    page.wait_for_function("(width) => document.documentElement.scrollWidth <= width", arg=width)
