"""Runs from Python: `rubrica.run` judges many cases, and gives a `Run` to look at."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rubrica.errors import RubricaError
from rubrica.extras import requires
from rubrica.model.evaluation import Evaluation
from rubrica.model.notebook import html_table
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.report.figures import count_of, percent

from .compare.comparison import USUAL, Comparison, compare
from .compare.measure_comparison import ComparisonTerms
from .events import RunAdvanced, RunEvent, RunOutcome, Tell, unheard
from .execute import execute_run
from .files.rows import GROUP
from .record_material import RECORDS, RecordMaterial
from .request import CaseChoice, JudgeSettings, RunRequest
from .run_writer import ModelsDownError
from .stored import StoredRun
from .summary.figures import Summary
from .summary.grading import Grading
from .summary.summary import summarise

if TYPE_CHECKING:
    import polars

RubricSource = str | Path | Mapping[str, Any] | Rubric


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How cases are judged, besides by what. `rubrica run --help` tells what each means."""

    context: Mapping[str, Any] | None = None
    repeats: int | None = None
    repeat: int = 1
    budget: float | None = None
    jobs: int = 64
    cached: bool = True
    seed: int = 0
    resume: bool = True
    retry_errors: bool = False
    max_failures: int = 20
    bulk: bool | None = None
    progress: bool = False  # a bar on standard error
    tell: Tell = unheard  # hears every event

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> RunOptions:
        unknown = [name for name in options if name not in cls.__dataclass_fields__]
        if unknown:
            raise RubricaError(f"no such option of a run: {', '.join(unknown)} ({', '.join(cls.__dataclass_fields__)})")
        return cls(**options)


class Run:
    """A run that is there: its figures, its evaluations, and how it stands to another one."""

    def __init__(self, stored: StoredRun, outcome: RunOutcome | None = None) -> None:
        self.stored = stored
        self.outcome = outcome  # of the execution that made it; None: it was opened

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """A run's folder, or a file of evaluations."""
        return cls(StoredRun.open(path))

    @property
    def folder(self) -> Path:
        return self.stored.path

    def evaluation(self, case: str, repeat: int = 0) -> Evaluation:
        """Everything about one case."""
        for found in self.stored.records({(case, repeat)}):
            return found
        raise RubricaError(f"{self.folder} has no evaluation of a case {case!r}")

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
        return f"Run({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        found = self.summary()
        rows = [
            (rubric, label, own.count, f"{percent(own.rate.low)} to {percent(own.rate.high)}")
            for rubric, part in found.parts.items()
            for label, own in part.verdicts.items()
        ]
        cost = f", ${found.cost.usd:.4f}" if found.cost.usd is not None else ""
        title = f"{self.folder}: {count_of(found.evaluations, 'evaluation')} of {count_of(found.cases, 'case')}{cost}"
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
    """Judge many cases: files by path, pattern or address, records one after the other, or a polars or pandas frame.

    With `out`, a folder or an address in an object store, the run is kept there and the same call goes on with it;
    without, it goes with the Run. Options are those of `RunOptions`. It may be called inside a running event
    loop, as notebooks have one.

    >>> found = run([{"id": "a", "response": "Done."}], rubric="speed-demon")
    >>> found.evaluation("a").rubric
    'speed-demon'
    """
    how = RunOptions.of(options)
    place = str(out) if out is not None else tempfile.mkdtemp(prefix="rubrica-")
    request = _request(cases, rubric, how, _judging(judge, how)).kept_at(place)
    folder = request.folder
    request = request if cluster is None else replace(request, cluster=cluster)
    stop = Event()
    with _shown(how) as tell:
        outcome = _executed(lambda: execute_run(request, tell, stop), stop)
    if outcome.ending == "unanswered":
        raise ModelsDownError(f"{outcome.reason}; what was judged is kept in {place}, and the same call goes on")
    if outcome.ending == "stopped":
        raise KeyboardInterrupt
    found = Run(StoredRun.open(folder), outcome)
    if out is None:
        weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)
    return found


async def arun(
    cases: Any,
    *,
    rubric: RubricSource | None = None,
    judge: str | Sequence[str] | None = None,
    out: str | Path | None = None,
    cluster: str | None = None,
    **options: Any,
) -> Run:
    """`run` without blocking the event loop."""
    return await asyncio.to_thread(run, cases, rubric=rubric, judge=judge, out=out, cluster=cluster, **options)


def _judging(judge: str | Sequence[str] | None, how: RunOptions) -> JudgeSettings:
    names = () if judge is None else (judge,) if isinstance(judge, str) else tuple(judge)
    return JudgeSettings(names, how.repeats, how.budget, how.jobs, cached=how.cached, seed=how.seed)


def _request(cases: Any, rubric: RubricSource | None, how: RunOptions, judging: JudgeSettings) -> RunRequest:
    is_file = isinstance(cases, str | Path)
    chosen = CaseChoice(
        str(cases) if is_file else RECORDS,
        context=how.context or {},
        repeat=how.repeat,
        material=None if is_file else RecordMaterial(cases),
    )
    return RunRequest(
        chosen,
        Path(),
        load(rubric) if rubric is not None else None,
        judging,
        resume=how.resume,
        retry_errors=how.retry_errors,
        max_failures=how.max_failures,
        bulk=how.bulk,
    )


def _executed(execute: Callable[[], RunOutcome], stop: Event) -> RunOutcome:
    """Execute here, or on a thread of its own where an event loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return execute()
    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(execute)
        try:
            return under_way.result()
        except KeyboardInterrupt:
            stop.set()
            return under_way.result()


@contextmanager
def _shown(how: RunOptions) -> Iterator[Tell]:
    """Whoever listens, and a bar where one was asked for."""
    if not how.progress:
        yield how.tell
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as shown:
        bar = shown.add_task("judging", total=None)

        def tell(event: RunEvent) -> None:
            if isinstance(event, RunAdvanced):
                shown.update(bar, total=event.total, completed=event.done)
            how.tell(event)

        yield tell
