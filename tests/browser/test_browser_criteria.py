"""Criteria in the builder: a list in points from nothing to a verdict, a tree by keyboard, and advice taken over."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from browser.browsers import Site, expect_to_fit, opened, tab
from browser.test_browser_builder import problems, saved, stored

ROWS = ".criterion-row textarea"


def test_a_list_in_points_is_built_from_nothing_saved_and_judged(chromium: Browser, judging: Site) -> None:
    with tab(chromium, judging) as page:
        opened(page, "/build/new?begin=nothing")
        page.get_by_label("Title", exact=True).fill("Leaflet answers")
        page.get_by_role("combobox", name="The score is").click()
        page.get_by_role("option", name="the points earned of those possible").click()
        expect(page.get_by_role("status").filter(has_text="They need not sum to anything")).to_be_visible()

        page.get_by_role("button", name="Add a criterion").click()
        expect(page.locator(ROWS)).to_be_focused()
        page.keyboard.type("Names the usual dose and warns about alcohol.")
        page.keyboard.press("Tab")
        page.keyboard.press("Control+a")
        page.keyboard.type("6")
        page.keyboard.press("Enter")  # the next row is there before the server knows of it
        page.keyboard.type("Says when to see a doctor.")
        expect(page.locator(ROWS).last).to_have_value("Says when to see a doctor.")
        expect(page.locator(".points-sum")).to_have_text("2 criteria: 7 points to earn")

        page.get_by_role("button", name="Paste a list").click()
        page.get_by_label("One criterion on each line").fill("-4 Invents a dose. #accuracy\n+1 Is in French.")
        expect(page.get_by_text("2 criteria: 1 point to earn, 4 to lose", exact=True)).to_be_visible()
        page.get_by_role("button", name="Add them").click()
        expect(page.locator(".points-sum")).to_have_text("4 criteria: 8 points to earn, 4 to lose")
        expect(page.get_by_label("Tags of 3")).to_have_value("accuracy")
        page.get_by_role("button", name="Add, move or remove 4").click()
        page.get_by_role("menuitem", name="Remove").click()
        expect(page.locator(ROWS)).to_have_count(3)

        page.get_by_role("button", name="Make two of it").click()  # what lint says of the first
        expect(page.locator(ROWS)).to_have_count(4)
        expect(page.get_by_label("Points of 2")).to_have_value("3")
        page.get_by_label("Criterion 2").press("Alt+Shift+ArrowDown")
        expect(page.locator(ROWS).nth(2)).to_have_value("Warns about alcohol.")
        expect(page.locator(ROWS).nth(2)).to_be_focused()
        page.get_by_role("button", name="Undo").last.click()
        expect(page.locator(ROWS).nth(1)).to_have_value("Warns about alcohol.")

        page.get_by_role("button", name="Answers, examples and more of 1").click()
        page.get_by_role("button", name="Add an example").click()
        expect(problems(page)).to_contain_text("the example has no response yet")
        page.get_by_label("Response", exact=True).first.fill("Two tablets a day.")
        expect(page.get_by_text("1 of yes, 0 of no. Add one of no")).to_be_visible()
        expect(problems(page)).to_contain_text("Nothing is wrong")
        saved(page, "from nothing")
        page.wait_for_url(re.compile(r"/build/[0-9a-f-]{36}$"))
        kept = stored(page, judging, "leaflet-answers")
        points = {name: axis["points"] for name, axis in kept["dimensions"].items()}  # type: ignore[attr-defined]
        assert points == {
            "names_the_usual_dose_and": 3,
            "warns_about_alcohol": 3,
            "says_when_to_see_a": 1,
            "invents_a_dose": -4,
        }

        opened(page, f"/sandbox?rubric={kept['id']}")
        page.get_by_label("Response", exact=True).fill("Two tablets a day.")
        expect(page.locator(".outcome")).to_contain_text("inconclusive")
        page.get_by_role("button", name="Judge").click()
        expect(page.locator(".outcome .figure")).to_have_text("42.9 / 100")
        expect(page.locator(".outcome")).to_contain_text("fail")


def test_a_tree_of_three_levels_is_built_by_keyboard_and_fits_a_phone(chromium: Browser, site: Site) -> None:
    with tab(chromium, site, width=390) as page:
        opened(page, "/build/new?begin=criteria")
        page.get_by_label("Title", exact=True).fill("A small tree")
        page.get_by_label("Criterion 1", exact=True).focus()
        page.keyboard.press("Enter")
        page.keyboard.type("Says where to begin.")
        page.keyboard.press("Alt+Shift+ArrowRight")
        expect(page.get_by_label("Criterion 1.1", exact=True)).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.type("Says with what.")
        page.keyboard.press("Alt+Shift+ArrowRight")
        expect(page.get_by_label("Criterion 1.1.1", exact=True)).to_be_focused()
        expect(page.get_by_label("Heading 1.1", exact=True)).to_have_value("Says where to begin.")
        expect(page.locator(".points-sum")).to_have_text("3 criteria on 3 levels: 8 points to earn, 4 to lose")
        expect(page.locator(".criterion-share").nth(2)).to_have_text("62.5 %")
        page.get_by_role("button", name="Parts of 1", exact=True).click()
        expect(page.locator(ROWS)).to_have_count(3)
        expect_to_fit(page, 390)
        expect(problems(page)).to_contain_text("Nothing is wrong")
        saved(page, "a tree")
        page.wait_for_url(re.compile(r"/build/[0-9a-f-]{36}$"))
        first = stored(page, site, "a-small-tree")["dimensions"]["says_what_to_do_first"]  # type: ignore[index]
        assert first["parts"]["says_where_to_begin"]["parts"]["says_with_what"]["asks"] == "Says with what."


def test_each_case_brings_its_own_criteria(chromium: Browser, judging: Site) -> None:
    with tab(chromium, judging) as page:
        opened(page, "/sandbox?rubric=clinical-answer")
        page.get_by_label("Response", exact=True).fill("Pull it straight out.")
        page.get_by_label("Criteria of this case").fill("+6 Says to pull it out straight.\n+4 Says what to watch for.")
        expect(page.get_by_text("2 criteria: 10 points to earn")).to_be_visible()
        page.get_by_text("Reference", exact=True).click()
        page.get_by_label("Reference answer").fill("Pull the tick out straight, and watch for a red ring.")
        page.get_by_role("button", name="Judge").click()
        expect(page.locator(".outcome .figure")).to_have_text("60 / 100")
