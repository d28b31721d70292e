"""Files of cases that runs are started with: those that were uploaded or put beside the runs, and rubrics' examples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from rubrica.engine.cases import BadLine
from rubrica.errors import InputError, RubricaError
from rubrica.runs.source import cases_of
from rubrica.runs.upload import check_upload
from rubrica.runs.whole import whole

from .places import CASES

SUFFIXES = (".jsonl", ".csv", ".tsv", ".parquet")
LOOKED_AT = 20
_ODD = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of cases."""

    name: str
    size: int  # bytes


def folder_of(runs: Path) -> Path:
    return runs / CASES


def case_files(runs: Path) -> list[CaseFile]:
    """The files of cases that are there, the latest first."""
    try:
        found = [path for path in folder_of(runs).iterdir() if path.suffix.lower() in SUFFIXES and path.is_file()]
    except OSError:
        return []
    inside = folder_of(runs).resolve()
    own = [path for path in found if path.resolve().parent == inside and not path.name.startswith(".")]
    own.sort(key=lambda path: (-path.stat().st_mtime_ns, path.name))
    return [CaseFile(path.name, path.stat().st_size) for path in own]


def case_file(runs: Path, name: str) -> Path:
    """One of them by name."""
    if name not in {own.name for own in case_files(runs)}:
        raise InputError(f"there is no file of cases called {name!r}")
    return folder_of(runs) / name


def keep_upload(runs: Path, name: str, data: bytes) -> CaseFile:
    """Keep an uploaded file, where cases can be read from it; a name that is taken gets a number."""
    path = _free(runs, name)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{name}: cases come as {', '.join(SUFFIXES)}")
    folder_of(runs).mkdir(parents=True, exist_ok=True)
    with whole(path) as place:
        place.write_bytes(data)
    try:
        check_upload(path, name)
        _checked(path, name)
    except RubricaError:
        path.unlink(missing_ok=True)
        raise
    return CaseFile(path.name, len(data))


def keep_examples(runs: Path, name: str, examples: Sequence[Mapping[str, Any]]) -> CaseFile:
    """A rubric's examples as a file of cases; the same examples are one file."""
    if not examples:
        raise InputError("this rubric has no examples; upload a file of cases")
    data = b"".join(msgspec.json.encode(example) + b"\n" for example in examples)
    path = folder_of(runs) / f"{_plain(name)}.examples.jsonl"
    if not path.is_file() or path.read_bytes() != data:
        return keep_upload(runs, path.name, data)
    return CaseFile(path.name, len(data))


def _checked(path: Path, name: str) -> None:
    """Refuse a file that no case can be read from; single broken lines are told by the run."""
    with cases_of(str(path)) as file:
        first = list(islice(file.cases(), LOOKED_AT))
    bad = [line for line in first if isinstance(line, BadLine)]
    if not first:
        raise InputError(f"{name} holds no case")
    if len(bad) == len(first):
        raise InputError(f"{name}, line {bad[0].line}: {bad[0].reason}")


def _free(runs: Path, name: str) -> Path:
    path = folder_of(runs) / _plain(name)
    number = 2
    while path.exists():
        path = folder_of(runs) / f"{Path(_plain(name)).stem}-{number}{Path(name).suffix}"
        number += 1
    return path


def _plain(name: str) -> str:
    """A file's name without anything that could mean something in a path.

    >>> _plain("../my cases (1).jsonl")
    'my-cases-1-.jsonl'
    """
    return _ODD.sub("-", Path(name.replace("\\", "/")).name).strip("-.")[-100:] or "cases.jsonl"
