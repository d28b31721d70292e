"""Prices of models: your own where the settings have them, else those of the list that comes with Rubrica."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rubrica.errors import DeniedError
from rubrica.llm.budget import Price
from rubrica.llm.model import Usage
from rubrica.llm.price import price

from .limits import ModelPrice

ANY_USAGE = Usage(1000, 1000)
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class OwnPrices:
    """Prices by the full name of a model, as the settings write it.

    >>> own = OwnPrices({"openai:mine": ModelPrice(input=1.0, output=3.0, cached_input=0.1)})
    >>> round(own("openai:mine", Usage(1_000_000, 1_000_000, 500_000)), 6), own("openai:unknown", Usage(1, 1))
    (3.55, None)
    """

    own: Mapping[str, ModelPrice]

    def __call__(self, model: str, usage: Usage) -> float | None:
        found = self.own.get(model)
        if found is None:
            return price(model, usage)
        read, written = usage.cached_input_tokens, usage.cache_write_tokens
        fresh = max(usage.input_tokens - read - written, 0)
        cached = found.input if found.cached_input is None else found.cached_input
        writing = found.input if found.cache_write is None else found.cache_write
        usd = fresh * found.input + read * cached + written * writing + usage.output_tokens * found.output
        return usd / MILLION


def prices_of(own: Mapping[str, ModelPrice]) -> Price:
    """How a gateway prices calls.

    >>> prices_of({})("local:", Usage(10))
    0.0
    """
    return OwnPrices(own) if own else price


def unpriced(models: Iterable[str], prices: Price) -> list[str]:
    """The models whose price is not known, in their order.

    >>> unpriced(["local:", "openai:no-such-model"], price)
    ['openai:no-such-model']
    """
    return [name for name in dict.fromkeys(models) if prices(name, ANY_USAGE) is None]


def why_unpriced(models: Iterable[str], prices: Price) -> str:
    """What is wrong with models whose price is not known, where a budget is to be kept; empty: nothing.

    >>> why_unpriced(["local:"], price)
    ''
    >>> print(why_unpriced(["openai:mine"], price).partition(" (")[0])
    openai:mine: the price is not known, so no budget can be kept
    """
    found = unpriced(models, prices)
    if not found:
        return ""
    wanted = ", ".join(f'"{name}": {{input: …, output: …}}' for name in found)
    return (
        f"{', '.join(found)}: the price is not known, so no budget can be kept "
        f"(set `prices: {{{wanted}}}` in the gateway's settings, or `budget.unpriced: allow`)"
    )


def refuse_unpriced(models: Iterable[str], prices: Price) -> None:
    """Refuse a request that asks models of unknown price, where something limits what it may spend."""
    if why := why_unpriced(models, prices):
        raise DeniedError(why)
