"""The providers, one line each; judges, councils, prices, settings and the gateway all read this table.

A line imports its client when a model is wanted: aiohttp (0.16 s to import) and xllamacpp are optional, and a scripted
model needs neither. Installed packages add lines by the entry point ``rubrica.providers``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rubrica.errors import RubricaError
from rubrica.extras import requires
from rubrica.llm.model import Model
from rubrica.llm.provider import CallGate, ClientOptions, ConnectedClient, Provider
from rubrica.llm.retry import RetryPolicy
from rubrica.llm.scripted import ReplayModel, ScriptedModel
from rubrica.plugins import added

if TYPE_CHECKING:
    from rubrica.llm.http_model import HttpModel


def providers() -> tuple[Provider, ...]:
    """Every provider: Rubrica's own, and what installed packages add."""
    return *PROVIDERS, *added("rubrica.providers", Provider, [provider.name for provider in PROVIDERS]).values()


def provider_of(name: str) -> Provider | None:
    """The provider of a model, by what stands before the colon of its name.

    >>> provider_of("https://host/v1#llama").name, provider_of("gpt-4") is None
    ('http', True)
    """
    scheme, found, _ = name.partition(":")
    known = providers() if found else ()
    return next((provider for provider in known if provider.answers_to(scheme)), None)


def model_forms() -> Mapping[str, str]:
    """What a user may write for a model, and what it means."""
    return {form: says for provider in providers() for form, says in provider.forms.items()}


def check_form(spec: str) -> Provider:
    """The provider of a model that is named in one of the known forms."""
    provider = provider_of(spec)
    if provider is not None and provider.fits(spec):
        return provider
    forms = "\n".join(f"{form:<24} {says}" for form, says in model_forms().items())
    raise RubricaError(f"{spec!r} names no model; the forms are:\n{forms}")


def http_provider(
    name: str,
    example: str,
    says: str,
    base_url: str,
    key_variables: tuple[str, ...],
    client: Callable[[], type[HttpModel]],
) -> Provider:
    """A provider behind HTTP, with an address and a key of its own."""

    def connect(spec: str, options: ClientOptions) -> ConnectedClient[HttpModel]:
        url, key = options.settings.base_url_of(name), options.settings.key_of(name)
        if not key and url == base_url:
            raise RubricaError(f"{spec}: there is no key (set {key_variables[0]})")
        return _connect_http(client, spec, (spec.partition(":")[2], url, key, key_variables[0]), options)

    forms = {f"{name}:MODEL": f"{says}, such as {name}:{example}"}
    return Provider(name, forms, connect, key_variables=key_variables, base_url=base_url)


def _by_address(spec: str, options: ClientOptions) -> ConnectedClient[HttpModel]:
    url, _, model = spec.partition("#")
    if not model:
        raise RubricaError(f"{spec}: which model of that server? (write {url.rstrip('/')}#MODEL)")
    # Only the key meant for it: OpenAI's must not go to whatever server somebody names.
    key, variable = options.settings.key_of_address(url), "RUBRICA_HTTP_KEY"
    if not key and url in {provider.base_url for provider in PROVIDERS}:
        raise RubricaError(f"{spec}: there is no key (set {variable})")
    return _connect_http(_openai, spec, (model, url, key, variable), options)


def _connect_http(
    client: Callable[[], type[HttpModel]],
    spec: str,
    place: tuple[str, str, str | None, str],  # model, base URL, key, and the variable of the key
    options: ClientOptions,
) -> ConnectedClient[HttpModel]:
    with requires("judges", spec):
        from rubrica.llm.http import FEWEST_CONNECTIONS, HttpSession

        kind = client()
    model, url, key, variable = place
    settings = options.settings
    session = options.session or HttpSession(connections=max(FEWEST_CONNECTIONS, settings.concurrency))
    asked = kind(spec, model, base_url=url, key=key, session=session, timeout=settings.timeout, key_variable=variable)
    gate = options.limits.of(spec, url, key or "", settings.concurrency)
    patience = RetryPolicy(attempts=settings.attempts, call_deadline=settings.deadline)
    own = session if options.session is None else None
    admission = options.limits.admission(spec, url, key or "", settings)
    return ConnectedClient(asked, CallGate(*gate, patience, admission), f"{spec} at {url}", own)


def _local(spec: str, options: ClientOptions) -> ConnectedClient[Model]:
    with requires("local", spec):
        from rubrica.llm.local import LocalModel
    client = LocalModel(spec.removeprefix("local:") or None, name=spec)
    gate = options.limits.of("local", str(client.path), "", 1)  # a file's calls run one by one
    patience = RetryPolicy(attempts=1, call_deadline=options.settings.deadline)
    return ConnectedClient(client, CallGate(*gate, patience), _weights(client.path))


def _weights(path: Path) -> str:
    """What tells one state of a weights file from another without reading gigabytes."""
    status = path.stat()
    return f"local:{path.resolve()} {status.st_size} {status.st_mtime_ns}"


def _from_file(kind: Callable[[str], Model], spec: str, options: ClientOptions) -> ConnectedClient[Model]:  # noqa: ARG001
    return ConnectedClient(kind(spec.partition(":")[2]))


def _anthropic() -> type[HttpModel]:
    from rubrica.llm.anthropic import AnthropicModel

    return AnthropicModel


def _openai() -> type[HttpModel]:
    from rubrica.llm.openai import OpenAIModel

    return OpenAIModel


PROVIDERS: tuple[Provider, ...] = (
    http_provider("anthropic", "claude-haiku-4-5", "a Claude model", "https://api.anthropic.com",
                  ("ANTHROPIC_API_KEY", "ANTHROPIC_KEY"), _anthropic),
    http_provider("openai", "gpt-4o-mini", "an OpenAI model", "https://api.openai.com/v1",
                  ("OPENAI_API_KEY",), _openai),
    Provider("http", {"http://HOST/v1#MODEL": "a model of any server that speaks OpenAI's protocol; https:// too"},
             _by_address, schemes=("http", "https"), after_colon="address", key_variables=("RUBRICA_HTTP_KEY",)),
    Provider("local", {"local:": "the embedded SmolLM2, in this process",
                       "local:FILE.gguf": "any GGUF model, in this process"},
             _local, after_colon="file", may_be_bare=True, billed=False, sees_pictures=False),
    Provider("scripted", {"scripted:FILE.jsonl": "replies written by hand"},
             partial(_from_file, ScriptedModel.from_file), after_colon="file", billed=False, sees_pictures=False),
    Provider("replay", {"replay:FILE.jsonl": "replies recorded earlier"},
             partial(_from_file, ReplayModel), after_colon="file", billed=False, sees_pictures=False),
)  # fmt: skip
