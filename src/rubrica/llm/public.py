"""Models as callers of a server know them: by a public name and by kinds of trouble.

Where a model runs, and what its provider says, is for the log: an address or an error may name a machine inside.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from .budget import Price
from .model import Model, ModelError, Reply, Request, Trouble, Usage
from .provider_table import provider_of

LOG = logging.getLogger("rubrica.server")
PUBLIC_TROUBLES: Mapping[Trouble, str] = {
    "rate_limited": "asked too often just now",
    "overloaded": "overloaded or failing",
    "timeout": "no answer in time",
    "unreachable": "cannot be reached",
    "garbled": "gave an answer that cannot be read",
    "rejected": "refused the request",
    "unauthorised": "does not accept the server's key",
    "over_budget": "not asked: the budget is used up",
    "tripped": "not asked: it failed too often just now",
}


def public_name(name: str) -> str:
    """A model's name without where it runs: addresses and folders are nobody's business outside.

    >>> public_name("openai:gpt-4o-mini"), public_name("http://10.0.0.7:8080/v1#llama-3")
    ('openai:gpt-4o-mini', 'llama-3')
    >>> public_name("local:/models/smol.gguf"), public_name("local:")
    ('local:smol', 'local:')
    """
    scheme, _, rest = name.partition(":")
    provider = provider_of(name)
    match provider.after_colon if provider is not None else "model":
        case "address":
            return rest.partition("#")[2] or scheme
        case "file":
            return f"{scheme}:{PurePath(rest).stem}"
        case _:
            return name


def public_names(joined: str) -> str:
    """The same for names that are joined by commas, as a panel's are.

    >>> public_names("http://10.0.0.7/v1#llama, openai:gpt-4o-mini")
    'llama, openai:gpt-4o-mini'
    """
    return ", ".join(map(public_name, joined.split(", ")))


def by_public_name(names: Sequence[str]) -> dict[str, str]:
    """Models by their public names; of those that look alike, the later ones are numbered.

    >>> by_public_name(["http://10.0.0.7/v1#llama", "http://10.0.0.8/v1#llama"])
    {'llama': 'http://10.0.0.7/v1#llama', 'llama-2': 'http://10.0.0.8/v1#llama'}
    """
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        plain = public_name(name)
        alias, number = plain, 1
        while alias in found:
            number += 1
            alias = f"{plain}-{number}"
        found[alias] = name
    return found


class PublicModel:
    """A model under its public name. Of its troubles only the kind is told; the log has the rest."""

    def __init__(self, name: str, model: Model) -> None:
        self.name, self._model = name, model

    async def __call__(self, request: Request) -> Reply:
        try:
            return await self._model(request)
        except ModelError as error:
            LOG.warning("%s: %s", self.name, error)
            message = PUBLIC_TROUBLES[error.trouble]
            raise ModelError(error.trouble, message, retry_after=error.retry_after, status=error.status) from None

    async def close(self) -> None:
        await self._model.close()


def public_price(price: Price, names: Mapping[str, str]) -> Price:
    """Prices by public name."""

    def known(alias: str, usage: Usage) -> float | None:
        return price(names.get(alias, alias), usage)

    return known
