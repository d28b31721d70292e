"""The models of a council: connected once, shared by its stages, closed together."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from rubrica.errors import RubricaError
from rubrica.extras import requires
from rubrica.judges.exchange import Price
from rubrica.judges.fence import TokenSource, process_token
from rubrica.judges.jury import stored_token
from rubrica.llm.budget import Budget, load_price
from rubrica.llm.cache import Cached, ReplyCache
from rubrica.llm.connect import check_keys, connect_uncached
from rubrica.llm.model import Model, Reply, Request
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.provider_table import check_form
from rubrica.llm.public import public_price
from rubrica.llm.settings import Settings, load_settings

from .member_access import MemberAccess

LARGEST_ANSWER = 1_000_000
"""Bytes that are read of one reply; who sends more is not listened to any longer."""


@dataclass(frozen=True, slots=True)
class Members:
    """Models by name, and what every question to them needs."""

    models: Mapping[str, Model]
    price: Price | None = None
    fence_source: TokenSource = process_token
    clock: Callable[[], float] = time.perf_counter
    specs: Mapping[str, str] = field(default_factory=dict)  # the models behind names that are not their own
    identities: Mapping[str, str] = field(default_factory=dict)  # by name, of models whose replies may be kept

    def spec(self, name: str) -> str:
        """The model behind a member's name, in the form that tells its provider."""
        return self.specs.get(name, name)

    def named(self, name: str) -> Model:
        """A model of the council."""
        if name not in self.models:
            raise RubricaError(f"{name} is not connected (there are {', '.join(self.models) or 'none'})")
        return self.models[name]

    def keeping(self, cache: ReplyCache, owner: str = "") -> Members:
        """The same members, whose replies are kept and found again by equal requests of the same owner, never by those
        of another one."""
        prefix = f"{owner} " if owner else ""
        kept: dict[str, Model] = {
            name: Cached(self.models[name], cache, identity=prefix + identity)
            for name, identity in self.identities.items()
        }
        return replace(self, models={**self.models, **kept}, fence_source=stored_token(cache.path))


@asynccontextmanager
async def open_members(
    names: Sequence[str],
    settings: Settings | None = None,
    *,
    seconds: float | None = None,
    access: Sequence[MemberAccess] = (),
    cache: bool = False,
) -> AsyncIterator[Members]:
    """Connect the models by name, with one set of limits and one budget; leaving closes every connection.

    A call with all its attempts takes no longer than a stage (`seconds`), and as long as that unless a file or a
    variable allows it less: so it ends by itself, and says what was wrong. `access` gives members keys and addresses
    of their own. With `cache`, replies are kept where the settings say, and found again by equal requests.
    """
    own = {one.title: one for one in access if one.title in names}
    for name in names:
        check_form(own[name].model if name in own else name)
    settings = _patient(load_settings() if settings is None else settings, seconds)
    check_keys([name for name in names if name not in own], settings)
    ready = {name: one.settings(settings) for name, one in own.items()}
    price = load_price("a council")
    with requires("judges", "a council"):
        from rubrica.llm.http import HttpSession  # late: what only talks about councils needs no HTTP client
    session = HttpSession(largest_answer=LARGEST_ANSWER)
    gates = ProviderLimits()
    specs = {name: one.model for name, one in own.items()}
    prices = public_price(price, specs)
    budget = Budget(settings.budget, prices) if settings.budget is not None else None
    kept = ReplyCache(settings.cache) if cache and settings.cache is not None else None
    models: dict[str, Model] = {}
    identities: dict[str, str] = {}
    try:
        for name in names:
            spec, its = specs.get(name, name), ready.get(name, settings)
            model, identity = connect_uncached(spec, its, session=session, gates=gates, budget=budget)
            models[name] = model if spec == name else RenamedModel(name, model)
            if identity is not None:
                identities[name] = identity
        members = Members(models, prices, specs=specs, identities=identities)
        yield members if kept is None else members.keeping(kept)
    finally:
        for model in models.values():
            await model.close()
        await session.close()
        if kept is not None:
            kept.close()


class RenamedModel:
    """A model under the name that it has in this council."""

    def __init__(self, name: str, model: Model) -> None:
        self.name, self._model = name, model

    async def __call__(self, request: Request) -> Reply:
        return await self._model(request)

    async def close(self) -> None:
        await self._model.close()


def _patient(settings: Settings, seconds: float | None) -> Settings:
    if seconds is None:
        return settings
    chosen = {name: getattr(settings, name) for name in ("timeout", "deadline") if name in settings.origins}
    return settings.model_copy(
        update={name: min(seconds, chosen.get(name, seconds)) for name in ("timeout", "deadline")}
    )
