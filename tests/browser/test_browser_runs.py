"""Runs: made by the command or started here, looked into, compared, and followed from commit to commit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.browsers import Site, expect_to_fit, opened, sign_in, tab
from browser.contents import conducted, kept_as_baseline, written
from rubrica.packs.library import examples
from rubrica.runs.stored import StoredRun
from rubrica.studio.runs.paths import baselines_file
from warm_start import rubrica_command

EXAMPLES = sum(1 for _ in examples("answer-quality"))

RUBRIC = """\
name: length
title: Length of a reply
scale: {min: 0, max: 10}
dimensions:
  words: {formula: "min(10, word_count)", weight: 0.5}
  extra: {formula: "10 if word_count > %d else 2", weight: 0.5}
score: {weighted: true, out_of: 10}
verdicts:
  - {label: pass, when: "score >= 6"}
  - {label: fail}
"""
MANY = 600


@pytest.fixture(scope="module", autouse=True)
def _runs(site: Site) -> None:
    """A run that the command made, one that the studio made, and both kept as baselines."""
    if not site.lacks("before and after"):
        return
    folder = site.runs.parent
    rows = [{"id": f"case-{n:03}", "prompt": "Say it.", "response": "word " * (n % 9 + 1)} for n in range(MANY)]
    cases = written(folder / "cases.jsonl", rows)
    (folder / "before.yaml").write_text(RUBRIC % 6)
    command = rubrica_command("run", "cases.jsonl", "-r", "before.yaml", "-o", "runs/before")
    done = subprocess.run([*command, "--offline"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kept_as_baseline(StoredRun.open(site.runs / "before"), baselines_file(site.runs), "before")
    kept_as_baseline(conducted(site.runs / "after", RUBRIC % 3, cases), baselines_file(site.runs), "after")
    (site.runs / "notes").mkdir()


def test_a_run_of_the_command_is_filtered_and_one_evaluation_explained(page: Page) -> None:
    opened(page, "/runs")
    for name in ("before", "after"):
        expect(page.get_by_role("table", name="Runs").get_by_role("link", name=name, exact=True)).to_be_visible()
    expect(page.get_by_role("table", name="Not shown")).to_contain_text("no run.json")
    page.get_by_label("Search runs").fill("befo")
    expect(page.get_by_role("table", name="Runs").get_by_role("row")).to_have_count(2)
    page.get_by_role("link", name="before").click()
    expect(page.get_by_role("heading", name="before")).to_be_visible()
    rows = page.get_by_role("table", name="Evaluations").locator("tbody tr")
    expect(rows).to_have_count(25)
    expect(rows.first).to_contain_text("fail")  # failures first
    expect(rows.first.locator(".texts p")).to_have_text(["Say it.", "word"])
    expect(rows.first).to_contain_text("1.5 of 10; pass needs 6. Most lost: Words.")
    expect(page.get_by_text(f"1–25 of {MANY} evaluations")).to_be_visible()
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_text(f"26–50 of {MANY} evaluations")).to_be_visible()
    page.get_by_label("Verdict").click()
    page.get_by_role("option", name="pass").click()
    expect(rows.first).to_contain_text("pass")
    page.get_by_label("Case, texts or why", exact=True).fill("case-59")
    expect(rows.first).to_contain_text("case-59")
    first = rows.first.get_by_role("link")
    case = first.inner_text()
    first.click()
    expect(page.get_by_role("heading", name=case).first).to_be_visible()
    expect(page.get_by_text("How the score adds up")).to_be_visible()
    expect(page.locator(".report .judged").last).to_contain_text("word word")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("heading", name=case).first).not_to_be_visible()
    page.get_by_role("link", name="‹ before").click()
    expect(page.get_by_label("Case, texts or why", exact=True)).to_have_value("case-59")  # as it was left


def test_two_runs_are_compared_and_the_moved_cases_lead_on(page: Page) -> None:
    opened(page, "/runs/after")
    page.get_by_role("button", name="Compare").click()
    page.get_by_label("The earlier run (A)").click()
    page.get_by_role("option", name="before").click()
    expect(page.get_by_text("Better beyond noise")).to_be_visible()
    expect(page.get_by_text(f"{MANY} cases in both runs")).to_be_visible()
    table = page.get_by_role("table", name="after against before")
    expect(table.get_by_role("row", name="Extra")).to_contain_text("improvement")
    expect(table.get_by_role("row", name="Words")).to_contain_text(f"equal on all {MANY} cases")
    page.get_by_role("button", name="Swap the two runs").click()
    expect(page.get_by_text("Worse beyond noise")).to_be_visible()
    page.get_by_role("table", name="Fell furthest").get_by_role("link").first.click()
    expect(page.get_by_text("How the score adds up")).to_be_visible()


def test_a_run_is_kept_as_a_baseline_and_the_trend_is_drawn(page: Page) -> None:
    opened(page, "/runs/after")
    page.get_by_role("button", name="Keep as baseline").click()
    page.get_by_label("Note").fill("kept in the studio")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Kept as")).to_be_visible()
    opened(page, "/runs/baselines")
    expect(page.get_by_text("3 baselines, oldest first")).to_be_visible()
    expect(page.locator("svg.trend").first.locator("circle")).to_have_count(3)
    expect(page.get_by_role("table", name="Baselines")).to_contain_text("kept in the studio")


def test_a_run_is_started_left_and_found_again(page: Page) -> None:
    opened(page, "/runs")
    page.get_by_role("button", name="Start a run").click()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="choose a rubric")).to_be_visible()
    page.get_by_role("dialog").get_by_label("Rubric").click()
    page.keyboard.type("answer-quality")
    page.get_by_role("option", name="(answer-quality@").filter(has_text="with Rubrica").click()
    expect(page.get_by_label("Name of the run")).not_to_have_value("")
    page.get_by_role("dialog").get_by_label("Cases", exact=True).click()
    page.get_by_role("option", name=f"the rubric's {EXAMPLES} examples").click()
    expect(page.get_by_role("dialog").get_by_text(f"the rubric's {EXAMPLES} examples")).to_be_visible()
    expect(page.get_by_text(f"{EXAMPLES} cases: {EXAMPLES} evaluations.")).to_be_visible()
    page.get_by_text("How many cases, and how often").click()
    page.get_by_label("A sample of").fill("few")
    expect(page.get_by_text("a sample is a number of cases")).to_be_visible()
    page.get_by_label("A sample of").fill("12")
    expect(page.get_by_text(f"12 of {EXAMPLES} cases: 12 evaluations.")).to_be_visible()
    page.get_by_label("A sample of").fill("")
    expect(page.get_by_text(f"{EXAMPLES} cases: {EXAMPLES} evaluations.")).to_be_visible()
    page.get_by_label("Name of the run").fill("from here")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url("**/runs/from%20here")
    opened(page, "/runs")
    page.get_by_role("link", name="from here").click()
    expect(page.get_by_role("table", name="Evaluations")).to_be_visible()
    expect(page.get_by_text(f"{EXAMPLES} evaluations")).to_be_visible()


def test_a_file_without_cases_is_refused_where_it_was_chosen(page: Page, tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_text("nothing\n")
    (tmp_path / "mine.csv").write_text("id,response\n1,yes\n")
    opened(page, "/runs")
    page.get_by_role("button", name="Start a run").click()
    upload = page.locator('input[type="file"]')
    upload.set_input_files(tmp_path / "odd.jsonl")
    expect(page.get_by_role("alert").filter(has_text="odd.jsonl, line 1")).to_be_visible()
    page.locator('input[type="file"]').set_input_files(tmp_path / "mine.csv")
    expect(page.get_by_role("dialog").get_by_text("mine.csv (")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_names_that_lead_elsewhere_are_no_runs(page: Page, site: Site) -> None:
    (site.runs.parent / "secret").mkdir(exist_ok=True)
    (site.runs.parent / "secret" / "run.json").write_text("{}")
    for path in ("/runs/..%2Fsecret", "/runs/.hidden", "/runs/nothing", "/runs/before/no-such-case"):
        opened(page, path)
        expect(page.get_by_role("alert")).to_contain_text("no ")


def test_nothing_is_wider_than_a_phone(chromium: Browser, site: Site) -> None:
    with tab(chromium, site, width=390, dark=True) as page:
        for path in (
            "/runs",
            "/runs/before",
            "/runs/before/case-001",
            "/runs/compare?a=before&b=after",
            "/runs/baselines",
        ):
            opened(page, path)
            expect(page.locator("table, .report").first).to_be_visible()
            expect_to_fit(page, 390)


def test_a_run_of_the_command_is_for_admins_until_one_shares_it_and_a_viewer_then_only_looks(
    chromium: Browser, site: Site, keyed: Site
) -> None:
    if keyed.lacks("before"):
        shutil.copytree(site.runs / "before", keyed.runs / "before")
    with tab(chromium, keyed) as admin, tab(chromium, keyed) as page:
        sign_in(page, keyed.key("ruth", "viewer"))
        for path in ("/runs/before", "/runs/before/case-001"):
            opened(page, path)
            expect(page.get_by_role("alert")).to_contain_text("there is no run 'before', or it is not yours to see")
        opened(page, "/runs")
        expect(page.get_by_role("link", name="before")).to_have_count(0)
        expect(page.get_by_role("button", name="Start a run")).to_have_count(0)
        sign_in(admin, keyed.key("head", "admin"))
        opened(admin, "/runs/before")
        admin.get_by_role("button", name="Sharing").click()
        admin.get_by_label("Who may see it").click()
        admin.get_by_role("option", name="everybody who has a key").click()
        admin.get_by_role("button", name="Save").click()
        expect(admin.get_by_text("Saved")).to_be_visible()
        opened(page, "/runs/before")
        expect(page.get_by_role("table", name="Evaluations")).to_be_visible()
        for action in ("Keep as baseline", "Review a sample", "Sharing"):
            expect(page.get_by_role("button", name=action)).to_have_count(0)


def test_a_run_that_an_author_starts_is_theirs_alone(chromium: Browser, keyed: Site) -> None:
    with tab(chromium, keyed) as page, tab(chromium, keyed) as other:
        sign_in(page, keyed.key("owen", "author"))
        opened(page, "/runs")
        page.get_by_role("button", name="Start a run").click()
        page.get_by_role("dialog").get_by_label("Rubric").click()
        page.keyboard.type("answer-quality")
        page.get_by_role("option", name="(answer-quality@").filter(has_text="with Rubrica").click()
        expect(page.get_by_label("Name of the run")).not_to_have_value("")
        page.get_by_label("Name of the run").fill("owens")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_role("heading", name="owens")).to_be_visible()
        expect(page.get_by_role("table", name="Evaluations")).to_be_visible()
        expect(page.get_by_role("button", name="Sharing")).to_be_visible()
        sign_in(other, keyed.key("olga", "author"))
        opened(other, "/runs/owens")
        expect(other.get_by_role("alert")).to_contain_text("there is no run 'owens', or it is not yours to see")
        opened(other, "/runs/compare?a=owens&b=before")
        expect(other.get_by_text("owens")).to_have_count(0)
        opened(other, "/reviews?sample=owens")
        expect(other.get_by_role("heading", name="Draw a sample")).to_be_visible()
        expect(other.get_by_text("owens")).to_have_count(0)
