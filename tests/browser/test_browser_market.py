"""The marketplace: one user publishes, another finds it, rates it, imports it and forks it; long lists stay quick."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from browser.browsers import Site, asked, expect_to_fit, opened, sign_in, tab

RUBRIC = {
    "name": "plain-words",
    "title": "Plain words",
    "description": "Says whether a reply uses plain words <b>only</b>.",
    "category": "style",
    "tags": ["short", "clear"],
    "scale": {"min": 0, "max": 10},
    "score": {"out_of": 100},
    "threshold": 60,
    "dimensions": {
        "brevity": {"title": "Brevity", "weight": 0.5, "formula": "10 if word_count < 40 else 2"},
        "warmth": {"title": "Warmth", "weight": 0.5, "formula": "min(10, 5 + exclamation_count)"},
    },
    "verdicts": [{"label": "pass", "when": "score >= threshold"}, {"label": "fail"}],
}
BRIEF = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}


def sent(page: Page, site: Site, path: str, data: Any, key: str) -> Any:
    reply = asked(page, "POST", f"{site.url}{path}", data=data, headers={"Authorization": f"Bearer {key}"})
    assert reply.ok, reply.text()
    return reply.json()


def names(page: Page) -> Locator:
    return page.locator(".ware h2")


def test_what_one_user_publishes_another_finds_rates_imports_and_forks(keyed: Site, chromium: Browser) -> None:
    key = keyed.key("ann", "author")
    with tab(chromium, keyed) as ann, tab(chromium, keyed) as bob:
        made = sent(ann, keyed, "/api/evaluations", RUBRIC, key)
        sign_in(ann, key)
        opened(ann, "/market")
        ann.get_by_role("button", name="Publish one of yours").click()
        expect(ann.locator(".own")).to_contain_text("private · written by you")
        ann.get_by_role("button", name="Publish: plain-words").click()
        ann.get_by_role("dialog").get_by_role("button", name="Publish").click()
        expect(ann.locator(".own")).to_contain_text("on the marketplace")

        sign_in(bob, keyed.key("bob", "author"))
        opened(bob, "/market")
        bob.get_by_role("searchbox", name="Search").fill("plain WORDS")
        expect(bob.locator(".ware")).to_have_count(1)
        expect(bob.locator(".ware")).to_contain_text("by ann · version 1.0.0 · 0 imports")
        expect(bob.locator(".ware")).to_contain_text("plain words <b>only</b>")
        expect(bob).to_have_url(re.compile(r"/market\?q=plain\+WORDS$"))
        bob.get_by_role("link", name="plain-words").click()
        expect(bob.get_by_role("heading", name="Plain words", exact=True)).to_be_visible()

        expect(bob.locator(".axis-card")).to_have_count(2)
        expect(bob.locator(".badge.is-good", has_text="pass")).to_be_visible()
        bob.get_by_role("button", name="Rate it").click()
        expect(bob.get_by_role("alert").filter(has_text="Choose 1 to 5 stars")).to_be_visible()
        bob.get_by_role("radio", name="4 stars: good").click()
        bob.get_by_label("Review (if you like)").fill("Spots fluff.\n<script>alert(1)</script>")
        bob.get_by_role("button", name="Rate it").click()
        expect(bob.locator(".review")).to_contain_text("<script>alert(1)</script>")
        expect(bob.locator(".standing")).to_contain_text("4 (1)")

        bob.get_by_role("button", name="Import").click()
        bob.get_by_role("dialog").get_by_role("button", name="Import").click()
        expect(bob.get_by_role("link", name="plain-words", exact=True)).to_be_visible()
        expect(bob.get_by_text("1 person has imported it.")).to_be_visible()
        bob.get_by_role("button", name="Fork").click()
        bob.get_by_label("Name of the copy").fill("plainer-words")
        bob.get_by_role("dialog").get_by_role("button", name="Fork").click()
        bob.wait_for_url(re.compile(r"/rubrics/[0-9a-f-]{36}$"))

        opened(bob, f"/market/{made['id']}")
        expect(bob.get_by_role("button", name="Change your rating")).to_be_visible()
        expect(bob.get_by_label("Review (if you like)")).to_have_value(re.compile("^Spots fluff"))
        bob.get_by_role("radio", name="5 stars: excellent").click()
        bob.get_by_role("button", name="Change your rating").click()
        expect(bob.locator(".standing")).to_contain_text("5 (1)")
        opened(bob, "/market?view=yours")
        expect(bob.locator(".own")).to_have_count(2)
        expect(bob.locator(".own").first).to_contain_text("private · from plain-words@1.0.0 by ann")
        opened(bob, "/market?view=trending")
        expect(names(bob).get_by_text("plain-words", exact=True)).to_be_visible()

        opened(ann, f"/market/{made['id']}")
        expect(ann.get_by_text("It is yours: others rate it.")).to_be_visible()
        expect(ann.get_by_text("1 person has imported it.")).to_be_visible()


def test_the_marketplace_is_narrowed_down_and_leafed_through(keyed: Site, chromium: Browser) -> None:
    key = keyed.key("lea", "author")
    with tab(chromium, keyed, width=390) as page:
        for number in range(60):
            given = {"name": f"Leaf {number:02}", "scoring_type": "binary", "rules": [BRIEF], "is_public": True}
            given |= {"category": "leaves", "tags": ["even"] if number % 2 == 0 else ["odd"]}
            sent(page, keyed, "/api/evaluations", given, key)
        sign_in(page, keyed.key("leo", "player"))
        opened(page, "/market?category=leaves&sort=name")
        leaves = [f"Leaf {number:02}" for number in range(60)]
        expect(names(page)).to_have_text(leaves[:24])
        page.get_by_role("button", name="Next", exact=True).click()
        expect(names(page)).to_have_text(leaves[24:48])
        page.get_by_role("button", name="Next", exact=True).click()
        expect(names(page)).to_have_text(leaves[48:])
        expect(page.get_by_role("button", name="Next", exact=True)).to_be_disabled()
        page.get_by_role("button", name="Previous", exact=True).click()
        expect(names(page).first).to_have_text("Leaf 24")

        page.get_by_role("button", name="Only tag odd").first.click()
        expect(names(page).first).to_have_text("Leaf 01")
        expect(page).to_have_url(re.compile("category=leaves&tag=odd&sort=name$"))
        page.get_by_role("button", name="Remove tag odd").click()
        expect(names(page).first).to_have_text("Leaf 00")
        page.get_by_role("button", name="Featured", exact=True).click()
        expect(page.get_by_text("Nothing that fits is featured.")).to_be_visible()
        expect_to_fit(page, 390)


def test_who_may_do_what_is_told(keyed: Site, chromium: Browser) -> None:
    with tab(chromium, keyed) as page:
        sign_in(page, keyed.key("mia", "viewer"))
        opened(page, "/market/answer-quality")
        expect(page.get_by_text("Rating needs the role player; you have viewer.")).to_be_visible()
        expect(page.get_by_role("button", name="Import")).to_have_count(0)
        opened(page, "/market/no-such-thing")
        expect(page.get_by_role("alert")).to_contain_text("no-such-thing")
    with tab(chromium, keyed) as page:
        sign_in(page, keyed.key("max", "admin"))
        opened(page, "/market/answer-quality")
        page.get_by_role("button", name="Feature", exact=True).click()
        expect(page.get_by_role("button", name="Feature no longer")).to_be_visible()
        opened(page, "/market")
        expect(page.get_by_role("heading", name="Featured")).to_be_visible()
        expect(names(page).first).to_have_text("answer-quality")
