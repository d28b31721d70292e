"""A circuit breaker: a provider that keeps failing is left alone for a while, then tried with one call."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from rubrica.llm.model import ModelError, Trouble
from rubrica.llm.shared_breakers import BreakerNews

State = Literal["closed", "open", "half-open"]
DOWN: frozenset[Trouble] = frozenset({"overloaded", "timeout", "unreachable"})  # what says that the provider is ill


class BreakerTicket(msgspec.Struct, frozen=True, gc=False):
    """A call that was let through: in which epoch, and as the how manieth."""

    epoch: int
    number: int


class CircuitBreaker:
    """Opens after `failures` failed calls in a row; after `pause` seconds lets one call probe.

    An answer of any other kind, even a 429 or a 400, shows that the provider is up.

    >>> now = 0.0
    >>> breaker = CircuitBreaker("anthropic", failures=2, pause=15, clock=lambda: now)
    >>> for _ in range(2):
    ...     breaker.settle(breaker.admit(), "overloaded", "HTTP 529")
    >>> breaker.state
    'open'
    >>> now = 15.0
    >>> breaker.settle(breaker.admit(), None)
    >>> breaker.state
    'closed'
    """

    __slots__ = (
        "_admitted", "_clock", "_epoch", "_failed", "_last", "_noticed", "_opened", "_probing", "_well_at",
        "_well_until", "failures", "name", "pause", "tell",
    )  # fmt: skip

    def __init__(
        self,
        name: str = "the provider",
        *,
        failures: int = 10,
        pause: float = 15.0,
        clock: Callable[[], float] = time.monotonic,
        noticed: Callable[[str, ModelError], None] | None = None,  # told of every call that failed, and whose it was
    ) -> None:
        self.name = name
        self._noticed = noticed
        self.failures = failures
        self.pause = pause
        self._clock = clock
        self._epoch = 0  # counts openings, so that news from before an opening is ignored
        self._admitted = 0
        self._well_until = 0  # calls admitted up to the last success: their failures say nothing about now
        self._failed = 0  # in a row
        self._last = ""
        self._opened: float | None = None
        self._probing = False
        self._well_at = -math.inf  # when a call last went well
        self.tell: Callable[[BreakerNews], None] | None = None  # the other processes that ask this model, if any

    @property
    def state(self) -> State:
        if self._opened is None:
            return "closed"
        return "half-open" if self._clock() - self._opened >= self.pause else "open"

    def check(self) -> None:
        """Refuse at once if no call would be let through; claims nothing."""
        if self._opened is not None and (self._probing or self.state == "open"):
            raise self._refusal(self._opened)

    def admit(self) -> BreakerTicket:
        """Let a call through, or refuse it. Every ticket must come back through settle or abandon."""
        if self._opened is not None:
            self.check()
            self._probing = True
        self._admitted += 1
        return BreakerTicket(self._epoch, self._admitted)

    def settle(self, ticket: BreakerTicket, trouble: Trouble | None, says: str = "") -> None:
        """How the admitted call ended; `says` goes into the refusal if this one opens the breaker."""
        if ticket.epoch != self._epoch:
            return
        self._probing = False
        if trouble not in DOWN:
            self._well_at = self._clock()
            was_open, self._opened = self._opened is not None, None
            self._failed = 0
            self._well_until = self._admitted
            if was_open and self.tell is not None:
                self.tell(BreakerNews("", self.name))
            return
        if self._opened is None and ticket.number <= self._well_until:
            return  # it began before a call that went well: calls that hang together fail together, much later
        self._failed += 1
        self._last = says or trouble
        if self._opened is not None or self._failed >= self.failures:
            self._opened = self._clock()
            self._epoch += 1
            if self.tell is not None:
                self.tell(BreakerNews("", self.name, self.pause, 0.0, self._failed, trouble or "", says))

    def adopt(self, news: BreakerNews) -> bool:
        """Open or close as another process did, unless this one has seen otherwise since; whether that is a change.

        >>> told = CircuitBreaker("anthropic", clock=lambda: 100.0)
        >>> told.adopt(BreakerNews("", "anthropic", rest=15, age=2, failures=10, trouble="overloaded")), told.state
        (True, 'open')
        >>> told.adopt(BreakerNews("", "anthropic", age=1)), told.state
        (True, 'closed')
        """
        then = self._clock() - news.age
        if not news.rest:
            if self._opened is None or self._opened > then:
                return False
            self._opened, self._failed, self._probing = None, 0, False
            self._epoch += 1
            return True
        known = self._well_at if self._opened is None else max(self._well_at, self._opened)
        if news.age >= self.pause or known >= then:
            return False
        fresh = self._opened is None
        if not self._failed:  # what this one saw itself says more
            self._last = f"{news.says or news.trouble}, told by another process"
        self._opened, self._failed, self._probing = then, news.failures, False
        self._epoch += 1
        return fresh

    def notice(self, error: ModelError) -> None:
        """Tell whoever wants to know that a call failed, whether it is tried again or not."""
        if self._noticed is not None:
            self._noticed(self.name, error)

    def abandon(self, ticket: BreakerTicket) -> None:
        """The admitted call was cancelled: nothing was learnt, and the next call may probe."""
        if ticket.epoch == self._epoch:
            self._probing = False

    def _refusal(self, opened: float) -> ModelError:
        wait = max(0.0, opened + self.pause - self._clock())
        return ModelError(
            "tripped",
            f"not asked: {self.name} failed {self._failed} times in a row, the last with {self._last!r}; "
            f"it is tried again in {wait:.0f} s",
            retry_after=wait,
        )
