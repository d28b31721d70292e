"""How a file that others made is to be read: which column is what, and where its records lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

import msgspec

from rubrica.errors import InputError

from .table_rows import TableRow

KeyBase = Literal[0, 1]
LOOKED_AT = 200
"""Rows whose names are the columns of a file of JSON."""
MOST_NAMED = 30
_SEVERAL = ","


class FileLayout(msgspec.Struct, frozen=True):
    """What whoever owns the file says of it; what is left out is as it is."""

    columns: Mapping[str, str] = msgspec.field(
        default_factory=dict
    )  # field ← column, several with commas, or a.b inside
    records: str | None = None  # the list in a JSON document, or the sheet of a workbook
    key_base: KeyBase | None = None  # what the first option's number is, where keys are numbers

    @property
    def options(self) -> dict[str, Any]:
        """As the manifest of a run says it."""
        told = {"map": dict(self.columns), "records": self.records, "key_base": self.key_base}
        return {name: value for name, value in told.items() if value not in (None, {})}

    def check(self, columns: Sequence[str]) -> None:
        """An InputError where a column is named that is not there."""
        for name, column in self.columns.items():
            missing = [part for part in self.parts(column, columns) if not _is_there(part, columns)]
            if missing:
                raise InputError(
                    f"--map {name}={column}: there is no column {missing[0]!r}; there are {column_words(columns)}"
                )

    def parts(self, column: str, columns: Iterable[str]) -> list[str]:
        """The columns that are meant: one, or several between commas."""
        if _SEVERAL not in column or column in columns:
            return [column]
        return [part.strip() for part in column.split(_SEVERAL)]

    def apply(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """A row under the names of the fields. Columns that are not mapped keep their names.

        >>> FileLayout({"question": "item.stem", "options": "A,B"}).apply({"item": {"stem": "2+2?"}, "A": 3, "B": 4})
        {'item': {'stem': '2+2?'}, 'question': '2+2?', 'options': {'A': 3, 'B': 4}}
        """
        if not self.columns:
            return dict(data)
        used: set[str] = set()
        found: dict[str, Any] = {}
        for name, column in self.columns.items():
            parts = self.parts(column, data)
            values = [value_at(data, part) for part in parts]
            used.update(parts)
            value: Any = values[0] if len(parts) == 1 else _lettered(values)
            if value not in (None, "", {}):
                found[name] = value
        return {**{name: value for name, value in data.items() if name not in used}, **found}


AS_IT_IS = FileLayout()


class UnmappedError(InputError):
    """A file has no column for what is judged; `columns` are those it has."""

    def __init__(self, file: str, columns: Sequence[str]) -> None:
        said = f"{file} has no column `response` or `messages`; it has {column_words(columns)}"
        super().__init__(f"{said} (rename one, or say which it is: --map response=COLUMN)")
        self.said, self.columns = said, tuple(columns)


def columns_of(rows: Iterable[TableRow]) -> list[str]:
    """The names that the first rows have; what is inside of an object as a.b."""
    names: dict[str, None] = {}
    for row in islice(rows, LOOKED_AT):
        for name, value in row.data.items():
            names[name] = None
            if isinstance(value, Mapping):
                names.update(dict.fromkeys(f"{name}.{inner}" for inner in value))
    return list(names)


def value_at(data: Mapping[str, Any], name: str) -> Any:
    """A cell by the name of its column, or by a path into the objects that it holds.

    >>> value_at({"a.b": 1}, "a.b"), value_at({"a": {"b": 2}}, "a.b"), value_at({"a": 3}, "a.b")
    (1, 2, None)
    """
    if name in data:
        return data[name]
    found: Any = data
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def column_words(columns: Sequence[str]) -> str:
    return ", ".join(columns[:MOST_NAMED]) + (", …" if len(columns) > MOST_NAMED else "") or "no columns"


def _is_there(name: str, columns: Sequence[str]) -> bool:
    return name in columns or name.count(".") > 1 or any(column.startswith(f"{name}.") for column in columns)


def _lettered(values: Sequence[Any]) -> dict[str, Any]:
    return {chr(ord("A") + place): value for place, value in enumerate(values) if value not in (None, "")}
