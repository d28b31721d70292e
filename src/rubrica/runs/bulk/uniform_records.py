"""JSON lines whose records have the same few keys, decoded to the same few columns.

The first lines tell the keys. A line that is not as those, or is broken, and a record that is not simple make this
impossible for all that stand with them: they are then read with any keys, which gives the same and takes longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from io import BytesIO
from itertools import chain, islice
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from rubrica.jsontext import UNREADABLE

from .simple_records import MOST_BRACKETS, NOT_SIMPLE, SIMPLE, is_shallow, lines_in

SHOWN = 16
"""Lines whose keys are taken for those of all."""
MOST_KEYS = 64
BROKEN = UNREADABLE
"""What reading a line that cannot be read raises."""
_NESTED = frozenset({dict, list})
_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class RecordShape(NamedTuple):
    """Keys of records, and how to read records that have no others."""

    decoder: msgspec.json.Decoder[Any]
    attributes: dict[str, str]  # by key


class UniformRecords:
    """Simple records that have the same keys, or some of them."""

    def __init__(self, found: Sequence[Any], shape: RecordShape) -> None:
        self._found, self._shape = found, shape
        self._columns: dict[str, list[Any]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def column(self, key: str) -> list[Any] | None:
        """What the records have under a key, or what stands for nothing; None where no record has it."""
        if key not in self._shape.attributes:
            return None
        if key not in self._columns:
            self._columns[key] = list(map(attrgetter(self._shape.attributes[key]), self._found))
        return self._columns[key]

    @property
    def is_nested(self) -> bool:
        """Whether a value holds others, those under a key that is known to do so left out."""
        columns: list[Iterable[Any]] = [self.column(key) or [] for key in self._shape.attributes if key not in SIMPLE]
        columns.append(chain.from_iterable(map(dict.values, self.column("custom_metrics") or [])))
        return any(not _NESTED.isdisjoint(map(type, column)) for column in columns)


def read_uniform(data: bytes) -> UniformRecords | None:
    """The records of lines that are all simple and have the keys of the first of them; None where they are not."""
    try:
        shape = _shape(tuple({key: None for line in islice(BytesIO(data), SHOWN) for key in _keys(line)}))
        if shape is None:
            return None
        found = list(map(shape.decoder.decode, BytesIO(data)))  # a line at a time takes a quarter of splitting
    except BROKEN:
        return None
    alike = UniformRecords(found, shape)
    return alike if _has_few_brackets(data, len(found)) or not alike.is_nested or is_shallow(lines_in(data)) else None


def _has_few_brackets(data: bytes, lines: int) -> bool:
    """Whether all lines together have too few brackets for one of them to be nested too deeply."""
    return data.count(b"[") + data.count(b"{") - lines < MOST_BRACKETS


@lru_cache(maxsize=64)
def _shape(keys: tuple[str, ...]) -> RecordShape | None:
    plain = all(key.isprintable() and not {'"', "\\"} & {*key} for key in keys)  # others cannot be a field's name
    if not plain or len(keys) > MOST_KEYS or not NOT_SIMPLE.isdisjoint(keys):
        return None
    attributes = {key: f"value_{number}" for number, key in enumerate(keys)}
    kinds: list[Any] = [(attributes[key], SIMPLE.get(key, Any), SIMPLE.get(key, _nothing)()) for key in keys]
    rename = {attribute: key for key, attribute in attributes.items()}
    record = msgspec.defstruct("Record", kinds, rename=rename, forbid_unknown_fields=True, gc=False)
    return RecordShape(msgspec.json.Decoder(record), attributes)


def _nothing() -> None:
    """What stands for a value that is not given."""
