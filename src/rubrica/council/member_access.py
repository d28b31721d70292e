"""Members with a key or an address of their own, and the settings that connect each of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from rubrica.errors import RubricaError
from rubrica.llm.provider_table import check_form
from rubrica.llm.settings import Address, Settings
from rubrica.model.bounds import Label

Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128)]


def _known_form(name: str) -> str:
    try:
        check_form(name)
    except RubricaError as error:
        raise ValueError(str(error)) from None
    return name


class MemberAccess(BaseModel):
    """One member as a settings file may write it: a model, with its own key or address.

    >>> MemberAccess(model="openai:gpt-4o-mini", key_env="TEAM_B_KEY").title
    'openai:gpt-4o-mini'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Annotated[Label, AfterValidator(_known_form)] = Field(description="the model, in one of the known forms")
    name: Label | None = Field(None, description="what it is called in results; left out: the model")
    key_env: Variable | None = Field(None, description="the environment variable with its key")
    base_url: Annotated[Address, Field(max_length=2_000)] | None = Field(None, description="where it is asked")

    @property
    def title(self) -> str:
        return self.name or self.model

    def settings(self, usual: Settings, environ: Mapping[str, str] | None = None) -> Settings:
        """The settings that this member is connected with. A key only goes where it was meant for.

        Where the address is another one and no `key_env` is named, no key is sent: the provider's own is not for it.
        """
        provider = check_form(self.model)
        if not provider.key_variables:
            if self.key_env or self.base_url:
                raise RubricaError(f"{self.title}: {provider.name}: models have no key and no address (leave them out)")
            return usual
        changes: dict[str, Any] = {}
        if self.base_url is not None:
            if not provider.base_url:
                raise RubricaError(f"{self.title}: its name is its address already (leave `base_url` out)")
            changes[f"{provider.name}_base_url"] = self.base_url
            if _place(self.base_url) != _place(usual.base_url_of(provider.name)):
                changes[f"{provider.name}_key"] = None
        if self.key_env is not None:
            key = (os.environ if environ is None else environ).get(self.key_env, "").strip()
            if not key:
                raise RubricaError(f"{self.title}: {self.key_env} is not set (set it to the key of this member)")
            changes |= {f"{provider.name}_key": SecretStr(key), "address_keys": {}}
        return usual.model_copy(update=changes)


def _place(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()
