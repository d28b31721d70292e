"""Runs that a server works off itself: each is executed in a thread of its own, as ``rubrica run`` would."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from rubrica.errors import BusyError, ConflictError, MissingError, RubricaError
from rubrica.model.evaluation import Cost
from rubrica.model.rubric import Rubric
from rubrica.runs.events import LineBroken, RunAdvanced, RunEvent
from rubrica.runs.execute import execute_run
from rubrica.runs.files.manifest import Manifest, new_run_id
from rubrica.runs.mirror.claim import ClaimedError
from rubrica.runs.request import CaseChoice, JudgeSettings, RunRequest, RunStore

from .case_files import folder_of
from .run_access import RunKey
from .run_extent import EVERYTHING, RunExtent, extent_of
from .run_places import RunPlaces
from .run_target import RunTarget, read_started

LOG = logging.getLogger("rubrica.server")
AT_ONCE = 32
"""Cases under way at once, where a model judges."""
MOST_KEPT = 100
"""Ended runs of which the server remembers how they went; what they came to is in their folders."""


@dataclass(frozen=True, slots=True)
class RunJob:
    """What is judged, by what, and into which folder."""

    folder: Path
    rubric: Rubric
    cases: Path
    judges: tuple[str, ...] = ()
    extent: RunExtent = EVERYTHING
    id: str = field(default_factory=new_run_id)  # of the run's manifest
    address: str = ""  # in an object store, whose copy the folder is; empty: the folder is all there is

    @property
    def target(self) -> RunTarget:
        return RunTarget(self.folder, self.address)

    @property
    def request(self) -> RunRequest:
        """As ``rubrica run CASES -r RUBRIC -o FOLDER`` makes it, so that either goes on with the other's run."""
        extent = self.extent
        return RunRequest(
            CaseChoice(str(self.cases), extent.selection, repeat=extent.repeat, from_others=True),
            self.folder,
            self.rubric,
            JudgeSettings(self.judges, jobs=AT_ONCE, seed=extent.seed, public=True),
            bulk=False,
            processes=1,  # several people share the machine
            id=self.id,
            store=RunStore(self.address) if self.address else None,
        )


@dataclass(slots=True)
class RunProgress:
    """How far a run has come. It is written by the run's thread alone, but for `stopping`."""

    job: RunJob
    expected: int | None = None
    done: int = 0  # with what was done before
    broken: int = 0
    cost: Cost | None = None  # of judging so far; None where nothing was paid for
    state: str = "running"  # or finished, stopped, failed
    error: str = ""
    is_elsewhere: bool = False  # whether it failed because another process has it, and goes on with it
    stopping: threading.Event = field(default_factory=threading.Event)

    def __call__(self, event: RunEvent) -> None:
        """Hear what the run reports."""
        if isinstance(event, RunAdvanced):
            self.done, self.expected = event.done, None if event.estimated else event.total
            self.cost = event.cost
        elif isinstance(event, LineBroken):
            self.broken += 1

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
        self._started: dict[str, RunProgress] = {}

    def run_progress(self, name: str) -> RunProgress | None:
        return self._started.get(name)

    @property
    def running(self) -> Sequence[RunProgress]:
        return [run_progress for run_progress in self._started.values() if run_progress.state == "running"]

    def check_room(self) -> None:
        """Refuse another run while as many as there may be are under way."""
        if len(self.running) >= self._most:
            raise ConflictError(f"{self._most} runs are under way; wait for one of them, or stop it")

    def start(self, job: RunJob) -> RunProgress:
        """Begin a run, or go on with one that stopped. It goes on when the page that started it is closed."""
        return self.launch(self.register(job))

    def register(self, job: RunJob) -> RunProgress:
        """Keep a place for a run that is about to begin."""
        known = self._started.get(job.folder.name)
        if known is not None and known.state == "running":
            raise ConflictError(f"{job.folder.name} is under way already")
        self.check_room()
        for name in [name for name, one in self._started.items() if one.state != "running"][:-MOST_KEPT]:
            del self._started[name]
        run_progress = RunProgress(job)
        self._started[job.folder.name] = run_progress
        return run_progress

    def withdraw(self, run_progress: RunProgress) -> None:
        """Give the place of a run back that does not begin."""
        self._started.pop(run_progress.job.folder.name, None)

    def launch(self, run_progress: RunProgress) -> RunProgress:
        """Execute a run that has a place."""
        job = run_progress.job
        begun = copy_context()  # with the budget that its calls are paid from
        name = f"run {job.folder.name}"
        threading.Thread(target=begun.run, args=(self._executed, run_progress), name=name, daemon=True).start()
        return run_progress

    def _executed(self, run_progress: RunProgress) -> None:
        try:
            outcome = execute_run(run_progress.job.request, run_progress, run_progress.stopping, self._clock)
        except ClaimedError as error:
            run_progress.is_elsewhere = True
            run_progress.error, run_progress.state = str(error), "failed"
        except RubricaError as error:
            self._failed(run_progress, str(error))
        except Exception:  # told on the page; what exactly went wrong is in the server's log
            LOG.exception("the run in %s ended with an error", run_progress.job.folder)
            self._failed(run_progress, "it ended with an error that the server's log tells of")
        else:
            run_progress.error = outcome.reason
            run_progress.state = "failed" if outcome.ending == "unanswered" else outcome.ending

    def _failed(self, run_progress: RunProgress, reason: str) -> None:
        try:
            run_progress.job.target.mark_ended("failed", reason)
        except (RubricaError, OSError):
            LOG.exception("that the run in %s failed cannot be written down", run_progress.job.folder)
        run_progress.error, run_progress.state = reason, "failed"


def find_run(places: RunPlaces, run_jobs: RunJobs, name: str) -> RunKey:
    """Which run is meant by a name now; an error where there is none. One that cannot be read has no id."""
    run_progress = run_jobs.run_progress(name)
    begun = run_progress.job.id if run_progress is not None else ""
    try:
        manifest = places.manifest(name)
    except MissingError:
        if not begun:
            raise
        return RunKey(name, begun)  # it was started just now
    except BusyError:
        raise
    except RubricaError:
        return RunKey(name, "")
    return RunKey(name, manifest.id if manifest is not None else begun)


def stopped_job(places: RunPlaces, name: str) -> RunJob | None:
    """The job to go on with a run; None where only the command that started it can. Of one in an object store, into
    which others may write, what it is made by is believed as the server has kept it."""
    target, manifest = places.target(name), places.manifest(name)
    if target is not None and manifest is not None and target.address:
        manifest = read_started(places.home, manifest.id)
    if target is None or manifest is None:
        return None
    return job_of(target.folder, manifest, folder_of(places.home), target.address)


def job_of(folder: Path, manifest: Manifest, cases: Path, address: str = "") -> RunJob | None:
    """The job to go on with a run that stopped; None where its cases do not lie in the folder of cases."""
    source = _cases_here(Path(manifest.source), cases)
    inside = source.resolve().is_relative_to(cases.resolve())
    if manifest.kind != "judged" or len(manifest.rubrics) != 1 or not inside:
        return None
    extent = extent_of(manifest)
    if not source.is_file() or extent is None:
        return None
    return RunJob(folder, manifest.rubrics[0].rubric(), source, manifest.judges, extent, manifest.id, address)


def _cases_here(source: Path, cases: Path) -> Path:
    """A file of cases, where the folder of runs has another place on this machine than where the run was started.

    >>> _cases_here(Path("/srv/runs/cases/u/a.jsonl"), Path("/mnt/runs/cases")).as_posix()
    '/mnt/runs/cases/u/a.jsonl'
    """
    parts = source.parts
    if source.resolve().is_relative_to(cases.resolve()) or cases.name not in parts:
        return source
    last = len(parts) - 1 - parts[::-1].index(cases.name)
    return cases.joinpath(*parts[last + 1 :])
