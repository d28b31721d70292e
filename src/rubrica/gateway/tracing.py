"""A request as spans: one for the whole, and one for each thing that was done for it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from rubrica.store.gateway import RequestRecord
from rubrica.telemetry.spans import CLIENT, INTERNAL, SERVER, AttributeValue, SpanSender, TraceSpan, receivers

from .chat import Chat
from .controls import TIERS
from .flow import Route
from .names import public_name
from .record import ExchangeTexts, TextRetention, masked, texts_of
from .routed_answer import RoutedAnswer, RouteStep, StepName
from .setting_groups import TracingSettings
from .trace_context import TraceContext

NAMES: dict[StepName, str] = {
    "classification": "classify",
    "tier-0": "tier-0",
    "grading": "grade",
    "tier-1": "tier-1",
    "council": "council",
}
"""Of spans. A decision takes no time and has none."""

ALL = TextRetention.of("keep", b"unused")


@dataclass(frozen=True, slots=True)
class TracedRequest:
    """A request that has ended, and how it went."""

    record: RequestRecord
    started: float  # by the clock of its steps
    routed: RoutedAnswer | None
    route: Route | None
    context: TraceContext | None = None  # the trace that it came with

    def model(self, name: StepName) -> str | None:
        """Who was asked in a step, where that is one model."""
        if name == "council" and self.routed is not None:
            return public_name(self.routed.upstream.name)
        upstream = self.route.tier(name) if self.route is not None and name in TIERS else None
        return None if upstream is None else public_name(upstream.name)


class RequestTracing:
    """Sends a trace of every request. Its id is the request's own, as `x-sleipner-trace` tells it, or that of the trace
    which the request came with; one that whoever asked does not record is not sent."""

    def __init__(self, settings: TracingSettings, sender: SpanSender) -> None:
        self._texts, self.sender = settings.texts, sender

    @classmethod
    def open(cls, settings: TracingSettings) -> RequestTracing | None:
        """As the settings and the environment say; None where there is nobody to send to."""
        found = receivers(langfuse=settings.langfuse)
        return cls(settings, SpanSender(found, "rubrica-gateway")) if found else None

    def put(self, asked: TracedRequest, chat: Chat) -> None:
        if asked.context is not None and not asked.context.sampled:
            return
        texts = texts_of(chat, asked.routed, ALL) if self._texts else None
        self.sender.put(partial(spans_of, asked, texts))


def spans_of(asked: TracedRequest, texts: ExchangeTexts | None = None) -> Sequence[TraceSpan]:
    """The spans of one request. They hold no texts unless these are given, and then masked; never what went wrong."""
    record, began = asked.record, int(asked.record.at.timestamp() * 1e9)
    context = asked.context
    whole = TraceSpan(
        record.trace.hex if context is None else context.trace,
        root_span(record.trace),
        "chat",
        began,
        began + int(record.total_ms * 1e6),
        parent="" if context is None else context.parent,
        kind=SERVER,
        failed=f"HTTP {record.status}" if record.status >= 500 else "",
        attributes=_attributes(record) | _texts(record, texts),
    )
    if asked.routed is None or record.cached:
        return [whole]
    done = [step for step in asked.routed.steps if step.status != "skipped" and step.name in NAMES]
    return [whole, *(_step(asked, whole, number, step) for number, step in enumerate(done))]


def _step(asked: TracedRequest, whole: TraceSpan, number: int, step: RouteStep) -> TraceSpan:
    record, end = asked.record, whole.start + int((step.ended - asked.started) * 1e9)
    model, graded = asked.model(step.name), step.name == "grading"
    return TraceSpan(
        whole.trace,
        _id(record.trace, f"{number} {step.name}"),
        NAMES[step.name],
        max(whole.start, end - int(step.duration_ms * 1e6)),
        end,
        parent=whole.id,
        kind=CLIENT if model else INTERNAL,
        failed="failed" if step.status == "failed" else "",
        attributes={
            "gen_ai.request.model": model,
            "rubrica.score": record.score if graded else None,
            "rubrica.passed": record.passed if graded else None,
        },
    )


def _attributes(record: RequestRecord) -> dict[str, AttributeValue | None]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.model": record.model,
        "gen_ai.usage.input_tokens": record.input_tokens,
        "gen_ai.usage.output_tokens": record.output_tokens,
        "http.response.status_code": record.status,
        "rubrica.trace": str(record.trace),
        "rubrica.tier": record.tier,
        "rubrica.question_type": record.question_type,
        "rubrica.passed": record.passed,
        "rubrica.score": record.score,
        "rubrica.threshold": record.threshold,
        "rubrica.zone": record.zone,
        "rubrica.cached": record.cached or None,
        "rubrica.degraded": record.degraded or None,
        "rubrica.failed_steps": record.failed_steps or None,
        "rubrica.cost.usd": record.total_usd,
        "rubrica.savings.usd": record.savings_usd,
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": record.model,
        "langfuse.trace.name": "gateway",
    }


def _texts(record: RequestRecord, texts: ExchangeTexts | None) -> dict[str, AttributeValue | None]:
    if texts is None:
        return {}
    kept = masked(record, texts)
    return {"langfuse.observation.input": kept.prompt, "langfuse.observation.output": kept.answer}


def root_span(trace: UUID) -> str:
    """The id of the span that stands for a whole request."""
    return _id(trace, "request")


def _id(trace: UUID, name: str) -> str:
    """The id of a span: the same whenever it is sent."""
    return hashlib.sha256(trace.bytes + name.encode()).hexdigest()[:16]
