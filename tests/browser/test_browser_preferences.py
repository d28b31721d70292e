"""Comparing responses in a browser: written, compared in both orders, and the outcome read."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from browser.browsers import Site, opened, tab


def test_two_responses_are_compared_and_the_votes_are_shown(chromium: Browser, judging: Site) -> None:
    with tab(chromium, judging) as page:
        opened(page, "/preferences")
        compare = page.get_by_role("button", name="Compare")
        compare.click()
        expect(page.get_by_role("alert")).to_contain_text("write every response")
        page.get_by_label("Prompt").fill("When did the tower open?")
        page.get_by_label("Response 1", exact=True).fill("Long ago.")
        page.get_by_label("Response 2", exact=True).fill("In 1889.")
        page.get_by_label("Name of response 2").fill("exact")
        compare.click()
        expect(page.get_by_text("The better one is exact.")).to_be_visible()
        votes = page.get_by_role("table", name="Votes")
        expect(votes).to_contain_text("first · exact")
        expect(votes).to_contain_text("exact · first")
