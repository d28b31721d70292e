"""The application as a whole: its headers, its description, its beginning and its end."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from uuid import UUID

import pytest
from fastapi.routing import APIRoute

from rubrica import __version__
from rubrica.errors import InputError, StoreError
from rubrica.server.app import create_app
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import decode_cursor, encode_cursor
from rubrica.server.routes.execute import LeanRoute
from rubrica.server.service import Service
from rubrica.server.settings import ServerSettings
from servers import Running, serving


@pytest.fixture(scope="module")
def keyless(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    with serving(str(tmp_path_factory.mktemp("app") / "rubrica.db"), keyless=True) as running:
        yield running


def test_every_reply_keeps_browsers_careful(keyless: Running) -> None:
    for path in ("/healthz", "/api/whoami", "/nowhere", "/docs"):
        headers = keyless.anyone.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["Cache-Control"] == "private, no-cache"
        assert re.fullmatch("[0-9a-f]{16}", headers["X-Request-ID"])


def test_it_says_whether_it_lives(server: Running) -> None:
    assert server.anyone.get("/healthz").json == {"status": "ok", "version": __version__}


def test_the_first_page_leads_to_the_docs(keyless: Running) -> None:
    reply = keyless.anyone.get("/")
    assert (reply.status, reply.headers["Location"]) == (307, "/docs")


def test_every_route_reads_its_body_strictly(keyless: Running) -> None:
    app = create_app(keyless.service)
    strict = (JsonRoute, LeanRoute)
    assert [route for route in app.routes if isinstance(route, APIRoute) and not isinstance(route, strict)] == []


def test_no_two_routes_take_the_same_method_and_path(keyless: Running) -> None:
    app = create_app(keyless.service)
    taken = [
        (method, re.sub(r"\{\w+", "{", route.path))
        for route in app.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    ]
    assert sorted(taken) == sorted(set(taken))


def test_the_description_explains_every_operation(keyless: Running) -> None:
    document = keyless.anyone.get("/openapi.json").json
    assert document["info"]["title"] == "Rubrica"
    assert document["security"] == [{"bearer": []}, {"header": []}]
    tags = {tag["name"] for tag in document["tags"]}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            where = f"{method} {path}"
            assert set(operation["tags"]) <= tags, where
            assert len(operation["tags"]) == 1, where
            assert operation["summary"], where
            assert operation["responses"]["default"] == {"$ref": "#/components/responses/Problem"}, where
            assert [code for code in operation["responses"] if code.startswith("2")], where
            once = [given for given in operation.get("parameters", []) if given["name"] == "Idempotency-Key"]
            assert bool(once) == (method == "post" and path not in ("/api/keys", "/api/webhooks")), where
    assert "HTTPValidationError" not in str(document)


def test_the_docs_show_every_operation_and_fetch_nothing(keyless: Running) -> None:
    document = keyless.anyone.get("/openapi.json").json
    page = keyless.anyone.get("/docs")
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.text.count('class="method"') == sum(len(item) for item in document["paths"].values())
    for path in document["paths"]:
        assert f"<code>{path}</code>" in page.text
    assert not re.search(r"<script|<link|<img|src=|https?://|@import|url\(", page.text)
    linked = set(re.findall(r'href="#([^"]+)"', page.text))
    assert linked <= set(re.findall(r'id="([^"]+)"', page.text))


def test_a_database_that_cannot_be_upgraded_is_told_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "notes.db"
    file.write_bytes(b"not a database at all, but long enough to be looked at" * 10)
    with pytest.raises(StoreError, match=r"notes\.db"):
        Service.open(ServerSettings(database=str(file)))


def test_the_database_is_closed_with_the_server(database_url: str) -> None:
    with serving(database_url) as running:
        database = running.service.database
    with pytest.raises((StoreError, RuntimeError)):
        asyncio.run(asyncio.wait_for(database.write(lambda _: None), 5))


def test_the_bundled_rubrics_are_loaded_once(database_url: str) -> None:
    counts = []
    for _ in range(2):
        with serving(database_url, keyless=True, settings=ServerSettings()) as running:
            counts.append(len(running.anyone.get("/api/evaluations?limit=200").json["items"]))
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize(
    "values",
    [[1.5, "ä", UUID(int=7)], [None, 3]],
)
def test_a_cursor_comes_back_as_it_was(values: list[object]) -> None:
    types = [float | None if value is None else type(value) for value in values]
    assert decode_cursor(encode_cursor(values), *types) == tuple(values)


@pytest.mark.parametrize("text", ["", "%", "bnVsbA", "WzFd" * 1000, "W1tbW1tbW1tb", encode_cursor(["a\0b"])])
def test_a_cursor_that_is_none_of_ours_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="cursor"):
        decode_cursor(text, str)
