"""The models of a council: connected once, shared by its stages, closed together."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rubrica.errors import RubricaError
from rubrica.extras import requires
from rubrica.judges.exchange import Price
from rubrica.judges.fence import TokenSource, process_token
from rubrica.llm.budget import Budget, load_price
from rubrica.llm.connect import check_keys, connect
from rubrica.llm.model import Model
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.provider_table import check_form
from rubrica.llm.settings import Settings, load_settings

LARGEST_ANSWER = 1_000_000
"""Bytes that are read of one reply; who sends more is not listened to any longer."""


@dataclass(frozen=True, slots=True)
class Members:
    """Models by name, and what every question to them needs."""

    models: Mapping[str, Model]
    price: Price | None = None
    fence_source: TokenSource = process_token
    clock: Callable[[], float] = time.perf_counter

    def named(self, name: str) -> Model:
        """A model of the council."""
        if name not in self.models:
            raise RubricaError(f"{name} is not connected (there are {', '.join(self.models) or 'none'})")
        return self.models[name]


@asynccontextmanager
async def open_members(
    names: Sequence[str], settings: Settings | None = None, *, seconds: float | None = None
) -> AsyncIterator[Members]:
    """Connect the models by name, with one set of limits and one budget; leaving closes every connection.

    A call with all its attempts takes no longer than a stage (`seconds`), and as long as that unless a file or a
    variable allows it less: so it ends by itself, and says what was wrong.
    """
    for name in names:
        check_form(name)
    settings = _patient(load_settings() if settings is None else settings, seconds)
    check_keys(names, settings)
    price = load_price("a council")
    with requires("judges", "a council"):
        from rubrica.llm.http import HttpSession  # late: what only talks about councils needs no HTTP client
    session = HttpSession(largest_answer=LARGEST_ANSWER)
    gates = ProviderLimits()
    budget = Budget(settings.budget, price) if settings.budget is not None else None
    models: dict[str, Model] = {}
    try:
        for name in names:
            models[name] = connect(name, settings, session=session, gates=gates, budget=budget)
        yield Members(models, price)
    finally:
        for model in models.values():
            await model.close()
        await session.close()


def _patient(settings: Settings, seconds: float | None) -> Settings:
    if seconds is None:
        return settings
    chosen = {name: getattr(settings, name) for name in ("timeout", "deadline") if name in settings.origins}
    return settings.model_copy(
        update={name: min(seconds, chosen.get(name, seconds)) for name in ("timeout", "deadline")}
    )
