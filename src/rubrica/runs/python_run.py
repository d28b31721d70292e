"""How a program has cases judged: what it may give as cases, its options, and the execution."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
from msgspec.structs import replace

from rubrica.errors import InputError, RubricaError
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load

from .bulk.progress import BulkProgress
from .events import EventCallback, RunAdvanced, RunEvent, RunOutcome, ignore_event
from .execute import execute_run
from .files.append_only import finished_lines
from .files.folder import ERRORS, EVALUATIONS
from .progress import progress_text
from .record_material import RECORDS, RecordMaterial
from .request import CaseChoice, JudgeSettings, RunRequest
from .run_writer import ModelsDownError

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
    tell: EventCallback = ignore_event  # hears every event

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> RunOptions:
        unknown = [name for name in options if name not in cls.__dataclass_fields__]
        if unknown:
            raise RubricaError(f"no such option of a run: {', '.join(unknown)} ({', '.join(cls.__dataclass_fields__)})")
        return cls(**options)


@dataclass(frozen=True, slots=True)
class PythonRun:
    """A run that a program asked for."""

    request: RunRequest
    how: RunOptions
    place: str  # a folder or an address
    is_temporary: bool  # it goes with the Run

    @classmethod
    def of(
        cls,
        cases: Any,
        rubric: RubricSource | None,
        judge: str | Sequence[str] | None,
        out: str | Path | None,
        how: RunOptions,
    ) -> PythonRun:
        judges = () if judge is None else (judge,) if isinstance(judge, str) else tuple(judge)
        request = RunRequest(
            replace(_chosen(cases), context=how.context or {}, repeat=how.repeat),
            Path(),
            load(rubric) if rubric is not None else None,
            JudgeSettings(judges, how.repeats, how.budget, how.jobs, cached=how.cached, seed=how.seed),
            resume=how.resume,
            retry_errors=how.retry_errors,
            max_failures=how.max_failures,
            bulk=how.bulk,
        )
        place = str(out) if out is not None else tempfile.mkdtemp(prefix="rubrica-")
        return cls(request.kept_at(place), how, place, out is None)

    def execute(self, cluster: str | None, stop: Event) -> RunOutcome:
        """Judge what is to be judged; whether that came to its end is for `check` to say."""
        request = replace(self.request, cluster=cluster)
        try:
            with _shown(self.how) as tell:
                return _executed(lambda: execute_run(request, tell, stop), stop)
        except BaseException:
            self._leave()
            raise

    def check(self, outcome: RunOutcome) -> None:
        """Raise where there is no run to look at, with the way to go on."""
        if outcome.ending != "finished":
            kept = f"what was judged is kept in {self.place}, and {self._way_on()}"
            if outcome.ending == "stopped":
                raise KeyboardInterrupt(kept)
            raise ModelsDownError(f"{outcome.reason}; {kept}")
        if outcome.counts.broken and not (outcome.tally is not None and outcome.tally.judged):
            reason = _first_error(self.request.folder)
            self._leave()
            raise InputError(f"no case could be judged; the first: {reason}")

    def _leave(self) -> None:
        """A folder that was made for a run that nothing became of goes again."""
        if self.is_temporary and not any(finished_lines(self.request.folder / EVALUATIONS)):
            shutil.rmtree(self.request.folder, ignore_errors=True)

    def _way_on(self) -> str:
        return f"the same call with out={self.place!r} goes on" if self.is_temporary else "the same call goes on"


def _first_error(folder: Path) -> str:
    for line in finished_lines(folder / ERRORS):
        found = msgspec.json.decode(line, type=dict[str, Any])
        return f"line {found['line']}: {found['error']}"
    return "none is told"


def _chosen(cases: Any) -> CaseChoice:
    """Files by name, or what a program has."""
    names = cases if isinstance(cases, list | tuple) else [cases]
    if names and all(isinstance(one, str | Path) for one in names):
        first, *others = map(str, names)
        return CaseChoice(first, others=tuple(others))
    return CaseChoice(RECORDS, material=RecordMaterial(cases))


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
def _shown(how: RunOptions) -> Iterator[EventCallback]:
    """Whoever listens, and a bar where one was asked for."""
    if not how.progress:
        yield how.tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as shown:
        bar = shown.add_task("judging", total=None)

        def tell(event: RunEvent) -> None:
            if isinstance(event, RunAdvanced):
                shown.update(bar, description=progress_text(event), total=event.total, completed=event.done)
            elif isinstance(event, BulkProgress):
                told = f"{event.rows:,} judged"
                shown.update(bar, description=told, total=event.all_pieces, completed=event.pieces)
            how.tell(event)

        yield tell
