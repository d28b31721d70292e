"""From what a user writes, ``openai:gpt-4o-mini``, to a model behind the gateway that is ready to be asked.

Models in this process are imported where they are wanted: xllamacpp is optional.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rubrica.gateway.upstream import Upstream
from rubrica.llm.http import HttpSession
from rubrica.llm.provider import ClientOptions, ProviderLimits
from rubrica.llm.provider_table import check_form
from rubrica.llm.settings import Settings

from .anthropic import AnthropicWire
from .openai import OpenAIWire
from .replies import RepliesUpstream
from .retrying import RetryingUpstream, Wire


def connect_upstream(spec: str, settings: Settings, *, session: HttpSession, gates: ProviderLimits) -> Upstream:
    """The model a user named. Nothing is sent yet. The forms are those of judges.

    The session stays open when the upstream is closed. Give all of them the same `gates`: a model has one limit and
    one breaker, whoever asks it. A stream counts as a call until it has ended, so that `settings.concurrency` is also
    the most streams that a model is asked for at once.

    >>> connect_upstream("gpt-4", Settings(), session=HttpSession(), gates=ProviderLimits())
    Traceback (most recent call last):
    rubrica.errors.RubricaError: 'gpt-4' names no model; the forms are:
    ...
    """
    connected = check_form(spec).connect(spec, ClientOptions(settings, gates, session))
    wire = WIRES.get(getattr(connected.client, "protocol", None))
    if wire is None or connected.gate is None:
        return RepliesUpstream(connected.resilient())
    gate = connected.gate
    return RetryingUpstream(wire(connected.client, settings), gate.limit, gate.breaker, gate.patience)


def _local(client: Any, settings: Settings) -> Wire[Any]:
    from .local import LocalWire  # with the client, xllamacpp is there

    return LocalWire(client, patience=settings.timeout)


WIRES: Mapping[str | None, Callable[[Any, Settings], Wire[Any]]] = {
    "anthropic": lambda client, _: AnthropicWire(client),
    "openai": lambda client, _: OpenAIWire(client),
    "llama.cpp": _local,
}
"""How the gateway speaks with a client, by the protocol that it tells. Any other is asked for whole replies."""
