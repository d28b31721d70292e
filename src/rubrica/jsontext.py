"""JSON that comes from outside: decoded with a bound on its nesting, and one error for whatever is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from rubrica.errors import JsonError

DEEPEST = 100
"""Levels of lists and objects. Whatever walks through the data later may recurse that far."""

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a msgspec decoder raises for a text that it cannot read."""

_DECODER = json.JSONDecoder()


def decode_json(text: str | bytes, *, deepest: int = DEEPEST) -> Any:
    """The data of a JSON text; a JsonError says why it has none.

    >>> decode_json('{"weight": 0.5}')
    {'weight': 0.5}
    >>> decode_json("[" * 100_000)
    Traceback (most recent call last):
        ...
    rubrica.errors.JsonError: nested more than 100 levels deep
    """
    try:
        data = msgspec.json.decode(text)
    except RecursionError:
        raise _too_deep(deepest) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise JsonError(str(error)) from None
    openings = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if openings > deepest and deeper_than(data, deepest):
        raise _too_deep(deepest)
    return data


def decode_json_at(text: str, start: int, decoder: json.JSONDecoder = _DECODER) -> tuple[Any, int]:
    """The JSON value that begins at a place in a text, and where it ends; a JsonError where there is none.

    >>> decode_json_at('see {"score": 7}, fine', 4)
    ({'score': 7}, 16)
    """
    try:
        value, end = decoder.raw_decode(text, start)
    except RecursionError:
        raise _too_deep(DEEPEST) from None
    except ValueError as error:
        raise JsonError(str(error)) from None
    if end - start > DEEPEST and deeper_than(value, DEEPEST):
        raise _too_deep(DEEPEST)
    return value, end


def deeper_than(data: Any, levels: int) -> bool:
    """Whether lists and objects are nested more than so many levels.

    >>> deeper_than([[1], {"a": [2]}], 3), deeper_than([[1], {"a": [2]}], 2)
    (False, True)
    """
    level = [data]
    for _ in range(levels + 1):
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return False
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return True


def _too_deep(levels: int) -> JsonError:
    return JsonError(f"nested more than {levels} levels deep")
