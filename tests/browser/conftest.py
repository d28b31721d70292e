"""Every module of browser tests gets a browser and a studio of its own.

The browser's driver keeps an event loop running, under which no other test could start one: so it ends with the module.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsers import CHROMIUM, MISSING, Site, browser, served, tab
from playwright.sync_api import Browser, Page


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason=MISSING))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A studio without keys, shared by the tests of a module."""
    with served(tmp_path_factory.mktemp("studio")) as running:
        yield running


@pytest.fixture
def page(chromium: Browser, site: Site) -> Iterator[Page]:
    with tab(chromium, site) as opened:
        yield opened
