"""Who is shown what in the studio: every page, file and socket of the access table, as every caller."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import nicegui
import pytest
from sqlalchemy import Connection, select
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from access_table import CALLERS, FILES, MARK, ONE_ROUND, PAGES, UPLOADS, FileRow, PageRow, definition
from browser.browsers import Site, served
from browser.contents import conducted, kept_as_baseline, written
from council_samples import cut_off_session
from gateway_samples import record
from rubrica.runs.review.queue_items import new_items
from rubrica.runs.review.sampling import draw
from rubrica.runs.stored import StoredRun
from rubrica.store.gateway import add_requests
from rubrica.store.reviews import add_items
from rubrica.store.tables import review_items
from rubrica.studio.runs.paths import baselines_file
from rubrica.workspace.access import Caller, Role
from rubrica.workspace.keys import IssuedKey, KeyRequest, issue
from rubrica.workspace.run_access import RunKey, claim_run, open_review, share_run

ROLES: dict[str, Role] = {
    "viewer": "viewer", "player": "player", "author": "author", "other": "author", "admin": "admin",
}  # fmt: skip
RUBRIC = f"""\
name: brief
title: Brief {MARK}
dimensions:
  short: {{formula: "1 if word_count < 9 else 0", weight: 1}}
verdicts:
  - {{label: pass, when: "score >= 0.5"}}
  - {{label: fail}}
"""
MISSING = ("not yours to see", "there is no evaluation", "No such", "no such")
DENIED = "Writing rubrics needs the role"


@dataclass(frozen=True)
class Visited:
    """A studio with things of the author in it, and a client for each caller."""

    site: Site
    clients: Mapping[str, httpx.Client]
    things: Mapping[str, str]

    def address(self, row: PageRow) -> str:
        path = row.path
        for name, thing in row.things.items():
            path = path.replace(f"{{{name}}}", self.things.get(thing, thing))
        return path


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visited]:
    with served(tmp_path_factory.mktemp("matrix"), ["--offline"]) as site, ExitStack() as stack:
        now = datetime.now(UTC)
        site.write(issue, KeyRequest("admin", "root"), now)
        issued = {
            caller: site.write(issue, KeyRequest(role, f"the {caller}", per_minute=100_000), now)
            for caller, role in ROLES.items()
        }
        known = {"nobody": None, **issued}
        clients = {caller: stack.enter_context(_client(site, own)) for caller, own in known.items()}
        things = {**_made(clients["author"]), **_runs(site, issued["author"]), **_requests(site, issued["author"])}
        things["session"] = str(site.write(cut_off_session, issued["author"].key.user_id, now, f"Why a {MARK}?"))
        yield Visited(site, clients, things)


def _client(site: Site, issued: IssuedKey | None) -> httpx.Client:
    key = {} if issued is None else {"Authorization": f"Bearer {issued.secret}"}
    return httpx.Client(base_url=site.url, headers={"Accept": "text/html", **key}, timeout=60)


def _made(author: httpx.Client) -> dict[str, str]:
    """Rubrics and games, private and public."""

    def make(path: str, body: Any, status: int = 201) -> Any:
        reply = author.post(path, json=body)
        assert reply.status_code == status, reply.text
        return reply.json()

    private = make("/api/evaluations", {**definition(), "name": f"Brief {MARK}"})["id"]
    public = make("/api/evaluations", definition(is_public=True))["id"]
    sent = {"response": f"Hello {MARK}."}
    found = {
        "private": private,
        "public": public,
        "score": make(f"/api/evaluations/{public}/execute", sent)["id"],
    }
    for name, is_public in (("private_game", False), ("public_game", True)):
        called = "Moth night" if is_public else f"Moth night {MARK}"
        found[name] = make("/api/games", {"name": called, "is_public": is_public})["id"]
        make(f"/api/games/{found[name]}/evaluations", {"evaluation_id": public})
        make(f"/api/games/{found[name]}/evaluate", {**ONE_ROUND, "player": "model"}, 200)
    return found


def _runs(site: Site, author: IssuedKey) -> dict[str, str]:
    """Runs and review items: the author's own, one that is shared, one that came from elsewhere, and a copy."""
    now, owner = datetime.now(UTC), Caller(author.key.user_id, author.key.user, "author")
    found = {}
    for name in ("private_run", "shared_run", "unowned_run"):
        own = "" if name == "shared_run" else f" {MARK}"
        cases = written(site.runs.parent / f"{name}.jsonl", [{"id": "case-1", "response": f"Hello{own}."}])
        rubric = RUBRIC.replace(f" {MARK}", "") if name == "shared_run" else RUBRIC
        run = conducted(site.runs / name, rubric, cases)
        found[name] = name
        kept_as_baseline(run, baselines_file(site.runs), f"of {name}{own}")
        if name != "unowned_run":
            found[name.replace("run", "item")] = _owned(site, owner, run, now)
    shutil.copytree(site.runs / "shared_run", site.runs / "copied_run")
    return {**found, "copied_run": "copied_run"}


def _owned(site: Site, owner: Caller, run: StoredRun, now: datetime) -> str:
    assert run.manifest is not None
    key = RunKey(run.name, run.manifest.id)
    site.write(claim_run, owner, key, now)
    if run.name == "shared_run":
        site.write(share_run, owner, key, "shared", [], now)
        site.write(open_review, owner, key, "shared", [], now)
    site.write(add_items, run.name, new_items(draw(run.evaluations, 1.0), run.rubrics()), now)

    def item(conn: Connection) -> UUID:
        found: UUID = conn.execute(select(review_items.c.id).where(review_items.c.run == run.name)).scalar_one()
        return found

    return str(site.write(item))


def _requests(site: Site, author: IssuedKey) -> dict[str, str]:
    """Requests of the gateway."""
    texts = {"prompt": f"What is a {MARK}?", "answer": "An instrument."}
    own, keyless = (record(datetime.now(UTC), key_id=key, **texts) for key in (author.key.id, None))
    site.write(add_requests, [own, keyless])
    return {"own_request": str(own.trace), "keyless_request": str(keyless.trace)}


def outcome(reply: httpx.Response) -> str:
    """What a caller is shown, by what the page says."""
    if reply.status_code == 303:
        assert reply.headers["location"].startswith("/signin?")
        return "signin"
    assert reply.status_code == 200, reply.text
    if DENIED in reply.text:
        return "denied"
    return "missing" if any(told in reply.text for told in MISSING) else "shown"


@pytest.mark.parametrize("row", PAGES, ids=lambda row: f"{row.path} {' '.join(row.things.values())}".strip())
def test_a_page_shows_each_caller_what_they_may_see(visited: Visited, row: PageRow) -> None:
    address = visited.address(row)
    replies = {caller: visited.clients[caller].get(address) for caller in CALLERS}
    assert {caller: outcome(reply) for caller, reply in replies.items()} == dict(
        zip(CALLERS, row.outcomes.split(), strict=True)
    )
    told = {caller for caller, reply in replies.items() if MARK in reply.text}
    assert told <= {"author", "admin"}, "what is private is on a page of somebody else"


@pytest.mark.parametrize("row", FILES, ids=lambda row: f"{row.method} {row.path}")
def test_what_pages_are_made_of_is_for_whoever_has_a_key(visited: Visited, row: FileRow) -> None:
    method = "GET" if row.method == "MOUNT" else row.method
    address = row.address.replace("{version}", nicegui.__version__)
    for caller in CALLERS:
        reply = visited.clients[caller].request(method, address, headers={"Accept": "*/*"})
        assert reply.status_code == (401 if caller == "nobody" else row.status), (caller, reply.text[:200])


def test_a_field_for_files_takes_none_of_nobody(visited: Visited) -> None:
    address = UPLOADS.replace("{client}", "none").replace("{element}", "1")
    files = {"file": ("cases.jsonl", json.dumps({"response": "Hm."}))}
    statuses = {caller: visited.clients[caller].post(address, files=files).status_code for caller in CALLERS}
    assert statuses.pop("nobody") == 401
    assert set(statuses.values()) <= {404, 405}


def test_the_socket_behind_pages_opens_for_whoever_has_a_key(visited: Visited) -> None:
    address = f"{visited.site.url.replace('http', 'ws')}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    for caller in CALLERS:
        key = visited.clients[caller].headers.get("Authorization")
        try:
            with connect(address, additional_headers={"Authorization": key} if key else {}) as socket:
                opened = str(socket.recv(10)).startswith('0{"sid"')
        except InvalidStatus:
            opened = False
        assert opened == (caller != "nobody"), caller
