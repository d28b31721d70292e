"""What one client may send or do to a gateway: it is refused with a reason, and nobody else pays or waits for it."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from gateway_stage import CAPITAL, GOOD, Scripted, body_of, hang_up, stage, until

from rubrica.gateway.chat import MOST_IMAGES, MOST_MESSAGES, read_chat
from rubrica.server.gateway.app import create_app
from rubrica.server.gateway.intake import BodyMemory, BodyShare, receive_body
from rubrica.server.gateway.refusals import OverloadedError, refusal_of

USER = {"role": "user", "content": CAPITAL}
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"messages": [USER] * (MOST_MESSAGES + 1)}, "5,001 messages"),
        ({"messages": [{"role": "user", "content": [PICTURE] * (MOST_IMAGES + 1)}]}, "501 pictures"),
        ({"messages": [{"role": "user", "content": [{}] * 5_001}]}, "5,001 parts"),
        ({"messages": [USER], "n": 129}, "`n` is 129"),
        ({"messages": [USER], "max_tokens": 10**12}, "`max_tokens`"),
        ({"messages": [USER], "max_completion_tokens": 10**400}, "`max_completion_tokens`"),
    ],
    ids=["messages", "pictures", "parts", "answers", "tokens", "huge"],
)
def test_more_than_any_model_takes_is_refused_before_one_is_asked(
    tmp_path: Path, body: dict[str, Any], told: str
) -> None:
    model = Scripted()
    with stage(tmp_path, model) as on:
        reply = on.ask(body)
        assert (reply.status, told in reply.json["error"]["message"]) == (400, True), reply.body[:300]
    assert not model.asked


@pytest.mark.parametrize(
    "raw", [b"[" * 90_000, b'{"a":' * 10_000, b'{"messages":' + b"[" * 5_000 + b"]" * 5_000 + b"}", b"\xff", b""]
)
def test_a_body_that_is_no_plain_json_is_refused(tmp_path: Path, raw: bytes) -> None:
    with stage(tmp_path, Scripted()) as on:
        assert on.post("/v1/chat/completions", raw).status == 400
        assert on.post("/v1/feedback", raw).status == 400
        assert on.ask().status == 200


@pytest.mark.parametrize("raw", [b"[],", b"{},", b"0,"])
def test_a_body_of_millions_of_values_is_refused_before_they_are_made(tmp_path: Path, raw: bytes) -> None:
    body = b'{"messages": [{"role": "user", "content": "x"}], "more": [' + raw * 4_000_000 + b"0]}"
    with stage(tmp_path, Scripted()) as on:
        begun = time.process_time()
        reply = on.post("/v1/chat/completions", body)
        assert (reply.status, "more than 200,000 values" in reply.json["error"]["message"]) == (400, True)
        assert time.process_time() - begun < 1


def test_a_long_text_full_of_commas_and_brackets_is_no_list() -> None:
    text = '[{"a": 1}, \\"b", \\\\] ' * 50_000
    assert read_chat(json.dumps({"messages": [{"role": "user", "content": text}]}).encode()).question == text


def test_too_many_large_bodies_at_once_are_told_to_come_back(tmp_path: Path) -> None:
    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * 60_000, "more_body": True}

    async def scenario() -> None:
        memory, scope = BodyMemory(1_000_000), {"type": "http", "headers": []}
        share = BodyShare(memory)
        with pytest.raises(OverloadedError) as told:
            await receive_body(scope, receive, 20_000_000, share)
        assert refusal_of(told.value).status == 503
        share.release()
        assert memory.held == 0

    asyncio.run(scenario())
    with stage(tmp_path, Scripted()) as on:
        large = {"messages": [{"role": "user", "content": "Why? " * 100_000}]}
        assert [on.ask(large, x_sleipner_grading="off").status for _ in range(3)] == [200] * 3


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_ends_the_call_to_the_model(tmp_path: Path, stream: bool) -> None:
    model = Scripted(script="word " * 50, delay=20)
    with stage(tmp_path, model) as on:
        asked = {**body_of(CAPITAL), "stream": stream}
        on.run(hang_up(on.send("POST", "/v1/chat/completions", asked, {}), lambda: model.asked))
        on.run(until(lambda: model.cancelled and on.gateway.metrics.in_flight == 0))


def test_pipelined_requests_are_answered_one_after_the_other(tmp_path: Path) -> None:
    body = json.dumps({"messages": [USER]}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nx-sleipner-grading: off\r\n"
    one = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    model = Scripted(delay=0.001)
    with stage(tmp_path, model) as on:

        async def all_at_once() -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(on.url.rpartition(":")[2]))
            writer.write(one * 100 + last)
            try:
                return await asyncio.wait_for(reader.read(), 30)
            finally:
                writer.close()

        assert on.run(all_at_once()).count(b"HTTP/1.1 200") == 101


def test_thousands_of_unknown_keys_are_slowed_down_and_others_are_not(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted()) as on:
        good = on.key()
        assert on.ask(Authorization=f"Bearer {good}").status == 200
        begun = time.monotonic()
        statuses = [on.ask(Authorization=f"Bearer rk_{number:032}").status for number in range(200)]
        assert set(statuses) == {401, 429}
        assert on.ask(Authorization=f"Bearer {good}").text == GOOD
        assert time.monotonic() - begun < 20


ROUTES = [
    ("GET", "/metrics"),
    ("GET", "/api/gateway/analytics"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/rubrica"),
    ("POST", "/v1/feedback"),
    ("POST", "/v1/chat/completions"),
    ("GET", "/api/v1/models"),
    ("POST", "/api/v1/feedback"),
]


async def called(app: Any, method: str, path: str, client: str, **headers: str) -> int:
    """The status of a request that comes from an address."""
    sent: list[Any] = []
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(b"host", b"localhost"), *named],
    }
    scope |= {"query_string": b"", "client": (client, 1234), "server": ("127.0.0.1", 3000), "scheme": "http"}
    body = json.dumps({"messages": [USER]}).encode()

    async def receive() -> Any:
        if sent:
            await asyncio.sleep(3600)
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_without_keys_nobody_from_elsewhere_is_let_in(tmp_path: Path, method: str, path: str) -> None:
    with stage(tmp_path, Scripted()) as on:
        app = create_app(on.gateway)
        assert on.run(called(app, method, path, "203.0.113.5")) == 403
        assert on.run(called(app, method, path, "127.0.0.1", origin="http://evil.example")) == 403
        assert on.run(called(app, method, path, "127.0.0.1")) in (200, 400)
        key, app = on.key(role="player"), create_app(on.gateway)
        assert on.run(called(app, method, path, "127.0.0.1")) == 401
        assert on.run(called(app, method, path, "203.0.113.5")) == 401
        assert on.run(called(app, method, path, "203.0.113.5", authorization=f"Bearer {key}")) in (200, 400)
