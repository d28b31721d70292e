"""Files of cases that runs are started with: those that were uploaded or put beside the runs, and rubrics' examples.

What lies in the folder of cases itself was put there by whoever runs the server, for everybody. What somebody uploads
lies in a folder of their own inside it, and is offered to them only.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from rubrica.engine.cases import BadLine
from rubrica.errors import InputError, RubricaError
from rubrica.files import make_private_folder
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.case_source import cases_of
from rubrica.runs.files.upload import check_upload
from rubrica.runs.selection import without_files

from .run_folders import CASES

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".parquet")
INLINE = "inline"
"""The folder of cases that came with requests, in the folder of their user."""
LOOKED_AT = 20
MOST_FILES = 500
MOST_BYTES = 1_000_000_000
"""Of all files of cases, beyond which no further one is uploaded."""
_ODD = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of cases."""

    name: str
    size: int  # bytes


def folder_of(runs: Path, owner: UUID | None = None) -> Path:
    """The folder of cases of everybody, or of one user."""
    return runs / CASES if owner is None else runs / CASES / str(owner)


def case_files(runs: Path, owner: UUID | None = None) -> list[CaseFile]:
    """The files of cases that are there for a user, the latest first."""
    found = list(_by_name(runs, owner).values())
    found.sort(key=lambda path: (-path.stat().st_mtime_ns, path.name))
    return [CaseFile(path.name, path.stat().st_size) for path in found]


def case_file(runs: Path, name: str, owner: UUID | None = None) -> Path:
    """One of them by name."""
    path = _by_name(runs, owner).get(name)
    if path is None:
        raise InputError(f"there is no file of cases called {name!r}")
    return path


def _by_name(runs: Path, owner: UUID | None) -> dict[str, Path]:
    """Everybody's files and a user's own; of two that are called alike, the user's own."""
    everybodys = _files(folder_of(runs))
    return everybodys if owner is None else {**everybodys, **_files(folder_of(runs, owner))}


def _files(folder: Path) -> dict[str, Path]:
    try:
        found = [path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file()]
    except OSError:
        return {}
    inside = folder.resolve()
    return {path.name: path for path in found if path.resolve().parent == inside and not path.name.startswith(".")}


def save_upload(runs: Path, name: str, data: bytes, owner: UUID | None = None) -> CaseFile:
    """Keep an uploaded file, where cases can be read from it; a name that is taken gets a number."""
    path = _free(folder_of(runs, owner), name)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{name}: cases come as {', '.join(SUFFIXES)}")
    there = case_files(runs, owner)
    if len(there) >= MOST_FILES or sum(own.size for own in there) + len(data) > MOST_BYTES:
        raise InputError(
            f"{name} is not kept: the files of cases are at most {MOST_FILES} and {MOST_BYTES:,} bytes in all "
            f"(remove some from {folder_of(runs).name} beside the runs)"
        )
    make_private_folder(path.parent)
    with write_atomically(path) as place:
        place.write_bytes(data)
    try:
        check_upload(path, name)
        _refuse_unreadable(path, name)
    except RubricaError:
        path.unlink(missing_ok=True)
        raise
    return CaseFile(path.name, len(data))


def save_examples(runs: Path, name: str, examples: Sequence[Mapping[str, Any]], owner: UUID | None = None) -> CaseFile:
    """A rubric's examples as a file of cases; the same examples are one file."""
    if not examples:
        raise InputError("this rubric has no examples; upload a file of cases")
    data = b"".join(msgspec.json.encode(example) + b"\n" for example in examples)
    path = folder_of(runs, owner) / f"{_plain(name)}.examples.jsonl"
    if not path.is_file() or path.read_bytes() != data:
        return save_upload(runs, path.name, data, owner)
    return CaseFile(path.name, len(data))


def save_inline_cases(runs: Path, cases: Sequence[Mapping[str, Any]], owner: UUID) -> Path:
    """Cases that came with a request, as a file that no list offers; the same cases of one user are one file."""
    data = b"".join(json.dumps(case).encode() + b"\n" for case in cases)
    folder = folder_of(runs, owner) / INLINE
    path = folder / f"{hashlib.sha256(data).hexdigest()[:32]}.jsonl"
    if path.is_file():
        return path
    make_private_folder(folder)
    if sum(own.stat().st_size for own in folder.iterdir()) + len(data) > MOST_BYTES:
        raise InputError(f"these cases are not kept: those sent so far have {MOST_BYTES:,} bytes (upload a file)")
    with write_atomically(path) as place:
        place.write_bytes(data)
    try:
        _refuse_unreadable(path, "cases")
    except RubricaError:
        path.unlink(missing_ok=True)
        raise
    return path


def _refuse_unreadable(path: Path, name: str) -> None:
    """Refuse a file that no case can be read from; single broken lines are told by the run."""
    with cases_of(str(path)) as file:
        first = list(islice(without_files(file.cases()), LOOKED_AT))
    bad = [line for line in first if isinstance(line, BadLine)]
    if not first:
        raise InputError(f"{name} holds no case")
    if len(bad) == len(first):
        raise InputError(f"{name}, line {bad[0].line}: {bad[0].reason}")


def _free(folder: Path, name: str) -> Path:
    path = folder / _plain(name)
    number = 2
    while path.exists():
        path = folder / f"{Path(_plain(name)).stem}-{number}{Path(name).suffix}"
        number += 1
    return path


def _plain(name: str) -> str:
    """A file's name without anything that could mean something in a path.

    >>> _plain("../my cases (1).jsonl")
    'my-cases-1-.jsonl'
    """
    return _ODD.sub("-", Path(name.replace("\\", "/")).name).strip("-.")[-100:] or "cases.jsonl"
