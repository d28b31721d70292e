"""Records as columns where they are simple, and one at a time, as cases like everywhere else, where they are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import repeat
from typing import Any, NamedTuple

import msgspec

from rubrica.engine.cases import BadLine, Case, id_of, read_case
from rubrica.model.evidence import Field

from .chunk import Chunk
from .simple_records import FIELDS, NEVER_NAMED, NOT_SIMPLE, SIMPLE, is_shallow, lines_in
from .uniform_records import BROKEN, UniformRecords, read_uniform

_decode = msgspec.json.Decoder().decode


class Records(NamedTuple):
    """Some records: the simple ones as columns, the others as cases."""

    chunk: Chunk | None
    odd: list[Case | BadLine]
    case: Callable[[int], Case | BadLine]  # a row of the chunk, should it turn out not to be simple
    lines: int = 0  # of their file that they were read from


def read_as_cases(data: bytes, first: int) -> Records:
    """Read JSON lines as cases; `first` is the number of the first of them."""
    lines = lines_in(data)
    odd = [read_case(line, number) for number, line in enumerate(lines, first) if line and not line.isspace()]
    return Records(None, odd, odd.__getitem__, len(lines))


def from_lines(data: bytes, first: int, names: frozenset[str]) -> Records:
    """Read JSON lines; `first` is the number of the first of them, `names` are those to keep of each record.

    Lines of more than `LONGEST_TEXT` bytes are for `read_as_cases`.
    """
    alike = read_uniform(data)
    if alike is not None:
        numbers, split = range(first, first + len(alike)), cache(partial(lines_in, data))
        chunk = _chunk(alike, numbers, names) if numbers else None
        return Records(chunk, [], lambda row: read_case(split()[row], first + row), len(numbers))
    lines = lines_in(data)
    rows = [row for row, line in enumerate(lines) if line and not line.isspace()]  # empty lines are passed over
    odd: list[Case | BadLine] = []
    found = _all_simple([lines[row] for row in rows])
    if found is None:
        tried = [(row, _all_simple([lines[row]])) for row in rows]
        odd = [read_case(lines[row], first + row) for row, several in tried if several is None]
        rows = [row for row, several in tried if several is not None]
        found = [data for _, several in tried if several is not None for data in several]
    chunk = _chunk(MixedRecords(found), [first + row for row in rows], names) if found else None
    return Records(chunk, odd, lambda row: read_case(lines[rows[row]], first + rows[row]), len(lines))


class MixedRecords:
    """Simple records with any keys."""

    def __init__(self, found: Sequence[dict[str, Any]]) -> None:
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    def column(self, key: str) -> list[Any] | None:
        """What the records have under a key, or what stands for nothing; None where no record has it."""
        if not any(key in data for data in self._found):
            return None
        missing = SIMPLE[key]() if key in SIMPLE else None
        return [data.get(key, missing) for data in self._found]


def _all_simple(lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """The records of lines that are all simple, looked at a column at a time; None where one is not."""
    try:
        found = [_decode(line) for line in lines]
    except BROKEN:
        return None
    if not set(map(type, found)) <= {dict}:
        return None
    shapes = set(map(tuple, found))  # the keys of records, which are few
    if any(not NOT_SIMPLE.isdisjoint(keys) for keys in shapes):
        return None
    for name, kind in SIMPLE.items():
        if not {type(data[name]) for data in found if name in data} <= {kind}:
            return None
    return found if is_shallow(lines) else None


def _chunk(found: MixedRecords | UniformRecords, numbers: Sequence[int], names: frozenset[str]) -> Chunk:
    cases = found.column("id") or [None] * len(found)
    if not set(map(type, cases)) <= {str} or "" in cases:
        cases = [id_of(case, number) for case, number in zip(cases, numbers, strict=True)]
    texts: dict[Field, Callable[[], Sequence[str]]] = {field: partial(_texts, found, field) for field in FIELDS}
    metrics = found.column("custom_metrics")
    given = {}
    for name in names:
        values = found.column(name) if name not in NEVER_NAMED else None
        if metrics is not None:
            outer = values or repeat(None)
            values = [inside.get(name, value) for inside, value in zip(metrics, outer, strict=False)]
        if values is not None and values.count(None) < len(values):
            given[name] = values
    return Chunk(cases, numbers, texts, given)


def _texts(found: MixedRecords | UniformRecords, field: Field) -> Sequence[str]:
    return found.column(field) or [""] * len(found)
