"""Adds finished runs to the baselines of a project, so that figures can be followed without anybody thinking of it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from rubrica.errors import RubricaError
from rubrica.runs.compare import DEFAULT_FILE

from .options import WHERE
from .screen import note

OFF, VARIABLE = "off", "RUBRICA_BASELINES"
PROJECT_FILE = str(DEFAULT_FILE)

BaselinesFile = Annotated[
    str,
    typer.Option(
        "--baseline",
        metavar="FILE.json|off",
        envvar=VARIABLE,
        show_envvar=False,
        help="Where the finished run is added, for `rubrica baseline`; off: nowhere.",
        rich_help_panel=WHERE,
    ),
]


def project_file() -> str:
    """The file of the project, for commands that have another one of their own."""
    return os.environ.get(VARIABLE) or PROJECT_FILE


def add_finished_run(folder: Path, file: str) -> None:
    """Add a finished run to a file of baselines. What stands in the way is told, and the run is none the worse."""
    if file == OFF:
        return
    from rubrica.runs.compare.baseline import Baselines, BaselineSource  # here, since a run need not wait for it
    from rubrica.runs.stored import StoredRun

    try:
        run = StoredRun.open(folder, lambda _: None)
        if run.manifest is not None and run.manifest.kind == "bulk":
            return  # so many cases are kept only where somebody asks for it
        baselines, now = Baselines(Path(file)), datetime.now(UTC)
        known = {entry.id for entry in baselines.entries()}
        entry = baselines.add(run.rows(), BaselineSource.of(run, automatic=True), now)
    except (RubricaError, OSError) as error:
        note(f"not added to {file}: {error}", "yellow")
        return
    if entry.id not in known:
        note(f"added to {file} (--baseline off leaves that out)")
