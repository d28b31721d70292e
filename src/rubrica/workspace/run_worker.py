"""A worker: takes runs from the queue, executes them, tells how far they are, and gives them back when it ends.

It works in the folder of runs of the servers, which lies on a disk that they share, and in the object stores that both
are told of. What a run is made of (its rubric, cases and judges) is in that folder; on whose account its judges are
asked is in the queue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from rubrica.errors import BusyError, RubricaError, StoreError
from rubrica.extras import requires
from rubrica.store.database import Database
from rubrica.store.run_queue import QueuedRun, advance_run, end_run, give_back, take_run

from .run_end import announce_end
from .run_jobs import RunJob, RunJobs, RunProgress, stopped_job
from .run_listing import is_running
from .run_payer import RunPayer
from .run_places import RunPlaces
from .run_quote import quote_run
from .spending import SpendingLimits

LOG = logging.getLogger("rubrica.worker")
EVERY = 0.5
"""Seconds between two times that a worker says how far a run is, and hears whether it shall stop."""
LATER = 5.0
"""Seconds until a run that cannot be worked off here now is tried again."""
ELSEWHERE = "another process is at work in its folder still"


class HandedBackError(RubricaError):
    """A run is not worked off here to its end; `delay` is how many seconds later somebody may try."""

    def __init__(self, run: str, delay: float, why: str) -> None:
        super().__init__(f"{run} is handed back: {why}")
        self.delay = delay
        self.why = why


@dataclass(slots=True)
class RunWorker:
    """Executes the runs of a server's places that are taken from the queue."""

    database: Database
    runs: Path
    clock: Callable[[], datetime]
    name: str  # as others are told it
    at_once: int = 2
    on_end: Callable[[], None] = lambda: None
    more_runs: tuple[str, ...] = ()  # other places than the folder
    leaving: bool = False
    _places: RunPlaces = field(init=False)
    _jobs: RunJobs = field(init=False)

    def __post_init__(self) -> None:
        self._places = RunPlaces(self.runs, self.more_runs)
        self._jobs = RunJobs(self.clock, self.at_once)

    def hand_back(self) -> None:
        """Stop what is under way after the evaluations that are being made; others go on with it."""
        self.leaving = True
        for run_progress in self._jobs.running:
            run_progress.stopping.set()

    async def execute_queued(self, run: str, ticket: int) -> None:
        """Execute a run that was queued. A HandedBackError says that it has not ended, and shall be queued again."""
        held = await self.database.write(take_run, run, ticket, self.name, self.clock())
        if held is None:
            return  # it was cancelled, or queued anew
        try:
            job = await asyncio.to_thread(self._job, held)
            if job is None:  # whoever had it came to its end, and not to saying so
                await self.database.write(end_run, held, {})
                return
            await self._executed(held, job)
        except HandedBackError as error:
            await self.database.write(give_back, held, "" if self.leaving else error.why, {})
            raise
        except RubricaError as error:
            if isinstance(error, StoreError):
                raise HandedBackError(run, LATER, str(error)) from error
            await self._failed(held, str(error))
        except Exception:  # told with the run; what exactly went wrong is in the worker's log
            LOG.exception("%s ended with an error", run)
            await self._failed(held, "it ended with an error that the worker's log tells of")

    async def _failed(self, held: QueuedRun, reason: str) -> None:
        if (target := await asyncio.to_thread(self._places.target, held.run)) is not None:
            await asyncio.to_thread(target.mark_ended, "failed", reason)
        await self.database.write(end_run, held, {})

    def _job(self, held: QueuedRun) -> RunJob | None:
        try:
            manifest = self._places.manifest(held.run)
        except BusyError as error:
            raise HandedBackError(held.run, LATER, str(error)) from error
        except RubricaError:
            manifest = None
        if manifest is None or manifest.id != held.run_id:
            raise HandedBackError(
                held.run,
                LATER,
                f"{self.name} does not see its folder (workers share the servers' folder of runs)",
            )
        if manifest.finished is not None:
            return None
        job = stopped_job(self._places, held.run)
        if job is not None and not job.address and is_running(job.folder):  # in a store, claims tell
            raise HandedBackError(held.run, LATER, ELSEWHERE)
        if job is None:
            raise RubricaError("its cases are not there any more (start another run)")
        return job

    async def _executed(self, held: QueuedRun, job: RunJob) -> None:
        run_progress = self._jobs.register(job)
        try:
            async with AsyncExitStack() as stack:
                await self._launch(held, run_progress, stack)
                await self._watch(held, run_progress)
        finally:
            run_progress.stopping.set()
            self._jobs.withdraw(run_progress)

    async def _launch(self, held: QueuedRun, run_progress: RunProgress, stack: AsyncExitStack) -> None:
        """Begin a run; with judges only if it can be paid."""
        job = run_progress.job
        if self.leaving:
            raise HandedBackError(held.run, 0.0, "its worker ends")
        if job.judges:
            with requires("judges", "a run with judges"):
                from rubrica.judges.jury import Jury
            jury = Jury(job.judges, public=True)
            stack.push_async_callback(jury.close)
            payer = msgspec.convert(held.payer, RunPayer)
            spending = SpendingLimits(self.database, self.clock, payer.policy, jury)
            stack.push_async_callback(spending.close)
            quote = await quote_run(jury, job)
            await stack.enter_async_context(
                spending.paying(payer.caller, quote, batch=True, budget=payer.left(held.usd))
            )
        self._jobs.launch(run_progress)

    async def _watch(self, held: QueuedRun, run_progress: RunProgress) -> None:
        """Tell how far a run is until it ends, and then how it ended."""
        cancelled = lost = False
        while run_progress.state == "running":
            await asyncio.sleep(EVERY)
            with suppress(StoreError):  # the next time may come through
                answer = await self.database.write(advance_run, held, _figures(held, run_progress), self.clock())
                lost, cancelled = answer is None, bool(answer)
            if lost or cancelled or self.leaving:
                run_progress.stopping.set()
        if lost:
            LOG.warning("%s was taken over by another worker", held.run)
            return
        if run_progress.is_elsewhere:
            raise HandedBackError(held.run, LATER, ELSEWHERE)
        if run_progress.state == "stopped" and self.leaving and not cancelled:
            raise HandedBackError(held.run, 0.0, "its worker ends")
        if await self.database.write(end_run, held, _figures(held, run_progress)):
            await self.database.write(announce_end, run_progress, self.clock())
            self.on_end()


def _figures(held: QueuedRun, run_progress: RunProgress) -> dict[str, Any]:
    figures: dict[str, Any] = {"expected": run_progress.expected, "broken": run_progress.broken}
    if run_progress.done:
        figures["done"] = run_progress.done
    if run_progress.cost is not None and run_progress.cost.usd is not None:
        figures["usd"] = (held.usd or 0.0) + run_progress.cost.usd
    return figures
