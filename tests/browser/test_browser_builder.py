"""The builder: a rubric from nothing to saved, problems and their places, two views in step, two people at once."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Locator, Page, expect

from browser.browsers import Site, asked, opened, tab

RUBRIC = {
    "name": "shared-notes",
    "title": "Shared notes",
    "scale": {"min": 0, "max": 10},
    "score": {"out_of": 100},
    "threshold": 60,
    "dimensions": {
        "brevity": {"title": "Brevity", "weight": 0.5, "formula": "10 if word_count < 40 else 2"},
        "warmth": {"title": "Warmth", "weight": 0.5, "formula": "min(10, 5 + exclamation_count)"},
    },
    "verdicts": [{"label": "pass", "when": "score >= threshold"}, {"label": "fail"}],
}


def created(page: Page, site: Site, name: str) -> str:
    """A rubric that is there already; its id."""
    reply = asked(page, "POST", f"{site.url}/api/evaluations", data={**RUBRIC, "name": name})
    assert reply.status == 201, reply.text()
    return str(reply.json()["id"])


def stored(page: Page, site: Site, reference: str) -> dict[str, object]:
    reply = asked(page, "GET", f"{site.url}/api/evaluations/{reference}")
    assert reply.status == 200, reply.text()
    found: dict[str, object] = reply.json()
    return found


def problems(page: Page) -> Locator:
    return page.get_by_label("Problems", exact=True)


def saved(page: Page, note: str) -> None:
    dialog = page.get_by_role("dialog")
    expect(dialog).to_have_count(0)  # one that was closed takes a moment to go
    page.get_by_role("button", name="Save", exact=True).click()
    dialog.get_by_label("What changed").fill(note)
    dialog.get_by_role("button", name="Save", exact=True).click()


def expect_version(page: Page, version: str) -> None:
    """It has been saved as that, and nothing has changed since."""
    expect(page.locator(".state")).to_have_text(f"version {version} · saved")


def editor(page: Page) -> Locator:
    page.get_by_role("tab", name="Document").click()
    text = page.locator(".cm-content")
    expect(text).to_be_visible()  # what is hidden has a text without its line breaks
    return text


def test_a_rubric_is_built_from_nothing_mended_and_saved(page: Page, site: Site) -> None:
    opened(page, "/build/new")
    page.get_by_role("link", name="From nothing").click()
    expect(problems(page)).to_contain_text("add a dimension")
    page.get_by_label("Title", exact=True).fill("Fair replies")
    expect(page.get_by_label("Name", exact=True)).to_have_value("fair-replies")

    names = page.get_by_label("Name in formulas")
    for count, name in enumerate(("accuracy", "tone"), start=1):
        page.get_by_role("button", name="Add a dimension", exact=True).hover()
        page.mouse.down()
        if count > 1:  # the field is left, so that the dimension is renamed, and the button drawn anew as it is pressed
            expect(page.locator(".fold").first).to_contain_text("accuracy")
        page.mouse.up()
        expect(names).to_have_count(count)
        expect(names.last).to_be_focused()
        names.last.fill(name)
    names.last.press("Enter")
    expect(page.get_by_role("slider", name="Weight of tone")).to_be_visible()
    expect(names.last).to_be_focused()  # the cursor stays where it was, though all is drawn anew
    slider = page.get_by_role("slider", name="Weight of accuracy")
    slider.focus()
    for _ in range(10):
        slider.press("ArrowRight")
    expect(page.locator(".weight")).to_have_text(["60 %", "40 %"])

    page.get_by_role("button", name="Four even ranges").first.click()
    expect(page.locator(".stretch")).to_have_count(4)
    for index in range(4):
        page.get_by_label("Looks like").nth(index).fill(f"quality {4 - index}")
    page.get_by_label("From", exact=True).nth(1).fill("7")
    expect(page.locator(".stretch.is-gap")).to_have_count(1)
    expect(problems(page)).to_contain_text("dimensions.accuracy.anchors")
    page.get_by_label("From", exact=True).nth(1).fill("6")
    expect(page.locator(".stretch.is-gap")).to_have_count(0)
    page.get_by_role("combobox", name="Without a model").first.click()
    page.get_by_role("option", name="one formula").click()
    expect(page.get_by_label("The score on the scale", exact=True)).to_be_visible()

    page.get_by_role("combobox", name="How it is scored").last.click()
    page.get_by_role("option", name="Rules give and take points").click()
    expect(page.get_by_label("Start", exact=True)).to_be_visible()
    page.get_by_role("button", name="Add a rule").last.click()
    page.get_by_text("Points for what is found").click()
    page.get_by_label("Keywords").fill("thank you, France")
    expect(page.locator(".tester mark")).to_have_text(["Thank you", "France"])
    page.get_by_role("button", name="Pattern", exact=True).click()
    page.get_by_label("Pattern (RE2, linear time)").fill("(unclosed")
    expect(page.locator(".tester")).to_contain_text("never closed")
    page.get_by_label("Pattern (RE2, linear time)").fill("[Tt]hank")
    expect(page.locator(".tester mark")).to_have_text(["Thank"])

    gate = page.get_by_label("Write a gate")
    gate.fill("if accuracy is low")
    gate.press("Enter")
    expect(page.get_by_text("this is not a gate yet")).to_be_visible()
    gate.fill("if accurcy < 5 && tone > 1 then at most 40")
    gate.press("Enter")
    page.get_by_role("button", name="if accurcy < 5").click()
    condition = page.get_by_label("If", exact=True)
    expect(page.locator("pre.caret")).to_contain_text("'&&' is not part of the formula language")
    condition.fill("accur")
    condition.press("End")
    page.get_by_role("button", name=re.compile("^accuracy score of")).click()
    expect(condition).to_have_value("accuracy")
    expect(condition).to_be_focused()
    condition.press("End")
    condition.press_sequentially(" < 5")
    expect(page.locator(".sentence .formula-said")).to_contain_text("on the sample: true")
    verdict = page.get_by_label("Write a verdict")
    verdict.fill("revise if score >= 50")
    verdict.press("Enter")
    expect(page.locator(".line")).to_have_text(
        ["if accuracy < 5 then at most 40", "pass if score >= threshold", "revise if score >= 50", "otherwise fail"]
    )

    page.get_by_label("Threshold", exact=True).fill("")
    expect(problems(page)).to_contain_text("give a threshold")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Nothing is saved while something is wrong")).to_be_visible()
    page.get_by_label("Threshold", exact=True).fill("65")
    expect(problems(page)).to_contain_text("Nothing is wrong")
    expect(page.get_by_label("Preview")).to_contain_text("of 100")
    saved(page, "first")
    page.wait_for_url(re.compile(r"/build/[0-9a-f-]{36}$"))
    kept = stored(page, site, "fair-replies")
    assert kept.get("threshold") == 65, kept  # all of it tells what was saved instead
    assert {name: spec["weight"] for name, spec in kept["dimensions"].items()} == {"accuracy": 0.6, "tone": 0.4}  # type: ignore[attr-defined]
    assert kept["gates"] == [{"name": "gate", "when": "accuracy < 5", "cap": 40}]


def test_a_problem_is_a_click_away_from_its_place(page: Page, site: Site) -> None:
    made = created(page, site, "click-away")
    opened(page, f"/build/{made}")
    page.get_by_role("button", name="otherwise fail").click()
    page.get_by_label("Verdict", exact=True).fill("no/such")
    expect(problems(page)).to_contain_text("verdicts[1].label")
    page.get_by_role("button", name="otherwise no/such").click()
    problems(page).get_by_role("button").first.click()
    expect(page.get_by_label("Verdict", exact=True)).to_be_focused()
    expect(editor(page)).to_be_visible()
    problems(page).get_by_role("button").first.click()
    expect(page.locator(".cm-activeLine")).to_contain_text("no/such")


GO_BACK = """() => new MutationObserver((_, watching) => {
  if (!document.querySelector('.sentence.open')) return;
  watching.disconnect();
  document.querySelector(`[data-place='["threshold"]']`).focus();
  window.wentBack = true;
}).observe(document.body, {childList: true, subtree: true})"""
"""Put the cursor into the threshold as soon as the verdict is unfolded that a problem is about."""


def test_a_problem_that_is_shown_leaves_the_cursor_to_who_writes_elsewhere(page: Page, site: Site) -> None:
    made = created(page, site, "written-elsewhere")
    opened(page, f"/build/{made}")
    threshold = page.get_by_label("Threshold", exact=True)
    threshold.fill("")
    expect(problems(page)).to_contain_text("give a threshold")
    page.evaluate(GO_BACK)
    page.get_by_role("button", name="Save", exact=True).click()  # it unfolds the verdict that reads the threshold
    page.wait_for_function("() => window.wentBack")
    page.keyboard.type("65", delay=300)
    expect(threshold).to_have_value("65")
    expect(page.locator(".line").first).to_have_text("pass if score >= threshold")
    expect(problems(page)).to_contain_text("Nothing is wrong")
    saved(page, "with its threshold")
    expect_version(page, "1.0.1")
    assert stored(page, site, made).get("threshold") == 65


def test_unsaved_work_survives_a_reload_and_can_be_discarded(page: Page, site: Site) -> None:
    made = created(page, site, "reloaded")
    opened(page, f"/build/{made}")
    sample = page.get_by_label("Sample", exact=True).get_by_label("Response", exact=True)
    sample.fill("Merci!")
    expect(page.get_by_role("button", name="Back to the example")).to_be_visible()
    page.get_by_label("Title", exact=True).fill("Changed but not saved")
    expect(page.get_by_text("unsaved changes")).to_be_visible()
    page.wait_for_function("() => Object.values(localStorage).some(kept => kept.includes('Changed but not saved'))")
    opened(page, f"/build/{made}")
    expect(sample).to_have_value("Merci!")
    page.get_by_role("button", name="Go on with it").click()
    expect(page.get_by_label("Title", exact=True)).to_have_value("Changed but not saved")
    expect(page.get_by_text("unsaved changes")).to_be_visible()
    opened(page, f"/build/{made}")
    page.get_by_role("button", name="Discard it").click()
    page.wait_for_function("() => !Object.values(localStorage).some(kept => kept.includes('Changed but not saved'))")
    opened(page, f"/build/{made}")
    expect(problems(page)).to_contain_text("Nothing is wrong")
    expect(page.get_by_role("button", name="Go on with it")).to_have_count(0)


def test_the_form_and_the_document_follow_each_other(page: Page, site: Site) -> None:
    made = created(page, site, "in-step")
    opened(page, f"/build/{made}")
    page.get_by_label("Title", exact=True).fill("By the form")
    text = editor(page)
    expect(text).to_contain_text("title: By the form")
    expect(text).to_contain_text("label: fail")  # to its last line
    text.fill(text.inner_text().replace("By the form", "By the document").replace("threshold: 60", "threshold: 55"))
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_label("Title", exact=True)).to_have_value("By the document")
    expect(page.get_by_label("Threshold", exact=True)).to_have_value("55")
    editor(page).fill("name: [unclosed")
    expect(problems(page)).to_contain_text("not valid YAML")
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_text("the form waits")).to_be_visible()
    page.get_by_role("button", name="Go back to what could be read").click()
    expect(page.get_by_label("Title", exact=True)).to_have_value("By the document")


def test_a_rule_of_an_unknown_type_is_shown_as_it_stands_and_can_be_mended(page: Page, site: Site) -> None:
    made = created(page, site, "unknown-rule")
    opened(page, f"/build/{made}")
    text = editor(page)
    expect(text).to_contain_text("label: fail")
    rule = "rules: [{type: marvel, add: 2}]"
    text.fill(text.inner_text().replace("formula: min(10, 5 + exclamation_count)", rule))
    expect(problems(page)).to_contain_text("is not a rule type")
    page.get_by_role("tab", name="Form").click()
    problems(page).get_by_role("button").first.click()
    expect(page.locator(".rule")).to_contain_text("marvel")
    written = page.get_by_label("Rule (YAML)")
    expect(written).to_have_value("type: marvel\nadd: 2\n")
    expect(page.get_by_text("is not a rule type (one of").first).to_be_visible()
    written.fill("type: adjust\nadd: 2\n")
    expect(problems(page)).not_to_contain_text("is not a rule type")
    expect(editor(page)).to_contain_text("type: adjust")


def test_a_bundled_rubric_is_forked_first(page: Page) -> None:
    opened(page, "/build/answer-quality")
    page.get_by_role("button", name="Fork it and edit the fork").click()
    page.wait_for_url(re.compile(r"/build/[0-9a-f-]{36}$"))
    expect(page.get_by_label("Name", exact=True)).to_have_value(re.compile("^answer-quality"))
    expect(page.get_by_role("slider")).to_have_count(0)  # only its profiles have weights
    expect(problems(page)).to_contain_text("Nothing is wrong")


def test_two_people_at_once_see_the_conflict_and_lose_nothing(site: Site, chromium: Browser) -> None:
    with tab(chromium, site) as one, tab(chromium, site) as two:
        made = created(one, site, "for-two")
        for page in (one, two):
            opened(page, f"/build/{made}")
        one.get_by_label("Title", exact=True).fill("Title of one")
        saved(one, "one was here")
        expect(one.get_by_text("It is at version 1.0.1 now.")).to_be_visible()
        expect_version(one, "1.0.1")

        two.get_by_label("Threshold", exact=True).fill("70")
        saved(two, "two came later")
        clash = two.get_by_role("dialog").filter(has_text="It was changed")
        expect(clash).to_contain_text("local saved version 1.0.1 meanwhile. They wrote: one was here")
        expect(clash).to_contain_text('title: "Shared notes" → "Title of one"')
        expect(clash).to_contain_text("threshold: 60 → 70")
        clash.get_by_role("button", name="Put both together").click()
        expect_version(two, "1.0.2")
        both = stored(two, site, made)
        assert (both["title"], both["threshold"]) == ("Title of one", 70)

        one.get_by_label("Title", exact=True).fill("Title of one, again")
        two.get_by_label("Title", exact=True).fill("Title of two")
        saved(two, "")
        expect_version(two, "1.0.3")
        saved(one, "mine after all")
        clash = one.get_by_role("dialog").filter(has_text="It was changed")
        expect(clash.get_by_role("button", name="Save mine as a fork")).to_be_visible()
        expect(clash.get_by_role("button", name="Put both together")).to_have_count(0)
        clash.get_by_role("button", name="Save mine as a fork").click()
        one.wait_for_url(lambda url: made not in url)
        assert stored(one, site, made)["title"] == "Title of two"
        assert stored(one, site, "for-two-2")["title"] == "Title of one, again"

        opened(one, f"/build/{made}")
        one.get_by_label("Threshold", exact=True).fill("80")
        two.get_by_label("Threshold", exact=True).fill("75")
        saved(two, "")
        expect_version(two, "1.0.4")
        saved(one, "")
        one.get_by_role("dialog").get_by_role("button", name="Take theirs").click()
        expect(one.get_by_label("Threshold", exact=True)).to_have_value("75")
        one.get_by_role("button", name="Bring it back").click()
        expect(one.get_by_label("Threshold", exact=True)).to_have_value("80")
        saved(one, "on top")
        expect_version(one, "1.0.5")
        assert stored(one, site, made)["threshold"] == 80


def test_typing_goes_on_while_a_dimension_gets_another_name(page: Page, site: Site) -> None:
    made = created(page, site, "typed-on")
    opened(page, f"/build/{made}")
    page.locator(".fold").filter(has_text="Brevity").locator(".q-item").first.click()
    page.get_by_label("Name in formulas").fill("shortness")
    page.get_by_label("What a judge is asked").click()  # leaves the name, so that all is drawn anew in a moment
    said = "Is it as short as it can be, without leaving anything out that one has to know?"
    page.keyboard.type(said, delay=15)
    expect(page.get_by_role("slider", name="Weight of shortness")).to_be_visible()
    expect(page.get_by_label("What a judge is asked")).to_have_value(said)
    expect(page.get_by_label("What a judge is asked")).to_be_focused()
    expect(editor(page)).to_contain_text(said[:40])


def test_sections_bands_and_notes_are_filled_in_and_saved(page: Page, site: Site) -> None:
    made = created(page, site, "grouped")
    opened(page, f"/build/{made}")
    folds = page.locator(".fold > .q-expansion-item__container > .q-item")
    folds.filter(has_text="Sections").click()
    page.get_by_role("button", name="Add a section").click()
    expect(page.get_by_label("Title of the section")).to_be_focused()  # then the page has scrolled to it
    page.get_by_label("Title of the section").fill("Manner")
    for name in ("Brevity", "Warmth"):
        page.get_by_role("checkbox", name=name).click()
        expect(page.get_by_role("checkbox", name=name)).not_to_be_checked()
    expect(problems(page)).to_contain_text("the section has no dimension")
    page.get_by_role("checkbox", name="Warmth").click()
    expect(folds.filter(has_text="Manner").last).to_contain_text("warmth")

    folds.filter(has_text="Bands").click()
    page.get_by_role("button", name="Five usual bands").click()
    starts = page.get_by_label("From, in percent")
    expect(starts).to_have_count(5)
    starts.nth(3).fill("95")
    starts.nth(3).press("Tab")
    names = page.get_by_label("Band", exact=True)
    expect(names.first).to_have_value("poor")  # where it belongs now
    expect(page.locator(".stretch")).to_have_text(["unacceptable", "acceptable", "good", "excellent", "poor"])

    folds.filter(has_text="Notes for the judge").click()
    page.get_by_role("button", name="Add a note").click()
    expect(problems(page)).to_contain_text("the note says nothing yet")
    page.get_by_label("What the judge is told").fill("Work it out first.")
    page.get_by_label("Also for").fill("maths, algebra")
    expect(problems(page)).to_contain_text("Nothing is wrong")
    saved(page, "in groups")
    expect_version(page, "1.0.1")
    kept = stored(page, site, made)
    assert kept["sections"] == {"section": {"title": "Manner", "dimensions": ["warmth"]}}
    assert list(kept["bands"]) == ["poor", "excellent", "good", "acceptable", "unacceptable"]  # type: ignore[call-overload]
    assert kept["notes"] == {"by": "subject", "value": {"text": "Work it out first.", "also": ["maths", "algebra"]}}


def test_a_field_of_the_schema_keeps_to_its_bounds_and_is_saved(page: Page, site: Site) -> None:
    made = created(page, site, "by-the-schema")
    opened(page, f"/build/{made}")
    page.locator(".fold > .q-expansion-item__container > .q-item").filter(has_text="Judging").click()
    panel = page.get_by_label("Judges at least")
    expect(panel).to_have_value("1")  # what counts where the document says nothing
    expect(panel).to_have_attribute("max", "50")
    panel.fill("51")
    expect(problems(page)).to_contain_text("should be less than or equal to 50")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Nothing is saved while something is wrong")).to_be_visible()
    panel.fill("3")
    page.get_by_label("Votes become").click()
    page.get_by_role("option", name="trimmed mean").click()
    expect(problems(page)).to_contain_text("Nothing is wrong")
    saved(page, "a panel")
    expect_version(page, "1.0.1")
    assert stored(page, site, made)["judging"] == {"panel": 3, "pool": "trimmed"}
    panel.fill("1")
    page.get_by_label("Votes become").click()
    page.get_by_role("option", name="median").click()
    expect(editor(page)).not_to_contain_text("judging")
