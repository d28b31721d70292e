"""Spans, sent by OTLP over HTTP as JSON: to a collector, to Langfuse, or to both.

``OTEL_EXPORTER_OTLP_ENDPOINT`` or ``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`` name the collector,
``OTEL_EXPORTER_OTLP_HEADERS`` what it wants to be sent along; LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and
LANGFUSE_BASE_URL the project at Langfuse.
Sending holds nothing up: what a receiver cannot take is dropped, and counted.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import aiohttp
import msgspec

from .langfuse import Account

LOG = logging.getLogger("rubrica.telemetry")
EVERY = 1.0
"""Seconds between two times that spans are sent."""

MOST, AT_ONCE = 5_000, 100
"""Traces that may wait to be sent, and those in one request."""

SECONDS = 10.0
INTERNAL, SERVER, CLIENT = 1, 2, 3
"""Kinds of spans, as OTLP numbers them."""

AttributeValue = str | bool | int | float


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """Something that took a while. Times are nanoseconds since 1970."""

    trace: str  # 32 hexadecimal digits
    id: str  # 16
    name: str
    start: int
    end: int
    parent: str = ""
    kind: int = INTERNAL
    failed: str = ""  # why, in a word
    attributes: Mapping[str, AttributeValue | None] = field(default_factory=dict)  # None: not known, and left out

    @property
    def otlp(self) -> dict[str, Any]:
        """The span in OTLP's JSON form."""
        told: dict[str, Any] = {
            "traceId": self.trace,
            "spanId": self.id,
            "name": self.name,
            "kind": self.kind,
            "startTimeUnixNano": str(self.start),
            "endTimeUnixNano": str(max(self.start, self.end)),
            "attributes": [
                {"key": key, "value": _value(value)} for key, value in self.attributes.items() if value is not None
            ],
        }
        if self.parent:
            told["parentSpanId"] = self.parent
        if self.failed:
            told["status"] = {"code": 2, "message": self.failed}
        return told


def _value(value: AttributeValue) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case _:
            return {"stringValue": value}


@dataclass(frozen=True, slots=True, repr=False)
class SpanReceiver:
    """Where spans are sent, and what is sent along."""

    url: str
    headers: Mapping[str, str]


def receivers(*, langfuse: bool, environment: Mapping[str, str] = os.environ) -> list[SpanReceiver]:
    """Where the environment says that spans shall go; to Langfuse only if that is wanted.

    >>> found = receivers(langfuse=False, environment={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318/"})
    >>> [one.url for one in found]
    ['http://localhost:4318/v1/traces']
    """
    found = []
    own, shared = (environment.get(f"OTEL_EXPORTER_OTLP_{name}") for name in ("TRACES_ENDPOINT", "ENDPOINT"))
    if (own or shared) and environment.get("OTEL_SDK_DISABLED") != "true":
        told = environment.get("OTEL_EXPORTER_OTLP_TRACES_HEADERS") or environment.get("OTEL_EXPORTER_OTLP_HEADERS", "")
        pairs = (pair.partition("=") for pair in told.split(",") if "=" in pair)
        headers = {unquote(name.strip()): unquote(value.strip()) for name, _, value in pairs}
        found.append(SpanReceiver(own or f"{str(shared).rstrip('/')}/v1/traces", headers))
    if langfuse:
        account = Account.of(environment)
        headers = {"Authorization": account.authorization, "x-langfuse-ingestion-version": "4"}
        found.append(SpanReceiver(f"{account.base_url}/api/public/otel/v1/traces", headers))
    return found


class SpanSender:
    """Takes what makes spans at once, and makes and sends them later. Use it on one event loop."""

    def __init__(self, receivers: Sequence[SpanReceiver], service: str) -> None:
        self.dropped = 0
        self._receivers = receivers
        self._service = os.environ.get("OTEL_SERVICE_NAME") or service
        self._waiting: deque[Callable[[], Sequence[TraceSpan]]] = deque()

    def put(self, making: Callable[[], Sequence[TraceSpan]]) -> None:
        """Take the spans of one trace, to be made in a thread when they are sent."""
        if len(self._waiting) >= MOST:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(making)

    async def keep_sending(self) -> None:
        """Send what waits, again and again, until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            await self.send()

    async def send(self) -> None:
        """Send what waits now."""
        if not self._waiting:
            return
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS)) as session:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
                body = await asyncio.to_thread(self._body, batch)
                for receiver in self._receivers:
                    await self._post(session, receiver, body, len(batch))

    def _body(self, batch: Sequence[Callable[[], Sequence[TraceSpan]]]) -> bytes:
        spans = [span.otlp for making in batch for span in making()]
        service = {"key": "service.name", "value": {"stringValue": self._service}}
        scope = {"scope": {"name": "rubrica"}, "spans": spans}
        return msgspec.json.encode({"resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [scope]}]})

    async def _post(self, session: aiohttp.ClientSession, receiver: SpanReceiver, body: bytes, count: int) -> None:
        headers = {"Content-Type": "application/json", **receiver.headers}
        try:
            async with session.post(receiver.url, data=body, headers=headers, allow_redirects=False) as reply:
                trouble = "" if reply.status < 300 else f"HTTP {reply.status}"
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            trouble = type(error).__name__
        if trouble:
            self.dropped += count
            LOG.warning("%d traces were not sent, %d since the start: %s", count, self.dropped, trouble)
