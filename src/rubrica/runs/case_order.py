"""The order of a run's cases, while models answer in any order: where each evaluation stands, and whose turn it is."""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import weakref
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from rubrica.errors import RubricaError

Item = TypeVar("Item")

MOST_HELD = 20_000
"""Results that wait for one of an earlier case, beyond which none is waited for any more."""
_START = struct.Struct("=Q")
_BLOCK = 8192 * _START.size


class CaseOrder:
    """Where the evaluation of each case begins in a file, by the number of the case. It lies in a temporary file, so
    that memory does not grow with it.

    >>> order = CaseOrder()
    >>> for number, start in ((2, 0), (0, 50), (3, 90)):
    ...     order.place(number, start)
    >>> list(order.starts()), order.is_ascending()
    ([50, 0, 90], False)
    """

    def __init__(self) -> None:
        try:
            self._file, name = tempfile.mkstemp(prefix="rubrica-")
            weakref.finalize(self, os.close, self._file)
            Path(name).unlink()
        except OSError as error:
            raise _full(error) from None

    def place(self, number: int, start: int) -> None:
        try:
            os.pwrite(self._file, _START.pack(start + 1), number * _START.size)
        except OSError as error:
            raise _full(error) from None

    def starts(self) -> Iterator[int]:
        """In the order of the cases; those without an evaluation are left out."""
        at = 0
        while block := os.pread(self._file, _BLOCK, at):
            at += len(block)
            for (start,) in _START.iter_unpack(block):
                if start:
                    yield start - 1

    def is_ascending(self) -> bool:
        """Whether the evaluations stand in the order of their cases already."""
        return all(one < other for one, other in pairwise(self.starts()))

    def copy_lines(self, source: BinaryIO, target: BinaryIO) -> Iterator[bytes]:
        """Copy the lines that begin there; each is given once it is copied."""
        if not os.fstat(source.fileno()).st_size:  # which cannot be mapped
            return
        with mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as lines:  # lines in any order need no seeking
            for start in self.starts():
                end = lines.find(b"\n", start) + 1
                line = lines[start : end or len(lines)]
                target.write(line)
                yield line


class CaseTurns(Generic[Item]):
    """Puts results into the order of their cases: one that comes early is held until its turn.

    >>> turns = CaseTurns[str]()
    >>> [turns.add(number, f"case {number}") for number in (1, 0, 3)]
    [[], ['case 0', 'case 1'], []]
    >>> turns.skip(2)
    >>> turns.due(), turns.is_complete
    (['case 3'], True)
    """

    def __init__(self, most: int = MOST_HELD) -> None:
        self._most = most
        self._next = 0
        self._held: dict[int, Item | None] = {}
        self._is_lost = False

    @property
    def is_complete(self) -> bool:
        """Whether all that came was given in its turn."""
        return not self._held and not self._is_lost

    def add(self, number: int | None, item: Item) -> list[Item]:
        """Take the result of a case, and give those whose turn it is now. Without a number, no more has a turn."""
        if number is None or len(self._held) >= self._most:
            self._is_lost = True
            self._held.clear()
        if self._is_lost or number is None:
            return []
        self._held[number] = item
        return self.due()

    def skip(self, number: int) -> None:
        """A case has no result. Those after it come with the next one, or are due."""
        if not self._is_lost:
            self._held[number] = None

    def due(self) -> list[Item]:
        """Those whose turn it is now."""
        due = []
        while self._next in self._held:
            if (own := self._held.pop(self._next)) is not None:
                due.append(own)
            self._next += 1
        return due


def _full(error: OSError) -> RubricaError:
    place = tempfile.gettempdir()
    return RubricaError(f"a temporary file in {place} cannot be written: {error.strerror} (TMPDIR names another place)")
