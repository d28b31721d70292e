"""An object of which only stretches are fetched: one after the other as they are read, or some into a file."""

from __future__ import annotations

from collections.abc import Callable
from io import RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING

from rubrica.errors import RubricaError

from .object_store import ObjectInfo, ObjectStore, ObjectStoreError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

RANGE_BYTES = 8_000_000


class RangedFile:
    """An object in a store that gives some of its bytes. Between two ranges nothing is open."""

    def __init__(
        self, store: ObjectStore, key: str, size: int, check: Callable[[ObjectInfo], None], range_bytes: int
    ) -> None:
        """`check` is told what the object is whenever some of it is fetched, and raises where it is another one."""
        self._store, self._key, self._check = store, key, check
        self.size, self.range_bytes = size, range_bytes

    def is_given(self) -> bool:
        """Whether the store gives ranges. One that cannot be reached is told when all is fetched."""
        try:
            return bool(self.read(0, 1))
        except ObjectStoreError:
            return False

    def read(self, start: int, end: int) -> bytes:
        """Some bytes, in one range."""
        if start == end:
            return b""
        try:
            data, found = self._store.read_range(self._key, start, end)
        except FileNotFoundError:
            raise RubricaError(f"there is no {self._store.root}/{self._key} any more") from None
        self._check(found)
        return data

    def write_to(self, path: Path, start: int, end: int) -> None:
        """Write a stretch into a file, where it stands in the object. What is not written there takes no room."""
        with path.open("r+b" if path.exists() else "wb") as stream:
            stream.seek(start)
            for at in range(start, end, self.range_bytes):
                stream.write(self.read(at, min(at + self.range_bytes, end)))


class RangedStream(RawIOBase):
    """The bytes of an object from somewhere on, read once: a range is fetched when its turn comes, and goes again."""

    def __init__(self, file: RangedFile, start: int = 0) -> None:
        super().__init__()
        self._file = file
        self._fetched = start  # up to which byte of the object
        self._block, self._used = b"", 0

    def readable(self) -> bool:
        return True

    def head(self) -> bytes:
        """The first range. It is there to be read as well."""
        if not self._block:
            self._fetch()
        return self._block

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self._used == len(self._block) and self._fetched < self._file.size:
            self._fetch()
        wanted = memoryview(buffer)
        taken = self._block[self._used : self._used + len(wanted)]
        wanted[: len(taken)] = taken
        self._used += len(taken)
        return len(taken)

    def _fetch(self) -> None:
        end = min(self._fetched + self._file.range_bytes, self._file.size)
        self._block = self._file.read(self._fetched, end)
        self._fetched, self._used = end, 0
