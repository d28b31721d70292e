"""How far a run has come: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from rubrica.runs.bulk.progress import BulkProgress
from rubrica.runs.events import RunAdvanced
from rubrica.runs.progress import progress_text

from .screen import err, err_may_be_terminal, note

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

EVERY_IN_LOG = 30.0  # seconds


@contextmanager
def run_progress(clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[RunAdvanced], None]]:
    """Tells on standard error how far a run is."""
    if not (err_may_be_terminal() and err().is_terminal):
        last = clock()

        def tell(now: RunAdvanced) -> None:
            nonlocal last
            if clock() - last >= EVERY_IN_LOG:
                note(progress_text(now))
                last = clock()

        yield tell
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn  # here, since no log shows a bar

    with progress_bar(BarColumn(), TaskProgressColumn(), TextColumn("{task.description}")) as shown:
        task = shown.add_task("", total=None)
        yield lambda now: shown.update(task, description=progress_text(now), total=now.total, completed=now.done)


@contextmanager
def bulk_progress() -> Iterator[Callable[[BulkProgress], None]]:
    """Tells how far a bulk run has come, piece by piece."""
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

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
    from rich.progress import Progress

    console = err()
    return Progress(
        *columns,
        console=console,
        redirect_stdout=False,
        redirect_stderr=False,
        transient=True,
        disable=not console.is_terminal,
    )
