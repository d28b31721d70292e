"""Records as columns where they are simple, and one at a time where they are not.

A record is simple when its Context would hold its texts and values just as they are written: no chat, no earlier
rounds, no pictures, no nested metadata, and texts that are texts. All others are read as cases, as everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import add, itemgetter
from typing import Any, NamedTuple

import msgspec

from rubrica.engine.cases import OWN_KEYS, BadLine, Case, id_of, read_case
from rubrica.model.context import Context, Metadata
from rubrica.model.evidence import Field

from .bulk_chunk import Chunk

SIMPLE: dict[str, type] = {"prompt": str, "response": str, "custom_metrics": dict}
NOT_SIMPLE = frozenset((Context.model_fields.keys() - SIMPLE.keys()) | Metadata.model_fields.keys() | {"expect"})
"""Keys that make a record one to read as a case: what they hold is checked or changed on its way into a Context."""
NEVER_NAMED = frozenset(Context.model_fields.keys() | {*OWN_KEYS})
"""Keys that no formula reads by name."""
MOST_BRACKETS = 150
"""A line with more may be nested too deeply; whether it is, the reader of cases knows."""
FIELDS: tuple[Field, ...] = ("prompt", "response")

_decode = msgspec.json.Decoder().decode
_NOTHING: dict[str, Any] = {}


class Records(NamedTuple):
    """Some records: the simple ones as columns, the others as cases."""

    chunk: Chunk | None
    odd: list[Case | BadLine]
    case: Callable[[int], Case | BadLine]  # a row of the chunk, should it turn out not to be simple


def all_odd(lines: Sequence[bytes], first: int) -> Records:
    """Read JSON lines as cases."""
    rows = [row for row, line in enumerate(lines) if line and not line.isspace()]
    return Records(None, [read_case(lines[row], first + row) for row in rows], lambda row: read_case(lines[row], first))


def from_lines(lines: Sequence[bytes], first: int, names: frozenset[str]) -> Records:
    """Read JSON lines; `first` is the number of the first of them, `names` are those to keep of each record.

    Lines of more than `LONGEST_TEXT` bytes are for `all_odd`.
    """
    rows: Sequence[int] = range(len(lines))
    if not all(lines) or any(map(bytes.isspace, lines)):  # empty lines are passed over
        rows = [row for row in rows if lines[row] and not lines[row].isspace()]
    odd: list[Case | BadLine] = []
    found = _all_simple([lines[row] for row in rows])
    if found is None:
        tried = [(row, _simple(lines[row])) for row in rows]
        odd = [read_case(lines[row], first + row) for row, data in tried if data is None]
        rows = [row for row, data in tried if data is not None]
        found = [data for _, data in tried if data is not None]
    chunk = _chunk(found, [first + row for row in rows], names) if found else None
    return Records(chunk, odd, lambda row: read_case(lines[rows[row]], first + rows[row]))


def _all_simple(lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """The records of lines that are all simple, looked at a column at a time; None where one is not."""
    try:
        found = [_decode(line) for line in lines]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not set(map(type, found)) <= {dict}:
        return None
    shapes = set(map(tuple, found))  # the keys of records, which are few
    if any(not NOT_SIMPLE.isdisjoint(keys) for keys in shapes):
        return None
    for name, kind in SIMPLE.items():
        if all(name in keys for keys in shapes):
            types = set(map(type, map(itemgetter(name), found)))
        else:
            types = {type(data[name]) for data in found if name in data}
        if not types <= {kind}:
            return None
    nested = map(add, map(bytes.count, lines, repeat(b"[")), map(bytes.count, lines, repeat(b"{")))
    return found if max(nested, default=0) <= MOST_BRACKETS else None


def _simple(line: bytes) -> dict[str, Any] | None:
    """The record of a line that is simple; None where it is not."""
    found = _all_simple([line])
    return None if found is None else found[0]


def _chunk(found: Sequence[dict[str, Any]], numbers: Sequence[int], names: frozenset[str]) -> Chunk:
    cases = [data.get("id") for data in found]
    if not set(map(type, cases)) <= {str} or "" in cases:
        cases = [id_of(case, number) for case, number in zip(cases, numbers, strict=True)]
    texts: dict[Field, Sequence[bytes]] = {}
    for field in FIELDS:
        if any(field in data for data in found):
            texts[field] = [data.get(field, "").encode() for data in found]
    metrics = [data.get("custom_metrics", _NOTHING) for data in found]
    given = {}
    for name in names:
        values = [inside.get(name) for inside in metrics]
        if None in values and name not in NEVER_NAMED:
            values = [
                inside[name] if name in inside else data.get(name) for inside, data in zip(metrics, found, strict=True)
            ]
        if not values or values.count(None) < len(values):
            given[name] = values
    return Chunk(cases, numbers, texts, given)
