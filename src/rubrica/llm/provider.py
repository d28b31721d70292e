"""What a provider is: how its models are named, where they are, what opens the door, and who asks them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

import msgspec

from rubrica.llm.breaker import CircuitBreaker
from rubrica.llm.limits import AdaptiveLimit
from rubrica.llm.model import Model, ModelError, Request
from rubrica.llm.rate import CallRate, RateLimit
from rubrica.llm.retry import Admission, RetryingModel, RetryPolicy
from rubrica.llm.shared_breakers import SharedBreakers
from rubrica.llm.token_bounds import most_usage

if TYPE_CHECKING:
    from rubrica.llm.http import HttpSession

C = TypeVar("C", bound=Model, covariant=True)


class ClientSettings(Protocol):
    """The settings that clients read; `Settings` has them."""

    @property
    def timeout(self) -> float: ...  # seconds for one attempt

    @property
    def deadline(self) -> float: ...  # seconds for one call with all its attempts

    @property
    def attempts(self) -> int: ...

    @property
    def concurrency(self) -> int: ...

    @property
    def requests_per_minute(self) -> int | None: ...

    @property
    def tokens_per_minute(self) -> int | None: ...

    def key_of(self, provider: str) -> str | None: ...

    def key_of_address(self, url: str) -> str | None: ...

    def base_url_of(self, provider: str) -> str: ...


class ProviderLimits(msgspec.Struct):
    """The limits and breakers of all models of one command: one of each per model, address and key.

    Providers limit and lose single models, so one that fails says nothing about the others of its provider.
    """

    noticed: Callable[[str, ModelError], None] | None = None  # told of every call that failed
    use: str = ""  # what the models are asked for: breakers of different uses do not concern each other
    rate: CallRate | None = None  # None: as the settings say, for this process alone
    _gates: dict[tuple[str, str, str], tuple[AdaptiveLimit, CircuitBreaker]] = msgspec.field(default_factory=dict)
    _shared: SharedBreakers | None = None

    def share(self, shared: SharedBreakers) -> None:
        """Share the breakers with other processes: those that there are, and those to come."""
        self._shared = shared
        for place, (_, breaker) in self._gates.items():
            shared.join(self._digest(place), breaker)

    def _digest(self, place: tuple[str, str, str]) -> str:
        return hashlib.sha256("\n".join((self.use, *place)).encode()).hexdigest()

    def admission(self, model: str, base_url: str, key: str, settings: ClientSettings) -> Admission | None:
        """What lets requests to this model, address and key through at the rate that is set; None where none is."""
        requests, tokens = settings.requests_per_minute, settings.tokens_per_minute
        if requests is None and tokens is None:
            return None
        if self.rate is None:
            self.rate = RateLimit(requests, tokens)
        rate, place = self.rate, "\0".join(_place(model, base_url, key))

        async def admit(request: Request) -> None:
            most = most_usage(request)
            await rate.admit(place, most.input_tokens + most.output_tokens)

        return admit

    def of(self, model: str, base_url: str, key: str, most: int) -> tuple[AdaptiveLimit, CircuitBreaker]:
        """The gate that every call to this model, address and key goes through; the model by its full name."""
        place = _place(model, base_url, key)
        if place not in self._gates:
            start = max(8, most // 2)  # half of what the user allows is believed at once
            breaker = CircuitBreaker(model, noticed=self.noticed)
            self._gates[place] = (AdaptiveLimit(start, most=most), breaker)
            if self._shared is not None:
                self._shared.join(self._digest(place), breaker)
        return self._gates[place]

    @property
    def breakers(self) -> tuple[CircuitBreaker, ...]:
        return tuple(breaker for _, breaker in self._gates.values())


def _place(model: str, base_url: str, key: str) -> tuple[str, str, str]:
    return model, base_url, hashlib.sha256(key.encode()).hexdigest()


class CallGate(msgspec.Struct, frozen=True):
    """What every call to a client goes through."""

    limit: AdaptiveLimit
    breaker: CircuitBreaker
    patience: RetryPolicy
    admission: Admission | None = None


class ConnectedClient(msgspec.Struct, Generic[C], frozen=True):
    """The client of a model, which makes one attempt a call, and what stands around it."""

    client: C
    gate: CallGate | None = None  # without one, it is asked as it is
    identity: str | None = None  # what tells its replies from others' in the cache; None: they are never kept
    session: HttpSession | None = None  # opened for this client, and closed with it

    def resilient(self) -> Model:
        if self.gate is None:
            return self.client
        gate = self.gate
        return RetryingModel(
            self.client,
            limiter=gate.limit,
            breaker=gate.breaker,
            patience=gate.patience,
            admission=gate.admission,
        )


class ClientOptions(msgspec.Struct, frozen=True):
    """What a client is made with, besides the name of its model."""

    settings: ClientSettings
    limits: ProviderLimits = msgspec.field(default_factory=ProviderLimits)
    session: HttpSession | None = None  # shared connections; without them a client has its own


class Provider(msgspec.Struct, frozen=True):
    """One kind of models, named ``NAME:…``. A client that tells its `protocol` is streamed by the gateway.

    >>> from rubrica.llm.scripted import ScriptedModel
    >>> echo = Provider("echo", {"echo:WORD": "always the same word"}, lambda spec, options: ConnectedClient(
    ...     ScriptedModel([{"reply": spec.removeprefix("echo:")}])), billed=False)
    >>> echo.fits("echo:yes"), echo.fits("echo:"), echo.fits("yes")
    (True, False, False)
    """

    name: str
    forms: Mapping[str, str]  # what a user may write, and what it means
    connect: Callable[[str, ClientOptions], ConnectedClient[Model]]
    schemes: tuple[str, ...] = ()  # before the colon, where it is not the name
    after_colon: Literal["model", "address", "file"] = "model"
    may_be_bare: bool = False  # nothing need follow the colon
    key_variables: tuple[str, ...] = ()  # of the environment, the strongest first
    base_url: str = ""  # where its models are, unless the settings say otherwise
    billed: bool = True
    sees_pictures: bool = True

    def answers_to(self, scheme: str) -> bool:
        return scheme in (self.schemes or (self.name,))

    def fits(self, spec: str) -> bool:
        """Whether that names one of its models."""
        scheme, found, rest = spec.partition(":")
        return bool(found and self.answers_to(scheme) and (rest or self.may_be_bare))
