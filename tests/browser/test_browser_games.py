"""Games: an author makes one, a player plays it, and everybody sees who stands where and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from browser.browsers import SECONDS, Site, expect_to_fit, opened, sign_in, tab
from rubrica.workspace.access import Role

MOTH = {
    "name": "Moth",
    "scoring_type": "proportional",
    "max_score": 100,
    "is_public": True,
    "rules": [{"type": "pattern_detection", "patterns": [{"name": "moth", "regex": "moth", "score": 40}]}],
}
BRIEF = {
    "name": "Brief",
    "scoring_type": "binary",
    "is_public": True,
    "rules": [{"type": "custom_expression", "name": "brief", "expression": "1 if word_count < pace else 0"}],
}


@pytest.fixture(scope="module")
def keys(keyed: Site) -> dict[str, str]:
    roles: dict[str, Role] = {"host": "author", "pia": "player", "vera": "viewer"}
    return {name: keyed.key(name, role) for name, role in roles.items()}


def sent(site: Site, path: str, data: Any, key: str) -> Any:
    reply = httpx.post(f"{site.url}{path}", json=data, headers={"Authorization": f"Bearer {key}"}, timeout=SECONDS)
    assert reply.is_success, reply.text
    return reply.json()


@pytest.fixture(scope="module")
def played(keyed: Site, keys: dict[str, str]) -> None:
    """A public game that pia and a model have played."""
    if not keyed.lacks("Open night"):
        return
    rubric = sent(keyed, "/api/evaluations", {**MOTH, "name": "Moth seen"}, keys["host"])
    game = sent(keyed, "/api/games", {"name": "Open night", "is_public": True}, keys["host"])
    path = f"/api/games/{game['id']}"
    sent(keyed, f"{path}/evaluations", {"evaluation_id": rubric["id"], "weight": 1}, keys["host"])
    sent(keyed, f"{path}/evaluate", {"round": {"response": "A moth."}}, keys["pia"])
    sent(keyed, f"{path}/evaluate", {"player": "llama", "round": {"response": "None."}}, keys["host"])
    admin = {"Authorization": f"Bearer {keyed.key('root', 'admin')}"}
    vouched = httpx.put(f"{keyed.url}{path}/vouched", json={"vouched": True}, headers=admin, timeout=SECONDS)
    assert vouched.is_success, vouched.text


def attach(page: Page, name: str) -> None:
    page.get_by_role("button", name="Attach a rubric").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Search rubrics").fill(name)
    expect(dialog.locator(".choices button").first).to_have_text(re.compile(f"^{name} ·"))  # drawn anew
    dialog.get_by_role("button", name=re.compile(f"^{name} ·")).click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Rounds that were judged before keep their scores.")).to_be_visible()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()


def play(page: Page, response: str, pace: str) -> None:
    page.get_by_role("button", name="Play a round").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Response").fill(response)
    dialog.get_by_label("Pace").fill(pace)
    dialog.get_by_role("button", name="Submit").click()
    page.wait_for_url(re.compile(r"/rounds/[0-9a-f-]{36}/\d+$"))


def expect_row(page: Page, name: str, start: int, cells: Sequence[str]) -> None:
    """Wait until the row of a name says this, from a cell on."""
    row = page.locator("table.plain tbody tr", has=page.get_by_text(name, exact=True)).first
    for at, cell in enumerate(cells, start):
        expect(row.locator("td").nth(at)).to_have_text(cell)


def test_a_game_is_made_played_and_explained(keyed: Site, chromium: Browser, keys: dict[str, str]) -> None:
    with tab(chromium, keyed) as ann, tab(chromium, keyed) as pia:
        for rubric in (MOTH, BRIEF):
            sent(keyed, "/api/evaluations", rubric, keys["host"])
        sign_in(ann, keys["host"])
        opened(ann, "/games")
        ann.get_by_role("button", name="New game").click()
        dialog = ann.get_by_role("dialog")
        dialog.get_by_label("Name").fill("Moth night")
        dialog.get_by_label("Settings").fill("rounds: 5")
        dialog.get_by_role("button", name="Make it").click()
        expect(dialog.get_by_role("alert")).to_contain_text("the settings are not JSON")
        dialog.get_by_label("Settings").fill('{"rounds": 5}')
        dialog.get_by_role("switch", name="Public").click()
        dialog.get_by_label("Name").press("Enter")
        ann.wait_for_url(re.compile(r"/games/[0-9a-f-]{36}$"))
        game = ann.url

        ann.get_by_role("tab", name="Rubrics").click()
        attach(ann, "Moth")
        attach(ann, "Brief")
        expect(ann.get_by_text("Sum of the weights: 100%")).to_be_visible()
        ann.get_by_label("Weight of moth").fill("90")
        expect(ann.get_by_text("Sum of the weights: 140%")).to_be_visible()
        ann.get_by_role("button", name="Save", exact=True).click()
        expect(ann.get_by_role("alert").filter(has_text="must sum to 100%")).to_be_visible()
        opened(ann, f"{game}?tab=rubrics")
        expect(ann.get_by_text("Your unsaved changes of the rubrics are back.")).to_be_visible()
        expect(ann.get_by_label("Weight of moth")).to_have_value("90")
        ann.get_by_label("Weight of brief").fill("30")
        ann.get_by_label("Dimension of brief").fill("pace_keeping")
        ann.get_by_role("button", name="Scale to 100%").click()
        expect(ann.get_by_label("Weight of moth")).to_have_value("75")
        save(ann)

        sign_in(pia, keys["pia"])
        opened(pia, "/games")
        expect(pia.locator(".rubric-list")).to_contain_text("Brief 25%")
        pia.get_by_role("link", name="Moth night").click()
        expect(pia.get_by_text("Nobody has a score yet.")).to_be_visible()
        pia.get_by_role("button", name="Play a round").click()
        pia.get_by_role("dialog").get_by_role("button", name="Submit").click()
        expect(pia.get_by_role("alert").filter(has_text="Write a response first.")).to_be_visible()
        pia.get_by_role("dialog").get_by_label("Response").fill("Half a thought")
        pia.wait_for_function("() => JSON.stringify(sessionStorage).includes('Half a thought')")
        pia.keyboard.press("Escape")
        expect(pia.get_by_role("dialog")).to_have_count(0)
        pia.get_by_role("button", name="Play a round").click()
        expect(pia.get_by_role("dialog").get_by_label("Response")).to_have_value("Half a thought")
        pia.keyboard.press("Escape")
        expect(pia.get_by_role("dialog")).to_have_count(0)
        play(pia, "A moth <i>said</i> moth.", "9")
        expect(pia.get_by_role("heading", name="Round 1 of pia")).to_be_visible()
        expect(pia.locator(".figure").first).to_have_text("55%")
        expect_row(pia, "moth", 1, ["Moth", "40%", "75%", "+30"])
        expect_row(pia, "brief", 1, ["Pace keeping", "100%", "25%", "+25"])
        expect(pia.locator(".report").first).to_contain_text("found moth")
        expect(pia.locator(".report mark").first).to_have_text("moth")
        expect(pia.locator(".told").first).to_contain_text("<i>said</i>")

        opened(pia, game)
        play(pia, "No insect at all.", "2")
        opened(ann, f"{game}?tab=board")
        ann.get_by_role("button", name="Play a round").click()
        ann.get_by_role("dialog").get_by_label("Player").fill("claude")
        ann.get_by_role("dialog").get_by_label("Response").fill("Moth and moth.")
        ann.get_by_role("dialog").get_by_role("button", name="Submit").click()
        expect(ann.get_by_role("heading", name="Round 1 of claude")).to_be_visible()
        expect(ann.locator(".figure").first).to_have_text("30%")
        expect(ann.locator(".report").last).to_contain_text("pace")  # nobody gave it: the rule says so

        opened(pia, game)
        expect_row(pia, "claude", 0, ["1", "claude", "30%", "40%", "0%", "1"])
        expect_row(pia, "pia", 0, ["2", "pia", "27.5%", "20%", "50%", "2"])
        pia.get_by_role("button", name="Against each other").click()
        expect(pia.get_by_text("every score S becomes ln(1 + S)", exact=False)).to_be_attached()
        expect(pia.locator("tbody tr").first).to_contain_text("1 tied")
        expect_row(pia, "pia", 0, ["1 tied", "pia", "50%"])
        pia.get_by_role("combobox", name="Rank by").click()
        pia.get_by_role("option", name="Pace keeping").click()
        expect_row(pia, "claude", 0, ["2", "claude"])
        expect_row(pia, "pia", 0, ["1", "pia"])
        pia.get_by_role("link", name="pia", exact=True).click()
        expect(pia.get_by_role("tab", name="Rounds")).to_have_attribute("aria-selected", "true")
        expect(pia.locator("tbody tr:visible")).to_have_count(2)
        pia.get_by_role("button", name="Not only player pia").click()
        expect(pia.locator("tbody tr:visible")).to_have_count(3)

        pia.get_by_role("tab", name="Leaderboard").click()
        expect(pia.get_by_role("link", name="pia", exact=True)).to_be_visible()
        path = f"/api/games/{game.rsplit('/', 1)[-1]}"
        sent(keyed, f"{path}/evaluate", {"player": "late", "round": {"response": "A moth."}}, keys["host"])
        expect(pia.get_by_role("link", name="late", exact=True)).to_be_visible()  # the page was not opened anew
        pia.get_by_label("Player", exact=True).fill("LAT")
        expect(pia.get_by_role("link", name="claude", exact=True)).to_have_count(0)
        expect(pia.get_by_text("Yours, elsewhere on the board")).to_be_visible()
        opened(ann, game)
        ann.get_by_text("Ratings", exact=True).click()
        expect(ann.get_by_role("cell", name="provisional").first).to_be_visible()
        ann.get_by_role("tab", name="Teams").click()
        ann.get_by_label("Name of a new team").fill("Moths")
        ann.get_by_role("button", name="Add", exact=True).click()
        expect(ann.get_by_role("cell", name="Moths")).to_be_visible()
        ann.get_by_role("button", name="Close", exact=True).click()
        expect(ann.get_by_role("button", name="Open again")).to_be_visible()
        expect(ann.get_by_role("button", name="Play a round")).to_have_count(0)


def test_rounds_are_judged_by_what_is_attached_later(keyed: Site, chromium: Browser, keys: dict[str, str]) -> None:
    with tab(chromium, keyed, width=390) as ann:
        made = sent(keyed, "/api/games", {"name": "Later", "is_public": True}, keys["host"])
        rounds = {"rounds": [{"response": "One moth."}, {"response": "None."}]}
        sent(keyed, f"/api/games/{made['id']}/evaluate", rounds, keys["host"])
        sent(keyed, "/api/evaluations", {**MOTH, "name": "Moth later"}, keys["host"])
        sign_in(ann, keys["host"])
        opened(ann, f"/games/{made['id']}?tab=evaluations")
        attach(ann, "Moth later")
        save(ann)
        ann.get_by_role("tab", name="Rounds").click()
        ann.get_by_role("button", name="Judge them now").click()
        expect(ann.get_by_text("2 rounds judged.")).to_be_visible()
        expect(ann.locator("tbody tr:visible").first).to_contain_text("40%")
        expect_to_fit(ann, 390)


@pytest.mark.usefixtures("played")
def test_players_and_the_leaderboard_across_games(keyed: Site, chromium: Browser, keys: dict[str, str]) -> None:
    with tab(chromium, keyed) as page:
        sign_in(page, keys["host"])
        opened(page, "/games")
        page.get_by_role("tab", name="Leaderboard").click()
        llama = page.locator("table.plain tbody tr", has=page.get_by_text("llama", exact=True))
        expect(llama.locator("td").nth(-2)).to_have_text("1")
        page.get_by_role("tab", name="Players").click()
        page.get_by_label("Name of a new player").fill("gpt")
        page.get_by_label("Who plays as it").fill("nobody-here")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_role("alert").filter(has_text="nobody here is called")).to_be_visible()
        page.get_by_label("Who plays as it").fill("")
        page.get_by_label("Name of a new player").press("Enter")
        expect(page.get_by_role("cell", name="gpt", exact=True)).to_be_visible()


@pytest.mark.usefixtures("played")
def test_a_viewer_looks_and_does_nothing_else(keyed: Site, chromium: Browser, keys: dict[str, str]) -> None:
    with tab(chromium, keyed) as page:
        sign_in(page, keys["vera"])
        opened(page, "/games")
        expect(page.get_by_role("button", name="New game")).to_have_count(0)
        page.get_by_role("link", name="Open night").click()
        expect(page.get_by_role("button", name="Play a round")).to_have_count(0)
        page.get_by_role("link", name="pia", exact=True).click()
        page.get_by_role("link", name="Round 1").first.click()
        expect(page.get_by_role("heading", name="Round 1 of pia")).to_be_visible()
        expect(page.locator(".report").first).to_contain_text("+40")
        opened(page, "/games/nonsense")
        expect(page.get_by_role("alert")).to_contain_text("there is no such game")


def test_a_host_sets_limits_and_voids_a_round_and_who_is_invited_by_name_joins(
    keyed: Site, chromium: Browser, keys: dict[str, str]
) -> None:
    rubric = sent(keyed, "/api/evaluations", {**MOTH, "name": "Moth voided"}, keys["host"])
    game = sent(keyed, "/api/games", {"name": "Quiet night"}, keys["host"])
    path = f"/api/games/{game['id']}"
    sent(keyed, f"{path}/evaluations", {"evaluation_id": rubric["id"], "weight": 1}, keys["host"])
    sent(keyed, f"{path}/teams", {"name": "Moths"}, keys["host"])
    sent(keyed, f"{path}/invitations", {"user": "pia"}, keys["host"])
    with tab(chromium, keyed) as page:
        sign_in(page, keys["pia"])
        opened(page, "/games")
        banner = page.locator(".banner").filter(has_text="You are invited to Quiet night")
        banner.get_by_role("button", name="Join").click()
        page.wait_for_url(f"**/games/{game['id']}")
        page.get_by_role("tab", name="Teams, seasons, tournaments").click()
        page.get_by_role("button", name="Join team").click()
        expect(page.get_by_role("row", name=re.compile("Moths"))).to_contain_text("1")
    sent(keyed, f"{path}/evaluate", {"round": {"response": "A moth."}}, keys["pia"])
    with tab(chromium, keyed) as page:
        sign_in(page, keys["host"])
        opened(page, f"/games/{game['id']}")
        page.get_by_role("button", name="Change").click()
        page.get_by_label("Rounds each").fill("3")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("3 rounds each")).to_be_visible()
        opened(page, f"/games/{game['id']}/rounds/pia/1")
        page.get_by_role("button", name="Void", exact=True).click()
        page.get_by_label("Why").fill("only a try")
        page.get_by_role("button", name="Void it").click()
        expect(page.get_by_text("voided: only a try")).to_be_visible()
        page.get_by_role("button", name="Have it count again").click()
        expect(page.get_by_role("button", name="Void", exact=True)).to_be_visible()
