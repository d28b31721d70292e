"""The copy that this machine has of a run in an object store: which committed segments lie in it, and fetching more."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self
from uuid import uuid4

import msgspec

from rubrica.errors import RubricaError
from rubrica.file_lock import hold_lock, is_locked
from rubrica.files import make_private_folder
from rubrica.jsontext import UNREADABLE
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.folder import LOCK
from rubrica.runs.files.manifest import MANIFEST
from rubrica.runs.objects.address import ObjectAddress, read_address
from rubrica.runs.objects.object_store import ObjectStore

from .index import SEGMENTS, FileSegments, MirrorIndex

STATE, COPY_LOCK, FETCH_LOCK = "state.json", "copy.lock", "fetch.lock"
LONGEST_FETCH = 3_600.0
"""Seconds to wait for somebody else who fetches the same run."""
_TRIES = 5


class FileState(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was when its segments were committed or fetched."""

    inode: int
    size: int
    changed: int  # nanoseconds
    segments: FileSegments

    @classmethod
    def of(cls, path: Path, segments: FileSegments = ()) -> Self:
        known = path.stat()
        return cls(known.st_ino, known.st_size, known.st_mtime_ns, segments)

    def is_same(self, other: FileState) -> bool:
        return (self.inode, self.size, self.changed) == (other.inode, other.size, other.changed)


class CopyState(msgspec.Struct, frozen=True):
    """What of a run is known to be committed."""

    id: str  # of this copy
    version: str = ""  # of the index; empty: nothing was fetched or committed
    files: Mapping[str, FileState] = {}


class RunCopy:
    """The folder in which a run of an object store is worked on and read. It stays where it is, as a cache."""

    def __init__(self, address: ObjectAddress) -> None:
        self.address = address
        name = hashlib.sha256(str(address).rstrip("/").encode()).hexdigest()[:16]
        self.place = copies_home() / name
        self.folder = self.place / (address.key.rstrip("/").rpartition("/")[2] or address.place)
        self.state = CopyState(uuid4().hex)

    @contextmanager
    def held(self) -> Iterator[None]:
        """The copy for a driver alone; a LockHeldError where another one has it."""
        make_private_folder(self.place)
        with hold_lock(self.place / COPY_LOCK):
            with self.fetching():
                if not self.state.version:
                    self.remember("", {})  # so that its id is known, should this process die
            yield

    @contextmanager
    def fetching(self) -> Iterator[None]:
        """The copy for this process alone while it is brought up to date; whoever else does that is waited for."""
        make_private_folder(self.place)
        with hold_lock(self.place / FETCH_LOCK, LONGEST_FETCH):
            self.state = self._read()
            os.utime(self.place)  # it is used now
            yield

    def fetch(self, store: ObjectStore) -> MirrorIndex | None:
        """Bring the folder up to what is committed; None where nothing is. What the folder has beyond the same
        commit stays."""
        for _ in range(_TRIES):
            index = MirrorIndex.read(store, self.address)
            if index is None or (index.version == self.state.version and self.folder.is_dir()):
                return index
            try:
                self._fetch(store, index)
            except FileNotFoundError:
                continue  # a segment was replaced meanwhile, and the index with it
            return index
        raise RubricaError(f"{self.address} changes faster than it can be fetched; try again when its run is done")

    def remember(self, version: str, files: Mapping[str, FileState]) -> None:
        """Write down what is committed."""
        self.state = CopyState(self.state.id, version, files)
        with write_atomically(self.place / STATE) as place:
            place.write_bytes(msgspec.json.encode(self.state))

    def _fetch(self, store: ObjectStore, index: MirrorIndex) -> None:
        make_private_folder(self.folder)
        files = {name: self._fetch_file(store, name, segments) for name, segments in index.files.items()}
        for path in scan(self.folder):
            if path.relative_to(self.folder).as_posix() not in files:
                path.unlink(missing_ok=True)
        for folder, _, _ in os.walk(self.folder, topdown=False):
            if folder != str(self.folder):
                with suppress(OSError):  # not empty
                    Path(folder).rmdir()
        self.remember(index.version, files)

    def _fetch_file(self, store: ObjectStore, name: str, segments: FileSegments) -> FileState:
        path, known = self.folder / name, self.state.files.get(name)
        if known is not None and known.segments == segments and path.exists() and known.is_same(FileState.of(path)):
            return known
        make_private_folder(path.parent)
        unfinished = self.place / "unfinished"
        unfinished.write_bytes(b"")
        for segment in segments:
            store.copy_to(self.address.under(f"{SEGMENTS}/{segment.name}"), unfinished, adding=True)
        if unfinished.stat().st_size != sum(segment.size for segment in segments):
            raise RubricaError(f"{self.address}: {name} is not as long as its index says; run it anew")
        unfinished.replace(path)
        return FileState.of(path, segments)

    def _read(self) -> CopyState:
        try:
            return msgspec.json.decode((self.place / STATE).read_bytes(), type=CopyState)
        except (FileNotFoundError, *UNREADABLE):
            return self.state


def open_copy(text: str) -> Path:
    """The folder of a run that lies in an object store, as it is committed."""
    folder = find_copy(text)
    if folder is None:
        raise RubricaError(f"there is no run at {text} (`rubrica run CASES -o {text}` makes one)")
    return folder


def find_copy(text: str) -> Path | None:
    """The same; None where no run is."""
    address = read_address(text)
    return fetch_copy(ObjectStore(address), address)


def fetch_copy(store: ObjectStore, address: ObjectAddress) -> Path | None:
    """The same, from a store that is open. A run that a process of this machine works on is as that process has it."""
    copy = RunCopy(address)
    with copy.fetching():
        if is_locked(copy.place / COPY_LOCK):
            return copy.folder if (copy.folder / MANIFEST).is_file() else None
        return copy.folder if copy.fetch(store) is not None else None


def scan(folder: Path) -> list[Path]:
    """The files of a run that are its own: no locks, and nothing that is unfinished."""
    found = (Path(place) / name for place, _, names in os.walk(folder) for name in names)
    return sorted(path for path in found if not path.name.startswith(".") and path.name != LOCK)


def copies_home() -> Path:
    """Where the copies of runs lie."""
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "rubrica" / "runs"
