"""Requests as spans, at a collector and at Langfuse."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from gateway_stage import CAPITAL, GOOD, POOR, Scripted, provided, stage
from loopback import Loopback

from rubrica.gateway.gateway import Gateway
from rubrica.gateway.parts import GatewayModels, GatewayParts
from rubrica.gateway.settings import GatewaySettings
from rubrica.gateway.trace_context import read_trace_context
from rubrica.llm.settings import Settings
from rubrica.store.database import Database
from rubrica.telemetry.langfuse import LangfuseError

SECRET = "sk-proj-" + "a1B2" * 8


class Collector(HTTPServer):
    """Takes whatever it is sent."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, str], Any]] = []
        super().__init__(("127.0.0.1", 0), _Taking)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def spans(self, path: str) -> dict[str, dict[str, Any]]:
        """What came to a path, by the name of the span; attributes as plain values."""
        found = {}
        for where, _, body in self.heard:
            if where == path:
                for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]:
                    plain = {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}
                    found[span["name"]] = {**span, "attributes": plain}
        return found


class _Taking(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.heard.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    for name in ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME"):
        monkeypatch.delenv(name, raising=False)
    server = Collector()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_escalated_request_is_a_trace_without_a_word_of_it(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=ours%20too")
    tiers = Scripted("openai:gpt-4o-mini", POOR, delay=0.05), Scripted("openai:gpt-4o", GOOD)
    with stage(tmp_path, *tiers) as on:
        trace = on.ask().headers["x-sleipner-trace"]
    spans = collector.spans("/v1/traces")
    assert set(spans) == {"chat", "classify", "tier-0", "grade", "tier-1"}
    whole = spans["chat"]
    assert {span["traceId"] for span in spans.values()} == {trace.replace("-", "")}
    assert {span.get("parentSpanId") for name, span in spans.items() if name != "chat"} == {whole["spanId"]}
    assert whole["attributes"]["rubrica.tier"] == "tier-1"
    assert whole["attributes"]["rubrica.question_type"] == "FACTUAL"
    assert spans["tier-0"]["attributes"] == {"gen_ai.request.model": "openai:gpt-4o-mini"}
    assert spans["grade"]["attributes"]["rubrica.passed"] is False

    def at(name: str, end: str) -> int:
        return int(spans[name][f"{end}TimeUnixNano"])

    assert at("chat", "start") <= at("tier-0", "start") < at("tier-0", "end") <= at("grade", "end")
    assert at("grade", "end") <= at("tier-1", "end") <= at("chat", "end")
    assert at("tier-0", "end") - at("tier-0", "start") >= 50_000_000
    sent = json.dumps([body for _, _, body in collector.heard])
    assert CAPITAL not in sent
    assert GOOD not in sent
    assert collector.heard[0][1]["x-team"] == "ours too"


PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("flags", ["01", "00"])
def test_a_trace_that_a_request_came_with_is_gone_on_with(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch, flags: str
) -> None:
    """Here and at the models, which are told of a span of ours where there is one."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    first, second = Loopback(POOR), Loopback(GOOD)
    with provided(tmp_path, first, second) as on:
        sent = {"traceparent": PARENT[:-2] + flags, "tracestate": "congo=t61rcWkgMzE"}
        reply = on.ask(**sent)
        assert on.ask("And without?").status == 200
    _, trace, parent, _ = PARENT.split("-")
    spans = [span for _, _, body in collector.heard for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    mine = {span["name"]: span for span in spans if span["traceId"] == trace}
    assert set(mine) == ({"chat", "classify", "tier-0", "grade", "tier-1"} if flags == "01" else set())
    told = mine["chat"]["spanId"] if mine else parent  # nothing of ours is recorded then
    for server in (first, second):
        heard = server.seen[0].headers
        assert (heard["traceparent"], heard["tracestate"]) == (f"00-{trace}-{told}-{flags}", "congo=t61rcWkgMzE")
        assert "traceparent" not in server.seen[1].headers
    if mine:
        assert mine["chat"]["parentSpanId"] == parent
        names = {one["key"]: one["value"].get("stringValue") for one in mine["chat"]["attributes"]}
        assert names["rubrica.trace"] == reply.headers["x-sleipner-trace"]


@pytest.mark.parametrize(
    "told",
    ["", "00-abc-def-01", PARENT.upper(), PARENT + "-more", "ff" + PARENT[2:], f"00-{'0' * 32}-b7ad6b7169203331-01"],
)
def test_a_header_that_is_no_trace_is_passed_over(told: str) -> None:
    assert read_trace_context([(b"traceparent", told.encode())]) is None
    assert read_trace_context([(b"traceparent", PARENT.encode())] * 2) is None
    newer = read_trace_context([(b"traceparent", f"cc{PARENT[2:]}-more".encode()), (b"tracestate", b"x" * 600)])
    assert newer is not None
    assert newer.headers() == {"traceparent": PARENT}


def test_langfuse_gets_texts_where_they_are_asked_for(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk")
    monkeypatch.setenv("LANGFUSE_BASE_URL", collector.url)
    with stage(tmp_path, Scripted(), tracing={"langfuse": True, "texts": True}) as on:
        on.ask(f"Why is {SECRET} refused?")
    whole = collector.spans("/api/public/otel/v1/traces")["chat"]
    assert whole["attributes"]["langfuse.observation.input"] == "Why is [SECRET] refused?"
    assert whole["attributes"]["langfuse.observation.output"] == GOOD
    assert collector.heard[0][1]["authorization"].startswith("Basic ")


def test_a_collector_that_is_away_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    with stage(tmp_path, Scripted()) as on:
        assert on.ask().status == 200


def test_langfuse_without_keys_is_told_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANGFUSE_PUBLIC_KEY", raising=False)
    settings = GatewaySettings.model_validate({"tier0": "openai:gpt-4o-mini", "tracing": {"langfuse": True}})
    parts = GatewayParts.open(settings, GatewayModels(Settings(openai_key="k")))
    with pytest.raises(LangfuseError, match="LANGFUSE_PUBLIC_KEY"):
        Gateway(settings, Database.open(str(tmp_path / "gateway.db")), parts)
