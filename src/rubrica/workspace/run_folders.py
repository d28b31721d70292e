"""The folders of runs by name. A name from an address never leads out of the folder of runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rubrica.errors import RubricaError
from rubrica.model.rubric import Rubric
from rubrica.runs.stored import StoredRun

from .run_access import missing_run

CASES = "cases"
"""The folder of case files, beside the runs."""


OWN_PAGES = frozenset({CASES, "compare", "baselines"})
"""Names that stand for something else than a run in an address."""


def run_path(runs: Path, name: str) -> Path:
    """The folder of a run that is there."""
    if not name or name in OWN_PAGES or name.startswith(".") or {"/", "\\", "\0"} & set(name):
        raise missing_run(name)
    path = runs / name
    if not path.is_dir() or path.resolve().parent != runs.resolve():
        raise missing_run(name)
    return path


def run_rubrics(runs: Path, name: str) -> Mapping[str, Rubric]:
    """The rubrics of a run by name, as they were when it was made; none where the run is gone."""
    try:
        return StoredRun.open(run_path(runs, name)).rubrics()
    except RubricaError:
        return {}
