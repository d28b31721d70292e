"""Writes evaluations to files, standard output and the report, one at a time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import islice

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from rubrica.model.evaluation import Evaluation
from rubrica.report.figures import count_of
from rubrica.report.page import write_report
from rubrica.runs.batch import Batch
from rubrica.runs.failure_reasons import FailureReasons
from rubrica.runs.files.case_source import CaseSource, LineSource, cases_of
from rubrica.runs.files.layout import AS_IT_IS, FileLayout
from rubrica.runs.rubrics import RunRubrics
from rubrica.runs.run_writer import ask_outcome
from rubrica.runs.summary.tally import RunTally

from .judge_options import interrupted
from .output_files import STDOUT, JsonLines, atomic_text_file, json_lines
from .screen import err, note, out
from .tally_tables import tally_page, tally_sentence

MOST_REASONS = 5
SMALL_INPUT = 65_536  # bytes; below that a progress bar would only flicker


@dataclass(frozen=True, slots=True)
class Destinations:
    """Where results go."""

    output: str | None
    report: str | None
    force: bool
    as_json: bool

    @property
    def printed(self) -> bool:
        return self.as_json or self.output == STDOUT


@dataclass(frozen=True, slots=True)
class CaseFilePart:
    """The cases of a file, or its first ones."""

    source: str
    layout: FileLayout = AS_IT_IS
    limit: int | None = None


def judge_file(what: CaseFilePart, batch: Batch, to: Destinations) -> None:
    """Judge cases, then tell what the run came to."""
    tally, reasons = batch.tally, FailureReasons()
    try:
        with (
            _opened(what) as file,
            closing(batch.evaluations(islice(file.cases(), what.limit))) as evaluations,  # none is left under way
            _progress(file, tally, quiet=to.printed and sys.stdout.isatty()) as watched,
        ):
            deliver(_noted(watched(evaluations), reasons), to, batch.run_rubrics)
    except KeyboardInterrupt:
        kept = f"; finished evaluations are in {to.output}" if to.output not in (None, STDOUT) else ""
        raise interrupted(f"{tally_sentence(tally)}{kept}") from None
    except BrokenPipeError:
        note(f"stopped, the output is no longer read: {tally_sentence(tally)}")
        raise
    if to.printed:
        note(tally_sentence(tally))
    else:
        out().print(tally_page(tally))
    for reason, count in reasons.counted()[:MOST_REASONS]:
        note(f"{count_of(count, 'case')} without a score for something: {reason}", "yellow")


def _noted(evaluations: Iterator[Evaluation], reasons: FailureReasons) -> Iterator[Evaluation]:
    """Evaluations as they come; why a dimension has no score is counted."""
    for evaluation in evaluations:
        missing = [found.reason for found in evaluation.dimensions.values() if found.status == "unscored"]
        if missing:
            asked = ask_outcome(evaluation)
            reasons.add(asked.reason if asked.failed else missing[0])
        yield evaluation


@contextmanager
def _opened(what: CaseFilePart) -> Iterator[CaseSource]:
    with cases_of(what.source, what.layout) as file:
        for text in file.notes:
            note(text)
        yield file


def deliver(evaluations: Iterator[Evaluation], to: Destinations, run_rubrics: RunRubrics) -> None:
    """Draw every evaluation through to where it is wanted. None is kept, so memory stays flat."""
    with ExitStack() as stack:
        sinks: list[JsonLines] = []
        if to.output is not None and to.output != STDOUT:
            sinks.append(stack.enter_context(json_lines(to.output, force=to.force)))
        if to.printed:
            sinks.append(json_lines(STDOUT))
        written = _write_each(evaluations, sinks)
        if to.report is None:
            for _ in written:
                pass
            return
        title = f"Evaluations: {', '.join(run_rubrics.rubrics) or 'by each case’s rubric'}"
        page = stack.enter_context(atomic_text_file(to.report, force=to.force))
        write_report(written, page, title=title, rubrics=run_rubrics.rubrics)


def _write_each(evaluations: Iterator[Evaluation], sinks: list[JsonLines]) -> Iterator[Evaluation]:
    for evaluation in evaluations:
        for sink in sinks:
            sink.write(evaluation)
        yield evaluation


Watch = Callable[[Iterator[Evaluation]], Iterator[Evaluation]]


@contextmanager
def _progress(file: CaseSource, tally: RunTally, *, quiet: bool) -> Iterator[Watch]:
    """A bar on standard error by what was read: a file need not be counted first. None where nobody would see it."""
    console = err()
    small = isinstance(file, LineSource) and file.size is not None and file.size < SMALL_INPUT
    if quiet or not console.is_terminal or small:
        yield lambda evaluations: evaluations
        return
    columns = (TextColumn("{task.fields[judged]:,} judged"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, redirect_stdout=False, transient=True) as progress:
        task = progress.add_task("", total=file.size, judged=0)
        every = 64

        def watched(evaluations: Iterator[Evaluation]) -> Iterator[Evaluation]:
            for evaluation in evaluations:
                if tally.judged % every == 0:
                    progress.update(task, completed=file.read, judged=tally.judged)
                yield evaluation

        yield watched
