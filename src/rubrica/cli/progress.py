"""How far a run has come: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from rubrica.report.figures import count_of, dollars, duration
from rubrica.runs.bulk.progress import BulkProgress
from rubrica.runs.events import RunAdvanced

from .screen import err, note

EVERY_IN_LOG = 30.0  # seconds


def progress_text(now: RunAdvanced) -> str:
    """How far a run is, in one line: how many, how fast, what it cost, how long it will take."""
    rate = now.judged / now.seconds if now.seconds > 0 else 0.0
    about = "about " if now.estimated else ""
    facts = [f"{now.done:,} of {about}{now.total:,}" if now.total is not None else f"{now.done:,} done"]
    facts.append(f"{rate:,.0f} a second" if rate >= 10 else f"{rate:.1f} a second")
    if now.nodes is not None:
        facts.append(count_of(now.nodes, "node"))
    if now.cost is not None:
        facts.append(dollars(now.cost.usd))
    if now.total is not None and rate > 0:
        facts.append(f"{duration(1000 * (now.total - now.done) / rate)} left")
    return " · ".join(facts)


@contextmanager
def run_progress(clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[RunAdvanced], None]]:
    """Tells on standard error how far a run is."""
    if not err().is_terminal:
        last = clock()

        def tell(now: RunAdvanced) -> None:
            nonlocal last
            if clock() - last >= EVERY_IN_LOG:
                note(progress_text(now))
                last = clock()

        yield tell
        return
    with progress_bar(BarColumn(), TaskProgressColumn(), TextColumn("{task.description}")) as shown:
        task = shown.add_task("", total=None)
        yield lambda now: shown.update(task, description=progress_text(now), total=now.total, completed=now.done)


@contextmanager
def bulk_progress() -> Iterator[Callable[[BulkProgress], None]]:
    """Tells how far a bulk run has come, piece by piece."""
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with progress_bar(*columns) as shown:
        task = shown.add_task("", total=None)
        yield lambda done: shown.update(
            task, description=f"{done.rows:,} judged", total=done.all_pieces, completed=done.pieces
        )


class ProgressScreen(ExitStack):
    """Shows how far a run is from the first report on, until it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self._run: Callable[[RunAdvanced], None] | None = None
        self._bulk: Callable[[BulkProgress], None] | None = None

    def show(self, event: RunAdvanced | BulkProgress) -> None:
        if isinstance(event, RunAdvanced):
            self._run = self._run or self.enter_context(run_progress())
            self._run(event)
        else:
            self._bulk = self._bulk or self.enter_context(bulk_progress())
            self._bulk(event)


def progress_bar(*columns: ProgressColumn) -> Progress:
    """A bar on a terminal that goes when it is done with; elsewhere nothing."""
    console = err()
    return Progress(
        *columns,
        console=console,
        redirect_stdout=False,
        redirect_stderr=False,
        transient=True,
        disable=not console.is_terminal,
    )
