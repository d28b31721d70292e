"""Runs on a server, whoever asks for them by page or by request: start one, go on with it, stop it, see how far it is.

The server works runs off itself, in `RunJobs`; or they wait in the database for a worker, which may be another process
on another machine, and which says there how far it has come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from rubrica.errors import ConflictError, InputError
from rubrica.llm.public import by_public_name
from rubrica.runs.files.manifest import new_run_id
from rubrica.store.database import Database
from rubrica.store.run_queue import QueuedRun, cancel_run, open_runs, open_runs_of, queue_run, queued_run

from . import catalogue
from .access import Caller, check_action
from .case_files import CaseFile, case_file, case_files, save_examples, save_inline_cases, save_upload
from .draft import rubric_of
from .entry import RubricEntry
from .run_access import RunKey, change_run, claim_run, read_run, readable_names
from .run_end import announce_end, announce_run_end
from .run_extent import EVERYTHING, RunExtent
from .run_jobs import RunJob, RunJobs, RunProgress, find_run, stopped_job
from .run_listing import RunLine, read_line
from .run_payer import RunPayer
from .run_places import RunPlaces
from .run_quote import quote_run
from .run_target import keep_started
from .spending import SpendingLimits

if TYPE_CHECKING:  # a server without judges needs no model client and no price list
    from rubrica.judges.jury import Jury

Query = Callable[[Connection], "RunStatus"]
MOST_WAITING = 100
"""Runs of one owner that wait or are under way, where they are queued."""
Keep = Callable[[Query], Awaitable[object]]
"""Runs a query in one transaction, together with whatever else shall be kept if it is."""


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that somebody wants. Its cases are given, or lie in a file of cases, or are the rubric's examples."""

    rubric: str  # a reference
    name: str = ""  # empty: made of the rubric's and the time
    cases: Sequence[Mapping[str, Any]] | None = None
    file: str | None = None  # a name among the files of cases that are there for them
    examples: bool = False
    judges: Sequence[str] | None = None  # some of the server's; None: all of them, empty: nobody is asked
    extent: RunExtent = EVERYTHING
    budget: float | None = None  # US dollars
    place: str = ""  # where it is kept, one of the server's places; empty: its own folder


@dataclass(frozen=True, slots=True)
class RunStatus:
    """How far a run is, or what it came to."""

    line: RunLine
    expected: int | None = None  # evaluations; None: not known, or not under way here
    broken: int = 0  # lines that are no case, or cases that could not be judged
    usd: float | None = None  # so far; None: nothing was paid for, or a price is not known
    here: bool = False  # whether it can be stopped here: this process is at work on it, or it is queued
    stopping: bool = False
    may_change: bool = False
    summary: Mapping[str, Any] | None = None  # of one that is finished


@dataclass(frozen=True, slots=True)
class RunService:
    """The runs of a server."""

    places: RunPlaces
    judges: tuple[str, ...]  # models that may be asked, by name
    database: Database
    clock: Callable[[], datetime]
    spending: SpendingLimits
    jury: Jury | None = None
    on_end: Callable[[], None] = lambda: None
    at_once: int = 2  # runs that are under way in this process, where they are not queued
    queued: bool = False  # whether they wait in the database for a worker
    jobs: RunJobs = field(init=False)
    _ending: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", RunJobs(self.clock, self.at_once))

    @property
    def folder(self) -> Path:
        """Where runs are started unless another place is named, and where files of cases are."""
        return self.places.home

    async def start(self, caller: Caller, wanted: NewRun, keep: Keep | None = None) -> str:
        """Begin a run of the caller's; its name. It is theirs, and can be gone on with, before it begins."""
        check_action(caller, "starting a run")
        await self._check_room(caller)
        judges = self._judges(wanted.judges)
        entry = await self.database.read(catalogue.entry, caller, wanted.rubric)
        job = await asyncio.to_thread(self._job, caller, wanted, entry, judges)
        now = self.clock()

        def claim(conn: Connection) -> RunStatus:
            claim_run(conn, caller, RunKey(job.folder.name, job.id), now)
            return self._begun(conn, caller, job, 0, wanted.budget)

        async def claimed() -> None:
            await asyncio.to_thread(self._make, job, now)
            try:
                await (keep or self.database.write)(claim)
            except BaseException:
                await asyncio.to_thread(job.target.discard)
                raise

        await self._begin(caller, job, claimed, wanted.budget)
        return job.folder.name

    async def resume(self, caller: Caller, name: str, budget: float | None = None, keep: Keep | None = None) -> None:
        """Go on with a run that ended before its end. No case is judged twice."""
        await self._check_changeable(caller, name, "going on with a run")
        if await self._queued_run(name) is not None:
            raise ConflictError(f"{name} is under way already")
        job, done = await asyncio.to_thread(self._stopped_job, name)

        async def kept() -> None:
            if keep is not None or self.queued:
                await (keep or self.database.write)(lambda conn: self._begun(conn, caller, job, done, budget))

        await self._begin(caller, job, kept, budget)

    async def cancel(self, caller: Caller, name: str) -> RunStatus:
        """Stop a run after the evaluations that are under way. One that has ended stays as it is."""
        await self._check_changeable(caller, name, "stopping a run")
        run_progress = self._running(name)
        if run_progress is not None:
            run_progress.stopping.set()
        elif (own := await self._queued_run(name)) is not None:
            was = await self.database.write(cancel_run, name, own.run_id, self.clock())
            if was == "waiting":
                await self._end_waiting(name)
        status = await self._told(name, may_change=True)
        if not status.here and status.line.state == "running":
            raise ConflictError(f"another process is at work on {name}; stop it there")
        return status

    async def _end_waiting(self, name: str) -> None:
        """Write down that a run was stopped which no worker has, and tell the webhooks."""
        if (target := await asyncio.to_thread(self.places.target, name)) is not None:
            await asyncio.to_thread(target.mark_ended, "stopped")
        job, done = await asyncio.to_thread(self._stopped_job, name)
        await self.database.write(announce_end, RunProgress(job, done=done, state="stopped"), self.clock())
        self.on_end()

    async def status(self, caller: Caller, name: str) -> RunStatus:
        """How far a run is, for whoever may read it."""
        key = await asyncio.to_thread(find_run, self.places, self.jobs, name)
        may_change = await self.database.read(read_run, caller, key)
        return await self._told(name, may_change=may_change)

    async def lines(self, caller: Caller) -> list[RunLine]:
        """The runs that a caller may read, the latest first. Folders that cannot be read are for admins."""
        running = {one.job.folder.name: one.done for one in self.jobs.running}
        queued = {one.run: one for one in await self.database.read(open_runs)} if self.queued else {}
        running |= {name: one.done for name, one in queued.items()}
        found = await asyncio.to_thread(self.places.lines, running)
        lines = [self._queued_line(line, queued.get(line.name)) for line in found]
        names = await self.database.read(readable_names, caller, [RunKey(line.name, line.id) for line in lines])
        return [line for line in lines if line.name in names]

    async def files(self, caller: Caller) -> list[CaseFile]:
        """The files of cases that a caller may start a run with, the latest first."""
        check_action(caller, "starting a run")
        return await asyncio.to_thread(case_files, self.folder, caller.user_id)

    async def upload(self, caller: Caller, name: str, data: bytes) -> CaseFile:
        """Keep a file of cases for a caller alone."""
        check_action(caller, "uploading cases")
        return await asyncio.to_thread(save_upload, self.folder, name, data, caller.user_id)

    # --- how a run begins ---------------------------------------------------------------------------------

    async def _begin(
        self, caller: Caller, job: RunJob, keep: Callable[[], Awaitable[None]], budget: float | None
    ) -> None:
        """Execute a job that is kept, or have it executed; with judges only if it can be paid."""

        async def begun() -> RunProgress:
            run_progress = self.jobs.register(job)
            try:
                await keep()
            except BaseException:
                self.jobs.withdraw(run_progress)
                raise
            self.jobs.launch(run_progress)
            self._announce_end(run_progress)
            return run_progress

        if not job.judges:
            await (keep() if self.queued else begun())
            return
        if self.jury is None or not set(job.judges) <= set(self.judges):
            raise InputError(
                "this server has not the judges of this run (rubrica run goes on with it, or serve --judge)"
            )
        quote = await quote_run(self.jury, job)
        if self.queued:  # whoever works it off reserves what it takes; what cannot be paid now is refused now
            async with self.spending.paying(caller, quote, batch=True, budget=budget):
                await keep()
        else:
            await self.spending.begin(caller, quote, begun, lambda one: one.state == "running", budget)

    async def _check_room(self, caller: Caller) -> None:
        if not self.queued:
            self.jobs.check_room()
        elif await self.database.read(open_runs_of, caller.user_id) >= MOST_WAITING:
            raise ConflictError(f"{MOST_WAITING} of your runs wait or are under way; wait for one of them, or stop it")

    def _announce_end(self, run_progress: RunProgress) -> None:
        """Tell the webhooks of the run's owner once it has ended."""
        task = asyncio.get_running_loop().create_task(
            announce_run_end(self.database, run_progress, self.clock, self.on_end)
        )
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Look no longer for the end of runs."""
        for task in self._ending:
            task.cancel()
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _job(self, caller: Caller, wanted: NewRun, entry: RubricEntry, judges: tuple[str, ...]) -> RunJob:
        slug = entry.listing.slug
        run_id = new_run_id()
        name = wanted.name or f"{slug[:60]}-{self.clock():%Y%m%d-%H%M%S}-{run_id[:4]}"
        target = self.places.new_target(name, wanted.place)
        given = [wanted.cases is not None, wanted.file is not None, wanted.examples]
        if sum(given) != 1:
            raise InputError("say what is judged: cases, a file of cases, or the rubric's examples; one of them")
        owner = caller.user_id
        if wanted.cases is not None:
            cases = save_inline_cases(self.folder, wanted.cases, owner)
        else:
            name = wanted.file or save_examples(self.folder, slug, entry.version.examples, owner).name
            cases = case_file(self.folder, name, owner)
        extent = wanted.extent if judges else replace(wanted.extent, repeat=1)  # code gives the same each time
        return RunJob(target.folder, rubric_of(entry.document), cases, judges, extent, run_id, target.address)

    def _make(self, job: RunJob, now: datetime) -> None:
        """Write what a run is made by: from now on it is there, and can be gone on with."""
        manifest = job.request.manifest(now)
        if job.address:
            keep_started(self.folder, manifest)
        job.target.make(manifest)

    def _judges(self, wanted: Sequence[str] | None) -> tuple[str, ...]:
        """Judges by their public names, or as the server knows them."""
        if wanted is None:
            return self.judges
        known = {**by_public_name(self.judges), **{name: name for name in self.judges}}
        if unknown := [name for name in wanted if name not in known]:
            there = ", ".join(by_public_name(self.judges)) or "none"
            raise InputError(f"judges: there is no {unknown[0][:100]!r} on this server, whose judges are: {there}")
        return tuple(dict.fromkeys(known[name] for name in wanted))

    def _stopped_job(self, name: str) -> tuple[RunJob, int]:
        manifest, line = self.places.manifest(name), self.places.overview(name).line
        if self._running(name) is not None or line.state == "running":
            raise ConflictError(f"{name} is under way already")
        if manifest is not None and manifest.finished is not None:
            raise ConflictError(f"{name} is finished; start another run")
        job = self.stopped_job(name)
        if job is None:
            raise ConflictError(f"{name} was not started here; the command that started it goes on where it stopped")
        return job, line.evaluations

    def stopped_job(self, name: str) -> RunJob | None:
        """The job to go on with a run; None where only the command that started it can."""
        return stopped_job(self.places, name)

    # --- how far it is ------------------------------------------------------------------------------------

    def _running(self, name: str) -> RunProgress | None:
        run_progress = self.jobs.run_progress(name)
        return run_progress if run_progress is not None and run_progress.state == "running" else None

    async def _check_changeable(self, caller: Caller, name: str, doing: str) -> None:
        key = await asyncio.to_thread(find_run, self.places, self.jobs, name)
        await self.database.read(change_run, caller, key, doing)

    def _begun(self, conn: Connection, caller: Caller, job: RunJob, done: int, budget: float | None) -> RunStatus:
        """A run that is about to begin, as whoever begins it is told; where runs are queued, it is from now on."""
        line = read_line(job.folder, done)
        if self.queued:
            payer = RunPayer(caller, self.spending.policy, budget)
            queue_run(conn, job.folder.name, job.id, caller.user_id, payer.document, self.clock())
            line = replace(line, state="waiting")
        return RunStatus(line, here=True, may_change=True)

    async def _told(self, name: str, *, may_change: bool) -> RunStatus:
        queued = await self._queued_run(name)
        if queued is None:
            return await asyncio.to_thread(self._status, name, may_change=may_change)
        line = await asyncio.to_thread(self.places.line_under_way, name, queued.done)
        shown = self._queued_line(line, queued)
        shown = shown if may_change else replace(shown, why="")
        return RunStatus(shown, queued.expected, queued.broken, queued.usd, True, queued.stopping, may_change)

    async def _queued_run(self, name: str) -> QueuedRun | None:
        """A run that waits for a worker, or is with one."""
        if not self.queued:
            return None
        key = await asyncio.to_thread(find_run, self.places, self.jobs, name)
        found = await self.database.read(queued_run, name, key.id)
        if found is None or found.state == "ended":
            self.places.forget(name)
            return None
        return found

    def _queued_line(self, line: RunLine, queued: QueuedRun | None) -> RunLine:
        state = None if queued is None or queued.run_id != line.id else queued.public_state(self.clock())
        return line if state is None or queued is None else replace(line, state=state, why=queued.note)

    def _status(self, name: str, *, may_change: bool) -> RunStatus:
        run_progress = self._running(name)
        if run_progress is not None:
            usd = run_progress.cost.usd if run_progress.cost is not None else None
            line = read_line(run_progress.job.folder, run_progress.done)
            stopping = run_progress.stopping.is_set()
            return RunStatus(line, run_progress.expected, run_progress.broken, usd, True, stopping, may_change)
        if self.jobs.run_progress(name) is not None:
            self.places.forget(name)
        found = self.places.overview(name)
        line = found.line
        shown = line if may_change else replace(line, why="")
        return RunStatus(shown, broken=found.broken, usd=line.usd, may_change=may_change, summary=found.summary)
