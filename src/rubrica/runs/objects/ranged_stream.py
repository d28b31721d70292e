"""An object that is read once, from its beginning on: a range is fetched when its turn comes, and goes again."""

from __future__ import annotations

from collections.abc import Callable
from io import RawIOBase
from typing import TYPE_CHECKING

from .object_store import ObjectInfo, ObjectStore

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

RANGE_BYTES = 8_000_000


class RangedStream(RawIOBase):
    """The bytes of an object. Between two ranges nothing is open, so that a reader may take hours over each."""

    def __init__(
        self, store: ObjectStore, key: str, size: int, check: Callable[[ObjectInfo], None], range_bytes: int
    ) -> None:
        """`check` is told what the object is whenever some of it is fetched, and raises where it is another one."""
        super().__init__()
        self._store, self._key, self._size, self._check = store, key, size, check
        self._each = range_bytes
        self._fetched = 0  # bytes of the object
        self._block, self._used = b"", 0

    def readable(self) -> bool:
        return True

    def head(self) -> bytes:
        """The first range. It is there to be read as well."""
        if not self._fetched:
            self._fetch()
        return self._block

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self._used == len(self._block) and self._fetched < self._size:
            self._fetch()
        wanted = memoryview(buffer)
        taken = self._block[self._used : self._used + len(wanted)]
        wanted[: len(taken)] = taken
        self._used += len(taken)
        return len(taken)

    def _fetch(self) -> None:
        end = min(self._fetched + self._each, self._size)
        self._block, found = self._store.read_range(self._key, self._fetched, end)
        self._check(found)
        self._fetched, self._used = end, 0
