"""A request and its answer on their way through the gateway, and what they come to in the books."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from rubrica.store.gateway import Cached
from rubrica.store.rates import CountedRequest
from rubrica.store.spending import SpendingReservation

from .bill import RequestBill
from .chat import Chat
from .controls import Allowance, Controls
from .debug import debug_block
from .deployments import asked_model, hedged_of
from .flow import Route
from .names import public_name
from .record import HttpExchange
from .routed_answer import RoutedAnswer
from .trace_context import TraceContext
from .upstream import Completion, HedgedCall, Stream

ANSWERED, GONE, BROKEN = 200, 499, 502
"""Statuses of requests whose answer is complete, whose client did not wait for it, and whose stream broke off."""


@dataclass(slots=True)
class GatewayRequest:
    """One request, and how far it came."""

    chat: Chat
    controls: Controls
    allowance: Allowance
    key_id: UUID | None
    trace: UUID
    at: datetime
    started: float = field(default_factory=time.perf_counter)
    variant: str = ""  # the arm of an experiment
    route: Route | None = None
    routed: RoutedAnswer | None = None
    reservation: SpendingReservation | None = None  # where something limits what may be spent
    counted: CountedRequest | None = None  # where something limits requests or tokens by the minute
    booked: bool = False
    context: TraceContext | None = None  # the trace that it came with


@dataclass(slots=True)
class GatewayAnswer:
    """A request with its answer: whole, or as a stream that has begun. Then the bill comes at its end."""

    asked: GatewayRequest
    route: Route
    routed: RoutedAnswer
    bill: RequestBill | None = None
    cached: Cached = ""
    first_byte_ms: float | None = None  # of a stream

    @property
    def trace(self) -> UUID:
        return self.asked.trace

    @property
    def model(self) -> str:
        """Who answered."""
        routed = self.routed
        return public_name(asked_model(routed.completion or routed.stream, routed.upstream))

    @property
    def live(self) -> bool:
        """Whether the answer is still being written."""
        return self.routed.stream is not None

    @property
    def completion(self) -> Completion:
        if self.routed.completion is None:
            raise RuntimeError("this answer is a stream: follow it")
        return self.routed.completion

    def debug(self) -> dict[str, Any] | None:
        """The debug block, where the request wants one and the answer is complete."""
        level = self.asked.controls.debug
        return None if level == "off" or self.bill is None else debug_block(self.routed, self.bill, level)


def hedges_of(routed: RoutedAnswer) -> list[tuple[str, HedgedCall]]:
    """Every call that was under way beside another and ended for it, with its tier."""
    answers: list[tuple[str, Completion | Stream | None]]
    answers = [("tier-0", routed.passed_over), *((one.tier, one.answer) for one in routed.tries)]
    sent = routed.withheld or routed.completion or routed.stream
    if all(sent is not answer for _, answer in answers):
        answers.append((routed.tier, sent))
    return [*routed.hedged, *((tier, call) for tier, answer in answers for call in hedged_of(answer))]


def spent_usd(asked: GatewayRequest, cost: RequestBill | None, exchange: HttpExchange) -> float | None:
    """What a request cost; None where that is not known: a model may charge for an answer nobody waited for."""
    if asked.routed is None or exchange.cached:
        return 0.0
    return None if cost is None or exchange.status == GONE else cost.total


def tokens_used(asked: GatewayRequest, exchange: HttpExchange) -> int:
    """What a request took of its minute: prompt and answer; all that it was counted with, where nobody knows."""
    if asked.routed is None or exchange.cached:
        return 0
    answer = asked.routed.withheld or asked.routed.completion or asked.routed.stream
    if answer is None and exchange.status != GONE:
        return 0
    used = answer.usage.input_tokens + answer.usage.output_tokens if answer is not None else 0
    return used or (asked.counted.tokens if asked.counted is not None else 0)


def exchange_of(
    asked: GatewayRequest, status: int, cached: Cached = "", first_byte_ms: float | None = None
) -> HttpExchange:
    spent = milliseconds_since(asked.started)
    team = asked.allowance.team
    return HttpExchange(asked.trace, asked.at, status, spent, asked.key_id, cached, asked.variant, first_byte_ms, team)


def milliseconds_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
