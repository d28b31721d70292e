"""What ``rubrica curriculum`` works with: models that are open for a while, and pieces of work kept as they finish."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rubrica import __version__
from rubrica.education.evaluator import WORKERS, ResponseEvaluator, utc_now
from rubrica.education.folder import FinishedWork, RunFolder
from rubrica.education.work import CurriculumWork, left
from rubrica.errors import RubricaError
from rubrica.llm.connect import connect
from rubrica.llm.model import Model
from rubrica.llm.settings import Settings, load_settings
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.report.figures import counted
from rubrica.runs.concurrency import run_concurrently
from rubrica.runs.files.manifest import Manifest, UsedRubric, commit_of

from .judge_options import INTERRUPTED
from .screen import err, note

if TYPE_CHECKING:
    from rubrica.judges.jury import Jury


@dataclass(frozen=True, slots=True)
class CurriculumRequest:
    """What questions are judged by, and what else the outcome depends on."""

    rubric: Rubric
    judges: Sequence[str]
    jobs: int
    terms: dict[str, Any]

    def manifest(self, source: str) -> Manifest:
        terms = {
            **self.terms,
            "judges": list(self.judges),
            "rubric": f"{self.rubric.reference} {self.rubric.hash[:12]}",
        }
        return Manifest(
            id=uuid4().hex,
            started=utc_now().isoformat(),
            rubrics=(UsedRubric.of(self.rubric),),
            judges=tuple(self.judges),
            terms=terms,
            source=source,
            commit=commit_of(Path.cwd()),
            version=__version__,
        )


@dataclass(frozen=True, slots=True)
class CurriculumSession:
    """Where the work is done: an event loop, whoever judges, and the model that writes if there is one."""

    runner: asyncio.Runner
    evaluator: ResponseEvaluator
    jobs: int
    model: Model | None = None

    def writing(self) -> Model:
        if self.model is None:
            raise RubricaError("no model writes here (--model)")
        return self.model


@contextmanager
def opened(orders: CurriculumRequest, model: str | None) -> Iterator[CurriculumSession]:
    """The models of a run, open for as long as it goes on."""
    settings = load_settings()
    with asyncio.Runner() as runner, ExitStack() as stack:
        judge = _judge(orders, settings, runner, stack)
        writer = None
        if model is not None:
            writer = connect(model, settings)
            stack.callback(lambda: runner.run(writer.close()))
        evaluator = ResponseEvaluator(WORKERS, judge=judge, rubric=orders.rubric)
        yield CurriculumSession(runner, evaluator, orders.jobs, writer)


def _judge(orders: CurriculumRequest, settings: Settings, runner: asyncio.Runner, stack: ExitStack) -> Judge | None:
    if not orders.judges:
        return None
    try:
        jury: Jury = import_module("rubrica.judges.jury").Jury(orders.judges, settings, cached=False)
    except ModuleNotFoundError as error:
        raise RubricaError(f"--judge: {error.name} is missing (pip install 'rubrica[judges]')") from error
    stack.callback(lambda: runner.run(jury.close()))
    return jury.judge(orders.rubric)


def carried_out(folder: RunFolder, work: Sequence[CurriculumWork], bench: CurriculumSession, noun: str) -> int:
    """Do what is left to do, and keep each piece as it is finished; how many came to nothing."""
    for line in folder.told:
        note(line)
    todo = left(work, folder.done)
    if len(todo) < len(work):
        note(f"going on: {counted(len(work) - len(todo), noun)} done already, {len(todo)} to go")
    failed = 0
    try:
        with _progress(len(todo)) as advance:
            for piece in run_concurrently(bench.runner, todo, lambda piece: piece.done(), bench.jobs):
                folder.add(piece)
                failed += _complain(piece, noun)
                advance()
    except KeyboardInterrupt:
        note("interrupted: what is finished is kept, and the same command goes on from there", "bold")
        raise typer.Exit(INTERRUPTED) from None
    return failed


def _complain(piece: FinishedWork, noun: str) -> bool:
    first = piece.records[0]
    if first["success"]:
        return False
    skill = f"{noun} {first.get('substandard_id')} ({first.get('lesson_title')})"
    where = f"line {first['line']}" if "line" in first else skill
    note(f"{where}: {first['error']}", "yellow")
    return True


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal; elsewhere nothing."""
    console = err()
    if not console.is_terminal:
        yield lambda: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, redirect_stdout=False, transient=True) as bar:
        task = bar.add_task("judging", total=total)
        yield lambda: bar.advance(task)
