"""The council: asked in the browser, watched stage by stage, and read afterwards, also by who left meanwhile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.browsers import Site, asked, eventually, opened, sign_in, tab
from council_samples import Seat


@pytest.fixture
def page(chromium: Browser, keyed: Site) -> Iterator[Page]:
    with tab(chromium, keyed) as opened:
        sign_in(opened, keyed.key("cato", "author"))
        yield opened


@pytest.fixture
def seats(members_seated: dict[str, Seat]) -> Iterator[dict[str, Seat]]:
    """The members, each of whom nobody has asked anything yet."""
    for seat in members_seated.values():
        seat.server.requests = seat.server.left = 0
        seat.server.seen.clear()
    yield members_seated
    for seat in members_seated.values():
        seat.server.latency = 0.0


def think(seats: dict[str, Seat]) -> None:
    """Let nobody answer before the test is over."""
    for seat in seats.values():
        seat.server.latency = 600.0


def ask(page: Page, question: str) -> None:
    page.get_by_label("Question").fill(question)
    page.get_by_role("button", name="Ask").click()


def test_a_question_is_asked_watched_and_its_ranking_understood(
    page: Page, keyed: Site, seats: dict[str, Seat]
) -> None:
    opened(page, "/council")
    ask(page, "  ")
    expect(page.get_by_role("alert")).to_contain_text("there is none")
    ask(page, "When was the tower built?")
    stages = page.locator(".leg")
    expect(stages.nth(0)).to_contain_text("dropped: cannot be reached")
    expect(stages.nth(1)).to_contain_text("2 of 2 scored")
    expect(page.get_by_text("ann sums up.")).to_be_visible()
    expect(stages.nth(2)).to_contain_text("ann")
    assert "10.0.0.7" not in page.content()

    places = page.locator(".ranking > li")
    expect(places).to_have_count(3)
    expect(places.nth(0)).to_contain_text("· ann")
    expect(places.nth(0)).to_contain_text("worth 9")
    expect(places.nth(2)).to_contain_text("at most 4 by accuracy-ceiling-40")
    places.nth(0).locator("summary").click()
    expect(places.nth(0)).to_contain_text("<b id=injected>bold</b>")
    expect(page.locator("#injected")).to_have_count(0)

    matrix = page.get_by_role("table", name=re.compile("^Review matrix"))
    expect(matrix.locator("tbody tr")).to_have_count(3)
    expect(matrix.get_by_text("its own")).to_have_count(3)
    expect(matrix.locator("tbody tr").filter(has_text="ann").get_by_role("cell", name="3", exact=False)).to_have_count(
        1
    )
    page.get_by_role("button", name="Accuracy").click()
    expect(matrix.locator("tfoot td")).to_have_text([re.compile("^[369]$")] * 3)
    expect(page.get_by_role("table", name="Cost and timings")).to_contain_text("All")
    assert seats["ann"].asked == ["answer", "review", "final"]

    page.reload()  # what was answered stays
    expect(page.get_by_text("ann sums up.")).to_be_visible()
    expect(stages.nth(0)).to_contain_text("dropped: cannot be reached")
    expect(page.locator(".ranking > li")).to_have_count(3)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as Markdown").click()
    assert "ann sums up." in Path(download.value.path()).read_text("utf-8")
    assert seats["ann"].asked == ["answer", "review", "final"]

    alone = {"question": "Is anybody there?", "models": ["ann", "scripted:dee"]}
    key = {"Authorization": f"Bearer {keyed.key('cato', 'author')}"}
    begun = asked(page, "POST", "/api/council/sessions", data=alone, headers=key)
    opened(page, begun.headers["location"].removeprefix("/api").replace("/sessions", ""))
    expect(page.get_by_text("Incomplete: answers: a quorum: 1 of 2 models answered")).to_be_visible()
    expect(page.get_by_text("The council has answered in part.")).to_be_visible()
    expect(page.get_by_role("heading", name="Review matrix")).to_have_count(0)


def test_whoever_leaves_finds_the_session_again(page: Page, seats: dict[str, Seat]) -> None:
    opened(page, "/council")
    think(seats)
    ask(page, "Will anybody wait?")
    expect(page.get_by_text(re.compile("^Answers: "))).to_be_visible()
    page.goto("about:blank")
    opened(page, "/council")
    row = page.get_by_role("table", name="Sessions").locator("tbody tr").first
    expect(row).to_contain_text("running")
    row.get_by_role("link", name="Will anybody wait?").click()
    expect(page.get_by_text(re.compile("^Answers: "))).to_be_visible()
    assert [seat.server.left for seat in seats.values()] == [0, 0, 0]
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("alert")).to_contain_text("was stopped")
    eventually(lambda: [seat.server.left for seat in seats.values()] == [1, 1, 1])
    assert [(seat.server.requests, seat.asked) for seat in seats.values()] == [(1, [])] * 3


def test_a_viewer_is_told_which_role_it_takes(chromium: Browser, keyed: Site) -> None:
    with tab(chromium, keyed, width=390) as page:
        sign_in(page, keyed.key("cora", "viewer"))
        opened(page, "/council")
        expect(page.locator(".empty")).to_contain_text("needs the role author")
        expect(page.get_by_role("button", name="Ask")).to_have_count(0)


def test_a_studio_without_models_says_how_to_get_them(chromium: Browser, site: Site) -> None:
    with tab(chromium, site, width=390) as page:
        opened(page, "/council")
        expect(page.locator(".empty")).to_contain_text("rubrica serve --model")
