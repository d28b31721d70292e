"""A Parquet file in an object store, read some row groups at a time.

Its footer says where each group lies. The groups of some rows are written into a file on this machine, where they stand
in the object, and the footer with them: whoever reads those rows there finds them, and nothing else takes room.
"""

from __future__ import annotations

import shutil
from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise
from pathlib import Path

from msgspec.structs import replace

from rubrica.runs.objects.object_store import ObjectStoreError
from rubrica.runs.objects.ranged_file import RangedFile

from .parquet_size import LARGEST_FOOTER, MAGIC, ParquetSizeError, RowGroup, row_groups

_ENDING = 65_536
"""Bytes of the end that are fetched at once: most footers are shorter."""


class RowWindow:
    """A file with some row groups of a table. It goes when nobody uses it any more."""

    def __init__(self, path: Path, groups: range) -> None:
        self.path, self.groups = path, groups
        self._users = 1
        path.parent.mkdir()

    def hold(self) -> RowWindow:
        self._users += 1
        return self

    def release(self) -> None:
        self._users -= 1
        if not self._users:
            shutil.rmtree(self.path.parent)


class RangedTable:
    """A table of which the groups are fetched that are asked for, each once while rows are asked for in order."""

    def __init__(self, file: RangedFile, place: Path, groups: list[RowGroup], ending: bytes) -> None:
        self._file, self._place, self._groups, self._ending = file, place, groups, ending
        self._ends = list(accumulate(group.rows for group in groups))
        self.rows = self._ends[-1] if groups else 0
        self.size = file.size  # bytes
        self._made = 0
        self._current = self._window(range(0))
        self.path = self._current.hold().path
        """A file that tells the columns and how many rows there are."""

    @classmethod
    def open(cls, file: RangedFile, place: Path) -> RangedTable | None:
        """A table whose windows lie beside `place`, under its name; None where it has to be fetched whole."""
        try:
            ending = file.read(max(file.size - min(_ENDING, file.range_bytes), 0), file.size)
            length = int.from_bytes(ending[-8:-4], "little") + 8
            if ending[-4:] != MAGIC or length > min(LARGEST_FOOTER, file.size):
                return None
            if length > len(ending):
                ending = file.read(file.size - length, file.size)
            groups = row_groups(ending[-length:-8])
        except (ObjectStoreError, ParquetSizeError):
            return None  # a store that gives no ranges, or a file that whoever reads it complains of
        data = groups[-1].end if groups else len(MAGIC)
        in_order = all(one.end <= other.start for one, other in pairwise(groups))
        if not in_order or not len(MAGIC) <= data <= file.size - length:
            return None
        after = min(file.size - data, LARGEST_FOOTER)  # what stands between the last group and the footer belongs to it
        if after > len(ending):
            ending = file.read(file.size - after, file.size)
        starts = [*(group.start for group in groups[1:]), data]  # not all that belongs to a group counts for it
        together = [replace(group, end=start) for group, start in zip(groups, starts, strict=True)] if groups else []
        return cls(file, place, together, ending[-after:])

    def window(self, start: int, end: int) -> RowWindow:
        """A file that has some rows in their places. It is there until the next one is asked for, or as long as
        somebody holds it."""
        wanted = range(bisect_right(self._ends, start), min(bisect_left(self._ends, end) + 1, len(self._groups)))
        have = self._current.groups
        if wanted and not (wanted.start in have and wanted[-1] in have):
            window = self._window(wanted)
            self._current.release()
            self._current = window
        return self._current

    def _window(self, groups: range) -> RowWindow:
        self._made += 1
        window = RowWindow(self._place.parent / f"rows-{self._made}" / self._place.name, groups)
        with window.path.open("wb") as stream:
            stream.write(MAGIC)
            stream.seek(self._file.size - len(self._ending))
            stream.write(self._ending)
        for number in groups:
            start, end = self._groups[number].start, self._groups[number].end
            if self._made > 1 and number in self._current.groups:
                _copy(self._current.path, window.path, start, end)
            else:
                self._file.write_to(window.path, start, end)
        return window


def _copy(source: Path, target: Path, start: int, end: int) -> None:
    with source.open("rb") as reading, target.open("r+b") as writing:
        reading.seek(start)
        writing.seek(start)
        for at in range(start, end, _ENDING):
            writing.write(reading.read(min(_ENDING, end - at)))
