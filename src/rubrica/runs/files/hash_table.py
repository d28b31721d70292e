"""A table of eight-byte numbers by eight-byte numbers, in a quarter of the memory that a dict of them takes."""

from __future__ import annotations

from array import array

_FREE = 0  # no key is 0: it is moved to 1
_SMALLEST = 1024
_MASK = (1 << 64) - 1


class HashTable:
    """Numbers from 0 to 2⁶⁴ - 1 by well-mixed numbers of that size, such as hashes.

    >>> table = HashTable()
    >>> table.put(7, 1)
    >>> table.get(7), table.get(8), len(table)
    (1, None, 1)
    """

    def __init__(self) -> None:
        self._count = 0
        self._keys = array("Q", bytes(8 * _SMALLEST))
        self._values = array("Q", bytes(8 * _SMALLEST))

    def __len__(self) -> int:
        return self._count

    def get(self, key: int) -> int | None:
        place = self._place(key)
        return self._values[place] if self._keys[place] != _FREE else None

    def put(self, key: int, value: int) -> None:
        """Set a value, or replace it."""
        place = self._place(key)
        if self._keys[place] == _FREE:
            if 3 * self._count >= 2 * len(self._keys):
                self._grow()
                place = self._place(key)
            self._keys[place] = key or 1
            self._count += 1
        self._values[place] = value & _MASK

    def _place(self, key: int) -> int:
        """Where a key is, or would be."""
        key = key or 1
        keys, last = self._keys, len(self._keys) - 1
        place = key & last
        while keys[place] not in (key, _FREE):
            place = (place + 1) & last
        return place

    def _grow(self) -> None:
        keys, values = self._keys, self._values
        self._keys = array("Q", bytes(16 * len(keys)))
        self._values = array("Q", bytes(16 * len(keys)))
        for key, value in zip(keys, values, strict=True):
            if key != _FREE:
                place = self._place(key)
                self._keys[place], self._values[place] = key, value
