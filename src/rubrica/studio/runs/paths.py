"""Paths of runs and addresses of their pages. A name from an address never leads outside the folder of runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote, urlencode

from rubrica.errors import InputError
from rubrica.workspace.run_access import missing_run

CASES = "cases"
"""The folder of case files, beside the runs."""
OWN_PAGES = frozenset({CASES, "compare", "baselines"})
"""Names that stand for something else than a run in an address."""
LONGEST_NAME = 100
BASELINES = Path(".rubrica/baselines.json")
NOTHING: Mapping[str, object] = MappingProxyType({})
_FORBIDDEN = frozenset('/\\:*?"<>|#%')


def run_path(runs: Path, name: str) -> Path:
    """The folder of a run that is there."""
    if not name or name in OWN_PAGES or name.startswith(".") or {"/", "\\", "\0"} & set(name):
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


def baselines_file(runs: Path) -> Path:
    """The file of baselines: in the folder of runs where there is one, else beside it.

    Beside it is where ``rubrica baseline`` puts it when it is called from the folder that holds the runs.
    """
    inside = runs / BASELINES
    return inside if inside.exists() else runs.absolute().parent / BASELINES


def run_link(name: str, **query: object) -> str:
    """The address of a run's page.

    >>> run_link("week 12", verdict="fail")
    '/runs/week%2012?verdict=fail'
    """
    return _with(f"/runs/{quote(name, safe='')}", query)


def case_link(name: str, case: str, repeat: int = 0, query: Mapping[str, object] = NOTHING) -> str:
    """The address of one evaluation's page. An id that an address cannot hold goes behind the question mark.

    >>> case_link("monday", "a/b c"), case_link("monday", "..", 1)
    ('/runs/monday/a/b%20c', '/runs/monday/-?case=..&repeat=1')
    """
    said = {**({"repeat": repeat} if repeat else {}), **query}
    plain = case.isprintable() and all(part not in ("", ".", "..", "-") for part in case.split("/"))
    if not plain or "\\" in case:
        return _with(f"/runs/{quote(name, safe='')}/-", {"case": case, **said})
    return _with(f"/runs/{quote(name, safe='')}/{quote(case)}", said)


def compare_link(one: str, other: str) -> str:
    """The address of two runs compared."""
    return _with("/runs/compare", {"a": one, "b": other})


def _with(path: str, query: Mapping[str, object]) -> str:
    said = {key: value for key, value in query.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(said, quote_via=quote)}" if said else path
