"""The list of records inside a JSON document: the document itself, or a list somewhere in an object."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rubrica.errors import InputError

from .column_names import plain_name

DEEPEST_LIST = 8
"""Levels of an object in which lists are looked for."""
MOST_TOLD = 8
_ROOT = "the file itself"


class RecordList(msgspec.Struct, frozen=True):
    """A list of objects, where it stands, and what the objects around it say of all of them."""

    path: str  # such as data.questions; empty for the document itself
    records: Sequence[Any]
    around: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def place(self) -> str:
        return self.path or _ROOT


def record_list(data: object, wanted: str | None = None, keys: Collection[str] = ()) -> RecordList:
    """The list of records in a document; an InputError names all lists where it cannot be told which is meant.

    `wanted` names it. Otherwise it is the document, the only list of objects on the uppermost level that has one, or
    the only one of those whose records have one of `keys`, which are plain names.

    >>> found = record_list({"status": "ok", "result": {"grade": 3, "items": [{"question": "2 + 2?"}]}})
    >>> found.path, len(found.records), found.around
    ('result.items', 1, {'status': 'ok', 'grade': 3})
    """
    if isinstance(data, list) and not wanted:
        return RecordList("", data)
    found = list(_lists(data))
    if wanted:
        named = next((one for one in found if one.path == wanted), None)
        if named is None:
            raise InputError(f"there is no list of records called {wanted!r}; {_told(found)}")
        return named
    fitting = [one for one in found if keys and _has_one(one, keys)] or found
    level = min((one.path.count(".") for one in fitting), default=0)
    upper = [one for one in fitting if one.path.count(".") == level]
    if len(upper) == 1:
        return upper[0]
    if not upper:
        if isinstance(data, Mapping):
            return RecordList("", [data])
        raise InputError(f"a list of records is wanted, or an object with one, not {type(data).__name__}")
    raise InputError(f"it holds several lists of records: {_told(upper)} (name one: --records {upper[0].path})")


def _lists(data: object) -> Iterator[RecordList]:
    """Every list of objects, the uppermost first; lists inside of records are not looked at."""
    waiting: deque[tuple[str, object, dict[str, Any]]] = deque([("", data, {})])
    while waiting:
        path, value, around = waiting.popleft()
        if isinstance(value, list):
            if value and isinstance(value[0], Mapping):
                yield RecordList(path, value, around)
        elif isinstance(value, Mapping) and path.count(".") < DEEPEST_LIST:
            own = {name: item for name, item in value.items() if _is_plain(name, item)}
            for name, item in value.items():
                waiting.append((f"{path}.{name}" if path else str(name), item, {**around, **own}))


def _is_plain(name: str, value: object) -> bool:
    return isinstance(value, str | int | float) or (name == "request" and isinstance(value, Mapping))


def _has_one(found: RecordList, keys: Collection[str]) -> bool:
    first = (record for record in found.records[:5] if isinstance(record, Mapping))
    return any(plain_name(str(key)) in keys for record in first for key in record)


def _told(found: Sequence[RecordList]) -> str:
    if not found:
        return "it has none"
    names = [f"{one.place} ({len(one.records):,})" for one in found[:MOST_TOLD]]
    return ", ".join(names) + (", …" if len(found) > MOST_TOLD else "")
