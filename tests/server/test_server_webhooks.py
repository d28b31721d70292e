"""Webhooks: signed messages about sessions and runs that ended, tried again, and never sent into the own network."""

from __future__ import annotations

import asyncio
import hmac
import json
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from uuid import UUID

import pytest

from access_table import definition
from council_samples import QUESTION, members
from databases import Opened
from rubrica.errors import InputError
from rubrica.server import webhook_sender
from rubrica.server.settings import ServerSettings
from rubrica.server.webhook_sender import PAUSES, attempted
from rubrica.server.webhook_target import InsideAddressError, PublicResolver, check_target, is_public
from rubrica.store.webhooks import Delivery
from rubrica.workspace import webhooks
from rubrica.workspace.access import LOCAL
from servers import Client, serving

HOOKS = "/api/webhooks"
NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@dataclass
class Receiver:
    """Somebody's own server, which answers with one status after the other."""

    url: str
    statuses: list[int]
    heard: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def receiver(*statuses: int) -> Iterator[Receiver]:
    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.heard.append(({name.lower(): value for name, value in self.headers.items()}, body))
            status = found.statuses.pop(0) if found.statuses else 204
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"{found.url}/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        found = Receiver(f"http://127.0.0.1:{server.server_port}", list(statuses))
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join(30)


def settled(client: Client, path: str, count: int = 1) -> list[Any]:
    """The log of a webhook once nothing waits for it any more."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        found: list[Any] = client.get(f"{path}/deliveries").json["items"]
        if len(found) >= count and all(one["state"] != "waiting" for one in found):
            return found
        time.sleep(0.02)
    raise AssertionError(found)


def test_the_ends_of_sessions_and_runs_are_told_with_a_signature(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBRICA_CONFIG", "")
    with receiver() as hook, members(ann="quality 9", bo="quality 6") as seats:
        council = tuple(seat.model for seat in seats.values())
        settings = ServerSettings(preload=False, council=council, private_webhooks=True)
        with serving(database_url, settings=settings) as server:
            author = server.author
            made = author.post(HOOKS, {"url": hook.url}).json
            assert author.post(HOOKS, {"url": hook.url}, Idempotency_Key="x").status == 422
            author.post("/api/evaluations", {**definition(), "name": "Brief"})
            assert author.post("/v1/council/run", {"question": QUESTION}).status == 200
            session = author.get("/api/council/sessions").json["items"][0]
            begun = author.post("/api/runs", {"rubric": "brief", "cases": [{"response": "Paris."}]})
            assert begun.status == 201, begun.text
            log = settled(author, f"{HOOKS}/{made['id']}", 2)
            listed = author.get(HOOKS)
            assert server.newcomer("author", "other").get(HOOKS).json == {"items": []}
    assert made["secret"] not in listed.text
    assert [one["events"] for one in listed.json["items"]] == [list(webhooks.EVENT_NAMES)]
    assert [(one["state"], one["attempts"], one["status"]) for one in log] == [("delivered", 1, 204)] * 2
    messages = {}
    for headers, body in hook.heard:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        digest = hmac.digest(b64decode(made["secret"].removeprefix("whsec_")), signed, "sha256")
        assert headers["webhook-signature"] == f"v1,{b64encode(digest).decode()}"
        assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
        messages[json.loads(body)["type"]] = json.loads(body)["data"]
    assert {headers["webhook-id"] for headers, _ in hook.heard} == {one["id"] for one in log}
    assert messages["council.finished"]["id"] == session["id"]
    assert (messages["council.finished"]["state"], messages["council.finished"]["title"]) == ("finished", QUESTION)
    assert messages["run.finished"]["evaluations"] == 1
    assert messages["run.finished"]["path"] == begun.headers["Location"]


def test_what_does_not_arrive_is_tried_again_and_redirects_are_not_followed(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_sender, "PAUSES", (timedelta(seconds=0.01),) * 2)
    settings = ServerSettings(preload=False, private_webhooks=True)
    with serving(str(tmp_path / "rubrica.db"), settings=settings) as server:
        author = server.author

        def pinged(*statuses: int) -> tuple[Any, int]:
            with receiver(*statuses) as hook:
                path = author.post(HOOKS, {"url": f"{hook.url}/x"}).headers["Location"]
                assert author.post(f"{path}/ping").status == 202
                [log] = settled(author, path)
                return log, len({headers["webhook-id"] for headers, _ in hook.heard})

        again, same = pinged(500, 503)
        never, _ = pinged(500, 500, 500)
        sent_on, _ = pinged(307)
        gone, _ = pinged(410)
        path = author.post(HOOKS, {"url": "http://127.0.0.1:9/"}).headers["Location"]
        author.post(f"{path}/ping")
        [away] = settled(author, path)
    assert (again["state"], again["attempts"], same) == ("delivered", 3, 1)
    assert (never["state"], never["attempts"], never["error"]) == ("failed", 3, "it answered with 500")
    assert (sent_on["state"], sent_on["attempts"]) == ("failed", 1)
    assert "not followed" in sent_on["error"]
    assert (gone["state"], gone["attempts"]) == ("failed", 1)
    assert (away["state"], away["error"], away["status"]) == ("failed", "it cannot be reached", None)


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/", "https://localhost/", "https://[::1]/", "https://10.1.2.3/", "https://192.168.0.1:8080/",
        "https://169.254.169.254/latest", "https://[::ffff:10.0.0.1]/", "https://[fd00::1]/", "https://0.0.0.0/",
        "https://100.64.0.1/", "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://metadata.google.internal/",
        "https://2130706433/", "https://127.1/", "https://224.0.0.1/", "https://255.255.255.255/",
        "http://example.com/", "ftp://example.com/", "https://", "https://ann:pw@example.com/", "https://example.com/#x",
        "https://example.com:99999/", "https://[::1/", "file:///etc/passwd", "https://example.com/\n",
    ],
)  # fmt: skip
def test_addresses_that_no_message_goes_to(url: str) -> None:
    with pytest.raises(InputError, match="url: "):
        check_target(url, private=False)


def test_public_addresses_are_taken_and_the_operator_may_allow_others() -> None:
    for url in ("https://example.com/hook?x=1", "https://93.184.216.34/", "https://[2606:2800:220:1::1]:8443/"):
        check_target(url, private=False)
    check_target("http://127.0.0.1:8000/", private=True)
    with pytest.raises(InputError):
        check_target("gopher://127.0.0.1/", private=True)
    assert is_public("8.8.8.8")


def test_a_name_that_means_an_inside_address_is_not_connected_to() -> None:
    async def look(private: bool) -> list[Any]:
        return list(await PublicResolver(private=private).resolve("localhost", 80))

    assert asyncio.run(look(True))
    with pytest.raises(InsideAddressError):
        asyncio.run(look(False))


def test_a_message_is_tried_ever_more_seldom_and_then_given_up() -> None:
    delivery = Delivery(UUID(int=1), UUID(int=2), "ping", "{}", "waiting", 0, NOW, None, "", NOW, None)
    pauses = []
    while delivery.state == "waiting":
        delivery = attempted(delivery, 500, "it answered with 500", NOW, final=False)
        pauses.append(delivery.due_at - NOW)
    assert tuple(pauses[:-1]) == PAUSES
    assert (delivery.state, delivery.attempts, delivery.ended_at) == ("failed", len(PAUSES) + 1, NOW)


def test_the_queue_of_a_webhook_is_bounded(database: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MOST_WAITING", 2)
    hook = database.write(webhooks.create_webhook, LOCAL, "https://example.com/", ["run.failed"], NOW)
    for event in ("run.failed", "run.finished", "run.failed", "run.failed"):
        database.write(webhooks.announce, LOCAL.user_id, event, {}, NOW)
    log = database.read(webhooks.webhook_log, LOCAL, hook.id)
    assert sorted((one.event, one.state) for one in log) == [("run.failed", "failed")] + [("run.failed", "waiting")] * 2
    assert "2 messages were waiting" in next(one.error for one in log if one.state == "failed")
