"""A run's folder: one process at a time in it, and earlier runs moved aside, never over one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from rubrica.errors import RubricaError
from rubrica.file_lock import LockHeldError, hold_lock
from rubrica.files import make_private_folder

from .manifest import MANIFEST, Manifest, read_manifest

LOCK, EARLIER = ".lock", "earlier"
EVALUATIONS, COLUMNS, ERRORS = "evaluations.jsonl", "evaluations.parquet", "errors.jsonl"
SUMMARY, PAGE, TABLES = "summary.json", "report.html", "tables.json"
A_LOOK = 0.2
"""Seconds: somebody who only looks whether a folder is in use has let go of it after so long."""


class RunOpening(msgspec.Struct, frozen=True):
    """How a run begins: `new` in an empty folder, `resumed`, or `restarted` beside an earlier one."""

    kind: Literal["new", "resumed", "restarted"]
    manifest: Manifest
    changes: tuple[str, ...] = ()  # since the earlier run
    earlier: Path | None = None  # where that one is now


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The folder, made if need be, for this process alone. The system ends the claim when the process ends."""
    try:
        make_private_folder(folder)
        held = hold_lock(folder / LOCK, A_LOOK)
    except FileExistsError:
        raise RubricaError(f"{folder} is a file; name a folder for the run") from None
    except OSError as error:
        raise RubricaError(f"{folder} cannot be used: {error.strerror}") from None
    except LockHeldError as error:
        who = f"process {error.holder}" if error.holder else "another process"
        raise RubricaError(f"{who} is running in {folder}; wait for it, or name another folder") from None
    with held:
        yield


def begin(folder: Path, manifest: Manifest, *, resume: bool = True) -> RunOpening:
    """Go on with the run in a locked folder where it was made by the same terms, or move it aside and begin anew."""
    earlier = read_manifest(folder)
    if earlier is None:
        _refuse_strangers(folder)
        manifest.write(folder)
        return RunOpening("new", manifest)
    changes = tuple(manifest.differences(earlier))
    if earlier.kind == "bulk" and manifest.kind == "judged":
        changes = (*changes, "cases are judged one by one, no longer in bulk")
    if resume and not changes:
        known = {used.name: used for used in (*earlier.rubrics, *manifest.rubrics)}
        going_on = msgspec.structs.replace(
            manifest, id=earlier.id, kind=earlier.kind, started=earlier.started, rubrics=tuple(known.values())
        )
        going_on.write(folder)
        return RunOpening("resumed", going_on)
    place = _move_aside(folder)
    manifest.write(folder)
    return RunOpening("restarted", manifest, changes, place)


@contextmanager
def open_run_folder(folder: Path, manifest: Manifest, *, resume: bool = True) -> Iterator[RunOpening]:
    """A run's folder, for this process alone: gone on with, or begun anew."""
    with locked(folder):
        yield begin(folder, manifest, resume=resume)


def drop_derived(folder: Path, patterns: Iterable[str] = ()) -> None:
    """Remove what is made of the evaluations, because they are about to change; `patterns` name further files."""
    for name in (COLUMNS, SUMMARY, PAGE, TABLES):
        (folder / name).unlink(missing_ok=True)
    for pattern in patterns:
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)


def _move_aside(folder: Path) -> Path:
    """Move everything of a run to earlier/N. Its manifest goes last: stopped half-way, the rest follows next time."""
    number = 1
    while (folder / EARLIER / str(number) / MANIFEST).exists():
        number += 1
    place = folder / EARLIER / str(number)
    make_private_folder(place)
    for item in sorted(folder.iterdir(), key=lambda item: item.name == MANIFEST):
        if item.name not in (LOCK, EARLIER):
            item.rename(place / item.name)
    return place


def _refuse_strangers(folder: Path) -> None:
    others = [item.name for item in folder.iterdir() if item.name not in (LOCK, EARLIER)]
    if others and not all(name.startswith(f".{MANIFEST}.") for name in others):
        raise RubricaError(f"{folder} holds {sorted(others)[0]}, but no run; name an empty or a new folder")
