"""What a Parquet file unfolds to, told from its footer and the headers of its pages before any page is unpacked.

A few kilobytes may stand for millions of rows, or for one page of gigabytes. The footer says how many rows and pages
there are; the header of each page says how many bytes a reader will set aside for it, and how many values it holds.
"""

from __future__ import annotations

from typing import Any

import msgspec

MAGIC = b"PAR1"
LARGEST_FOOTER = 5_000_000
MOST_PAGES = 50_000
_DEEPEST = 16
_LONGEST_HEADER = 65_536

_TRUE, _FALSE, _BYTE, _SHORT, _INT, _LONG, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)


class ParquetSizeError(ValueError):
    """The footer or a page header cannot be read."""


class ParquetSize(msgspec.Struct, frozen=True):
    """How much a reader of the whole file has to hold."""

    rows: int
    values: int  # of all columns; lists count by their members
    page_bytes: int  # unpacked


def parquet_size(data: bytes) -> ParquetSize:
    """The sizes that a file declares where a reader believes them; a ParquetSizeError where it is none."""
    if len(data) < 12 or data[:4] != MAGIC or data[-4:] != MAGIC:
        raise ParquetSizeError("it does not begin and end as Parquet does")
    length = int.from_bytes(data[-8:-4], "little")
    if length > min(len(data) - 12, LARGEST_FOOTER):
        raise ParquetSizeError(f"its footer has {length:,} bytes")
    footer = _Compact(data[-8 - length : -8]).struct()
    rows = values = page_bytes = pages = 0
    for group in _list(footer, 4):
        rows += max(_number(group, 3), 0)
        for column in _list(group, 1):
            for header in _pages(data, _struct(column, 3)):
                pages += 1
                if pages > MOST_PAGES:
                    raise ParquetSizeError(f"it has more than {MOST_PAGES:,} pages")
                page_bytes += max(_number(header, 2), 0)
                held = header.get(5) or header.get(8)  # a page of data, of the first or the second version
                values += max(_number(held, 1), 0) if isinstance(held, dict) else 0
    return ParquetSize(max(rows, _number(footer, 1 + 2)), values, page_bytes)


class RowGroup(msgspec.Struct, frozen=True):
    """Some rows of a file that lie together."""

    rows: int
    start: int  # the first of its bytes
    end: int


def row_groups(footer: bytes) -> list[RowGroup]:
    """The groups that a footer names; a ParquetSizeError where it cannot be read."""
    return [_row_group(group) for group in _list(_Compact(footer).struct(), 4)]


def _row_group(group: dict[int, Any]) -> RowGroup:
    columns = [_struct(column, 3) for column in _list(group, 1)]
    starts = [min(_number(column, key) for key in (9, 11) if key in column) for column in columns if 9 in column]
    if len(starts) < len(columns) or not starts:
        raise ParquetSizeError("a column has no place")
    ends = [start + _number(column, 7) for start, column in zip(starts, columns, strict=True)]
    found = RowGroup(_number(group, 3), min(starts), max(ends))
    if found.rows < 0 or found.start < len(MAGIC) or found.end < found.start:
        raise ParquetSizeError("a row group has no place")
    return found


def _pages(data: bytes, column: dict[int, Any]) -> Any:
    """The headers of a column's pages."""
    starts = [place for key in (9, 11) if (place := column.get(key)) is not None]
    if not starts or not all(isinstance(place, int) and 4 <= place < len(data) for place in starts):
        raise ParquetSizeError("a column lies outside of the file")
    place, wanted, found = min(starts), _number(column, 5), 0
    while found < wanted:
        if not 4 <= place < len(data):
            raise ParquetSizeError("a page lies outside of the file")
        reader = _Compact(data[place : place + _LONGEST_HEADER])
        header = reader.struct()
        yield header
        held = header.get(5) or header.get(8)
        found += max(_number(held, 1), 0) if isinstance(held, dict) else 0
        packed = _number(header, 3)
        if packed < 0:
            raise ParquetSizeError("a page has no length")
        place += reader.at + packed


def _number(found: dict[int, Any], key: int) -> int:
    value = found.get(key)
    if not isinstance(value, int):
        raise ParquetSizeError("a number is missing")
    return value


def _list(found: dict[int, Any], key: int) -> list[dict[int, Any]]:
    value = found.get(key)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ParquetSizeError("a list is missing")
    return value


def _struct(found: dict[int, Any], key: int) -> dict[int, Any]:
    value = found.get(key)
    if not isinstance(value, dict):
        raise ParquetSizeError("the description of a column is missing")
    return value


class _Compact:
    """Reads Thrift's compact protocol, which Parquet describes itself in: structs as values by field number."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _DEEPEST:
            raise ParquetSizeError("its description is nested too deeply")
        found: dict[int, Any] = {}
        number = 0
        while True:
            head = self._byte()
            kind, step = head & 15, head >> 4
            if kind == 0:
                return found
            number = number + step if step else self._zigzag()
            found[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_SHORT, _INT, _LONG):
            return self._zigzag()
        if kind == _BINARY:
            return self._skip(self._varint())
        if kind in (_LIST, _SET):
            return self._items(depth)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_TRUE, _FALSE, _BYTE):  # in a list, each takes a byte
            return self._byte()
        if kind == _DOUBLE:
            return self._skip(8)
        raise ParquetSizeError("its description cannot be read")

    def _items(self, depth: int) -> list[Any]:
        if depth > _DEEPEST:
            raise ParquetSizeError("its description is nested too deeply")
        head = self._byte()
        size, kind = head >> 4, head & 15
        size = self._varint() if size == 15 else size
        if size > len(self._data) - self.at:
            raise ParquetSizeError("a list is longer than the file")
        return [self._value(kind, depth + 1) for _ in range(size)]

    def _skip(self, length: int) -> None:
        if length > len(self._data) - self.at:
            raise ParquetSizeError("a text is longer than the file")
        self.at += length

    def _byte(self) -> int:
        if self.at >= len(self._data):
            raise ParquetSizeError("its description is cut off")
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        result = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            result |= (byte & 127) << shift
            if byte < 128:
                return result
        raise ParquetSizeError("a number is too long")

    def _zigzag(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)
