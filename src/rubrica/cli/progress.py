"""How far a run has come: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from rubrica.model.evaluation import Evaluation
from rubrica.report.figures import dollars, duration
from rubrica.runs.files.case_source import CaseSource
from rubrica.runs.run import Run
from rubrica.runs.summary.tally import RunTally

from .screen import err, note

if TYPE_CHECKING:
    from rubrica.runs.bulk.run import BulkProgress

EVERY_ON_SCREEN, EVERY_IN_LOG = 0.1, 30.0  # seconds
Watch = Callable[[Iterator[Evaluation]], Iterator[Evaluation]]


@dataclass(frozen=True, slots=True)
class ProgressState:
    """A run as its progress sees it. `expected` is how many evaluations there will be, where that was counted."""

    file: CaseSource
    run: Run
    tally: RunTally
    expected: int | None = None
    clock: Callable[[], float] = time.monotonic
    started: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        return self.run.skipped + self.tally.judged

    @property
    def total(self) -> int | None:
        """As counted, or by how much of the file has been read."""
        if self.expected is not None:
            return max(self.expected, self.done)
        return round(self.done * self.file.size / self.file.read) if self.file.size and self.file.read else None

    def told(self) -> str:
        """The state in one line: how many, how fast, what it cost, how long it will take."""
        total, seconds = self.total, self.clock() - self.started
        rate = self.tally.judged / seconds if seconds > 0 else 0.0
        about = "about " if self.expected is None else ""
        facts = [f"{self.done:,} of {about}{total:,}" if total is not None else f"{self.done:,} done"]
        facts.append(f"{rate:,.0f} a second" if rate >= 10 else f"{rate:.1f} a second")
        if (cost := self.tally.cost) is not None:
            facts.append(dollars(cost.usd))
        if total is not None and rate > 0:
            facts.append(f"{duration(1000 * (total - self.done) / rate)} left")
        return " · ".join(facts)


@contextmanager
def progress(course: ProgressState) -> Iterator[Watch]:
    """Watches evaluations go by and tells of them on standard error."""
    console = err()
    if not console.is_terminal:
        yield lambda evaluations: _told(evaluations, course, EVERY_IN_LOG, lambda: note(course.told()))
        return
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, redirect_stdout=False, redirect_stderr=False, transient=True) as shown:
        task = shown.add_task("", total=None)

        def update() -> None:
            shown.update(task, description=course.told(), total=course.total, completed=course.done)

        yield lambda evaluations: _told(evaluations, course, EVERY_ON_SCREEN, update)


def _told(
    evaluations: Iterator[Evaluation], course: ProgressState, every: float, tell: Callable[[], None]
) -> Iterator[Evaluation]:
    last = course.clock()
    for evaluation in evaluations:
        yield evaluation
        if course.clock() - last >= every:
            tell()
            last = course.clock()


@contextmanager
def bulk_progress() -> Iterator[Callable[[BulkProgress], None]]:
    """Tells how far a bulk run has come, piece by piece."""
    console = err()
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console, redirect_stdout=False, redirect_stderr=False, transient=True) as shown:
        task = shown.add_task("", total=None)
        yield lambda done: shown.update(
            task, description=f"{done.rows:,} judged", total=done.all_pieces, completed=done.pieces
        )
