"""From plain data to a response, and from a list to its pages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from fastapi import Response
from pydantic import BaseModel

from rubrica.errors import InputError

LONGEST_CURSOR = 2_000
"""Characters."""

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class RouteAnswer:
    """What a route says: data, a status, and headers such as Location and ETag."""

    data: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


def render(answer: RouteAnswer) -> Response:
    """An answer as a response in JSON. Times are written in UTC with a Z, ids as UUIDs; a 204 or 304 has no body.

    >>> render(RouteAnswer({"score": 1.5}, 201)).body
    b'{"score":1.5}'
    """
    if answer.status in (204, 304):
        return Response(None, answer.status, answer.headers)
    return Response(_ENCODER.encode(answer.data), answer.status, answer.headers, "application/json")


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)


def etag(mark: str | int) -> str:
    """A strong entity tag.

    >>> etag("3-0123456789abcdef")
    '"3-0123456789abcdef"'
    """
    return f'"{mark}"'


def page(items: Sequence[object], next_cursor: str | None) -> dict[str, object]:
    """One page of a list; `next` is the cursor of the following page, or null after the last one."""
    return {"items": list(items), "next": next_cursor}


def encode_cursor(values: Sequence[object]) -> str:
    """Where a page ended, as text that clients hand back unread. Ids and times become text.

    >>> decode_cursor(encode_cursor([4.5, "b"]), float, str)
    (4.5, 'b')
    """
    return base64.urlsafe_b64encode(_ENCODER.encode(list(values))).rstrip(b"=").decode()


def decode_cursor(text: str, *types: Any) -> tuple[Any, ...]:
    """The values of a cursor, each of the type it was made of (UUID, datetime, float, int, str, `float | None` …).

    >>> decode_cursor("garbage", float)
    Traceback (most recent call last):
        ...
    rubrica.errors.InputError: this cursor is none of ours (leave it out to start again)
    """
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        if len(text) > LONGEST_CURSOR or b"\\u0000" in raw:  # no text in the database holds a NUL
            raise ValueError
        return msgspec.json.decode(raw, type=tuple[types])  # type: ignore[valid-type]
    except (ValueError, binascii.Error, msgspec.MsgspecError, RecursionError):
        raise InputError("this cursor is none of ours (leave it out to start again)") from None
