"""A real browser and a real server for it: what tests of pages, and the pictures of them, are made with."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
MISSING = "no chromium on this machine: pages are not tested (as root, `make test` installs it with apt-get)"
SECONDS = 40.0


@dataclass(frozen=True, slots=True)
class Site:
    """A running studio."""

    url: str
    database: Path
    runs: Path

    def key(self, name: str, role: str) -> str:
        """A new key of a user."""
        command = [sys.executable, "-m", "rubrica", "keys", "create", "--user", name, "--role", role]
        done = subprocess.run([*command, "--db", str(self.database)], capture_output=True, text=True, check=True)
        found = re.search(r"rk_[A-Za-z0-9_-]{32}", done.stdout)
        assert found, done.stdout
        return found[0]


@contextmanager
def served(folder: Path, options: Sequence[str] = (), environment: dict[str, str] | None = None) -> Iterator[Site]:
    """Serve a new database with the studio, as a user would, until the block ends."""
    database, runs = folder / "studio.db", folder / "runs"
    runs.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "rubrica", "serve", "--port", "0", "--db", str(database), "--runs", str(runs)]
    log = folder / "serve.log"
    with log.open("w") as out:
        clean = {**os.environ, "COLUMNS": "200", **(environment or {})}
        process = subprocess.Popen([*command, *options], stdout=out, stderr=subprocess.STDOUT, env=clean)
        try:
            yield Site(_address(process, log), database, runs)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


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
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def tab(opened: Browser, site: Site, *, width: int = 1280, height: int = 900, dark: bool = False) -> Iterator[Page]:
    """A page of a visitor of their own. Requests to elsewhere and errors in the page fail the test that made them."""
    context = opened.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", base_url=site.url
    )
    page = context.new_page()
    page.set_default_timeout(15_000)
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
    finally:
        context.close()


def sign_in(page: Page, key: str) -> None:
    """Sign in as a person does."""
    page.goto("/signin")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/rubrics")


def opened(page: Page, path: str) -> Page:
    """Open a page and wait until it lives."""
    page.goto(path)
    page.locator("main#content").wait_for()
    page.wait_for_function("() => window.socket && window.socket.connected")
    return page
