"""A run that is started from the studio: the same folder, and the same steps, as ``rubrica run`` makes."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from pathlib import Path
from uuid import uuid4

from rubrica import __version__
from rubrica.engine.cases import BadLine
from rubrica.errors import ConflictError, RubricaError
from rubrica.model.rubric import Rubric
from rubrica.runs.batch import Batch, Evaluator, judged
from rubrica.runs.concurrency import run_concurrently
from rubrica.runs.files.case_source import cases_of, count_cases
from rubrica.runs.files.folder import begin, locked
from rubrica.runs.files.manifest import Manifest, UsedRubric, commit_of, terms_of
from rubrica.runs.finish import finish
from rubrica.runs.rubrics import JudgeOf, RunRubrics
from rubrica.runs.run import Run
from rubrica.runs.selection import Selection, distinct
from rubrica.runs.summary.tally import RunTally

from .case_files import without_files
from .extent import EVERYTHING, Extent, extent_of

LOG = logging.getLogger("rubrica.studio")
AT_ONCE = 32
"""Cases under way at once, where a model judges."""
MOST_KEPT = 100
"""Ended runs of which the server remembers how they went; what they came to is in their folders."""
MOST_FAILURES = 20
"""Cases in a row that no model answers, after which a run stops."""


@dataclass(frozen=True, slots=True)
class RunJob:
    """What is judged, by what, and into which folder."""

    folder: Path
    rubric: Rubric
    cases: Path
    judges: tuple[str, ...] = ()
    extent: Extent = EVERYTHING
    id: str = field(default_factory=lambda: uuid4().hex[:12])  # of the run's manifest

    def manifest(self, now: datetime) -> Manifest:
        """As ``rubrica run CASES -r RUBRIC -o FOLDER`` would write it, so that either goes on with the other's run."""
        temperature = "of repeats" if self.extent.repeat > 1 else "as the rubric asks"
        asking = {"repeats": None, "seed": self.extent.seed, "temperature": temperature}
        return Manifest(
            id=self.id,
            started=now.isoformat(timespec="seconds"),
            rubrics=(UsedRubric.of(self.rubric),),
            judges=self.judges,
            terms=terms_of(self.rubric, self.judges, {}, asking),
            source=str(self.cases.absolute()),
            options=self.extent.options,
            commit=commit_of(Path.cwd()),
            version=__version__,
        )

    def selection(self) -> Selection:
        """Which cases, with a sample's size turned into a share of what is there."""
        chosen = self.extent.selection
        if not chosen.needs_two_passes:
            return chosen
        with cases_of(str(self.cases)) as file:
            return chosen.settled(distinct(without_files(file.cases()), lambda _: None))


@dataclass(slots=True)
class RunProgress:
    """How far a run has come. It is written by the run's thread alone, but for `stopping`."""

    orders: RunJob
    expected: int | None = None
    done: int = 0  # with what was done before
    broken: int = 0
    state: str = "running"  # or finished, stopped, failed
    error: str = ""
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def share(self) -> float | None:
        if self.state == "finished":
            return 1.0
        return min(self.done / self.expected, 1.0) if self.expected else None


class RunJobs:
    """The runs that this server has started, each in a thread of its own, by the name of their folder."""

    def __init__(self, clock: Callable[[], datetime], most: int = 2) -> None:
        self._clock = clock
        self._most = most
        self._courses: dict[str, RunProgress] = {}

    def course(self, name: str) -> RunProgress | None:
        return self._courses.get(name)

    @property
    def running(self) -> Sequence[RunProgress]:
        return [course for course in self._courses.values() if course.state == "running"]

    def check_room(self) -> None:
        """Refuse another run while as many as there may be are under way."""
        if len(self.running) >= self._most:
            raise ConflictError(f"{self._most} runs are under way; wait for one of them, or stop it")

    def start(self, orders: RunJob) -> RunProgress:
        """Begin a run, or go on with one that stopped. It goes on when the page that started it is closed."""
        self.check_room()
        for name in [name for name, one in self._courses.items() if one.state != "running"][:-MOST_KEPT]:
            del self._courses[name]
        course = RunProgress(orders)
        self._courses[orders.folder.name] = course
        begun = copy_context()  # with the budget that its calls are paid from
        name = f"run {orders.folder.name}"
        threading.Thread(target=begun.run, args=(self._conducted, course), name=name, daemon=True).start()
        return course

    def _conducted(self, course: RunProgress) -> None:
        try:
            _conduct(course, self._clock)
        except RubricaError as error:
            course.error, course.state = str(error), "failed"
        except Exception:  # told on the page; what exactly went wrong is in the server's log
            LOG.exception("the run in %s ended with an error", course.orders.folder)
            course.error, course.state = "it ended with an error that the server's log tells of", "failed"


def _conduct(course: RunProgress, clock: Callable[[], datetime]) -> None:
    orders = course.orders
    with ExitStack() as stack:
        judge_of, evaluator = stack.enter_context(_judging(orders.judges, orders.extent))
        run_rubrics = RunRubrics(orders.rubric, judge_of)
        course.expected = orders.extent.evaluations(count_cases(str(orders.cases)))
        stack.enter_context(locked(orders.folder))
        begin(orders.folder, orders.manifest(clock()))
        kept = Run(orders.folder)
        try:
            _judge_all(course, run_rubrics, kept, evaluator)
        finally:
            kept.close()
        if course.stopping.is_set():
            course.state = "stopped"
            return
        kept.tidy()
        finish(orders.folder, clock())
    course.state = "finished"


def _judge_all(course: RunProgress, run_rubrics: RunRubrics, kept: Run, evaluator: Evaluator | None) -> None:
    def broken(line: BadLine) -> None:
        course.broken += 1
        kept.broken(line)

    orders = course.orders
    batch = Batch(run_rubrics, RunTally(), broken, {}, evaluator, orders.extent.repeat, kept.wanted)
    selection = orders.selection()
    with (
        cases_of(str(orders.cases)) as file,
        closing(batch.evaluations(selection.of(distinct(without_files(file.cases()), lambda _: None)))) as evaluations,
    ):
        for _ in kept.kept(evaluations, MOST_FAILURES):
            course.done = kept.skipped + kept.added
            if course.stopping.is_set():
                return
        course.done = kept.skipped + kept.added


@contextmanager
def _judging(names: tuple[str, ...], extent: Extent) -> Iterator[tuple[JudgeOf | None, Evaluator | None]]:
    """The judges, on an event loop of the run's own; none where none are named."""
    if not names:
        yield None, None
        return
    jury = import_module("rubrica.judges.jury").Jury(names, warm=extent.repeat > 1, seed=extent.seed, public=True)
    with asyncio.Runner() as runner:
        try:
            yield jury.judge, lambda work: run_concurrently(runner, work, judged, AT_ONCE)
        finally:
            runner.run(jury.close())


def orders_of(folder: Path, manifest: Manifest, cases: Path) -> RunJob | None:
    """The orders to go on with a run that stopped; None where its cases do not lie in the folder of cases."""
    source = Path(manifest.source)
    inside = source.resolve().is_relative_to(cases.resolve())
    if manifest.kind != "judged" or len(manifest.rubrics) != 1 or not inside:
        return None
    extent = extent_of(manifest)
    if not source.is_file() or extent is None:
        return None
    return RunJob(folder, manifest.rubrics[0].rubric(), source, manifest.judges, extent, manifest.id)
