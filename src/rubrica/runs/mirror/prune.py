"""Bounds what copies of runs in object stores take on this machine: those that were used longest ago go first."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import msgspec

from rubrica.file_lock import LockHeldError, hold_lock
from rubrica.jsontext import UNREADABLE
from rubrica.llm.settings import load_settings
from rubrica.runs.files.atomic import write_atomically

from .copy import COPY_LOCK, FETCH_LOCK, STATE, CopyState, FileState, copies_home, scan

IN_USE = 3_600.0
"""Seconds for which a copy stays after it was used: somebody may be reading it."""
_GIGABYTE = 1_000_000_000


def prune_copies(most: int | None = None, now: float | None = None) -> list[Path]:
    """Delete what can be fetched again until copies take `most` bytes at most, or what the setting `run_copies` says;
    gives what was emptied. A copy with evaluations that were never committed stays, and so does one that is in use.
    """
    if not copies_home().is_dir():
        return []
    most = round(load_settings().run_copies * _GIGABYTE) if most is None else most
    now = time.time() if now is None else now
    copies = sorted((place.stat().st_mtime, place) for place in copies_home().iterdir() if place.is_dir())
    sizes = {place: _size(place) for _, place in copies}
    emptied: list[Path] = []
    for used, place in copies:
        if sum(sizes.values()) <= most:
            break
        if sizes[place] and now - used >= IN_USE and _emptied(place):
            sizes[place] = 0
            emptied.append(place)
    return emptied


def _emptied(place: Path) -> bool:
    """Delete the folder of a copy, where the store has all of it. Locks stay: somebody may be waiting for one."""
    try:
        with hold_lock(place / COPY_LOCK), hold_lock(place / FETCH_LOCK):
            state = msgspec.json.decode((place / STATE).read_bytes(), type=CopyState)
            if not _is_committed(place, state):
                return False
            with write_atomically(place / STATE) as file:
                file.write_bytes(msgspec.json.encode(CopyState(state.id)))
            for folder in place.iterdir():
                if folder.is_dir():
                    shutil.rmtree(folder)
            return True
    except (LockHeldError, OSError, *UNREADABLE):
        return False


def _is_committed(place: Path, state: CopyState) -> bool:
    """Whether the store has every file as it is here."""
    folders = [path for path in place.iterdir() if path.is_dir()]
    found = {path.relative_to(folder).as_posix(): path for folder in folders for path in scan(folder)}
    return found.keys() <= state.files.keys() and all(
        FileState.of(path).is_same(state.files[name]) for name, path in found.items()
    )


def _size(place: Path) -> int:
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
