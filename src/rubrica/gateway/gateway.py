"""The gateway: answers requests, and records what it did.

One object owns the models, the graders, the cache and the books. Nothing here knows about HTTP but its status codes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, nullcontext
from contextvars import Context
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self
from uuid import UUID

from rubrica.errors import DeniedError, InputError, MissingError
from rubrica.llm.budget import Budget, spending_from
from rubrica.llm.model import ModelError
from rubrica.llm.settings import Settings
from rubrica.llm.shared_breakers import SharedBreakers
from rubrica.lru_cache import LruCache
from rubrica.store.database import Database
from rubrica.store.gateway import RequestRecord, TierComparison, gate_samples
from rubrica.store.rates import CountedRequest

from .answer_reuse import AnswerReuse
from .bill import RequestBill, bill
from .breaker_board import DatabaseBoard, log_news
from .chat import Chat
from .classifier import Classifier
from .controls import Allowance, Controls
from .council import COUNCIL, Council
from .deployments import models_of
from .estimate import CostEstimator
from .exchange import (
    ANSWERED,
    BROKEN,
    GONE,
    GatewayAnswer,
    GatewayRequest,
    exchange_of,
    hedges_of,
    milliseconds_since,
    spent_usd,
    tokens_used,
)
from .flow import Route
from .health_checks import HealthChecks
from .names import public_name
from .parts import GatewayModels, GatewayParts
from .prices import refuse_unpriced
from .process import GatewayProcess
from .rates import RateLimits
from .readiness import Readiness
from .record import HttpExchange, TextRetention, record_of, texts_of
from .retention import RetentionPeriods, forget_expired, prune_daily
from .routed_answer import RoutedAnswer, RouteStep
from .settings import GatewaySettings
from .shadow import Payment, Shadow
from .shared_answers import SharedAnswers, log_sharing, setup_digest
from .spending import Spending
from .trace_context import passing_on
from .tracing import RequestTracing, TracedRequest, root_span
from .writer import RecordWriter

LOG = logging.getLogger("rubrica.gateway")
BOOKED = 0.05
"""Seconds until a request that has ended is booked, along with others."""

NO_COUNCIL = (
    "there is no council here (name its models under `council` in the gateway's settings, or ask for another model)"
)


class Gateway:
    """Answers requests. `start` it on the event loop that it shall run on, and `close` it there.

    Whoever serves it may give it a `council`, for requests that ask for one; it is theirs to close.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        database: Database,
        parts: GatewayParts,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        process: GatewayProcess | None = None,
    ) -> None:
        self.process = process or GatewayProcess()
        self.settings, self.database, self.parts, self.clock = settings, database, parts, clock
        self.council: Council | None = None
        self.metrics = self.process.metrics
        self.spending = Spending(database, settings.budget, settings.teams, clock)
        self.rates = RateLimits(database, settings.teams, clock)
        self._estimator = CostEstimator(
            parts.prices,
            settings.grader,
            settings.classifier.model,
            settings.budget.answer_tokens,
            settings.grading.characters,
            settings.shadow.grader,
            tuple(settings.grading.graders.values()),
        )
        self._shared_answers: SharedAnswers | None = None
        if settings.shares_answers:
            self._shared_answers = SharedAnswers(database, settings.cache.seconds, clock)
        setup = setup_digest(settings, parts.models.settings)
        self._answers = AnswerReuse(settings.cache, self._shared_answers, setup)
        self._breakers = SharedBreakers(DatabaseBoard(database, clock), learnt=log_news)
        parts.models.share(self._breakers)
        self._keeping = TextRetention.of(settings.records.prompts, self.process.digest_key)
        self._writer = RecordWriter(
            database,
            waiting=settings.records.waiting,
            dropped=self.metrics.dropped,
        )
        self._shadow = Shadow(settings.shadow.share, parts.prices, self._compared, paying=self._paying)
        self._tracing = RequestTracing.open(settings.tracing)
        self.readiness = Readiness(database, parts, self._writer)
        parts.models.noticed = self._upstream_failed
        parts.models.checked = HealthChecks(parts.prices, self.spending, self._checked, clock).note
        self._classified = LruCache[UUID, tuple[UUID | None, Classifier, bytes]](settings.classifier.remembered)
        self._tasks: list[asyncio.Task[None]] = []
        self._ended: list[tuple[GatewayRequest, RequestBill | None, HttpExchange]] = []  # and not booked yet

    @classmethod
    def open(cls, settings: GatewaySettings, models: Settings, database: Database) -> Self:
        """A gateway as the settings say, over a database that is up to date. It closes the database at its end."""
        return cls(settings, database, GatewayParts.open(settings, GatewayModels(models)))

    async def start(self) -> None:
        """Begin to look after what is reserved, and to learn."""
        models = self.parts.models
        self.metrics.breakers = lambda: models.breakers + models.other_breakers
        self._tasks = [
            asyncio.create_task(self.spending.keep_up(), name="gateway-spending"),
            asyncio.create_task(self.process.publish(self._own_figures), name="gateway-figures"),
            *([] if self._tracing is None else [asyncio.create_task(self._tracing.sender.keep_sending())]),
            asyncio.create_task(prune_daily(self.database, self._periods(), self.clock), name="gateway-retention"),
            asyncio.create_task(forget_expired(self.database, self.clock), name="gateway-expired-answers"),
            asyncio.create_task(self._breakers.keep_up(), name="gateway-breakers"),
        ]
        if self._shared_answers is not None:
            self._tasks.append(asyncio.create_task(self._shared_answers.keep_up(), name="gateway-shared-answers"))
        log_sharing(self.settings)
        if (gate := self.parts.main.gate) is not None:
            gate.start(self._gate_samples)

    def _periods(self) -> RetentionPeriods:
        return RetentionPeriods.of_days(self.settings.records.days, self.settings.records.text_days)

    async def close(self) -> None:
        """Write what is not written yet, and let go of the models and the database."""
        self._keep_books()
        for task in self._tasks:
            task.cancel()
        if (gate := self.parts.main.gate) is not None:
            await gate.close()
        if self._tracing is not None:
            await self._tracing.sender.send()
        await self._shadow.close()
        await self.spending.close()
        await self.rates.close()
        await self._writer.close()
        await self.parts.models.close()
        await self.database.close()

    async def answer(self, asked: GatewayRequest) -> GatewayAnswer:
        """The answer to a request. What went wrong is raised, and booked once it is told: see `fail`."""
        if asked.context is None:
            return await self._answer(asked)
        span = root_span(asked.trace) if self._tracing is not None and asked.context.sampled else None
        with passing_on(asked.context, span):
            return await self._answer(asked)

    async def _answer(self, asked: GatewayRequest) -> GatewayAnswer:
        self.metrics.in_flight += 1
        try:
            asked.counted = await self.count(asked.key_id, asked.allowance, lambda: self._estimator.tokens(asked.chat))
            if asked.chat.body.get("model") == COUNCIL:
                return await self._deliberate(asked)
            asked.variant = self.parts.variant(asked.chat)
            route = asked.route = self.parts.route(asked.variant, asked.controls)
            wanted = (asked.chat, asked.controls, route, str(asked.key_id))
            again = self._answers.find(*wanted)
            if again is None and self._shared_answers is not None:
                again = await self._answers.find_elsewhere(*wanted)
            if again is not None:
                asked.routed = again.routed
                answered = GatewayAnswer(asked, route, again.routed, again.bill, again.cached)
            else:
                answered = GatewayAnswer(asked, route, await self._ask(asked, route))
        except asyncio.CancelledError:
            self.fail(asked, GONE)
            raise
        if asked.chat.stream:
            answered.first_byte_ms = milliseconds_since(asked.started)
        if not answered.live:
            self._settle(answered, ANSWERED)
        return answered

    async def count(
        self, key_id: UUID | None, allowance: Allowance, most: Callable[[], tuple[int, int]]
    ) -> CountedRequest | None:
        """Count a request where something limits requests or tokens by the minute, or refuse it.

        `most` are the tokens of its prompt and of its answer, which take a while to count.
        """
        team = allowance.team
        if team is not None and team not in self.settings.teams:
            raise DeniedError(f"this key is of the team {team!r}, which the gateway's settings do not name (`teams`)")
        return await self.rates.count(key_id, allowance, *most()) if self.rates.limited(allowance) else None

    def check_priced(self, models: Iterable[str]) -> None:
        """Refuse models without a price, where something limits what may be spent."""
        if self.settings.budget.unpriced == "refuse":
            refuse_unpriced(models, self.parts.prices)

    async def _ask(self, asked: GatewayRequest, route: Route) -> RoutedAnswer:
        """Let the models answer, within what may be spent."""
        chat, controls = replace(asked.chat, owner=str(asked.key_id)), asked.controls
        if not self.spending.limited(asked.allowance):
            asked.routed = RoutedAnswer("tier-0", route.tier0)
            return await route(chat, controls, asked.routed)
        judges = self.settings.judges if controls.grading and controls.force is None else ()
        self.check_priced([*models_of(route.tier0, *route.middle.upstreams, route.tier1), *judges])
        most = self._estimator.request(chat, controls, route)
        asked.reservation = await self.spending.reserve(asked.key_id, asked.allowance, most.total)
        asked.routed = RoutedAnswer("tier-0", route.tier0)
        with spending_from(Budget(most.judging, self.parts.prices)):  # judges are asked no more than was reserved for
            return await route(chat, controls, asked.routed)

    async def _deliberate(self, asked: GatewayRequest) -> GatewayAnswer:
        """The council's answer. It is not graded, kept, compared or part of an experiment: it has no route."""
        if self.council is None:
            raise MissingError(NO_COUNCIL)
        if self.spending.limited(asked.allowance):
            self.check_priced(self.council.models)
        most = self._estimator.council(asked.chat, self.council.models, self.council.tokens).total
        asked.reservation = await self.spending.reserve(asked.key_id, asked.allowance, most)
        routed = asked.routed = RoutedAnswer("council", self.council)
        try:
            with spending_from(Budget(most, self.parts.prices)) if asked.reservation is not None else nullcontext():
                found = routed.council = await self.council(asked.chat)
        except InputError:
            asked.routed = None  # refused before any model was asked, so that it cost nothing
            raise
        routed.completion, routed.degraded = found.completion, found.degraded
        routed.steps.append(RouteStep("council", "complete", found.degraded, milliseconds_since(asked.started)))
        # In the books its cost stands with the better model's. What that would have cost alone is not known.
        cost = RequestBill(0.0, found.usd, 0.0, 0.0, None, {COUNCIL: found.usd})
        answered = GatewayAnswer(asked, self.parts.main, routed, cost)
        if asked.chat.stream:
            answered.first_byte_ms = milliseconds_since(asked.started)
        self._settle(answered, ANSWERED)
        return answered

    async def follow(self, answered: GatewayAnswer) -> AsyncGenerator[bytes, None]:
        """The events of an answer that is still being written. Its bill is there once they have ended."""
        stream = answered.routed.stream
        if stream is None:
            raise RuntimeError("this answer is whole")
        status = GONE
        try:
            async for event in stream:
                yield event
            status = ANSWERED
        except ModelError as error:
            status = BROKEN
            self._upstream_failed(answered.routed.upstream.name, error)
            raise
        finally:
            await stream.aclose()
            self._settle(answered, status)

    async def abandon(self, answered: GatewayAnswer) -> None:
        """End an answer that nobody follows any more; one that is complete stays as it is."""
        if not answered.asked.booked and answered.routed.stream is not None:
            await answered.routed.stream.aclose()
            self._settle(answered, GONE)

    def fail(self, asked: GatewayRequest, status: int) -> None:
        """Book a request that has no answer: what it cost up to there, and with what status it ended."""
        if asked.booked:
            return
        routed, route = asked.routed, asked.route
        cost = bill(routed, route, self.parts.prices) if routed is not None and route is not None else None
        self._book(asked, cost, exchange_of(asked, status))

    def turn_away(self, trace: UUID, key_id: UUID | None, status: int) -> None:
        """Book a request that could not even be read."""
        exchange = HttpExchange(trace, self.clock(), status, 0.0, key_id)
        self.note(record_of(exchange, None, Controls(), None, None, self._keeping))

    def note(self, record: RequestRecord) -> None:
        """Count and write down a request that went another way than answers do."""
        self.metrics.observe(record)
        self._writer.put(record)

    def correct(self, trace: UUID, key_id: UUID | None, question_type: str) -> None:
        """Take an equal question of the same key for this type from now on, where the request is remembered here."""
        self._keep_books()
        found = self._classified.get(trace)
        if found is not None and found[0] == key_id:
            found[1].correct(found[2], question_type)

    def figures(self) -> bytes:
        """All counters, of all workers, for Prometheus."""
        self._keep_books()
        return self.process.figures()

    def _own_figures(self) -> bytes:
        self._keep_books()
        return self.metrics.text()

    async def written(self, seconds: float) -> bool:
        """Wait until all that was booked so far is in the database; False: that takes longer."""
        self._keep_books()
        return await self._writer.drained(seconds)

    def _settle(self, answered: GatewayAnswer, status: int) -> None:
        """Book a request with its answer, and keep the answer."""
        asked, route, routed = answered.asked, answered.route, answered.routed
        if asked.booked:
            return
        cost = answered.bill = answered.bill or bill(routed, route, self.parts.prices)
        self._book(asked, cost, exchange_of(asked, status, answered.cached, answered.first_byte_ms))
        if status == ANSWERED and not answered.cached and asked.route is not None:
            self._answers.keep(asked.chat, asked.controls, route, str(asked.key_id), routed, cost)

    def _book(self, asked: GatewayRequest, cost: RequestBill | None, exchange: HttpExchange) -> None:
        asked.booked = True
        self.metrics.in_flight -= 1
        self.spending.settle(asked.reservation, spent_usd(asked, cost, exchange))
        if asked.counted is not None:
            self.rates.settle(asked.counted, tokens_used(asked, exchange))
        self._ended.append((asked, cost, exchange))
        if len(self._ended) == 1:
            asyncio.get_running_loop().call_later(BOOKED, self._keep_books, context=Context())  # of no request

    def _keep_books(self) -> None:
        """Book what has ended since the last time. One after the other they take a third of what each would alone."""
        ended, self._ended = self._ended, []
        for asked, cost, exchange in ended:
            record = record_of(exchange, asked.chat, asked.controls, asked.routed, cost, self._keeping)
            self.metrics.observe(record)
            if asked.routed is not None and not record.cached:
                self._tell_hedges(asked.routed)
            if record.total_usd is None and self.spending.limited(asked.allowance):
                self.spending.note_unknown(record.model or "no model")
            self._writer.put(record, texts_of(asked.chat, asked.routed, self._keeping))
            if self._tracing is not None:
                traced = TracedRequest(record, asked.started, asked.routed, asked.route, asked.context)
                self._tracing.put(traced, asked.chat)
            if asked.route is not None and record.question_type is not None:
                key = asked.route.classifier.memory_key(replace(asked.chat, owner=str(asked.key_id)))
                self._classified.put(asked.trace, (asked.key_id, asked.route.classifier, key))
            if exchange.status == ANSWERED and asked.routed is not None and asked.route is not None:
                self._shadow.consider(asked.chat, asked.routed, asked.route, record)

    def _tell_hedges(self, routed: RoutedAnswer) -> None:
        for tier, call in hedges_of(routed):
            self.metrics.hedged(tier, first_won=not call.first)
            LOG.info("hedged: %s of %s was not waited for", call.deployment or public_name(call.model), tier)

    def _upstream_failed(self, model: str, error: ModelError) -> None:
        """Count a call that failed, and log it: by kind, for what a provider says may quote a prompt or a key."""
        name = public_name(model)
        self.metrics.failed(name, error)
        status = "no status" if error.status is None else f"HTTP {error.status}"
        LOG.warning("upstream failure: %s: %s (%s)", name, error.trouble, status)

    def _checked(self, record: RequestRecord) -> None:
        self.metrics.checked(record)
        self._writer.put(record)

    async def _gate_samples(self) -> list[dict[str, Any]]:
        since = self.clock() - timedelta(days=self.settings.learned_gate.days)
        return await self.database.read(gate_samples, since, self.parts.main.made_for)

    def _compared(self, comparison: TierComparison) -> None:
        self.metrics.compared(comparison)
        self._writer.put(comparison)

    @asynccontextmanager
    async def _paying(self, chat: Chat, route: Route) -> AsyncIterator[Payment]:
        """Reserve what a comparison may cost, and settle what it did."""
        payment, anybody = Payment(), Allowance()
        if not self.spending.limited(anybody):
            yield payment
            return
        most = self._estimator.comparison(chat, route)
        reservation = await self.spending.reserve(None, anybody, most.total)
        try:
            with spending_from(Budget(most.judging, self.parts.prices)):
                yield payment
        finally:
            self.spending.settle(reservation, payment.usd)
