"""One rubric's life, by two people: built from nothing, tried, published, imported, run and reviewed."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from browser.browsers import Site, opened, sign_in, tab

REPLIES = ("Thank you! It left on Monday.", "No.", "Thank you for waiting: it comes tomorrow, before noon.")


def test_a_rubric_is_built_tried_published_imported_run_and_reviewed(
    keyed: Site, chromium: Browser, tmp_path: Path
) -> None:
    cases = tmp_path / "replies.jsonl"
    rows = ({"id": f"reply-{n}", "prompt": "Where is it?", "response": said} for n, said in enumerate(REPLIES))
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with tab(chromium, keyed, motion=True) as ina:
        sign_in(ina, keyed.key("ina", "author"))
        build(ina)
        try_out(ina)
        publish(ina)
    with tab(chromium, keyed, motion=True) as tom:
        sign_in(tom, keyed.key("tom", "author"))
        import_it(tom)
        run(tom, cases)
        review(tom)


def build(page: Page) -> None:
    """From nothing: one dimension by a formula, one by rules, a gate and a verdict."""
    opened(page, "/rubrics")
    page.get_by_role("button", name="New rubric").click()
    page.get_by_role("link", name="From nothing").click()
    page.get_by_label("Title", exact=True).fill("Kind replies")
    expect(page.get_by_label("Name", exact=True)).to_have_value("kind-replies")
    names = page.get_by_label("Name in formulas")
    for count, name in enumerate(("use", "thanks"), start=1):
        page.get_by_role("button", name="Add a dimension", exact=True).click()
        expect(names).to_have_count(count)
        if count > 1:
            expect(page.get_by_role("slider", name="Weight of use")).to_be_visible()
        names.last.fill(name)
        names.last.press("Enter")
    expect(page.get_by_role("slider", name="Weight of thanks")).to_be_visible()
    page.get_by_role("combobox", name="Without a model").first.click()
    page.get_by_role("option", name="one formula").click()
    page.get_by_label("The score on the scale", exact=True).fill("min(10, 2 * word_count)")
    page.get_by_role("combobox", name="How it is scored").last.click()
    page.get_by_role("option", name="Rules give and take points").click()
    page.get_by_role("button", name="Add a rule").last.click()
    page.get_by_text("Points for what is found").click()
    page.get_by_label("Keywords").fill("thank you")
    expect(page.locator(".tester mark")).to_have_text(["Thank you"])
    gate = page.get_by_label("Write a gate")
    gate.fill("if use < 5 then at most 40")
    gate.press("Enter")
    expect(page.locator(".line").first).to_have_text("if use < 5 then at most 40")
    expect(page.get_by_label("Problems")).to_contain_text("Nothing is wrong")
    page.get_by_role("button", name="Save", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What changed").fill("the first version")
    dialog.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(re.compile(r"/build/[0-9a-f-]{36}$"))


def try_out(page: Page) -> None:
    """In the sandbox: a reply that stands, and one that the gate caps."""
    opened(page, "/rubrics/kind-replies")
    page.get_by_role("button", name="Try it").click()
    page.get_by_label("Response").fill(REPLIES[0])
    expect(page.locator("mark").first).to_have_text("Thank you")
    expect(page.locator(".outcome .figure")).to_be_visible()
    page.get_by_label("Response").fill(REPLIES[1])
    expect(page.locator(".fired-gates")).to_contain_text("40")
    expect(page.locator(".outcome")).to_contain_text("fail")


def publish(page: Page) -> None:
    opened(page, "/rubrics/kind-replies")
    expect(page.get_by_text("private", exact=True)).to_be_visible()
    page.get_by_role("button", name="More").click()
    page.get_by_text("Publish to the marketplace").click()
    page.get_by_role("dialog").get_by_role("button", name="Publish").click()
    expect(page.get_by_text("public", exact=True)).to_be_visible()


def import_it(page: Page) -> None:
    """Found by a word of its name, by somebody else."""
    opened(page, "/market")
    page.get_by_role("searchbox", name="Search").fill("kind")
    expect(page.locator(".ware")).to_have_count(1)
    expect(page.locator(".ware")).to_contain_text("by ina")
    page.get_by_role("link", name="kind-replies").click()
    page.get_by_role("button", name="Import").click()
    page.get_by_role("dialog").get_by_role("button", name="Import").click()
    expect(page.get_by_text("1 person has imported it.")).to_be_visible()


def run(page: Page, cases: Path) -> None:
    """Over a file of one's own."""
    opened(page, "/runs")
    page.get_by_role("button", name="Start a run").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Rubric").click()
    page.keyboard.type("kind-replies")
    page.get_by_role("option", name="kind-replies").first.click()
    expect(page.get_by_label("Name of the run")).not_to_have_value("")
    page.locator('input[type="file"]').set_input_files(cases)
    expect(dialog.get_by_text("replies.jsonl (")).to_be_visible()
    page.get_by_label("Name of the run").fill("toms")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url("**/runs/toms")
    rows = page.get_by_role("table", name="Evaluations").locator("tbody tr")
    expect(rows).to_have_count(len(REPLIES))
    expect(rows.first).to_contain_text("reply-1")  # failures first


def review(page: Page) -> None:
    """Blind, then beside what the run gave."""
    page.get_by_role("button", name="Review a sample").click()
    page.get_by_label("Share in percent").fill("100")
    page.get_by_role("button", name="Draw", exact=True).click()
    expect(page.get_by_role("table", name="Review items").locator("tbody tr")).to_have_count(len(REPLIES))
    page.get_by_role("button", name="Score the next one").click()
    expect(page.get_by_role("table", name="Your scores and the judge's")).to_have_count(0)
    page.get_by_role("group", name=re.compile("^Use")).get_by_role("button", name="7", exact=True).click()
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("button", name="Keep it so").click()  # one of two is scored
    page.get_by_role("button", name="What the judge gave").click()
    expect(page.get_by_role("table", name="Your scores and the judge's")).to_contain_text("7")
