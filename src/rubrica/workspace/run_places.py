"""Where the runs of a server lie: folders of this machine and places in object stores. Nothing else is ever opened.

Whoever runs the server names the places. A name from an address is looked for in each of them, in order, and never
leads out of them. The first place is the server's own folder, where files of cases are kept, and where runs are started
unless another place is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rubrica.errors import InputError, MissingError, RubricaError
from rubrica.model.rubric import Rubric
from rubrica.runs.files.append_only import finished_lines
from rubrica.runs.files.folder import ERRORS
from rubrica.runs.files.manifest import Manifest, read_manifest
from rubrica.runs.objects.address import is_address
from rubrica.runs.stored import StoredRun

from .run_access import missing_run
from .run_folders import new_run_path, run_path
from .run_listing import (
    NOTHING,
    RunLine,
    RunListings,
    RunOverview,
    latest_first,
    read_line,
    read_summary,
)
from .run_target import RunTarget
from .store_place import StorePlace


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

    def lines(self, running: Mapping[str, int] = NOTHING) -> list[RunLine]:
        """All runs of this place. `running` are those under way by name, and how many evaluations each has."""

    def forget(self, name: str) -> None:
        """Look anew at a run that was not finished when it was looked at last: it has ended since."""

    def line_under_way(self, name: str, done: int) -> RunLine:
        """A run that somebody is at work on, or that waits for somebody."""

    def target(self, name: str) -> RunTarget | None:
        """Where a run of this name is made, whether there is one or not; None where nothing is written."""


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

    def forget(self, name: str) -> None:
        """A folder is looked at anew each time."""

    def line_under_way(self, name: str, done: int) -> RunLine:
        return read_line(run_path(self.folder, name), done)

    def target(self, name: str) -> RunTarget:
        return RunTarget(self.folder / name)

    def __str__(self) -> str:
        return str(self.folder)


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

    def forget(self, name: str) -> None:
        for place in self._places:
            place.forget(name)

    def line_under_way(self, name: str, done: int) -> RunLine:
        return self.find(name).line_under_way(name, done)

    def target(self, name: str) -> RunTarget | None:
        """Where a run that is there is gone on with; None where nothing is written."""
        return self.find(name).target(name)

    @property
    def startable(self) -> list[str]:
        """The places in which runs can be started, the server's own folder first."""
        return [str(place) for place in self._places if place.target("new") is not None]

    def new_target(self, name: str, place: str = "") -> RunTarget:
        """Where a run is made whose name is that of no other run; in the server's own folder, if no place is named."""
        name = new_run_path(self.home, name).name
        own = next((one for one in self._places if place in ("", str(one))), None)
        target = own.target(name) if own is not None else None
        if target is None:
            there = ", ".join(self.startable)
            raise InputError(f"place: no run is started in {place[:200]!r} here, but in: {there}")
        try:
            self.find(name)
        except MissingError:
            return target
        raise InputError(f"there is a run called {name!r} already; choose another name")

    def lines(self, running: Mapping[str, int] = NOTHING) -> list[RunLine]:
        """All runs, the latest first; of several that are called alike, the one that opens is in the first place.

        `running` are the runs of this process by name, and how many evaluations each has.
        """
        found: dict[str, RunLine] = {}
        for place in self._places:
            for line in place.lines(running):
                if line.name in found:
                    why = f"another run is called {line.name!r} here; give one of them another name"
                    line = RunLine(f"{place}/{line.name}", "unreadable", why=why)
                found[line.name] = line
        return latest_first(found.values())


def place_of(text: str) -> RunPlace:
    """A place by what it is called: an address in an object store, or a folder."""
    return StorePlace(text) if is_address(text) else FolderPlace(Path(text))
