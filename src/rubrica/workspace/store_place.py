"""Runs of a server that lie in an object store: told by their small files, and fetched when somebody opens one."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import msgspec

from rubrica.errors import BusyError, MissingError, RubricaError
from rubrica.runs.files.manifest import Manifest
from rubrica.runs.mirror.copy import RunCopy, fetch_copy
from rubrica.runs.mirror.head import RunHead, read_head
from rubrica.runs.mirror.prune import prune_copies
from rubrica.runs.objects.address import ObjectAddress, is_address, read_address
from rubrica.runs.objects.object_store import ObjectStore, ObjectStoreError
from rubrica.runs.stored import StoredRun

from .run_access import missing_run
from .run_folders import is_run_name
from .run_listing import NOTHING, RunLine, RunOverview, line_of_head
from .run_target import PATIENCE, RunTarget, unreachable

FRESH, FINISHED_FRESH = 1.0, 60.0
"""Seconds for which what a store said of a run is believed: of one that may change, and of one that is finished."""
_AT_ONCE = 16
_MOST_LISTED = 5_000


class StorePlace:
    """What lies under a name in an object store. A web server lists nothing, but runs are found there by name."""

    def __init__(self, text: str) -> None:
        self._address = read_address(text)
        self._store = ObjectStore(self._address, PATIENCE)
        self._seen: dict[str, tuple[float, RunHead]] = {}
        self._lock = threading.Lock()

    def has(self, name: str) -> bool:
        try:
            self._head(name, FRESH)
        except MissingError:
            return False
        except BusyError:
            raise
        except RubricaError:
            return True  # and it cannot be read, as whoever opens it is told
        return True

    def manifest(self, name: str) -> Manifest | None:
        return self._head(name, FRESH).manifest

    def opened(self, name: str) -> StoredRun:
        self._head(name, FRESH)
        try:
            folder = fetch_copy(self._store, self._run(name))
        except ObjectStoreError as error:
            raise unreachable(error) from error
        if folder is None:
            raise missing_run(name)
        prune_copies()
        return replace(StoredRun.open(folder), may_read=self._may_read)

    def overview(self, name: str) -> RunOverview:
        head = self._head(name, FRESH)
        line = line_of_head(name, head)
        return RunOverview(line, head.broken, head.summary if line.state == "finished" else None)

    def lines(self, running: Mapping[str, int] = NOTHING) -> list[RunLine]:
        if self._address.is_web:
            return []
        try:
            names = [name for name in self._store.folders(self._address.key) if is_run_name(name)]
        except RubricaError as error:
            return [RunLine(str(self), "unreadable", why=str(error))]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            lines = list(pool.map(self._line, names[:_MOST_LISTED]))
        if len(names) > _MOST_LISTED:
            why = f"it holds {len(names):,} folders, of which {_MOST_LISTED:,} are listed; the others open by name"
            lines.append(RunLine(str(self), "unreadable", why=why))
        with self._lock:
            for gone in self._seen.keys() - set(names):
                del self._seen[gone]
        return [_under_way(line, running[line.name]) if line.name in running else line for line in lines]

    def forget(self, name: str) -> None:
        with self._lock:
            if (seen := self._seen.get(name)) is not None and seen[1].manifest.finished is None:
                del self._seen[name]

    def line_under_way(self, name: str, done: int) -> RunLine:
        return _under_way(line_of_head(name, self._head(name, FRESH)), done)

    def target(self, name: str) -> RunTarget | None:
        if self._address.is_web:
            return None
        run = self._run(name)
        return RunTarget(RunCopy(run).folder, str(run))

    def __str__(self) -> str:
        return str(self._address)

    def _run(self, name: str) -> ObjectAddress:
        return msgspec.structs.replace(self._address, key=self._address.under(name))

    def _may_read(self, address: str) -> bool:
        """Whoever writes a run names the files that it was made of: only what lies here, too, is opened for it."""
        return is_address(address) and self._address.holds(ObjectAddress.of(address))

    def _line(self, name: str) -> RunLine:
        try:
            return line_of_head(name, self._head(name, FINISHED_FRESH))
        except MissingError:
            return RunLine(name, "unreadable", why=f"{self._run(name)} holds no run")
        except RubricaError as error:
            return RunLine(name, "unreadable", why=str(error))

    def _head(self, name: str, finished_fresh: float) -> RunHead:
        """What the store says of a run, or said a moment ago."""
        if not is_run_name(name) or not name.isprintable():
            raise missing_run(name)
        now = time.monotonic()
        with self._lock:
            at, known = self._seen.get(name, (now, None))
        if known is not None and now - at < (FRESH if known.manifest.finished is None else finished_fresh):
            return known
        try:
            head = read_head(self._store, self._run(name), known)
        except ObjectStoreError as error:
            raise unreachable(error) from error
        if head is None:
            raise missing_run(name)
        with self._lock:
            self._seen[name] = now, head
        return head


def _under_way(line: RunLine, done: int) -> RunLine:
    return replace(line, state="running", evaluations=done, why="")
