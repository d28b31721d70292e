"""``rubrica run``: judge many cases into a folder, so that nothing is lost and the same command goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import typer

from rubrica.engine.cases import BadLine, Case
from rubrica.errors import RubricaError
from rubrica.report.figures import counted
from rubrica.runs.batch import Batch, Evaluator
from rubrica.runs.files.case_source import STDIN, CaseSource, cases_of
from rubrica.runs.files.folder import RunOpening, begin, locked
from rubrica.runs.files.manifest import Manifest, UsedRubric
from rubrica.runs.files.stored import ERRORS
from rubrica.runs.finish import finish
from rubrica.runs.rubrics import RunRubrics
from rubrica.runs.run import ModelsDownError, Run
from rubrica.runs.selection import Found, Selection, distinct, filter_of, sample_of
from rubrica.runs.summary.tally import RunTally

from .broken_lines import BrokenLines
from .judge_options import (
    INTERRUPTED,
    VERDICT_FAILED,
    BudgetLimit,
    DryRun,
    FailOn,
    Judges,
    JudgingOptions,
    Limit,
    NoCache,
    Offline,
    Repeats,
    RubricName,
    judge_names,
    listed,
    open_judging,
    refuse_unknown,
)
from .options import ContextPairs, SettingPairs
from .progress import ProgressState, bulk_progress, progress
from .run_command_options import (
    CasesFile,
    Filters,
    Folder,
    InBulk,
    Jobs,
    MostFailures,
    NoResume,
    Repeat,
    RetryErrors,
    SampleSize,
    Seed,
)
from .run_messages import done_now, rate, tell_before, tell_end, tell_opening
from .run_request import RunRequest, manifest_of
from .screen import note, out
from .sources import context_of, rubric_of, settings_of

if TYPE_CHECKING:
    from .jury_session import JurySession

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

EXAMPLES = """[bold]Examples[/bold]
  rubrica run cases.jsonl -r answer-quality -o runs/monday
  rubrica run cases.csv -r answer-quality -J anthropic:claude-haiku-4-5 -j 64 -o runs/monday
  rubrica run cases.parquet -r my-rubric.yaml -o runs/try --sample 200 --filter subject=math
  rubrica run cases.jsonl -r my-rubric.yaml -J local: -o runs/local --retry-errors

Stopped by whatever, the same command goes on: no case is judged twice, none
is missing. A changed rubric, model or setting starts a new run, and the old
one goes to DIR/earlier. Exit codes: 100 for --fail-on, 1 where a line was
broken or the models stopped answering, 130 after Ctrl-C."""


@app.command(epilog=EXAMPLES)
def run(
    cases: CasesFile,
    output: Folder,
    rubric: RubricName = None,
    settings: SettingPairs = None,
    context: ContextPairs = None,
    filters: Filters = None,
    sample: SampleSize = None,
    limit: Limit = None,
    retry_errors: RetryErrors = False,
    no_resume: NoResume = False,
    fail_on: FailOn = None,
    judge: Judges = None,
    repeats: Repeats = None,
    repeat: Repeat = 1,
    budget: BudgetLimit = None,
    dry_run: DryRun = False,
    jobs: Jobs = 64,
    no_cache: NoCache = False,
    offline: Offline = False,
    seed: Seed = 0,
    max_failures: MostFailures = 20,
    bulk: InBulk = None,
) -> None:
    """Judge a whole dataset into a folder; goes on after any crash."""
    names = judge_names(judge, offline=offline)
    if not names and (repeats is not None or budget is not None or dry_run or repeat > 1):
        raise typer.BadParameter("goes with --judge MODEL", param_hint="--repeats, --repeat, --budget, --dry-run")
    if no_resume and retry_errors:
        raise typer.BadParameter("choose one: beginning anew retries everything", param_hint="--retry-errors")
    if rubric is None and settings:
        raise typer.BadParameter("goes with --rubric", param_hint="--set")
    watched = listed(fail_on)
    given = rubric_of(rubric, settings_of(settings or [])) if rubric is not None else None
    chosen = Selection(
        tuple(map(filter_of, filters or [])), sample_of(sample, seed) if sample is not None else None, limit
    )
    orders = RunRequest(cases, Path(output), chosen, context_of(context or []), repeat, max_failures)
    if cases == STDIN and chosen.needs_two_passes:
        raise typer.BadParameter("standard input is read only once; write a share such as 5%", param_hint="--sample")
    with ExitStack() as stack:
        jury = None
        if names:
            judging = JudgingOptions(names, repeats, budget, jobs, not no_cache, seed, dry_run, warm=repeat > 1)
            jury = stack.enter_context(open_judging(judging))
        run_rubrics = RunRubrics(given, jury.judge_of if jury is not None else None)
        if given is not None:
            refuse_unknown(watched, run_rubrics)
        if dry_run and jury is not None:
            _count(orders, run_rubrics, jury)
            return
        manifest = manifest_of(orders, given, names, {"repeats": repeats, "seed": seed})
        if orders.takes_bulk(run_rubrics.plan(None) if given is not None else None, bulk):
            manifest = msgspec.structs.replace(manifest, kind="bulk")
        _refuse_unreadable(cases)
        stack.enter_context(locked(orders.folder))
        opening = begin(orders.folder, manifest, resume=not no_resume)
        tell_opening(opening)
        if opening.manifest.kind == "bulk":
            whole, broken = _judged_in_bulk(orders, run_rubrics)
        else:
            whole, broken = _judged(
                orders, run_rubrics, jury.evaluator if jury is not None else None, opening, retry_errors=retry_errors
            )
        refuse_unknown(watched, run_rubrics)
    if broken:
        raise typer.Exit(1)
    if whole.count(watched):
        raise typer.Exit(VERDICT_FAILED)


def _judged(
    orders: RunRequest, run_rubrics: RunRubrics, evaluator: Evaluator | None, opening: RunOpening, *, retry_errors: bool
) -> tuple[RunTally, int]:
    """Judge what is still to be judged, and make of the folder what a finished run has. The whole run's figures, and
    how many lines were broken."""
    tally, complaints = RunTally(), BrokenLines()
    kept = Run(orders.folder, retry_errors=retry_errors)
    tell_before(opening, kept)

    def broken(line: BadLine) -> None:
        complaints(line)
        kept.broken(line)

    batch = Batch(run_rubrics, tally, broken, orders.context, evaluator, orders.repeat, kept.wanted)
    try:
        try:
            _pass(orders, batch, kept)
        finally:
            kept.close()
            _remember(orders.folder, opening.manifest, run_rubrics)
    except KeyboardInterrupt:
        note(f"interrupted: {done_now(kept, tally)}; the same command goes on", "bold")
        raise typer.Exit(INTERRUPTED) from None
    except ModelsDownError as error:
        raise RubricaError(
            f"{error}; {done_now(kept, tally)}. When they answer again, the same command goes on"
        ) from None
    said = done_now(kept, tally)
    kept.tidy()
    whole, notes = finish(orders.folder, datetime.now(UTC))
    for told in notes:
        note(told)
    tell_end(orders.folder, whole, said, kept.failed)
    return whole, tally.broken


def _judged_in_bulk(orders: RunRequest, run_rubrics: RunRubrics) -> tuple[RunTally, int]:
    """Judge all cases into columns of figures. The whole run's figures, and how many records were broken."""
    path = import_module("rubrica.runs.bulk.run")
    started = time.monotonic()
    try:
        with bulk_progress() as told:
            done = path.bulk_rows(run_rubrics.plan(None), Path(orders.source), orders.folder, told=told)
    except KeyboardInterrupt:
        note("interrupted; the same command goes on with the pieces that are missing", "bold")
        raise typer.Exit(INTERRUPTED) from None
    seconds = time.monotonic() - started
    whole, notes = finish(orders.folder, datetime.now(UTC))
    for said in notes:
        note(said)
    if done.renamed:
        note(f"{counted(done.renamed, 'case')} had the id of another one; the second x is called x#2, …", "yellow")
    if done.errors:
        note(f"{counted(done.errors, 'record')} could not be judged: {orders.folder}/{ERRORS} says why", "yellow")
    tell_end(orders.folder, whole, f"figures only, explanations on demand; {rate(done.rows, seconds)}")
    return whole, done.errors


def _pass(orders: RunRequest, batch: Batch, kept: Run) -> None:
    """Draw every evaluation through to the disk."""
    selection, expected = orders.settled(), orders.expected()
    with (
        cases_of(orders.source) as file,
        closing(batch.evaluations(selection.of(_named(file)))) as evaluations,  # stopped, none is left under way
        progress(ProgressState(file, kept, batch.tally, expected)) as watch,
    ):
        for _ in watch(kept.kept(evaluations, orders.max_failures)):
            pass


def _refuse_unreadable(cases: str) -> None:
    """A folder is made only for a file that can be read. What can be read only once is not opened to find out."""
    if cases != STDIN and not Path(cases).is_fifo():
        with cases_of(cases):
            pass


def _named(file: CaseSource) -> Iterator[Found]:
    def tell(case: Case) -> None:
        note(f"line {case.line}: the id {case.id!r} occurs again; such cases are called {case.id}#2, …", "yellow")

    return distinct(file.cases(), tell)


def _remember(folder: Path, manifest: Manifest, run_rubrics: RunRubrics) -> None:
    """Put rubrics that were met on the way into the manifest."""
    known = {used.name: used for used in manifest.rubrics}
    met = {name: UsedRubric.of(rubric) for name, rubric in run_rubrics.rubrics.items()}
    if met.keys() - known.keys() or any(known[name].hash != used.hash for name, used in met.items()):
        manifest.with_rubrics({**known, **met}.values()).write(folder)


def _count(orders: RunRequest, run_rubrics: RunRubrics, jury: JurySession) -> None:
    """A dry run: everything is prepared, nothing is asked."""
    tally = RunTally()
    batch = Batch(run_rubrics, tally, BrokenLines(), orders.context, jury.evaluator, orders.repeat)
    selection = orders.settled()
    with cases_of(orders.source) as file:
        for _ in batch.evaluations(selection.of(_named(file))):
            pass
    out().print(jury.estimate())
    out().print(f"{counted(tally.judged, 'evaluation')}; nothing was asked. Repairs and retries come on top.")
