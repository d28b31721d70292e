"""Rubrics in a browser: found, read, forked, carried away and back, compared with what they were, and restored."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import Browser, Page, expect

from browser.browsers import Site, asked, expect_to_fit, opened, sign_in, tab
from rubrica.packs.library import load


def made(page: Page, name: str, source: str = "council-review") -> dict[str, Any]:
    """A fork of a bundled rubric, with a second version in which accuracy counts less."""
    forked = asked(page, "POST", f"/api/evaluations/{source}/fork", data={"name": name})
    assert forked.status == 201, forked.text()
    document = forked.json()
    document["dimensions"]["accuracy"]["weight"], document["dimensions"]["relevance"]["weight"] = 0.25, 0.2
    document["description"] = "With less weight on <b>accuracy</b>."
    path = f"/api/evaluations/{document['id']}"
    changed = asked(page, "PUT", path, data=document, headers={"If-Match": "*"})
    assert changed.status == 200, changed.text()
    return dict(changed.json())


def test_a_rubric_is_searched_for_and_read(page: Page) -> None:
    opened(page, "/rubrics")
    rows = page.locator(".rubric-list > li")
    expect(rows.first).to_be_visible()
    search, tagged = page.get_by_label("Search", exact=True), page.get_by_role("button", name="Only tag peer-review")
    search.fill("Peer review CEILING")
    expect(page).to_have_url(re.compile(r"q=Peer"))
    expect(rows.get_by_role("link", name=re.compile("^council-review"))).to_have_count(2)
    expect(rows.get_by_role("link", name="answer-quality", exact=True)).to_have_count(0)
    search.fill("no such words anywhere")
    expect(page.get_by_text("Nothing fits.")).to_be_visible()
    page.get_by_role("button", name="Show all rubrics").click()
    expect(rows.filter(has_not=tagged)).not_to_have_count(0)
    search.fill("council-review")  # the first page may be full of rubrics that other tests have made
    expect(page).to_have_url(re.compile(r"q=council"))
    expect(rows).not_to_have_count(0)
    expect(rows.filter(has_not=tagged)).to_have_count(0)  # drawn anew: what is clicked before that is gone
    tagged.first.click()
    expect(page).to_have_url(re.compile(r"tag="))
    search.fill("")
    expect(page).not_to_have_url(re.compile(r"q="))
    expect(rows).not_to_have_count(0)
    expect(rows.filter(has_not=tagged)).to_have_count(0)
    page.get_by_role("button", name="Remove tag peer-review").click()
    expect(rows.filter(has_not=tagged)).not_to_have_count(0)
    search.fill("council-review")
    expect(page).to_have_url(re.compile(r"q=council"))
    page.get_by_role("link", name="council-review", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Council review of answers")
    bands = page.get_by_role("img", name="Anchors over the scale 1–10")
    expect(bands.first).to_contain_text("9–10")
    expect(page.locator(".signs").first).to_contain_text("If accuracy < 5 → score at most 4")
    expect(page.locator(".badge", has_text="unreliable").first).to_be_visible()
    worth = page.locator("section", has=page.get_by_role("heading", name="What its scores are worth without a judge"))
    expect(worth).to_contain_text("docs/validity.md#council-review")
    expect(worth).to_contain_text("“The capital of Australia is Sydney.”")
    page.get_by_role("tab", name="Documentation").click()
    expect(page.get_by_role("heading", name="How the score is made")).to_be_visible()
    page.get_by_role("tab", name="Document", exact=True).click()
    expect(page.locator("pre.source")).to_contain_text("accuracy-ceiling-40")


def test_a_rubric_is_forked_exported_and_imported_again(page: Page, tmp_path: Path) -> None:
    opened(page, "/rubrics/speed-demon")
    page.get_by_role("button", name="Fork").click()
    page.get_by_label("Name of the copy").fill("Speedy")
    page.get_by_label("Name of the copy").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Speedy")
    page.get_by_role("tab", name="Lineage").click()
    expect(page.get_by_role("link", name="Speed Demon@1.0")).to_be_visible()
    page.get_by_role("button", name="More").click()
    with page.expect_download() as download:
        page.get_by_text("Export a bundle (YAML)").click()
    bundle = tmp_path / "bundle.yaml"
    download.value.save_as(bundle)
    assert yaml.safe_load(bundle.read_text())["rubric"]["name"] == "Speedy"
    opened(page, "/rubrics")
    page.get_by_role("button", name="Import").click()
    pick = page.locator(".q-uploader__header .q-btn")
    colour, around = (
        pick.evaluate(f"button => getComputedStyle(button{where}).{what}")
        for where, what in (("", "color"), (".closest('.q-uploader__header')", "backgroundColor"))
    )
    for part in (pick, page.locator("input[type=file]")):
        expect(part).to_have_attribute("aria-label", "Or choose a file")
    assert (colour, around) == ("rgb(49, 86, 196)", "rgba(0, 0, 0, 0)")  # a button that can be seen
    page.get_by_label("Bundle").fill("name: broken\nrules: 7\n")
    page.get_by_role("dialog").get_by_role("button", name="Import").click()
    expect(page.get_by_role("alert")).to_contain_text("rules")
    page.locator("input[type=file]").set_input_files(bundle)
    expect(page.get_by_label("Bundle")).to_have_value(bundle.read_text())
    page.get_by_role("dialog").get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Speedy 2")
    page.get_by_role("button", name="More").click()
    page.get_by_text("Publish to the marketplace").click()
    page.get_by_role("button", name="Publish").click()
    expect(page.locator(".chip", has_text="public")).to_be_visible()
    assert asked(page, "GET", "/api/marketplace/speedy-2").status == 200
    page.get_by_role("button", name="More").click()
    page.get_by_text("Delete", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="More").click()
    page.get_by_text("Delete", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/rubrics")
    assert asked(page, "GET", "/api/evaluations/speedy-2").status == 404


def test_two_versions_are_compared_and_the_older_one_is_restored(page: Page) -> None:
    document = made(page, "changed-review")
    opened(page, f"/rubrics/{document['id']}")
    expect(page.locator(".lead")).to_have_text("With less weight on <b>accuracy</b>.")
    page.get_by_role("link", name="2 versions").click()
    changes = page.locator(".difference")
    expect(changes.filter(has_text="accuracy › weight")).to_contain_text("0.35 → 0.25")
    expect(page.locator("ins", has_text="With less weight")).to_have_text("With less weight on <b>accuracy</b>.")
    first = load("council-review").version  # of which the fork is a copy
    page.get_by_role("button", name=f"Restore {first}").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(page.get_by_text(f"restored from revision 1 ({first})")).to_be_visible()
    now = asked(page, "GET", f"/api/evaluations/{document['id']}").json()
    assert (now["revision"], now["dimensions"]["accuracy"]["weight"]) == (3, 0.35)


def test_what_is_not_there_is_said_and_nothing_scrolls_sideways_on_a_phone(chromium: Browser, site: Site) -> None:
    with tab(chromium, site, width=390, dark=True) as page:
        opened(page, "/rubrics/no-such-rubric")
        expect(page.get_by_role("alert")).to_contain_text("there is no rubric 'no-such-rubric'")
        for path in ("/rubrics", "/rubrics/education-question", "/rubrics/council-review/versions"):
            opened(page, path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect_to_fit(page, 390)


def test_a_viewer_reads_and_changes_nothing(keyed: Site, chromium: Browser) -> None:
    with tab(chromium, keyed) as page:
        sign_in(page, keyed.key("vic", "viewer"))
        opened(page, "/rubrics/council-review")
        expect(page.get_by_role("button", name="Try it")).to_be_visible()
        for name in ("Fork", "Edit"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        page.get_by_role("button", name="More").click()
        expect(page.get_by_text("Export a bundle (YAML)")).to_be_visible()
        expect(page.get_by_text("Delete", exact=True)).to_have_count(0)
