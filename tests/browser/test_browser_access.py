"""Signing in: a key once, a cookie after that; nothing without it, and no other page's requests."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from browser.browsers import Site, asked, eventually, opened, served, sign_in, tab
from rubrica.workspace.access import Role

SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport="
PATHS = ("/rubrics", "/rubrics/arena", "/sandbox", "/runs", "/reviews", "/market", "/games", "/council", "/gateway")


def test_without_keys_the_studio_opens_at_once(page: Page, site: Site) -> None:
    page.goto("/")
    expect(page).to_have_url(f"{site.url}/rubrics")
    expect(page.get_by_role("heading", name="Rubrics")).to_be_visible()


def test_with_keys_a_visitor_signs_in_first_and_comes_back_to_where_they_were_going(
    keyed: Site, chromium: Browser
) -> None:
    key = keyed.key("kim", "author")
    with tab(chromium, keyed) as page:
        page.goto("/games")
        expect(page).to_have_url(f"{keyed.url}/signin?next=%2Fgames")
        page.get_by_label("API key").fill("rk_" + "x" * 32)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("no such key")
        page.get_by_label("API key").fill(key)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/games")
        cookie = next(cookie for cookie in page.context.cookies() if cookie["name"] == "rubrica_session")
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert key not in cookie["value"]
        assert key not in page.content()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/signin")
        page.goto("/rubrics")
        expect(page).to_have_url(f"{keyed.url}/signin?next=%2Frubrics")


def test_a_session_opens_no_door_to_another_origin(keyed: Site, chromium: Browser) -> None:
    key = keyed.key("lou", "author")
    with tab(chromium, keyed) as page:
        sign_in(page, key)
        assert asked(page, "GET", f"{keyed.url}/api/whoami").status == 200
        foreign = asked(page, "GET", f"{keyed.url}/api/whoami", headers={"Origin": "http://evil.example"})
        assert foreign.status == 401
        form = asked(page, "POST", f"{keyed.url}/signin", form={"key": key}, headers={"Origin": "http://evil.example"})
        assert form.status == 403


def admitted(site: Site, headers: dict[str, str]) -> bool:
    """Whether the socket behind a page opens. Plain requests in its place are never let in."""
    assert httpx.get(f"{site.url}{SOCKET}polling", headers=headers).status_code in (400, 401, 403)
    try:
        with connect(f"{site.url.replace('http', 'ws')}{SOCKET}websocket", additional_headers=headers) as socket:
            return str(socket.recv(5)).startswith('0{"sid"')
    except InvalidStatus:
        return False


def test_the_connection_behind_a_page_needs_the_session_and_a_page_of_this_server(keyed: Site, site: Site) -> None:
    key = keyed.key("sue", "viewer")
    with httpx.Client(base_url=keyed.url) as client:
        assert client.post("/signin", data={"key": key}).status_code == 303
        first = client.cookies["rubrica_session"]
        assert client.post("/signin", data={"key": key}).status_code == 303
        cookie = f"rubrica_session={client.cookies['rubrica_session']}"
    foreign = {"Origin": "http://evil.example"}
    assert admitted(keyed, {"Cookie": cookie, "Origin": keyed.url})
    assert not admitted(keyed, {})
    assert not admitted(keyed, {"Cookie": "rubrica_session=made-up"})
    assert not admitted(keyed, {"Cookie": f"rubrica_session={first}"})  # who signs in again begins anew
    assert not admitted(keyed, {"Cookie": cookie, **foreign})
    assert admitted(site, {"Origin": site.url})  # without keys, whoever sits at the machine
    assert not admitted(site, foreign)
    assert not admitted(site, {"Host": "evil.example"})


@pytest.mark.parametrize("role", ["viewer", "player"])
def test_who_may_only_look_or_play_is_offered_nothing_to_build(keyed: Site, chromium: Browser, role: Role) -> None:
    key = keyed.key(f"a-{role}", role)
    with tab(chromium, keyed) as page:
        sign_in(page, key)
        for path in PATHS:
            opened(page, path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            for action in ("New rubric", "Import", "Fork", "Edit", "Publish one of yours", "Start a run", "New game"):
                assert page.get_by_role("button", name=action, exact=True).count() == 0, (path, action)
            assert key not in page.content()
            assert key not in page.url
        opened(page, "/build/new")
        expect(page.get_by_role("alert")).to_contain_text(f"needs the role author; you have {role}")
        opened(page, "/build/arena")
        expect(page.get_by_role("alert")).to_contain_text(f"needs the role author; you have {role}")


def test_a_session_ends_with_its_key(keyed: Site, chromium: Browser) -> None:
    key = keyed.key("eve", "author")
    admin = keyed.key("boss", "admin")
    with tab(chromium, keyed) as page:
        sign_in(page, key)
        who = asked(page, "GET", f"{keyed.url}/api/whoami").json()
        headers = {"Authorization": f"Bearer {admin}"}
        assert asked(page, "DELETE", f"{keyed.url}/api/keys/{who['key_id']}", headers=headers).status == 204
        # a key is believed for a second
        eventually(lambda: asked(page, "GET", f"{keyed.url}/api/whoami").status == 401)
        page.goto("/rubrics")
        expect(page).to_have_url(f"{keyed.url}/signin?next=%2Frubrics")


def test_an_open_page_ends_with_its_key(keyed: Site, chromium: Browser) -> None:
    key = keyed.key("ivy", "author")
    headers = {"Authorization": f"Bearer {keyed.key('chief', 'admin')}"}
    with tab(chromium, keyed) as page:
        sign_in(page, key)
        who = asked(page, "GET", f"{keyed.url}/api/whoami").json()
        opened(page, "/rubrics")
        assert asked(page, "DELETE", f"{keyed.url}/api/keys/{who['key_id']}", headers=headers).status == 204
        page.wait_for_url(f"{keyed.url}/signin")


def test_a_page_that_was_opened_without_a_key_ends_with_the_first_key(tmp_path: Path, chromium: Browser) -> None:
    with served(tmp_path) as site, tab(chromium, site) as page:
        opened(page, "/rubrics")
        site.key("first", "admin")
        page.wait_for_url(f"{site.url}/signin")


def test_dark_and_light_are_kept(page: Page) -> None:
    opened(page, "/rubrics")
    expect(page.locator("body.body--dark")).to_have_count(0)
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("body.body--dark")).to_have_count(1)
    opened(page, "/rubrics")
    expect(page.locator("body.body--dark")).to_have_count(1)


def test_the_menu_folds_away_on_a_phone(chromium: Browser, site: Site) -> None:
    with tab(chromium, site, width=390) as page:
        opened(page, "/rubrics")
        expect(page.get_by_role("link", name="Games")).not_to_be_in_viewport()
        page.get_by_role("button", name="Menu").click()
        expect(page.get_by_role("link", name="Games")).to_be_in_viewport()
