"""From what a user writes, ``anthropic:claude-haiku-4-5``, to a Model that retries, limits itself and remembers.

The clients are imported where they are needed, not at the top: aiohttp (0.16 s to import) and xllamacpp are optional,
and a scripted model needs neither.
"""

from __future__ import annotations

import hashlib
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import SecretStr

from rubrica.errors import RubricaError
from rubrica.llm.breaker import CircuitBreaker
from rubrica.llm.budget import Budget, Budgeted
from rubrica.llm.cache import Cached, ReplyCache
from rubrica.llm.limits import AdaptiveLimit
from rubrica.llm.model import Model, Reply, Request
from rubrica.llm.retry import RetryingModel, RetryPolicy
from rubrica.llm.scripted import ReplayModel, ScriptedModel
from rubrica.llm.settings import Settings

if TYPE_CHECKING:
    from rubrica.llm.http import HttpSession
    from rubrica.llm.http_model import HttpModel
    from rubrica.llm.local import LocalModel

C = TypeVar("C", bound=Model)

_ANTHROPIC = Settings.model_fields["anthropic_base_url"].default
_OPENAI = Settings.model_fields["openai_base_url"].default
SCHEMES = ("anthropic", "openai", "http", "https", "scripted", "replay")
FORMS = """\
anthropic:MODEL          a Claude model, such as anthropic:claude-haiku-4-5
openai:MODEL             an OpenAI model, such as openai:gpt-4o-mini
http://HOST/v1#MODEL     a model of any server that speaks OpenAI's protocol; https:// too
local:                   the embedded SmolLM2, in this process
local:FILE.gguf          any GGUF model, in this process
scripted:FILE.jsonl      replies written by hand
replay:FILE.jsonl        replies recorded earlier"""


@dataclass(slots=True)
class ProviderLimits:
    """The limits and breakers of all models of one command: one of each per provider, address and key."""

    _gates: dict[tuple[str, str, str], tuple[AdaptiveLimit, CircuitBreaker]] = field(default_factory=dict)

    def of(self, provider: str, base_url: str, key: str, most: int) -> tuple[AdaptiveLimit, CircuitBreaker]:
        """The gate that every call to this provider, address and key goes through."""
        place = (provider, base_url, hashlib.sha256(key.encode()).hexdigest())
        if place not in self._gates:
            start = max(8, most // 2)  # half of what the user allows is believed at once
            self._gates[place] = (AdaptiveLimit(start, most=most), CircuitBreaker(provider))
        return self._gates[place]


def connect(
    spec: str,
    settings: Settings,
    *,
    session: HttpSession | None = None,
    cache: ReplyCache | None = None,
    gates: ProviderLimits | None = None,
    budget: Budget | None = None,
) -> Model:
    """The model a user named, ready to be asked. Nothing is sent yet.

    Give the models of one command the same `session` and `gates`: they share connections, limits and breakers. A
    session given here stays open when the model is closed; without one the model has its own. Scripted and replayed
    replies are never cached. A `budget` holds for calls that are billed, not for replies from the cache.

    >>> connect("gpt-4", Settings())
    Traceback (most recent call last):
    rubrica.errors.RubricaError: 'gpt-4' names no model; the forms are:
    ...
    """
    scheme, rest = check_form(spec)
    gates = gates or ProviderLimits()
    match scheme:
        case "anthropic" | "openai" | "http" | "https":
            return _remote(spec, settings, session, cache, gates, budget)
        case "local":
            return _local(spec, settings, cache, gates)
        case "scripted":
            return ScriptedModel.from_file(rest)
        case _:
            return ReplayModel(rest)


def check_form(spec: str) -> tuple[str, str]:
    """What stands before and after the colon, where that names a model in one of the known forms."""
    scheme, found, rest = spec.partition(":")
    if found and (scheme == "local" or (rest and scheme in SCHEMES)):
        return scheme, rest
    raise RubricaError(f"{spec!r} names no model; the forms are:\n{FORMS}")


@dataclass(frozen=True, slots=True)
class ConnectedClient(Generic[C]):
    """The client of a model, which makes one attempt a call, and what every call to it goes through."""

    client: C
    limit: AdaptiveLimit
    breaker: CircuitBreaker
    patience: RetryPolicy

    def resilient(self) -> RetryingModel:
        return RetryingModel(self.client, limiter=self.limit, breaker=self.breaker, patience=self.patience)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a model is and what opens the door."""

    name: str
    provider: str  # anthropic, openai, or the address
    model: str
    base_url: str
    key: str | None
    key_variable: str


def _place(spec: str, settings: Settings) -> _Place:
    provider, _, model = spec.partition(":")
    if provider in ("http", "https"):
        return _by_url(spec, settings)
    if provider == "anthropic":
        url, key, variable = settings.anthropic_base_url, settings.anthropic_key, "ANTHROPIC_API_KEY"
    else:
        url, key, variable = settings.openai_base_url, settings.openai_key, "OPENAI_API_KEY"
    return _Place(spec, provider, model, url, _open(key), variable)


def _by_url(spec: str, settings: Settings) -> _Place:
    url, _, model = spec.partition("#")
    if not model:
        raise RubricaError(f"{spec}: which model of that server? (write {url.rstrip('/')}#MODEL)")
    # Only the key meant for it: OpenAI's must not go to whatever server somebody names.
    return _Place(spec, url, model, url, _open(settings.http_key), "RUBRICA_HTTP_KEY")


def _open(key: SecretStr | None) -> str | None:
    return None if key is None else key.get_secret_value()


def connect_http(
    spec: str, settings: Settings, session: HttpSession, gates: ProviderLimits
) -> ConnectedClient[HttpModel]:
    """A model behind HTTP."""
    try:
        from rubrica.llm.anthropic import AnthropicModel
        from rubrica.llm.openai import OpenAIModel
    except ModuleNotFoundError as error:
        raise _missing(spec, error, "judges") from error
    place = _place(spec, settings)
    if not place.key and place.base_url in (_ANTHROPIC, _OPENAI):
        raise RubricaError(f"{place.name}: there is no key (set {place.key_variable})")
    kind: type[HttpModel] = AnthropicModel if place.provider == "anthropic" else OpenAIModel
    client = kind(
        place.name,
        place.model,
        base_url=place.base_url,
        key=place.key,
        session=session,
        timeout=settings.timeout,
        key_variable=place.key_variable,
    )
    limit, breaker = gates.of(place.provider, place.base_url, place.key or "", settings.concurrency)
    return ConnectedClient(
        client, limit, breaker, RetryPolicy(attempts=settings.attempts, call_deadline=settings.deadline)
    )


def connect_local(spec: str, settings: Settings, gates: ProviderLimits) -> ConnectedClient[LocalModel]:
    """A model in this process."""
    try:
        from rubrica.llm.local import LocalModel as Local
    except ModuleNotFoundError as error:
        raise _missing(spec, error, "local") from error
    client = Local(spec.removeprefix("local:") or None, name=spec)
    limit, breaker = gates.of("local", str(client.path), "", 1)  # a file's calls run one by one
    return ConnectedClient(client, limit, breaker, RetryPolicy(attempts=1, call_deadline=settings.deadline))


def _missing(spec: str, error: ModuleNotFoundError, extra: str) -> RubricaError:
    return RubricaError(f"{spec}: {error.name} is missing (pip install 'rubrica[{extra}]')")


def _remote(
    spec: str,
    settings: Settings,
    session: HttpSession | None,
    cache: ReplyCache | None,
    gates: ProviderLimits,
    budget: Budget | None,
) -> Model:
    try:
        from rubrica.llm.http import HttpSession as Session
    except ModuleNotFoundError as error:
        raise _missing(spec, error, "judges") from error
    shared = session or Session()
    reached = connect_http(spec, settings, shared, gates)
    model: Model = Budgeted(reached.resilient(), budget)
    if session is None:
        model = _WithSession(model, shared)
    return model if cache is None else Cached(model, cache, identity=f"{spec} at {_place(spec, settings).base_url}")


def _local(spec: str, settings: Settings, cache: ReplyCache | None, gates: ProviderLimits) -> Model:
    reached = connect_local(spec, settings, gates)
    model = reached.resilient()
    return model if cache is None else Cached(model, cache, identity=_weights(reached.client.path))


def _weights(path: Path) -> str:
    """What tells one state of a weights file from another without reading gigabytes."""
    status = path.stat()
    return f"local:{path.resolve()} {status.st_size} {status.st_mtime_ns}"


class _WithSession:
    """A model together with the session that was opened for it."""

    __slots__ = ("_model", "_session")

    def __init__(self, model: Model, session: HttpSession) -> None:
        self._model = model
        self._session = session

    @property
    def name(self) -> str:
        return self._model.name

    def __call__(self, request: Request) -> Coroutine[Any, Any, Reply]:
        return self._model(request)

    async def close(self) -> None:
        await self._model.close()
        await self._session.close()
