"""The names that a request may ask for in `model`: the gateway's own choice, a tier, a model, or an alias of these.

Any other name stands for the gateway's own choice, so that clients made for another model need not be changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .chat import Chat
from .controls import PREFIX, TIERS, Allowance, Tier
from .deployments import models_of
from .flow import Route
from .names import public_name

AUTO, ITSELF = "auto", "rubrica"
"""Both stand for the gateway's own choice."""


@dataclass(frozen=True, slots=True)
class ModelNames:
    """What each name means.

    >>> names = ModelNames({"tier-0": "tier-0", "openai:gpt-4o-mini": "tier-0"}, {"fast": "tier-0", "gpt-4": "auto"})
    >>> names.choices("fast", Allowance()), names.choices("gpt-4", Allowance()), names.choices("gpt-9", Allowance())
    ({'x-sleipner-force': 'tier-0'}, {}, {})
    """

    tiers: Mapping[str, Tier]
    aliases: Mapping[str, str]

    @classmethod
    def of(cls, route: Route, aliases: Mapping[str, str]) -> ModelNames:
        upstreams = [route.tier0, *route.middle.upstreams, *([route.tier1] if route.tier1 is not None else [])]
        by_name: dict[str, Tier] = {}
        for tier, upstream in zip(TIERS, upstreams, strict=False):
            for model in models_of(upstream):
                by_name.setdefault(public_name(model), tier)
        return cls({**{tier: tier for tier in TIERS[: len(upstreams)]}, **by_name}, aliases)

    def listed(self, allowance: Allowance) -> list[str]:
        """All names that a key may ask for."""
        chosen = sorted(allowance.models) if "tiers" in allowance.controls else []
        tiers = self.tiers if "force" in allowance.controls else ()
        return list(dict.fromkeys([AUTO, ITSELF, *tiers, *self.aliases, *chosen]))

    def resolve(self, chat: Chat, allowance: Allowance) -> tuple[Chat, dict[str, str]]:
        """The request with what an alias stands for, and what its `model` chooses, as headers would."""
        name = chat.body.get("model")
        if not isinstance(name, str):
            return chat, {}
        if name in self.aliases:
            chat = replace(chat, body={**chat.body, "model": self.aliases[name]})
        return chat, self.choices(name, allowance)

    def choices(self, name: str, allowance: Allowance) -> dict[str, str]:
        """What a name chooses, as the headers that would choose the same; nothing for the gateway's own choice."""
        name = self.aliases.get(name, name)
        if (tier := self.tiers.get(name)) is not None:
            return {f"{PREFIX}force": tier}
        if "tiers" in allowance.controls and name in allowance.models:
            return {f"{PREFIX}force": "tier-0", f"{PREFIX}tier0": name}
        return {}
