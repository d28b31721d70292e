"""From what a user writes, ``openai:gpt-4o-mini``, to a model behind the gateway that is ready to be asked.

Models in this process are imported where they are wanted: xllamacpp is optional.
"""

from __future__ import annotations

from rubrica.errors import RubricaError
from rubrica.gateway.upstream import Upstream
from rubrica.llm.connect import ProviderLimits, check_form, connect, connect_http, connect_local
from rubrica.llm.http import HttpSession
from rubrica.llm.settings import Settings

from .anthropic import AnthropicWire
from .openai import OpenAIWire
from .replies import RepliesUpstream
from .retrying import RetryingUpstream


def connect_upstream(spec: str, settings: Settings, *, session: HttpSession, gates: ProviderLimits) -> Upstream:
    """The model a user named. Nothing is sent yet. The forms are those of judges.

    The session stays open when the upstream is closed. Give all of them the same `gates`: a provider has one limit and
    one breaker, whoever asks it. A stream counts as a call until it has ended, so that `settings.concurrency` is also
    the most streams that a provider is asked for at once.

    >>> connect_upstream("gpt-4", Settings(), session=HttpSession(), gates=ProviderLimits())
    Traceback (most recent call last):
    rubrica.errors.RubricaError: 'gpt-4' names no model; the forms are:
    ...
    """
    scheme, _ = check_form(spec)
    match scheme:
        case "anthropic":
            claude = connect_http(spec, settings, session, gates)
            return RetryingUpstream(AnthropicWire(claude.client), claude.limit, claude.breaker, claude.patience)
        case "openai" | "http" | "https":
            remote = connect_http(spec, settings, session, gates)
            return RetryingUpstream(OpenAIWire(remote.client), remote.limit, remote.breaker, remote.patience)
        case "local":
            return _local(spec, settings, gates)
        case _:
            return RepliesUpstream(connect(spec, settings))


def _local(spec: str, settings: Settings, gates: ProviderLimits) -> Upstream:
    try:
        from .local import LocalWire
    except ModuleNotFoundError as error:
        raise RubricaError(f"{spec}: {error.name} is missing (pip install 'rubrica[local]')") from error
    file = connect_local(spec, settings, gates)
    wire = LocalWire(file.client, patience=settings.timeout)
    return RetryingUpstream(wire, file.limit, file.breaker, file.patience)
