"""The sandbox in a browser: an example judged and explained, weights moved, two versions on the same input."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from browser.browsers import Site, asked, expect_to_fit, opened, tab
from browser.test_browser_rubrics import made
from rubrica.packs.library import load

LEAN = """
name: lean
scale: {min: 0, max: 10}
score: {weighted: true, out_of: 100}
threshold: 60
dimensions:
  brief: {weight: 0.5, formula: 10 if word_count < 9 else 2}
  kind: {weight: 0.5, rules: [{type: pattern_detection, patterns: [{name: thanks, keywords: [thanks], score: 4}]}]}
gates:
  - {name: rude, when: shouted > 0, verdict: fail, because: it shouts}
patterns: {shouted: {regex: "[A-Z]{4,}"}}
verdicts: [{label: pass, when: score >= threshold}, {label: fail}]
examples: [{id: kind-words, prompt: "Well?", response: "Many thanks, done."}]
"""


def imported(page: Page) -> str:
    reply = asked(
        page, "POST", "/api/evaluations/import?rename=true", data=LEAN, headers={"Content-Type": "application/yaml"}
    )
    assert reply.status == 201, reply.text()
    return str(reply.json()["id"])


def test_an_example_is_judged_explained_and_weighed_otherwise(page: Page) -> None:
    opened(page, f"/sandbox?rubric={imported(page)}")
    outcome = page.locator(".outcome")
    expect(outcome).to_contain_text("✓ pass")
    expect(outcome.locator(".figure")).to_have_text("70 / 100")
    expect(page.locator("mark")).to_have_text("thanks")
    expect(page.locator(".would")).to_contain_text("Kind at 1 or less (now 4)")
    expect(page.locator(".waterfall")).to_be_visible()
    kindness = page.get_by_role("slider", name="Weight of Kind")
    kindness.locator("[tabindex]").focus()
    for _ in range(22):
        page.keyboard.press("ArrowRight")
    expect(outcome).to_contain_text("✕ fail")
    expect(outcome).to_contain_text("with its own weights: ✓ pass 70")
    expect(page.get_by_role("slider", name="Weight of Brief")).to_have_attribute("aria-valuenow", "28")
    shown = str(outcome.locator(".figure").text_content())
    assert shown != "70 / 100"
    page.get_by_role("button", name="Keep this score").click()
    moved = asked(page, "GET", "/api" + str(page.get_by_role("link", name="See it").get_attribute("href"))).json()
    assert (moved["verdict"], f"{moved['raw_score']:g} / 100") == ("fail", shown)
    assert "Kind 72% (the rubric: 50%)" in moved["record"]["notes"][-1]
    page.get_by_role("button", name="Reset").click()
    expect(outcome).not_to_contain_text("✕ fail")
    expect(outcome).to_contain_text("✓ pass")
    page.get_by_label("Response").fill("NEVER again, <b>thanks</b>")
    expect(page.locator(".fired-gates")).to_contain_text("Gate rude: the verdict is fail. It shouts.")
    expect(page.locator(".would")).to_contain_text("Without the gate rude → ✓ pass")
    expect(page.locator("mark.tone-plus")).to_have_text("thanks")
    expect(page.locator("mark.tone-minus")).to_have_text("NEVER")
    expect(page.locator(".judged-text .told").last).to_have_text("NEVER again, <b>thanks</b>")
    opened(page, "/sandbox?rubric=answer-quality")
    expect(page.get_by_label("Response")).to_have_value("NEVER again, <b>thanks</b>")
    page.go_back()
    expect(page.get_by_label("Response")).to_have_value("NEVER again, <b>thanks</b>")
    expect(page.locator(".fired-gates")).to_contain_text("It shouts.")
    page.get_by_role("button", name="Keep this score").click()
    link = page.get_by_role("link", name="See it")
    kept = asked(page, "GET", f"/api{link.get_attribute('href')}").json()
    assert (kept["verdict"], kept["context_snapshot"]["response"]) == ("fail", "NEVER again, <b>thanks</b>")
    assert "notes" not in kept["record"]
    page.get_by_label("Response").fill("")
    expect(page.get_by_text("Paste a response, or pick an example")).to_be_visible()
    opened(page, "/scores")
    page.locator(f"a[href='/scores/{moved['id']}']").click()
    expect(page.locator(".report")).to_contain_text("weighed otherwise than the rubric")
    expect(page.locator(".report .figure").first).to_have_text(shown)
    expect(page.locator(".report")).to_contain_text("Many thanks, done.")
    expect(page.get_by_role("link", name=re.compile("^lean.*@"))).to_be_visible()


def test_a_chat_and_metrics_are_judged(page: Page) -> None:
    opened(page, "/sandbox?rubric=answer-quality")
    expect(page.get_by_label("Response")).not_to_have_value("")
    kind = page.get_by_label("Value of question_type")
    kind.fill("ETHICAL")
    expect(page.locator(".chip", has_text="profile ETHICAL")).to_be_visible()
    expect(page.get_by_role("slider", name="Weight of Depth")).to_have_attribute("aria-valuenow", "20")
    kind.fill("")
    expect(page.get_by_text("question_type: FACTUAL (classified offline")).to_be_visible()
    page.get_by_text("What was said before").click()
    page.get_by_role("button", name="Add a turn").click()
    page.get_by_label("Said", exact=True).fill("Tell me about France.")
    page.get_by_text("Other context", exact=True).click()
    page.get_by_label("Other context (JSON)").fill("{oops")
    expect(page.get_by_role("alert")).to_contain_text("Other context is not JSON")
    page.get_by_label("Other context (JSON)").fill('{"player_info": {"level": 2}}')
    expect(page.locator(".outcome")).to_be_visible()


def test_two_versions_and_two_rubrics_are_compared_on_the_same_input(page: Page) -> None:
    document = made(page, "beside-review")
    first, second = load("council-review").version, document["version"]
    opened(page, f"/sandbox?rubric={document['id']}&example=2")
    expect(page.locator(".outcome")).to_contain_text("unreliable")
    page.get_by_role("button", name="Compare", exact=True).click()
    table = page.locator("section", has_text="Side by side").locator("table").first
    expect(table).to_contain_text(f"beside-review {second}")
    expect(table).to_contain_text(f"beside-review {first}")
    expect(page).to_have_url(re.compile("with="))
    page.get_by_label("Version").last.click()
    page.get_by_role("option", name=second).click()
    expect(table).not_to_contain_text(f"beside-review {first}")
    page.get_by_role("button", name=re.compile("Compared with: .*Choose another")).click()
    page.get_by_label("Search rubrics").fill("macdonald")
    expect(page.locator(".choices button")).to_have_count(1)
    page.get_by_role("button", name=re.compile("Norm MacDonald Classic")).click()
    expect(table).to_contain_text("Norm MacDonald Classic 1.0")
    expect(table).to_contain_text("no such dimension")
    page.get_by_role("button", name="Compare no longer").click()
    expect(page.get_by_text("Side by side")).to_have_count(0)


def test_the_sandbox_fits_a_phone(chromium: Browser, site: Site) -> None:
    with tab(chromium, site, width=390) as page:
        opened(page, "/sandbox?rubric=council-review&with=council-review-four")
        expect(page.locator(".outcome")).to_be_visible()
        expect_to_fit(page, 390)


def test_the_servers_judge_is_asked_only_when_the_button_is_pressed(chromium: Browser, judging: Site) -> None:
    rubric = {
        "name": "asked", "scale": {"min": 0, "max": 10}, "dimensions": {"accuracy": {"asks": "Is it right?"}},
        "verdicts": [{"label": "pass", "when": "score >= 0.7"}, {"label": "fail"}],
        "examples": [{"id": "one", "prompt": "The capital of France?", "response": "Paris."}],
    }  # fmt: skip
    with tab(chromium, judging) as page:
        reply = asked(page, "POST", "/api/evaluations", data=rubric)
        assert reply.status == 201, reply.text()
        opened(page, f"/sandbox?rubric={reply.json()['id']}")
        expect(page.locator(".outcome")).to_contain_text("inconclusive")
        page.get_by_role("button", name="Judge").click()
        expect(page.locator(".outcome")).to_contain_text("✓ pass")
        expect(page.get_by_text("Judged by scripted")).to_be_visible()
        expect(page.get_by_text("a fine <i>answer</i>")).to_be_visible()
        page.get_by_label("Response").fill("Lyon.")
        expect(page.locator(".outcome")).to_contain_text("inconclusive")
