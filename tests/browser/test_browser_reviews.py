"""The review queue: a sample is drawn, scored blind, and only then held beside what the judge gave."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsers import Site, opened, served, sign_in, tab
from playwright.sync_api import Browser, Page, expect

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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A studio over a run that a judge scored from a script: 9 for kindness, 8 for use."""
    folder = tmp_path_factory.mktemp("studio")
    rows = [{"id": f"ticket-{n:02}", "prompt": "Where is it?", "response": f"On its way, {n}."} for n in range(CASES)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "tone.yaml").write_text(RUBRIC)
    replies = {"kind": {"score": 9, "reason": "warm words"}, "useful": {"score": 8, "reason": "it says when"}}
    lines = [
        {"match": f"for {name} alone", "reply": {**reply, "confidence": 0.9}}
        for _ in range(CASES)
        for name, reply in replies.items()
    ]
    (folder / "judge.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [sys.executable, "-m", "rubrica", "run", "cases.jsonl", "-r", "tone.yaml", "-o", "runs/judged"]
    done = subprocess.run(
        [*command, "-J", "scripted:judge.jsonl", "--no-cache"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with served(folder) as running:
        yield running


def test_a_sample_is_scored_blind_and_then_held_beside_the_judge(page: Page) -> None:
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
    useful = page.get_by_role("group", name="Useful, 0–10")
    useful.get_by_role("button", name="8", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 of 2 questions scored")).to_be_visible()
    page.get_by_label("Note").fill("colder than it looks")
    page.get_by_role("button", name="Submit").click()
    table = page.get_by_role("table", name="Your scores and the judge's")
    expect(table.get_by_role("row", name="Kind")).to_contain_text("+6")
    expect(page.get_by_role("table", name="The judge's reasons")).to_contain_text("warm words")
    expect(page.get_by_text("By your scores:").locator(".badge")).to_contain_text("fail")
    page.get_by_role("button", name="Next item").click()
    expect(page.get_by_role("button", name="Submit")).to_be_visible()
    opened(page, "/reviews")
    expect(page.get_by_role("table", name="Agreement").get_by_role("row", name="Kind")).to_contain_text("+6")
    expect(page.get_by_text("rubrica calibrate labels.tone.jsonl -r tone.yaml")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download labels.tone.jsonl").click()
    [label] = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
    assert (label["scores"], label["human"]) == ({"kind": 9, "useful": 8}, {"kind": 3, "useful": 8})
    page.get_by_role("button", name="Scored by me 1").click()
    expect(items).to_have_count(1)
    items.get_by_role("link").click()
    expect(table).to_be_visible()  # what was given stands


def test_the_queue_fits_a_phone(chromium: Browser, site: Site) -> None:
    with tab(chromium, site, width=390) as page:
        opened(page, "/reviews")
        expect(page.get_by_role("table", name="Review items")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("table", name="Review items").get_by_role("link").first.click()
        expect(page.get_by_role("button", name="Submit")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_item_that_is_not_there_is_told(page: Page) -> None:
    for item in ("nothing", "01a1deda-7abe-70d9-9d57-4eaf54fa07c4"):
        opened(page, f"/reviews/{item}")
        expect(page.get_by_role("alert")).to_contain_text("there is no review item")


def test_a_viewer_scores_nothing_and_a_player_draws_nothing(chromium: Browser, site: Site) -> None:
    site.key("root", "admin")
    for role, may in (("viewer", 0), ("player", 1)):
        key = site.key(f"the-{role}", role)
        with tab(chromium, site) as page:
            sign_in(page, key)
            opened(page, "/reviews")
            page.get_by_role("table", name="Review items").wait_for()
            expect(page.get_by_role("button", name="Draw a sample")).to_have_count(0)
            page.get_by_role("table", name="Review items").get_by_role("link").first.click()
            expect(page.get_by_role("heading", level=1)).to_contain_text("ticket-")
            expect(page.get_by_role("button", name="Submit")).to_have_count(may)
