"""One browser and a few studios for all browser tests that follow each other.

Other tests may have come in between, or before: so none relies on what another left behind, and each calls what it
makes by names of its own. The browser's driver keeps an event loop running, under which tests elsewhere could start
none: so all of it ends with the folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from browser.browsers import CHROMIUM, MISSING, Site, browser, served, tab
from council_samples import Seat, members

ANSWERS = {"ann": "quality 9: in 1889 <b id=injected>bold</b>", "bo": "quality 6: long ago", "cy": "quality 3: no idea"}
ANSWERED = {  # by the judge, each once, where a criterion asks so
    "Names the usual dose.": "yes",
    "Warns about alcohol.": "no",
    "Says when to see a doctor.": "no",
    "Invents a dose.": "no",
    "Says to pull it out straight.": "met",
    "Says what to watch for.": "not_met",
}
REPLY = {"score": 9, "reason": "a fine <i>answer</i>", "confidence": 0.9}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason=MISSING))


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A studio without keys, where everybody is an admin."""
    with served(tmp_path_factory.mktemp("studio")) as running:
        yield running


@pytest.fixture(scope="package")
def members_seated() -> Iterator[dict[str, Seat]]:
    with members(**ANSWERS) as seated:
        yield seated


@pytest.fixture(scope="package")
def keyed(tmp_path_factory: pytest.TempPathFactory, members_seated: dict[str, Seat]) -> Iterator[Site]:
    """A studio with keys, with three models that answer and one that cannot be reached."""
    folder = tmp_path_factory.mktemp("keyed")
    (folder / "dee.jsonl").write_text('{"error": "unreachable", "message": "no route to 10.0.0.7"}\n')
    models = [*(seat.model for seat in members_seated.values()), f"scripted:{folder / 'dee.jsonl'}"]
    environment = {
        "RUBRICA_CONFIG": "",
        "RUBRICA_ATTEMPTS": "1",
        "XDG_CONFIG_HOME": str(folder),
        "XDG_CACHE_HOME": str(folder),
    }
    with served(folder, [f"--model={name}" for name in models], environment) as running:
        running.key("root", "admin")
        yield running


@pytest.fixture(scope="package")
def judging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A studio without keys, with a judge."""
    folder = tmp_path_factory.mktemp("judging")
    choices = {label: {"reason": "has the year", "choice": label, "confidence": 0.9} for label in "AB"}
    preferring = [{"pattern": f"(?s)response {label}\nIn 1889", "reply": reply} for label, reply in choices.items()]
    answers = [{"match": said, "reply": {"reason": "read", "answer": answer}} for said, answer in ANSWERED.items()]
    lines = [*preferring, *answers, {"reply": REPLY}]
    (folder / "judge.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with served(folder, [f"--judge=scripted:{folder / 'judge.jsonl'}"]) as running:
        yield running


@pytest.fixture
def page(chromium: Browser, site: Site) -> Iterator[Page]:
    with tab(chromium, site) as opened:
        yield opened
