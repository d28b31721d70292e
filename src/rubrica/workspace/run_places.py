"""Where the runs of a server lie: folders of this machine and places in object stores. Nothing else is ever opened.

Whoever runs the server names the places. A name from an address is looked for in each of them, in order, and never
leads out of them. The first place is the server's own folder, where runs are started and files of cases are kept; what
lies in the others is read as it is there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import msgspec

from rubrica.errors import BusyError, InputError, MissingError, RubricaError
from rubrica.model.rubric import Rubric
from rubrica.runs.files.append_only import finished_lines
from rubrica.runs.files.folder import ERRORS
from rubrica.runs.files.manifest import Manifest, read_manifest
from rubrica.runs.mirror.copy import fetch_copy
from rubrica.runs.mirror.head import RunHead, read_head
from rubrica.runs.mirror.prune import prune_copies
from rubrica.runs.objects.address import ObjectAddress, is_address, read_address
from rubrica.runs.objects.object_store import ObjectStore, ObjectStoreError
from rubrica.runs.stored import StoredRun

from .run_access import missing_run
from .run_folders import is_run_name, new_run_path, run_path
from .run_listing import NOTHING, RunLine, RunListings, latest_first, line_of_head, read_line, read_summary

LOG = logging.getLogger("rubrica.server")
PATIENCE = 5.0
"""Seconds for which a store that fails is asked again, while somebody waits for a page."""
FRESH, FINISHED_FRESH = 1.0, 60.0
"""Seconds for which what a store said of a run is believed: of one that may change, and of one that is finished."""
_AT_ONCE = 16
_MOST_LISTED = 5_000


@dataclass(frozen=True, slots=True)
class RunOverview:
    """A run without its evaluations."""

    line: RunLine
    broken: int = 0  # lines that are no case, or cases that could not be judged
    summary: Mapping[str, Any] | None = None  # of one that is finished


class RunPlace(Protocol):
    """Where runs lie."""

    def has(self, name: str) -> bool:
        """Whether there is such a run. All else raises a MissingError where there is none."""

    def manifest(self, name: str) -> Manifest | None:
        """What a run is made by; None where its folder has no manifest."""

    def opened(self, name: str) -> StoredRun:
        """A run, to be read; what is not on this machine is fetched."""

    def overview(self, name: str) -> RunOverview:
        """How far a run is, or what it came to."""

    def lines(self) -> list[RunLine]:
        """All runs of this place."""


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """A folder of run folders."""

    folder: Path
    _listings: RunListings = field(default_factory=RunListings)

    def has(self, name: str) -> bool:
        try:
            run_path(self.folder, name)
        except MissingError:
            return False
        return True

    def manifest(self, name: str) -> Manifest | None:
        return read_manifest(run_path(self.folder, name))

    def opened(self, name: str) -> StoredRun:
        return StoredRun.open(run_path(self.folder, name))

    def overview(self, name: str) -> RunOverview:
        folder = run_path(self.folder, name)
        line = read_line(folder)
        broken = sum(1 for _ in finished_lines(folder / ERRORS))
        return RunOverview(line, broken, read_summary(folder) if line.state == "finished" else None)

    def lines(self, running: Mapping[str, int] = NOTHING) -> list[RunLine]:
        return self._listings.of(self.folder, running)

    def __str__(self) -> str:
        return str(self.folder)


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
            raise _unreachable(error) from error
        if folder is None:
            raise missing_run(name)
        prune_copies()
        return replace(StoredRun.open(folder), may_read=self._may_read)

    def overview(self, name: str) -> RunOverview:
        head = self._head(name, FRESH)
        line = line_of_head(name, head)
        return RunOverview(line, head.broken, head.summary if line.state == "finished" else None)

    def lines(self) -> list[RunLine]:
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
        return lines

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
            raise _unreachable(error) from error
        if head is None:
            raise missing_run(name)
        with self._lock:
            self._seen[name] = now, head
        return head


class RunPlaces:
    """All places whose runs a server shows: its own folder first, then those that it was told of."""

    def __init__(self, home: Path, others: Iterable[str] = ()) -> None:
        self.home = home
        self._home = FolderPlace(home)
        self._places: Sequence[RunPlace] = (self._home, *map(place_of, others))

    def __str__(self) -> str:
        return ", ".join(map(str, self._places))

    def find(self, name: str) -> RunPlace:
        """The first place that has a run of that name; a MissingError where none has."""
        found = next((place for place in self._places if place.has(name)), None)
        if found is None:
            raise missing_run(name)
        return found

    def manifest(self, name: str) -> Manifest | None:
        return self.find(name).manifest(name)

    def opened(self, name: str) -> StoredRun:
        return self.find(name).opened(name)

    def overview(self, name: str) -> RunOverview:
        return self.find(name).overview(name)

    def rubrics(self, name: str) -> Mapping[str, Rubric]:
        """The rubrics of a run by name, as they were when it was made; none where the run is gone."""
        try:
            manifest = self.manifest(name)
            return {} if manifest is None else manifest.rubric_by_name()
        except RubricaError:
            return {}

    def home_path(self, name: str) -> Path | None:
        """The folder of a run that lies in the server's own folder, where it can be gone on with; None elsewhere."""
        return self.home / name if self.find(name) is self._home else None

    def new_path(self, name: str) -> Path:
        """The folder of a run to be made; its name is that of no other run."""
        path = new_run_path(self.home, name)
        try:
            self.find(path.name)
        except MissingError:
            return path
        raise InputError(f"there is a run called {path.name!r} already; choose another name")

    def lines(self, running: Mapping[str, int] = NOTHING) -> list[RunLine]:
        """All runs, the latest first; of several that are called alike, the one that opens is in the first place.

        `running` are the runs of this process by name, and how many evaluations each has.
        """
        found: dict[str, RunLine] = {}
        for place in self._places:
            for line in self._home.lines(running) if place is self._home else place.lines():
                if line.name in found:
                    why = f"another run is called {line.name!r} here; give one of them another name"
                    line = RunLine(f"{place}/{line.name}", "unreadable", why=why)
                found[line.name] = line
        return latest_first(found.values())


def _unreachable(error: ObjectStoreError) -> BusyError:
    """What whoever looks for a run is told; where and why is for whoever runs the server."""
    LOG.warning("%s", error)
    return BusyError("the object store of some runs cannot be reached; try again in a while", own=False)


def place_of(text: str) -> RunPlace:
    """A place by what it is called: an address in an object store, or a folder."""
    return StorePlace(text) if is_address(text) else FolderPlace(Path(text))
