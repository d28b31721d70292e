"""A table of eight-byte numbers by eight-byte numbers: small in memory while it is small, on disk beyond that."""

from __future__ import annotations

import os
import struct
import tempfile
import weakref
from array import array
from collections.abc import Iterator
from pathlib import Path

from rubrica.errors import RubricaError

_FREE = 0  # no key is 0: it is moved to 1
_SMALLEST = 1024
_LARGEST_IN_MEMORY = 1 << 16
_MASK = (1 << 64) - 1
_SLOT = struct.Struct("=QQ")
_PROBED = 8 * _SLOT.size
"""Bytes that are read at once: two thirds full, most searches end within them."""
_BLOCK = 4096 * _SLOT.size
_GROWTH = 4


class HashTable:
    """Numbers from 0 to 2⁶⁴ - 1 by well-mixed numbers of that size, such as hashes.

    More than some ten thousand are kept in a temporary file, so that memory does not grow with them.

    >>> table = HashTable()
    >>> table.put(7, 1)
    >>> table.get(7), table.get(8), len(table)
    (1, None, 1)
    """

    def __init__(self, largest: int = _LARGEST_IN_MEMORY) -> None:
        self._count = 0
        self._largest = largest  # slots in memory
        self._slots: _MemorySlots | _FileSlots = _MemorySlots(_SMALLEST)

    def __len__(self) -> int:
        return self._count

    def get(self, key: int) -> int | None:
        return self._slots.find(key or 1)[1]

    def put(self, key: int, value: int) -> None:
        """Set a value, or replace it."""
        key = key or 1
        place, known = self._slots.find(key)
        if known is None:
            if 3 * self._count >= 2 * self._slots.size:
                self._grow()
                place, _ = self._slots.find(key)
            self._count += 1
        self._slots.set(place, key, value & _MASK)

    def _grow(self) -> None:
        slots, size = self._slots, _GROWTH * self._slots.size
        larger = _MemorySlots(size) if size <= self._largest else _FileSlots(size)
        for key, value in slots:
            larger.set(larger.find(key)[0], key, value)
        self._slots = larger


class _MemorySlots:
    """Keys and values side by side; a key stands at the first free place from where it belongs."""

    def __init__(self, size: int) -> None:
        self.size = size  # a power of two
        self._keys = array("Q", bytes(8 * size))
        self._values = array("Q", bytes(8 * size))

    def find(self, key: int) -> tuple[int, int | None]:
        """Where a key is, or would be, and its value."""
        keys, last = self._keys, self.size - 1
        place = key & last
        while (met := keys[place]) != key:
            if met == _FREE:
                return place, None
            place = (place + 1) & last
        return place, self._values[place]

    def set(self, place: int, key: int, value: int) -> None:
        self._keys[place], self._values[place] = key, value

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((key, value) for key, value in zip(self._keys, self._values, strict=True) if key != _FREE)


class _FileSlots:
    """The same in a file that nobody else sees. It is read and written rather than mapped, which would be memory."""

    def __init__(self, size: int) -> None:
        self.size = size
        try:
            self._file, name = tempfile.mkstemp(prefix="rubrica-")
            weakref.finalize(self, os.close, self._file)
            Path(name).unlink()
            os.ftruncate(self._file, size * _SLOT.size)
        except OSError as error:
            raise _full(error) from None

    def find(self, key: int) -> tuple[int, int | None]:
        """Where a key is, or would be, and its value."""
        place = key & (self.size - 1)
        while True:
            for met, value in _SLOT.iter_unpack(os.pread(self._file, _PROBED, place * _SLOT.size)):
                if met == key:
                    return place, value
                if met == _FREE:
                    return place, None
                place += 1
            place &= self.size - 1

    def set(self, place: int, key: int, value: int) -> None:
        try:
            os.pwrite(self._file, _SLOT.pack(key, value), place * _SLOT.size)
        except OSError as error:
            raise _full(error) from None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self.size * _SLOT.size, _BLOCK):
            for key, value in _SLOT.iter_unpack(os.pread(self._file, _BLOCK, start)):
                if key != _FREE:
                    yield key, value


def _full(error: OSError) -> RubricaError:
    place = tempfile.gettempdir()
    return RubricaError(f"a temporary file in {place} cannot be written: {error.strerror} (TMPDIR names another place)")
