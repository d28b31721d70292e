"""Runs from Python: `rubrica.run` judges many cases, and gives a `Run` to look at."""

from __future__ import annotations

import asyncio
import shutil
import weakref
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from rubrica.errors import RubricaError
from rubrica.extras import requires
from rubrica.model.evaluation import Evaluation
from rubrica.model.notebook import html_table
from rubrica.report.figures import count_of, percent

from .compare.comparison import USUAL, Comparison, compare
from .compare.measure_comparison import ComparisonTerms
from .events import RunOutcome
from .files.append_only import finished_lines
from .files.folder import ERRORS
from .files.rows import GROUP
from .objects.address import is_address
from .python_run import PythonRun, RubricSource, RunOptions
from .stored import StoredRun
from .summary.figures import Summary
from .summary.grading import Grading
from .summary.summary import summarise

if TYPE_CHECKING:
    import polars


class Run:
    """A run that is there: its figures, its evaluations, and how it stands to another one."""

    def __init__(self, stored: StoredRun, outcome: RunOutcome | None = None, address: str = "") -> None:
        self.stored = stored
        self.outcome = outcome  # of the execution that made it; None: it was opened
        self.address = address  # in an object store; empty: it lies in its folder alone

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """A run's folder, its address in an object store, or a file of evaluations."""
        return cls(StoredRun.open(path), address=str(path) if is_address(str(path)) else "")

    @property
    def folder(self) -> Path:
        return self.stored.path

    def evaluation(self, case: str, repeat: int = 0) -> Evaluation:
        """Everything about one case."""
        for found in self.stored.records({(case, repeat)}):
            return found
        raise RubricaError(f"{self._place} has no evaluation of a case {case!r}")

    def frame(self, group: str = GROUP) -> polars.DataFrame:
        """The figures of every case, as a polars frame; `to_pandas()` makes one of pandas."""
        with requires("tables", "Run.frame"):
            from .files.parquet_rows import frame_of_rows
        return frame_of_rows(self.stored.rows(group))

    def summary(self) -> Summary:
        """The run in figures."""
        return summarise(self.stored.rows())

    def compare(self, other: Run | str | Path, *, group: str = GROUP, terms: ComparisonTerms = USUAL) -> Comparison:
        """What got better or worse from this run to another one, and what cannot be told."""
        later = other if isinstance(other, Run) else Run.open(other)
        runs = self.stored, later.stored
        return compare(
            runs[0].rows(group),
            runs[1].rows(group),
            gradings=(Grading.of(runs[0].rubrics().values()), Grading.of(runs[1].rubrics().values())),
            names=(runs[0].name, runs[1].name),
            terms=terms,
        )

    def __repr__(self) -> str:
        return f"Run({self._place!r})"

    @property
    def _place(self) -> str:
        return self.address or str(self.folder)

    def _repr_html_(self) -> str:
        found = self.summary()
        rows = [
            (rubric, label, own.count, f"{percent(own.rate.low)} to {percent(own.rate.high)}")
            for rubric, part in found.parts.items()
            for label, own in part.verdicts.items()
        ]
        cost = f", ${found.cost.usd:.4f}" if found.cost.usd is not None else ""
        title = f"{self._place}: {count_of(found.evaluations, 'evaluation')} of {count_of(found.cases, 'case')}{cost}"
        if broken := sum(1 for _ in finished_lines(self.folder / ERRORS)):
            title += f", {count_of(broken, 'record')} could not be judged ({ERRORS} says why)"
        return html_table(title, ("rubric", "verdict", "count", "share"), rows)


def run(
    cases: Any,
    *,
    rubric: RubricSource | None = None,
    judge: str | Sequence[str] | None = None,
    out: str | Path | None = None,
    cluster: str | None = None,
    **options: Any,
) -> Run:
    """Judge many cases: files by path, pattern or address (one, or a list of them), records one after the other, or a
    polars or pandas frame.

    With `out`, a folder or an address in an object store, the run is kept there and the same call goes on with it;
    without, it goes with the Run. Options are those of `RunOptions`. It may be called inside a running event
    loop, as notebooks have one.

    >>> found = run([{"id": "a", "response": "Done."}], rubric="speed-demon")
    >>> found.evaluation("a").rubric
    'speed-demon'
    """
    job = PythonRun.of(cases, rubric, judge, out, RunOptions.of(options))
    return _made(job, job.execute(cluster, Event()))


async def arun(
    cases: Any,
    *,
    rubric: RubricSource | None = None,
    judge: str | Sequence[str] | None = None,
    out: str | Path | None = None,
    cluster: str | None = None,
    **options: Any,
) -> Run:
    """`run` without blocking the event loop. Cancelled, it stops as Ctrl-C does, and ends once nothing is under way."""
    job = PythonRun.of(cases, rubric, judge, out, RunOptions.of(options))
    stop = Event()
    under_way = asyncio.create_task(asyncio.to_thread(job.execute, cluster, stop))
    try:
        outcome = await asyncio.shield(under_way)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait((under_way,))
        raise
    return _made(job, outcome)


def _made(job: PythonRun, outcome: RunOutcome) -> Run:
    job.check(outcome)
    folder = job.request.folder
    found = Run(StoredRun.open(folder), outcome, job.place if job.request.store is not None else "")
    if job.is_temporary:
        weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)
    return found
