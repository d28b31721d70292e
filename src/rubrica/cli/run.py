"""``rubrica run``: judge many cases into a folder, so that nothing is lost and the same command goes on."""

from __future__ import annotations

from pathlib import Path

import typer

from rubrica.runs.events import RunOutcome
from rubrica.runs.execute import estimate_run, execute_run
from rubrica.runs.files.case_source import STDIN
from rubrica.runs.request import EVERY_CASE, CaseChoice, JudgeSettings, RunRequest
from rubrica.runs.selection import Selection, filter_of, sample_of

from .finished_runs import PROJECT_FILE, BaselinesFile, add_finished_run
from .judge_options import (
    VERDICT_FAILED,
    BudgetLimit,
    DryRun,
    FailOn,
    Judges,
    Limit,
    NoCache,
    Offline,
    Repeats,
    RubricName,
    estimate_sentence,
    estimate_table,
    judge_names,
    refuse_unknown,
    split_list,
)
from .mapping_options import KeyBaseNumber, MapPairs, RecordsName, layout_of, offering_map
from .options import ContextPairs, SettingPairs
from .run_command_options import (
    CaseSources,
    Cluster,
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
from .run_messages import RunScreen, end_if_stopped
from .screen import out
from .sources import context_of, rubric_of, settings_of

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

EXAMPLES = """[bold]Examples[/bold]
  rubrica run cases.jsonl -r answer-quality -o runs/monday
  rubrica run cases.csv -r answer-quality -J anthropic:claude-haiku-4-5 -j 64 -o runs/monday
  rubrica run cases.parquet -r my-rubric.yaml -o runs/try --sample 200 --filter subject=math
  rubrica run cases.jsonl -r my-rubric.yaml -J local: -o runs/local --retry-errors
  rubrica run 's3://bucket/cases/*.parquet' more.jsonl -r my-rubric.yaml -o runs/monday
  rubrica run cases.parquet -r my-rubric.yaml -J openai:gpt-4o-mini --cluster ray://head:10001 -o runs/monday

After any interruption the same command resumes: no case is judged twice, and
none is missing. A changed rubric, model or setting starts a new run, and the old
one goes to DIR/earlier. A finished run is added to the project's baselines, which
`rubrica baseline check` compares later ones with. Exit codes: 100 for --fail-on, 1 where a line was
broken or the models stopped answering, 130 after Ctrl-C."""


@app.command(epilog=EXAMPLES)
def run(
    cases: CaseSources,
    output: Folder,
    rubric: RubricName = None,
    settings: SettingPairs = None,
    context: ContextPairs = None,
    mapped: MapPairs = None,
    records: RecordsName = None,
    key_base: KeyBaseNumber = None,
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
    cluster: Cluster = None,
    baseline: BaselinesFile = PROJECT_FILE,
) -> None:
    """Judge a whole dataset into a folder; resumes after any crash."""
    names = judge_names(judge, offline=offline)
    if not names and (repeats is not None or budget is not None or dry_run or repeat > 1):
        raise typer.BadParameter("goes with --judge MODEL", param_hint="--repeats, --repeat, --budget, --dry-run")
    if no_resume and retry_errors:
        raise typer.BadParameter("choose one: beginning anew retries everything", param_hint="--retry-errors")
    if rubric is None and settings:
        raise typer.BadParameter("goes with --rubric", param_hint="--set")
    watched = split_list(fail_on)
    given = rubric_of(rubric, settings_of(settings or [])) if rubric is not None else None
    chosen = Selection(
        tuple(map(filter_of, filters or [])), sample_of(sample, seed) if sample is not None else None, limit
    )
    if STDIN in cases and chosen.needs_two_passes:
        raise typer.BadParameter("standard input is read only once; write a share such as 5%", param_hint="--sample")
    refuse_unknown(watched, [given] if given is not None else [])
    request = RunRequest(
        CaseChoice(
            cases[0],
            chosen,
            context_of(context or []),
            repeat,
            layout=layout_of(mapped, records, key_base),
            others=tuple(cases[1:]),
        ),
        Path(),
        given,
        JudgeSettings(tuple(names), repeats, budget, jobs, cached=not no_cache, seed=seed),
        resume=not no_resume,
        retry_errors=retry_errors,
        max_failures=max_failures,
        bulk=bulk,
        cluster=cluster,
    ).kept_at(output)
    command = ["run", *cases, *(("-r", rubric) if rubric is not None else ()), "-o", output]
    with RunScreen(output) as screen, offering_map(command, given):
        if dry_run:
            estimate = estimate_run(request, screen)
            out().print(estimate_table(estimate.models))
            out().print(estimate_sentence(estimate))
            return
        outcome = execute_run(request, screen)
    _conclude(outcome, request)
    if outcome.tally is not None and outcome.tally.judged and not outcome.counts.failed and chosen == EVERY_CASE:
        add_finished_run(request.folder, baseline)
    refuse_unknown(watched, outcome.rubrics.values())
    if outcome.counts.broken:
        raise typer.Exit(1)
    if outcome.tally is not None and outcome.tally.count(watched):
        raise typer.Exit(VERDICT_FAILED)


def _conclude(outcome: RunOutcome, request: RunRequest) -> None:
    """Tell what a run came to; one that was stopped ends the command."""
    end_if_stopped(outcome)
    if outcome.tally is not None:
        from .run_end import print_end  # loaded while models were waited for

        print_end(request.folder, outcome, outcome.tally, request.store.address if request.store is not None else "")
