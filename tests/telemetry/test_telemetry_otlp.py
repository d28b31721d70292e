"""Every evaluation becomes OTLP events at a collector, whichever way it came about."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

import rubrica
from rubrica.engine.audience import listeners
from rubrica.telemetry import otlp
from rubrica.telemetry.events import EVENT, events


@dataclass
class Collector:
    """A collector on loopback: keeps the events it was sent."""

    url: str = ""
    status: int = 200
    events: list[dict[str, Any]] = field(default_factory=list)
    services: set[str] = field(default_factory=set)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    found = Collector()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.path == "/v1/logs"
            for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
                found.services |= {
                    a.value.string_value for a in resource.resource.attributes if a.key == "service.name"
                }
                for scope in resource.scope_logs:
                    for record in scope.log_records:
                        values = {a.key: a.value for a in record.attributes}
                        plain = {key: getattr(value, value.WhichOneof("value")) for key, value in values.items()}
                        found.events.append({"event": record.event_name, **plain})
            self.send_response(found.status)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
    yield found
    server.shutdown()
    server.server_close()


def test_an_evaluation_and_its_dimensions_arrive_at_the_collector(collector: Collector) -> None:
    end = otlp.start()
    result = rubrica.evaluate("answer-quality", prompt="What is 2 + 2?", response="2 + 2 = 4.")
    end()
    assert {sent["event"] for sent in collector.events} == {EVENT}
    assert collector.services == {"rubrica"}
    by_name = {sent["gen_ai.evaluation.name"]: sent for sent in collector.events}
    whole = by_name["answer-quality"]
    assert whole["gen_ai.evaluation.score.value"] == result.score
    assert whole["gen_ai.evaluation.score.label"] == result.verdict
    assert whole["rubrica.rubric.hash"] == result.hash
    accuracy = by_name["answer-quality/accuracy"]
    assert accuracy["gen_ai.evaluation.score.value"] == result.dimensions["accuracy"].value
    assert accuracy["gen_ai.evaluation.explanation"] == result.dimensions["accuracy"].why[:1000]
    assert len(by_name) == 1 + len(result.dimensions)


def test_nothing_is_sent_once_it_has_ended(collector: Collector) -> None:
    otlp.start()()
    rubrica.evaluate("speed-demon", response="Done.", context={"response_time": 20})
    assert collector.events == []
    assert listeners == []


def test_what_was_not_scored_has_an_error_and_no_number() -> None:
    missing = rubrica.decide("voice-companion", {"helpfulness": 0.9}, {"prompt": "Hi", "response": "Hello!"})
    sent = {attributes["gen_ai.evaluation.name"]: attributes for attributes in events(missing)}
    unscored = sent["voice-companion/trust_boundaries"]
    assert unscored["error.type"] == "unscored"
    assert "gen_ai.evaluation.score.value" not in unscored
    assert "voice-companion/personalization_continuity" not in sent  # nothing to judge is no result


def test_a_command_sends_what_it_judges(collector: Collector, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"id": "a", "response": "Done.", "response_time": 20}\n{"id": "b", "response": "Done."}\n')
    command = [sys.executable, "-m", "rubrica", "eval", str(cases), "-r", "speed-demon"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert {sent["rubrica.case"] for sent in collector.events} == {"a", "b"}


def test_a_collector_that_fails_holds_nothing_up(collector: Collector, tmp_path: Path) -> None:
    collector.status = 400
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"id": "a", "response": "Done.", "response_time": 20}\n')
    command = [sys.executable, "-m", "rubrica", "eval", str(cases), "-r", "speed-demon", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert b'"case":"a"' in done.stdout
