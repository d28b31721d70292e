"""What cannot be asked, and what a provider says in the middle of a stream when something goes wrong."""

from __future__ import annotations

from typing import Any

from rubrica.errors import JsonError
from rubrica.jsontext import decode_json
from rubrica.llm.http import LONGEST_MESSAGE, MASKED, HttpAnswer, read_error_body, trouble_in
from rubrica.llm.model import ModelError, Trouble

_BY_TYPE: dict[str, Trouble] = {
    "overloaded_error": "overloaded",
    "api_error": "overloaded",
    "server_error": "overloaded",
    "timeout_error": "timeout",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "invalid_request_error": "rejected",
    "not_found_error": "rejected",
    "request_too_large": "rejected",
    "billing_error": "rejected",
    "insufficient_quota": "rejected",
    "authentication_error": "unauthorised",
    "permission_error": "unauthorised",
}


def unsupported_field(field: str, why: str) -> ModelError:
    """A field of a request that a model cannot be asked.

    >>> str(unsupported_field("n", "one answer at a time"))
    '`n`: one answer at a time'
    """
    return ModelError("rejected", f"`{field}`: {why}")


def list_field(value: object, field: str) -> list[Any]:
    """The list that a request has in a field, none where it has nothing there.

    >>> list_field(None, "tools")
    []
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise unsupported_field(field, "is no list")
    return value


def stream_error(name: str, data: bytes) -> ModelError:
    """The error that an event tells. What is not said to be anybody's fault is the provider's.

    >>> stream_error("openai:any", b'{"error": {"message": "no capacity", "code": 503}}').trouble
    'overloaded'
    >>> str(stream_error("anthropic:any", b'{"type": "error", "error": {"type": "overloaded_error"}}'))
    'anthropic:any: the stream broke off'
    """
    said = read_error_body(data)
    words = " ".join(MASKED.sub("[key]", said.message).split())[:LONGEST_MESSAGE]
    message = f"{name}: the stream broke off" + (f": {words}" if words else "")
    status = _status(data)
    if status is not None:
        trouble = trouble_in(HttpAnswer(status, {}, b""), said.codes)[0]
        return ModelError(trouble, message, status=status, code=said.code)
    found = (_BY_TYPE[code] for code in sorted(said.codes) if code in _BY_TYPE)
    return ModelError(next(found, "overloaded"), message, code=said.code)


def _status(data: bytes) -> int | None:
    """The HTTP status that some servers put into the event."""
    try:
        document: Any = decode_json(data)
    except JsonError:
        return None
    error = document.get("error", document) if isinstance(document, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else None
