"""Where baselines are kept, and the addresses of the pages of runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote, urlencode

BASELINES = Path(".rubrica/baselines.json")
NOTHING: Mapping[str, object] = MappingProxyType({})


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
