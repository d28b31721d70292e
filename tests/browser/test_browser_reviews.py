"""The review queue: a sample is drawn, scored blind, and only then held beside what the judge gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.browsers import Site, expect_to_fit, opened, sign_in, tab
from browser.contents import conducted, queued, written
from rubrica.runs.stored import StoredRun
from rubrica.workspace.access import Role

RUBRIC = """\
name: tone
title: Tone of a reply
scale: {min: 0, max: 10}
dimensions:
  kind: {asks: "Is it kind?", weight: 0.5, anchors: {0-4: "Cold.", 5-10: "Warm."}}
  useful: {asks: "Is it of use?", weight: 0.5}
score: {weighted: true, out_of: 10}
verdicts:
  - {label: pass, when: "score >= 6"}
  - {label: fail}
"""
CASES = 24


def judged(site: Site) -> StoredRun:
    """A run that a judge scored from a script: 9 for kindness, 8 for use."""
    folder = site.runs.parent
    rows = [{"id": f"ticket-{n:02}", "prompt": "Where is it?", "response": f"On its way, {n}."} for n in range(CASES)]
    replies = {"kind": {"score": 9, "reason": "warm words"}, "useful": {"score": 8, "reason": "it says when"}}
    lines = [
        {"match": f"for {name} alone", "reply": {**reply, "confidence": 0.9}}
        for _ in range(CASES)
        for name, reply in replies.items()
    ]
    judge = written(folder / "judge.jsonl", lines)
    return conducted(site.runs / "judged", RUBRIC, written(folder / "tickets.jsonl", rows), f"scripted:{judge}")


@pytest.fixture(scope="module")
def waiting(keyed: Site) -> Site:
    """The studio with keys, with items that wait to be scored."""
    if keyed.lacks("tickets"):
        queued(keyed, judged(keyed))
    return keyed


def test_a_sample_is_scored_blind_and_then_held_beside_the_judge(page: Page, site: Site) -> None:
    judged(site)
    opened(page, "/runs/judged")
    page.get_by_role("button", name="Review a sample").click()
    page.get_by_label("Share in percent").fill("50")
    page.get_by_role("button", name="Draw", exact=True).click()
    items = page.get_by_role("table", name="Review items").locator("tbody tr")
    expect(items).to_have_count(12)
    page.get_by_role("button", name="Score the next one").click()
    expect(page.get_by_text("Is it kind?")).to_be_visible()
    for told in ("warm words", "it says when", "The judge:"):
        assert told not in page.content()  # blind
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert").filter(has_text="at least one score")).to_be_visible()
    page.get_by_role("group", name="Kind, 0–10").get_by_role("button", name="3", exact=True).click()
    expect(page.locator(".review-anchors li.here")).to_contain_text("Cold.")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert").filter(has_text="Not scored: Useful.")).to_be_visible()
    page.get_by_role("button", name="Keep it so").click()
    expect(page.get_by_role("table", name="Your scores").get_by_role("row", name="Useful")).to_contain_text("—")
    assert "warm words" not in page.content()  # still blind
    page.get_by_role("button", name="Undo").click()
    useful = page.get_by_role("group", name="Useful, 0–10")
    useful.get_by_role("button", name="8", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 of 2 questions scored")).to_be_visible()
    page.get_by_label("Note").fill("colder than it looks")
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("button", name="What the judge gave").click()
    table = page.get_by_role("table", name="Your scores and the judge's")
    expect(table.get_by_role("row", name="Kind")).to_contain_text("+6")
    expect(page.get_by_role("table", name="The judge's reasons")).to_contain_text("warm words")
    expect(page.get_by_text("By your scores:").locator(".badge")).to_contain_text("fail")
    page.get_by_role("button", name="Next item").click()
    expect(page.get_by_role("button", name="Submit")).to_be_visible()
    opened(page, "/reviews")
    expect(page.get_by_role("table", name="Agreement").get_by_role("row", name="Kind")).to_contain_text("+6")
    page.get_by_role("button", name="Calibrate from these labels").click()
    before_and_after = page.get_by_role("table", name="Before and after calibration")
    expect(before_and_after.get_by_role("row", name="Kind")).to_contain_text("stays as it is")
    expect(page.get_by_text("Kind has 1 labelled item; 20 are the fewest to learn from.")).to_be_visible()
    page.get_by_text("By the command").click()
    expect(page.get_by_text("rubrica calibrate labels.tone.jsonl -r tone.yaml")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download labels.tone.jsonl").click()
    [label] = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
    assert (label["scores"], label["human"]) == ({"kind": 9, "useful": 8}, {"kind": 3, "useful": 8})
    page.get_by_role("button", name="Scored by me 1").click()
    expect(items).to_have_count(1)
    items.get_by_role("link").click()
    expect(table).to_be_visible()  # what was given stands


def test_the_queue_fits_a_phone(chromium: Browser, waiting: Site) -> None:
    with tab(chromium, waiting, width=390) as page:
        sign_in(page, waiting.key("rea", "player"))
        opened(page, "/reviews?run=judged")
        expect(page.get_by_role("table", name="Review items")).to_be_visible()
        expect_to_fit(page, 390)
        page.get_by_role("table", name="Review items").get_by_role("link").first.click()
        expect(page.get_by_role("button", name="Submit")).to_be_visible()
        expect_to_fit(page, 390)


def test_an_item_that_is_not_there_is_told(page: Page) -> None:
    for item in ("nothing", "01a1deda-7abe-70d9-9d57-4eaf54fa07c4"):
        opened(page, f"/reviews/{item}")
        expect(page.get_by_role("alert")).to_contain_text("there is no review item")


def test_a_viewer_scores_nothing_and_a_player_draws_nothing(chromium: Browser, waiting: Site) -> None:
    roles: dict[Role, int] = {"viewer": 0, "player": 1}
    for role, may in roles.items():
        with tab(chromium, waiting) as page:
            sign_in(page, waiting.key(f"reviewing-{role}", role))
            opened(page, "/reviews?run=judged")
            page.get_by_role("table", name="Review items").wait_for()
            expect(page.get_by_role("button", name="Draw a sample")).to_have_count(0)
            page.get_by_role("table", name="Review items").get_by_role("link").first.click()
            expect(page.get_by_role("heading", level=1)).to_contain_text("ticket-")
            expect(page.get_by_role("button", name="Submit")).to_have_count(may)
