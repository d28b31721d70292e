"""The folders of runs by name. A name from an address never leads out of the folder of runs."""

from __future__ import annotations

from pathlib import Path

from rubrica.errors import InputError

from .run_access import missing_run

CASES = "cases"
"""The folder of case files, beside the runs."""


OWN_PAGES = frozenset({CASES, "compare", "baselines"})
"""Names that stand for something else than a run in an address."""

LONGEST_NAME = 100
"""Bytes of the name of a run that is started here."""
LONGEST_FOLDER = 255
"""Bytes of the name of any folder."""
_FORBIDDEN = frozenset('/\\:*?"<>|#%')


def is_run_name(name: str) -> bool:
    """Whether a run may be called so. A name is one part of a path, and leads nowhere else."""
    if not name or name in OWN_PAGES or name.startswith(".") or {"/", "\\", "\0"} & set(name):
        return False
    return len(name.encode()) <= LONGEST_FOLDER


def run_path(runs: Path, name: str) -> Path:
    """The folder of a run that is there."""
    if not is_run_name(name):
        raise missing_run(name)
    path = runs / name
    if not path.is_dir() or path.resolve().parent != runs.resolve():
        raise missing_run(name)
    return path


def new_run_path(runs: Path, name: str) -> Path:
    """The folder of a run to be made; an error says why a name cannot be one.

    >>> new_run_path(Path("runs"), "  monday ").name
    'monday'
    >>> new_run_path(Path("runs"), "../monday")
    Traceback (most recent call last):
        ...
    rubrica.errors.InputError: a run's name has no '/' in it
    """
    name = name.strip()
    if not name:
        raise InputError("give the run a name, such as monday")
    if len(name.encode()) > LONGEST_NAME:
        raise InputError(f"a run's name has at most {LONGEST_NAME} letters")
    if wrong := next((char for char in name if char in _FORBIDDEN or not char.isprintable()), None):
        raise InputError(f"a run's name has no {wrong!r} in it")
    if name.startswith(".") or name in OWN_PAGES:
        raise InputError(f"a run cannot be called {name!r}; choose another name")
    path = runs / name
    if path.exists() or path.is_symlink():
        raise InputError(f"there is a run called {name!r} already; choose another name")
    return path
