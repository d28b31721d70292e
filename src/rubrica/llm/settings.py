"""One settings object, from files and the environment; every value knows where it came from.

Later wins: defaults, the user's file (``~/.config/rubrica/config.toml``), ``rubrica.toml`` in the working directory,
``RUBRICA_*`` variables. With ``RUBRICA_CONFIG`` that one file is read instead of both. Keys come from the environment
only, and a file in the working directory cannot send them elsewhere: it comes with whatever was downloaded there.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    create_model,
)

from rubrica.errors import RubricaError
from rubrica.hints import did_you_mean
from rubrica.llm.provider_table import providers
from rubrica.phrases import fault_words

OPTION_VARIABLES = ("RUBRICA_CONFIG", "RUBRICA_DB", "RUBRICA_SERVER", "RUBRICA_API_KEY", "RUBRICA_BASELINES")
"""Variables that are read elsewhere, by options of commands."""

ADDRESS_KEY = "RUBRICA_HTTP_KEY_"
"""How variables begin that hold the key of one server given by URL."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_OFF = ("off", "no", "none", "false")


class SettingsError(RubricaError):
    """A setting cannot be used; says which file or variable and the way out."""


class ShownSetting(msgspec.Struct, frozen=True):
    """One setting as `rubrica config` shows it; keys are masked."""

    name: str
    value: str
    origin: str


def _cache_path(value: object) -> object:
    if value is False or (isinstance(value, str) and value.strip().lower() in _OFF):
        return None
    return Path(value).expanduser() if isinstance(value, str) else value


def _web_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("should be an address such as https://host/v1")
    if parts.username or parts.password:
        raise ValueError("should not hold a user or password: keys go into their own variables")
    return value.rstrip("/")


Address = Annotated[str, AfterValidator(_web_address)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]


def _of_providers() -> type[BaseModel]:
    """What every provider has set: where its models are, as NAME_base_url, and its key, as NAME_key."""
    fields: dict[str, Any] = {}
    for provider in providers():
        if provider.base_url:
            says = f"where {provider.name}: models are"
            fields[f"{provider.name}_base_url"] = (Address, Field(provider.base_url, description=says))
    for provider in providers():
        if provider.key_variables:
            whose = "models given by URL" if provider.after_colon == "address" else f"{provider.name}: models"
            fields[f"{provider.name}_key"] = (SecretStr | None, Field(None, description=f"key for {whose}"))
    return create_model("ProviderSettings", __config__=ConfigDict(extra="forbid"), **fields)


KEYS: Mapping[str, tuple[str, ...]] = {
    f"{provider.name}_key": provider.key_variables for provider in providers() if provider.key_variables
}
"""The settings that are keys, each with the variables it may come from."""

if TYPE_CHECKING:
    _OfProviders = BaseModel
else:
    _OfProviders = _of_providers()


class Settings(_OfProviders):
    """Everything about models and runs that no rubric says. Each provider has NAME_base_url and NAME_key besides.

    >>> Settings(timeout=5).timeout, Settings().base_url_of("openai")
    (5.0, 'https://api.openai.com/v1')
    """

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    judge: str | None = Field(None, description="the model that judges, such as anthropic:claude-haiku-4-5")
    timeout: Seconds = Field(60.0, description="seconds for one attempt")
    deadline: Seconds = Field(150.0, description="seconds for one call with all its attempts and pauses")
    attempts: int = Field(4, ge=1, le=20, description="how often one call is tried")
    concurrency: int = Field(64, ge=1, le=1024, description="most calls under way at once, per model and key")
    requests_per_minute: int | None = Field(
        None, ge=1, le=10_000_000, description="most requests sent in a minute, per model and key"
    )
    tokens_per_minute: int | None = Field(
        None, ge=1, le=10_000_000_000, description="most tokens sent and allowed in a minute, per model and key"
    )
    budget: float | None = Field(None, ge=0, allow_inf_nan=False, description="most US dollars a command may spend")
    cache: Annotated[Path | None, BeforeValidator(_cache_path)] = Field(
        None, description="file that keeps replies, or off"
    )
    run_copies: float = Field(
        20.0, ge=0, le=1_000_000, description="most gigabytes of copies of runs in object stores; the oldest go first"
    )
    address_keys: Mapping[str, SecretStr] = Field(
        default_factory=dict, description="keys for single servers given by URL, each in RUBRICA_HTTP_KEY_HOST"
    )
    origins: Mapping[str, str] = Field(default_factory=dict, description="which file or variable set what")
    unused: tuple[str, ...] = Field((), description="RUBRICA_* variables that name no setting")

    def key_of(self, provider: str) -> str | None:
        """The key for a provider's models, where there is one."""
        key = getattr(self, f"{provider}_key")
        return key.get_secret_value() if isinstance(key, SecretStr) else None

    def key_of_address(self, url: str) -> str | None:
        """The key for a server given by URL: its own, else the one for any server."""
        own = next((self.address_keys[name] for name in _names_of(url) if name in self.address_keys), None)
        return own.get_secret_value() if own is not None else self.key_of("http")

    def base_url_of(self, provider: str) -> str:
        """Where a provider's models are."""
        return str(getattr(self, f"{provider}_base_url"))

    def shown(self) -> tuple[ShownSetting, ...]:
        """Every setting with its value and origin, fit for a screen: of a key, its last four characters.

        >>> [item.value for item in Settings(openai_key="sk-0123456789abcdef").shown() if item.name == "openai_key"]
        ['…cdef']
        """
        return tuple(
            ShownSetting(name, _text(name, getattr(self, name)), self.origins.get(name, "default"))
            for name in setting_names()
        )


def setting_names() -> tuple[str, ...]:
    """What can be set, in the order it is shown."""
    apart = ("model_config", "address_keys", "origins", "unused")
    everywhere = [name for name in Settings.__annotations__ if name not in apart]
    return *everywhere, *(name for name in Settings.model_fields if name.endswith(("_base_url", "_key")))


def load_settings(
    environ: Mapping[str, str] | None = None, *, folder: Path | None = None, home: Path | None = None
) -> Settings:
    """The settings that hold here. The arguments default to this process's own.

    >>> settings = load_settings({"RUBRICA_TIMEOUT": "5"}, folder=Path("nowhere"), home=Path("nowhere"))
    >>> settings.timeout, settings.origins["timeout"]
    (5.0, 'RUBRICA_TIMEOUT')
    """
    environ = os.environ if environ is None else environ
    folder = Path.cwd() if folder is None else folder
    home = Path.home() if home is None else home
    values: dict[str, Any] = {"cache": _home_of(environ, home, "cache") / "rubrica" / "replies.sqlite"}
    origins: dict[str, str] = {}
    for origin, found in (*_files(environ, folder, home), *_variables(environ)):
        values.update(found)
        origins.update(dict.fromkeys(found, origin))
    values["address_keys"] = {
        name.removeprefix(ADDRESS_KEY): environ[name].strip()
        for name in environ
        if name.startswith(ADDRESS_KEY) and environ[name].strip()
    }
    try:
        return Settings(**values, origins=origins, unused=_unused(environ))
    except ValidationError as error:
        raise SettingsError("\n".join(_complaint(fault, values, origins) for fault in error.errors())) from None


def _home_of(environ: Mapping[str, str], home: Path, kind: Literal["cache", "config"]) -> Path:
    given = environ.get(f"XDG_{kind.upper()}_HOME")
    return Path(given) if given else home / f".{kind}"


def _files(environ: Mapping[str, str], folder: Path, home: Path) -> list[tuple[str, dict[str, Any]]]:
    chosen = environ.get("RUBRICA_CONFIG")
    if chosen:
        path = folder / Path(chosen).expanduser()
        if not path.is_file():
            raise SettingsError(f"RUBRICA_CONFIG: there is no file {chosen} (correct or unset it)")
        return [(str(path), _table(path))]
    user, here = _home_of(environ, home, "config") / "rubrica" / "config.toml", folder / "rubrica.toml"
    layers = [(str(path), _table(path)) for path in (user, here) if path.is_file()]
    if here.is_file():
        _refuse_redirection(here, layers[-1][1])
    return layers


def _table(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise SettingsError(f"{path}: cannot be read as TOML: {error}") from error
    allowed = [name for name in setting_names() if name not in KEYS]
    for name in table:
        if name in KEYS:
            raise SettingsError(f"{path}: {name}: keys do not belong in files (set {KEYS[name][0]} instead)")
        if name not in allowed:
            hint = did_you_mean(name, allowed, f"there are {', '.join(allowed)}")
            raise SettingsError(f"{path}: {name}: no such setting ({hint})")
    return table


def _refuse_redirection(path: Path, table: Mapping[str, Any]) -> None:
    for name, value in table.items():
        says_where = name == "judge" or name.endswith("_base_url")
        if says_where and isinstance(value, str) and value.startswith(("http:", "https:")) and not _is_loopback(value):
            raise SettingsError(
                f"{path}: {name}: a file in the working directory cannot say where requests and keys are sent "
                f"(set RUBRICA_{name.upper()}, put it into ~/.config/rubrica/config.toml, "
                "or name this file in RUBRICA_CONFIG)"
            )


def _is_loopback(url: str) -> bool:
    try:
        return urlsplit(url).hostname in LOOPBACK
    except ValueError:
        return False


def _variables(environ: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """What the environment sets, lowest first. An empty variable counts as not set."""
    plain = {f"RUBRICA_{name.upper()}": name for name in setting_names() if name not in KEYS}
    secret = {variable: name for name, variables in KEYS.items() for variable in reversed(variables)}
    return [
        (variable, {name: environ[variable].strip()})
        for variable, name in {**plain, **secret}.items()
        if environ.get(variable, "").strip()
    ]


def _unused(environ: Mapping[str, str]) -> tuple[str, ...]:
    known = {f"RUBRICA_{name.upper()}" for name in setting_names() if name not in KEYS} | set(OPTION_VARIABLES)
    known.update(variable for variables in KEYS.values() for variable in variables)
    ours = (name for name in environ if name.startswith("RUBRICA_") and not name.startswith(ADDRESS_KEY))
    return tuple(sorted(name for name in ours if name not in known))


def _names_of(url: str) -> tuple[str, ...]:
    """What the variable of a server's key ends in: host and port, or the host alone.

    >>> _names_of("https://llm.example.com:8000/v1")
    ('LLM_EXAMPLE_COM_8000', 'LLM_EXAMPLE_COM')
    """
    parts = urlsplit(url)
    host = re.sub(r"[^A-Z0-9]", "_", (parts.hostname or "").upper())
    return (f"{host}_{parts.port}", host) if parts.port else (host,)


def address_key_variable(url: str) -> str:
    """The variable that holds the key of one server given by URL."""
    return ADDRESS_KEY + _names_of(url)[0]


def _complaint(fault: Any, values: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    name = str(fault["loc"][0])
    origin = origins.get(name, "default")
    place = origin if origin.startswith("RUBRICA_") else f"{origin}: {name}"
    given = "" if name in KEYS else f"{values.get(name)!r}: "
    return f"{place}: {given}{fault_words(fault)} (correct or remove it)"


def _text(name: str, value: object) -> str:
    if isinstance(value, SecretStr):
        key = value.get_secret_value()
        return f"…{key[-4:]}" if len(key) >= 12 else "…"
    if value is None:
        return "off" if name == "cache" else "not set"
    return f"{value:g}" if isinstance(value, float) else str(value)
