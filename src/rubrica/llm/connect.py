"""From what a user writes, ``anthropic:claude-haiku-4-5``, to a Model that retries, limits itself and remembers."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rubrica.errors import RubricaError
from rubrica.llm.budget import Budget, Budgeted
from rubrica.llm.cache import Cached, ReplyCache
from rubrica.llm.model import Model, Reply, Request
from rubrica.llm.provider import ClientOptions, ProviderLimits
from rubrica.llm.provider_table import check_form, provider_of
from rubrica.llm.settings import Settings, address_key_variable

if TYPE_CHECKING:
    from rubrica.llm.http import HttpSession


def check_keys(names: Iterable[str], settings: Settings) -> None:
    """Refuse to send one key to several servers given by URL: each would learn what opens the others.

    >>> check_keys(["http://one/v1#m", "http://two/v1#m"], Settings(http_key="sk-0123456789abcdef"))
    Traceback (most recent call last):
    rubrica.errors.RubricaError: one key would go to several servers (set RUBRICA_HTTP_KEY_ONE, RUBRICA_HTTP_KEY_TWO)
    """
    shared = settings.key_of("http")
    if not shared:
        return
    urls = (name.partition("#")[0] for name in names if (found := provider_of(name)) and found.after_colon == "address")
    servers = {urlsplit(url).netloc: url for url in urls if settings.key_of_address(url) == shared}
    if len(servers) > 1:
        variables = ", ".join(address_key_variable(url) for _, url in sorted(servers.items()))
        raise RubricaError(f"one key would go to several servers (set {variables})")


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
    model, identity = connect_uncached(spec, settings, session=session, gates=gates, budget=budget)
    return model if cache is None or identity is None else Cached(model, cache, identity=identity)


def connect_uncached(
    spec: str,
    settings: Settings,
    *,
    session: HttpSession | None = None,
    gates: ProviderLimits | None = None,
    budget: Budget | None = None,
) -> tuple[Model, str | None]:
    """The same without a cache, and what tells its replies from others' in one; None: they are never kept."""
    provider = check_form(spec)
    connected = provider.connect(spec, ClientOptions(settings, gates or ProviderLimits(), session))
    model = connected.resilient()
    if provider.billed:
        model = Budgeted(model, budget)
    if connected.session is not None:
        model = _WithSession(model, connected.session)
    return model, connected.identity


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
