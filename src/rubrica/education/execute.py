"""Executes a run over a curriculum: pieces of work are done, several at once, and kept as they finish.

It prints nothing: whoever calls it hears events, and shows them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

from rubrica.errors import RubricaError
from rubrica.llm.connect import connect
from rubrica.llm.model import Model
from rubrica.llm.settings import load_settings
from rubrica.model.rubric import Rubric
from rubrica.runs.concurrency import run_concurrently
from rubrica.runs.events import RunAdvanced, RunEnding, RunNote
from rubrica.runs.files.manifest import Manifest, new_manifest
from rubrica.runs.finish import finish
from rubrica.runs.judging import open_jury
from rubrica.runs.loop import draw_results, loop_outcome
from rubrica.runs.request import JudgeSettings
from rubrica.runs.run import AskOutcome, ask_outcome, hold_unanswered

from .evaluator import WORKERS, ResponseEvaluator, utc_now
from .folder import FinishedWork, RunFolder, open_folder
from .work import CurriculumWork, remaining_work


@dataclass(frozen=True, slots=True)
class CurriculumRequest:
    """Questions to write or to find, and to judge into a folder."""

    source: str  # where skills or questions come from
    folder: Path
    rubric: Rubric
    judging: JudgeSettings
    terms: Mapping[str, Any]  # what else the outcome depends on
    grades: Sequence[int | None]
    writer: str | None = None  # the model that writes; None where questions exist
    resume: bool = True  # False: begin anew, whatever is there
    max_failures: int = 20  # stop after so many pieces in a row that no judge answers; 0: never
    is_kept: bool = True  # False: the folder goes when its figures are told, so it needs no tables and no page

    def manifest(self, now: datetime) -> Manifest:
        names, rubric = self.judging.names, self.rubric
        terms = {**self.terms, "judges": list(names), "rubric": f"{rubric.reference} {rubric.hash[:12]}"}
        return new_manifest(self.source, rubric, names, terms, now)

    @property
    def model(self) -> str:
        """Whose questions, or whose judgements, these are."""
        return self.writer or ", ".join(self.judging.names) or "offline"


@dataclass(frozen=True, slots=True)
class CurriculumSession:
    """Where the work is done: an event loop, whoever judges, and the model that writes if there is one."""

    runner: asyncio.Runner
    evaluator: ResponseEvaluator
    writer: Model | None = None

    def writing(self) -> Model:
        if self.writer is None:
            raise RubricaError("no model writes here (--model)")
        return self.writer


@dataclass(frozen=True, slots=True)
class PieceFinished:
    """A piece of work is done and kept."""

    piece: FinishedWork


CurriculumEvent = RunNote | RunAdvanced | PieceFinished
Pieces = Callable[[CurriculumSession], Sequence[CurriculumWork]]


@dataclass(frozen=True, slots=True)
class CurriculumOutcome:
    """How an execution ended. However it did, what was finished is kept, and executing the same request goes on."""

    ending: RunEnding
    failed: int = 0  # pieces that came to nothing
    reason: str = ""  # why no model answered
    summary: Mapping[str, Any] | None = None  # of all grades, where the run is finished


def execute_curriculum(
    request: CurriculumRequest,
    pieces: Pieces,
    tell: Callable[[CurriculumEvent], None],
    stop: Event | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> CurriculumOutcome:
    """Do what is left to do, keep each piece as it is finished, and sum up when all of them are.

    Setting `stop` ends it after the piece that is finished next, as Ctrl-C does at once.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(open_folder(request.folder, request.manifest(clock()), resume=request.resume))
        session = stack.enter_context(_session(request, lambda text: tell(RunNote(text))))
        for text in folder.told:
            tell(RunNote(text))
        work = _CurriculumRun(request, session, folder, tell)
        work.add(pieces(session))
        ending, reason = loop_outcome(lambda: draw_results(work.kept(), work.progress, tell, stop, every=0))
        if ending != "finished":
            return CurriculumOutcome(ending, work.failed, reason)
        now = clock()
        summary = folder.finish(request.grades, request.model, now.isoformat())
        if request.is_kept:
            for text in finish(request.folder, now)[1]:
                tell(RunNote(text))
        return CurriculumOutcome("finished", work.failed, summary=summary)


@dataclass
class _CurriculumRun:
    """The pieces of a run, done and kept one after the other."""

    request: CurriculumRequest
    session: CurriculumSession
    folder: RunFolder
    tell: Callable[[CurriculumEvent], None]
    started: float = field(default_factory=time.monotonic)
    todo: list[CurriculumWork] = field(default_factory=list)
    total: int = 0
    done: int = 0  # by this process
    failed: int = 0  # of those, how many came to nothing

    def add(self, pieces: Sequence[CurriculumWork]) -> None:
        self.total, self.todo = len(pieces), remaining_work(pieces, self.folder.done)

    def kept(self) -> Generator[FinishedWork, None, None]:
        """Pieces as they are finished and kept; stopped, none is left under way."""
        jobs = self.request.judging.jobs
        with closing(run_concurrently(self.session.runner, self.todo, lambda piece: piece.done(), jobs)) as finished:
            for piece, _ in hold_unanswered(finished, _asked, self.request.max_failures):
                self.folder.add(piece)
                self.done += 1
                self.failed += not piece.succeeded
                self.tell(PieceFinished(piece))
                yield piece

    def progress(self) -> RunAdvanced:
        before = self.total - len(self.todo)
        return RunAdvanced(before + self.done, self.done, time.monotonic() - self.started, self.total)


def _asked(piece: FinishedWork) -> AskOutcome:
    return ask_outcome(*piece.evaluations)


@contextmanager
def _session(request: CurriculumRequest, note: Callable[[str], None]) -> Iterator[CurriculumSession]:
    """The models of a run, open for as long as it goes on."""
    with ExitStack() as stack:
        jury = stack.enter_context(open_jury(request.judging, note)) if request.judging.names else None
        runner = jury.runner if jury is not None else stack.enter_context(asyncio.Runner())
        writer = None
        if request.writer is not None:
            writer = connect(request.writer, load_settings())
            stack.callback(lambda: runner.run(writer.close()))
        judge = jury.judge_of(request.rubric) if jury is not None else None
        yield CurriculumSession(runner, ResponseEvaluator(WORKERS, judge=judge, rubric=request.rubric), writer)
