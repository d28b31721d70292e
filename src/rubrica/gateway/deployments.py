"""A tier with several deployments: models, keys and addresses that stand in for each other.

The lowest `order` is asked first. Among equals the one with the fewest requests under way for its weight is asked, and
where that is the same, they take turns by weight. Whoever fails is followed by the next, and left alone for a while
once it has failed often, is out of requests or refuses its key; then a small request finds out whether it is back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context
from typing import Any, Protocol, TypeVar

import msgspec

from rubrica.llm.model import ModelError
from rubrica.llm.shared_breakers import SharedBreakers

from .deployed_model import PROBED, DeployedStream, Deployment
from .deployment_settings import CooldownSettings
from .hedging import end_tasks, first_good
from .routed_answer import MALFORMED
from .upstream import Completion, HedgedCall, Stream, Upstream

LOG = logging.getLogger("rubrica.gateway")
T = TypeVar("T")
PROBE = {"messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 1}
EARLY = 0.02
"""Seconds before the end of its rest that a deployment is asked: before anybody else does."""

FIRST_PAUSE = 0.25
"""Seconds before all are asked once more; then twice as long."""


class Named(Protocol):
    """Whatever answers under a name."""

    @property
    def name(self) -> str: ...


class DeploymentPool:
    """Several deployments in the place of one model."""

    def __init__(
        self,
        deployments: Sequence[Deployment],
        seconds: float | None = None,  # for an answer, or for the first event of a stream, with all that is tried
        cooldown: CooldownSettings | None = None,
        attempts: int = 1,  # at least one of each deployment
        clock: Callable[[], float] = time.monotonic,
        checked: Callable[[Deployment, Completion], None] = lambda _one, _answer: None,  # told what checks cost
        hedge: float | None = None,  # seconds after which another deployment is asked as well
    ) -> None:
        self.hedge = hedge
        self._checked = checked
        self.deployments = tuple(sorted(deployments, key=lambda one: one.order))
        self._seconds, self._cooldown, self._clock = seconds, cooldown or CooldownSettings(), clock
        for one in self.deployments:
            one.clock = clock
        self._attempts = max(attempts, len(self.deployments))
        self._checking: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The model that is asked first."""
        return self.deployments[0].upstream.name

    async def complete(self, body: Mapping[str, Any]) -> Completion:
        one, answer, hedged = await self._ask(lambda upstream: upstream.complete(body))
        one.in_flight -= 1
        return msgspec.structs.replace(answer, asked=one.upstream.name, deployment=one.name, hedged=hedged)

    async def open_stream(self, body: Mapping[str, Any]) -> Stream:
        return DeployedStream(*await self._ask(lambda upstream: upstream.open_stream(body)))

    def share(self, shared: SharedBreakers) -> None:
        """Let other processes know who rests, and learn it from them."""
        for one in self.deployments:
            if one.place:
                shared.join(one.place, one)

    async def close(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.gather(self._checking, return_exceptions=True)
        for one in self.deployments:
            await one.upstream.close()

    async def _ask(self, ask: Callable[[Upstream], Awaitable[T]]) -> tuple[Deployment, T, tuple[HedgedCall, ...]]:
        """The first answer there is, who gave it, and who was asked as well. Whoever gave it counts as in flight until
        the caller says otherwise."""
        left = list(self.deployments)
        last = ModelError("timeout", f"{self.name}: no deployment answered within {self._seconds or 0:g} s")
        try:
            async with asyncio.timeout(self._seconds):
                for number in range(self._attempts):
                    if not left:
                        await asyncio.sleep(FIRST_PAUSE * 2 ** (number // len(self.deployments) - 1))
                        left = self._awake(self.deployments)
                    if not left:
                        break  # all have to rest
                    one = self.choose(left)
                    left.remove(one)
                    try:
                        if self.hedge is not None and len(self.deployments) > 1:
                            return await self._raced(one, left, ask, self.hedge)
                        return one, await self._tried(one, ask), ()
                    except ModelError as error:
                        if error.trouble == "over_budget" or _at_fault(error):
                            raise
                        last = error
        except TimeoutError:
            raise last from None
        raise last

    async def _raced(
        self, one: Deployment, left: list[Deployment], ask: Callable[[Upstream], Awaitable[T]], seconds: float
    ) -> tuple[Deployment, T, tuple[HedgedCall, ...]]:
        """The same from one of two, the second asked where the first has not begun to answer in time."""
        racing = {asyncio.ensure_future(self._tried(one, ask)): one}
        winner: asyncio.Task[T] | None = None
        try:
            await asyncio.wait(racing, timeout=seconds)
            if not next(iter(racing)).done() and (spare := self._awake(left)):
                second = self.choose(spare)
                left.remove(second)
                racing[asyncio.ensure_future(self._tried(second, ask))] = second
            winner = await first_good(list(racing))
            winner.result()  # raises why nobody answered
        finally:
            losers = [task for task in racing if task is not winner]
            await end_tasks(losers)
        calls = [await self._lost(racing[task], task, first=racing[task] is one) for task in losers]
        return racing[winner], winner.result(), tuple(call for call in calls if call is not None)

    async def _lost(self, one: Deployment, task: asyncio.Task[T], *, first: bool) -> HedgedCall | None:
        """What is to be billed for a call whose answer is not taken: nothing where it failed by itself."""
        if task.cancelled():
            return HedgedCall(one.upstream.name, first)
        if task.exception() is not None:
            return None
        one.in_flight -= 1
        answer: Any = task.result()
        if isinstance(answer, Completion):
            return HedgedCall(one.upstream.name, first, answer.usage)
        await answer.aclose()
        return HedgedCall(one.upstream.name, first)

    async def _tried(self, one: Deployment, ask: Callable[[Upstream], Awaitable[T]]) -> T:
        one.in_flight += 1
        try:
            answer = await ask(one.upstream)
        except ModelError as error:
            one.in_flight -= 1
            self._note(one, error)
            raise
        except BaseException:
            one.in_flight -= 1
            raise
        one.answered()
        return answer

    def _awake(self, among: Sequence[Deployment]) -> list[Deployment]:
        now = self._clock()
        return [one for one in among if one.resting_until <= now]

    def choose(self, among: Sequence[Deployment]) -> Deployment:
        """Who is asked next. Where all are resting, whoever has rested longest."""
        awake = self._awake(among)
        if not awake:
            return min(among, key=lambda one: one.resting_until)
        first = min(one.order for one in awake)
        awake = [one for one in awake if one.order == first]
        least = min(one.load for one in awake)
        equals = [one for one in awake if one.load == least]
        for one in equals:
            one.turn += one.weight
        chosen = max(equals, key=lambda one: one.turn)
        chosen.turn -= sum(one.weight for one in equals)
        return chosen

    def _note(self, one: Deployment, error: ModelError) -> None:
        """Remember that a deployment failed; let it rest where that is likely to go on."""
        if error.trouble == "over_budget" or _at_fault(error):
            return
        one.failed += 1
        own = self._cooldown.seconds
        if error.trouble in ("rate_limited", "tripped"):
            rest = min(error.retry_after or own, self._cooldown.longest)
        elif error.trouble in ("unauthorised", "rejected") or one.failed >= self._cooldown.failures:
            rest = own
        else:
            return
        if one.resting_until <= self._clock():
            LOG.warning("the deployment %s rests for %.0f s (%s)", one.name, rest, error.trouble)
        one.rest(rest, error.trouble)
        if self._cooldown.check and (self._checking is None or self._checking.done()):
            work = self._check()  # for no request in particular
            loop = asyncio.get_running_loop()
            self._checking = loop.create_task(work, name="gateway-deployments", context=Context())

    async def _check(self) -> None:
        """Ask each deployment that rests, once it has rested, until all are back."""
        while resting := [one for one in self.deployments if one.resting_until > self._clock() and not one.told]:
            one = min(resting, key=lambda one: one.resting_until)
            await asyncio.sleep(max(0.0, one.resting_until - self._clock() - EARLY))
            one.resting_until += PROBED + 1  # nobody else asks it meanwhile
            try:
                async with asyncio.timeout(PROBED):
                    self._checked(one, await one.upstream.complete(PROBE))
            except (ModelError, TimeoutError) as error:
                if not (isinstance(error, ModelError) and _at_fault(error)):  # who finds fault with it is back
                    one.rest(self._cooldown.seconds, "timeout" if isinstance(error, TimeoutError) else error.trouble)
                    continue
            one.answered()
            LOG.info("the deployment %s is back", one.name)


def asked_model(answer: Completion | Stream | None, upstream: Named) -> str:
    """The model that gave an answer, as the settings name it."""
    return (answer.asked if isinstance(answer, Completion | DeployedStream) else "") or upstream.name


def deployment_of(answer: Completion | Stream | None) -> str:
    """The deployment that gave an answer; empty where a tier has but one."""
    return answer.deployment if isinstance(answer, Completion | DeployedStream) else ""


def hedged_of(answer: Completion | Stream | None) -> tuple[HedgedCall, ...]:
    """Other deployments of the tier that were asked as well."""
    return answer.hedged if isinstance(answer, Completion | DeployedStream) else ()


def models_of(*tiers: Upstream | None) -> list[str]:
    """Every model that tiers may ask, as the settings name them."""
    found: list[str] = []
    for tier in tiers:
        if isinstance(tier, DeploymentPool):
            found += [one.upstream.name for one in tier.deployments]
        elif tier is not None:
            found.append(tier.name)
    return list(dict.fromkeys(found))


def _at_fault(error: ModelError) -> bool:
    """Whether the request itself is to blame, so that nobody else would answer it either."""
    return error.trouble == "rejected" and error.status in MALFORMED
