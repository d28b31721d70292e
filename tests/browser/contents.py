"""What lies in a studio before a test looks at it: runs, and samples of them that wait to be reviewed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from browser.browsers import Site, eventually
from rubrica.engine.load import rubric_from_text
from rubrica.runs.compare.baseline import Baselines, BaselineSource
from rubrica.runs.review.queue_items import new_items
from rubrica.runs.review.sampling import draw
from rubrica.runs.stored import StoredRun
from rubrica.runs.summary.grading import Grading
from rubrica.store.reviews import add_items
from rubrica.workspace.access import LOCAL
from rubrica.workspace.run_access import RunKey, open_review
from rubrica.workspace.run_jobs import RunJob, RunJobs


def now() -> datetime:
    return datetime.now(UTC)


def written(file: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """A file with a row on each line."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def conducted(folder: Path, rubric: str, cases: Path, *judges: str) -> StoredRun:
    """A run as the studio itself makes one, from start to end."""
    course = RunJobs(now).start(RunJob(folder, rubric_from_text(rubric), cases, judges))
    eventually(lambda: course.state != "running")
    assert course.state == "finished", course.error
    return StoredRun.open(folder)


def kept_as_baseline(run: StoredRun, file: Path, note: str) -> None:
    manifest = run.manifest
    assert manifest is not None
    source = BaselineSource(run=manifest.id, grading=Grading.of(run.rubrics().values()), note=note)
    Baselines(file).add(run.rows(), source, now())


def queued(site: Site, run: StoredRun) -> None:
    """Put every evaluation of a run into the review queue, for everybody to score."""
    assert run.manifest is not None
    site.write(open_review, LOCAL, RunKey(run.name, run.manifest.id), "shared", [], now())
    site.write(add_items, run.name, new_items(draw(run.evaluations, 1.0), run.rubrics()), now())
