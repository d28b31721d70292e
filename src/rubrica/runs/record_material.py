"""Cases that are in memory: mappings one after the other, or the rows of a polars or pandas frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from rubrica.engine.cases import BadLine, Case, case_from
from rubrica.errors import InputError

from .files.case_source import CaseSource
from .material import RunMaterial

RECORDS = "records"
"""What the manifest of a run says where its cases came from no file."""
_PANDAS_EMPTY = ("NAType", "NaTType")
"""The types of pandas.NA and pandas.NaT, neither of which can be compared as others can."""


class RecordMaterial(RunMaterial):
    """Records of a program, each a case. Those that can be read once only are read once only."""

    distributable: ClassVar[bool] = True

    def __init__(self, records: Any) -> None:
        self._records = records
        self._count = _count_of(records)

    @contextmanager
    def opened(self) -> Iterator[CaseSource]:
        yield _RecordCases(_rows(self._records), self._count)

    def count(self) -> int | None:
        return self._count


class _RecordCases:
    """Records as they are drawn."""

    notes: tuple[str, ...] = ()

    def __init__(self, rows: Iterable[Any], size: int | None) -> None:
        self._rows = rows
        self.size = size
        self.read = 0

    def cases(self) -> Iterator[Case | BadLine]:
        for number, row in enumerate(self._rows, 1):
            self.read = number
            if not isinstance(row, Mapping):
                yield BadLine(number, f"a case is a mapping with at least a response, not {type(row).__name__}")
                continue
            yield case_from({str(name): value for name, value in row.items() if not _is_missing(value)}, number)


def _rows(records: Any) -> Iterable[Any]:
    if hasattr(records, "collect_schema") and hasattr(records, "lazy"):  # polars, lazy or not
        records = records.lazy().collect()
        return (row for row in records.iter_rows(named=True))
    if hasattr(records, "itertuples") and hasattr(records, "columns"):  # pandas
        names = [str(name) for name in records.columns]
        return (dict(zip(names, map(_plain, row), strict=True)) for row in records.itertuples(index=False, name=None))
    if isinstance(records, Mapping) or not isinstance(records, Iterable):
        raise InputError(f"cases are a file, a frame, or records one after the other, not {type(records).__name__}")
    return records


def _count_of(records: Any) -> int | None:
    try:
        return len(records)
    except TypeError:
        return None


def _plain(cell: Any) -> Any:
    """A cell of a pandas frame as Python has it: figures of numpy become figures."""
    return cell.item() if hasattr(cell, "item") and getattr(cell, "ndim", 1) == 0 else cell


def _is_missing(value: object) -> bool:
    """Whether a cell is empty: None, a NaN, or what pandas has for it in columns of texts, flags and dates.

    >>> _is_missing(None), _is_missing(float("nan")), _is_missing("")
    (True, True, False)
    """
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in _PANDAS_EMPTY
