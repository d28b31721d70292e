"""The models, keys and addresses that a tier may have several of."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from rubrica.errors import RubricaError
from rubrica.llm.provider_table import check_form
from rubrica.llm.public import by_public_name
from rubrica.llm.settings import Address, Settings

MOST_DEPLOYMENTS = 100


class CooldownSettings(BaseModel):
    """When a deployment that fails is left alone, and how it comes back. For tiers that have several."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    failures: int = Field(3, ge=1, le=1_000, description="in a row, after which a deployment rests")
    seconds: Annotated[float, Field(gt=0, le=3600)] = Field(
        30.0, description="that it rests; a provider that names a time is taken at its word"
    )
    longest: Annotated[float, Field(gt=0, le=86_400)] = Field(600.0, description="seconds that a provider may name")
    check: bool = Field(
        True, description="ask it for one token after its rest, and send it requests again once it answers"
    )


class DeploymentSettings(BaseModel):
    """One of the deployments of a tier."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Annotated[str, Field(max_length=1_000)] = Field(description="as for a tier with one model")
    name: Annotated[str, StringConstraints(pattern=r"^[!-~]{1,80}$", max_length=80)] | None = Field(
        None, description="in headers, records and logs; left out: the model's"
    )
    weight: Annotated[float, Field(gt=0, le=1_000)] = Field(1.0, description="its share among equals")
    order: int = Field(0, ge=0, le=1_000, description="higher ones are asked only where lower ones fail or rest")
    key_env: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="the variable that holds its key; left out: the provider's"
    )
    base_url: Annotated[Address, Field(max_length=1_000)] | None = Field(
        None, description="where it is; left out: where the provider's models are"
    )
    seconds: Annotated[float, Field(gt=0, le=3600)] | None = Field(
        None, description="for an answer; left out: an even part of the tier's patience"
    )


TierModels = str | tuple[DeploymentSettings, ...]
"""A tier as the settings have it: one model, or several deployments."""


def tier_models(*tiers: TierModels | None) -> list[str]:
    """The models of tiers, by order.

    >>> spare = DeploymentSettings(model="openai:b", order=1)
    >>> tier_models("local:", None, (spare, DeploymentSettings(model="openai:a")))
    ['local:', 'openai:a', 'openai:b']
    """
    found: list[str] = []
    for tier in tiers:
        if isinstance(tier, str):
            found.append(tier)
        elif tier is not None:
            found += [one.model for one in sorted(tier, key=lambda one: one.order)]
    return list(dict.fromkeys(found))


def shown_tier(tier: TierModels) -> str:
    """A tier in words."""
    return tier if isinstance(tier, str) else ", ".join(one.model for one in tier)


def deployment_names(deployments: Sequence[DeploymentSettings]) -> list[str]:
    """What deployments are called, each by a name of its own.

    >>> deployment_names([DeploymentSettings(model="openai:a"), DeploymentSettings(model="openai:a", name="spare")])
    ['openai:a', 'spare']
    """
    taken: dict[str, int] = {}
    found = []
    for one in deployments:
        plain = one.name or next(iter(by_public_name([one.model])))
        taken[plain] = taken.get(plain, 0) + 1
        found.append(plain if taken[plain] == 1 else f"{plain}-{taken[plain]}")
    return found


def deployed_settings(one: DeploymentSettings, settings: Settings, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings that a deployment is connected with: its own key and address in place of the provider's."""
    provider, changes = check_form(one.model), dict[str, object]()
    if one.key_env is not None:
        key = environ.get(one.key_env, "").strip()
        if not key:
            raise RubricaError(f"{one.model}: there is no key in {one.key_env} (set that variable, or correct key_env)")
        if not provider.key_variables:
            raise RubricaError(f"{one.model}: its models take no key (leave key_env out)")
        changes[f"{provider.name}_key"] = SecretStr(key)
        changes["address_keys"] = {}
    if one.base_url is not None:
        if not provider.base_url:
            raise RubricaError(f"{one.model}: the model says where it is (leave base_url out)")
        changes[f"{provider.name}_base_url"] = one.base_url
        if one.key_env is None and one.base_url != settings.base_url_of(provider.name):
            changes[f"{provider.name}_key"] = None  # another server must not learn what opens the provider's door
    return settings.model_copy(update=changes)


def deployment_place(one: DeploymentSettings, settings: Settings, environ: Mapping[str, str] = os.environ) -> str:
    """A digest of the model, its address and its key: the same in every process that is set up alike."""
    own, provider = deployed_settings(one, settings, environ), check_form(one.model)
    kept = own.key_of(provider.name) if provider.key_variables else None
    key = own.key_of_address(one.model) if provider.after_colon == "address" else kept
    where = own.base_url_of(provider.name) if provider.base_url else ""
    parts = ("deployment", one.model, where, hashlib.sha256((key or "").encode()).hexdigest())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
