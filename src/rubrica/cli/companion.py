"""``rubrica companion``: system prompts of voice companions, judged over scenarios."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from rubrica.companion.comparison import compare_trials
from rubrica.companion.comparison_page import comparison_html
from rubrica.companion.execute import MOST_FAILURES, TrialRequest
from rubrica.companion.langfuse import LangfuseRun, send
from rubrica.companion.material import TRIAL_PAGE
from rubrica.companion.page import trial_html
from rubrica.companion.scenarios import load_scenarios
from rubrica.companion.trial import Trial
from rubrica.errors import RubricaError
from rubrica.report.figures import count_of
from rubrica.runs.files.manifest import MANIFEST, read_manifest
from rubrica.telemetry.langfuse import Account, Langfuse

from .companion_options import (
    Holistic,
    Jobs,
    JudgeName,
    MostFailures,
    Output,
    Prompt,
    Prompts,
    Repeat,
    RubricName,
    RunName,
    Save,
    Scenarios,
    Sent,
    SpeakingModel,
    SpeakingModels,
    Temperature,
    TrialOptions,
)
from .companion_tables import conclude, print_missing, show, show_comparison
from .companion_work import (
    candidates_of,
    distinct_names,
    finished_trials,
    is_page,
    print_estimate,
    refuse_both,
    systems_of,
    trial_folder,
)
from .finished_runs import PROJECT_FILE, BaselinesFile, add_finished_run
from .judge_options import VERDICT_FAILED, BudgetLimit, DryRun, NoCache
from .options import AsJson, Force
from .output_files import atomic_text_file, json_lines, refuse_same, refuse_taken
from .run_command_options import NoResume, RetryErrors
from .screen import note, out, safe, short

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich",
    no_args_is_help=True,
    help="Judge a voice companion's system prompt over scenarios.",
    epilog="""[bold]Examples[/bold]
  rubrica companion evaluate --prompt system.md --model openai:gpt-4o-mini -o report.html
  rubrica companion compare old.md new.md --model openai:gpt-4o-mini --model local:
  rubrica companion scenarios""",
)

COMPARISON_PAGE = "comparison.html"
EXAMPLES = """[bold]Examples[/bold]
  rubrica companion evaluate --prompt system.md --model openai:gpt-4o-mini -o report.html
  rubrica companion evaluate --prompt system.md --model local: --judge anthropic:claude-haiku-4-5 -s support -s trust
  rubrica companion evaluate --prompt system.md -m openai:gpt-4o-mini -s own.yaml --repeat 5 --budget 2 -o runs/mira

The folder is a run's: summary, compare, explain, report and review open it.
The same command resumes, and asks only for what is missing or new. Exit codes:
0 deploy or A/B candidate, 100 needs revision or inconclusive, 1 where replies
or the judge's scores are missing, 130 after Ctrl-C."""
COMPARE_EXAMPLES = """[bold]Examples[/bold]
  rubrica companion compare old.md new.md --model openai:gpt-4o-mini --judge anthropic:claude-haiku-4-5
  rubrica companion compare old.md new.md -m openai:gpt-4o-mini -m anthropic:claude-haiku-4-5 -o comparison.html
  rubrica companion compare langfuse:mira@production langfuse:mira@staging --model openai:gpt-4o-mini

Every prompt speaks with every model. Replies are paired by scenario and turn;
the turns and repeats of one conversation count together. The same command
resumes. Exit codes: 0 nothing is worse than the first beyond noise, 100 something
is, or a reply must not be given that the first gives well, 1 where replies or
scores are missing, 130 after Ctrl-C."""


@app.command(epilog=EXAMPLES)
def evaluate(
    prompt: Prompt,
    model: SpeakingModel,
    judge: JudgeName = None,
    scenarios: Scenarios = None,
    repeat: Repeat = 1,
    output: Output = None,
    save: Save = None,
    langfuse: Sent = None,
    run_name: RunName = None,
    rubric: RubricName = "voice-companion",
    overall: Holistic = False,
    jobs: Jobs = 8,
    temperature: Temperature = None,
    budget: BudgetLimit = None,
    dry_run: DryRun = False,
    retry_errors: RetryErrors = False,
    no_resume: NoResume = False,
    no_cache: NoCache = False,
    max_failures: MostFailures = MOST_FAILURES,
    baseline: BaselinesFile = PROJECT_FILE,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Let a model speak under a system prompt through every scenario, judge each reply, and say whether to ship it."""
    refuse_both(no_resume=no_resume, retry_errors=retry_errors)
    how = TrialOptions(load_scenarios(scenarios or ()), rubric, judge, overall, repeat, temperature)
    page = output if output is not None and is_page(output) else None
    refuse_same(output, save)
    account = Account.of() if langfuse is not None else None
    systems = asyncio.run(systems_of([prompt]))
    system, folder = systems[0], trial_folder(systems, output, save)
    force = force or (folder / MANIFEST).is_file()  # then page and file are made of this run, and are made anew
    for path in (page, save):
        refuse_taken(path, force=force)  # before anything is spent
    terms, judging = how.terms(system.name, system.text, model), how.judging(jobs, cached=not no_cache)
    request = TrialRequest(terms, folder, judging, not no_resume, retry_errors, max_failures)
    if dry_run:
        print_estimate([request])
        return
    [trial] = finished_trials([request], budget)
    if save is not None:
        with json_lines(save, force=force) as sink:
            for reply in trial.replies:
                sink.write(reply.evaluation)
    if page is not None:
        with atomic_text_file(page, force=force) as stream:
            stream.write(trial_html(trial))
    if as_json:
        out().print_json(json.dumps(trial.to_dict(), ensure_ascii=False))
    else:
        show(trial)
        _look_at(page or str(folder / TRIAL_PAGE), folder)
    if langfuse is not None and account is not None:
        manifest = read_manifest(folder)
        began = datetime.fromisoformat(manifest.started) if manifest is not None else datetime.now(UTC)
        name = run_name or f"{system.name} {began:%Y-%m-%d %H:%M}"
        run = LangfuseRun(name, langfuse, "", int(began.timestamp()) * 10**9, system.kept)
        try:
            count = asyncio.run(_sent(trial, account, run))
        except RubricaError:
            note(f"the trial is kept in {folder}: the same command sends it again, and asks nobody")
            raise
        note(f"{count_of(count, 'score')} sent to Langfuse as the run {run.name!r} of {langfuse!r}")
    _exit_where_missing([trial])
    if not trial.missing and not trial.unscored_replies:
        add_finished_run(folder, baseline)
    if trial.decision.label in ("revise", "inconclusive"):
        raise typer.Exit(VERDICT_FAILED)


@app.command(epilog=COMPARE_EXAMPLES)
def compare(
    prompts: Prompts,
    model: SpeakingModels,
    judge: JudgeName = None,
    scenarios: Scenarios = None,
    repeat: Repeat = 1,
    output: Output = None,
    rubric: RubricName = "voice-companion",
    overall: Holistic = False,
    jobs: Jobs = 8,
    temperature: Temperature = None,
    budget: BudgetLimit = None,
    dry_run: DryRun = False,
    retry_errors: RetryErrors = False,
    no_resume: NoResume = False,
    no_cache: NoCache = False,
    max_failures: MostFailures = MOST_FAILURES,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Hold the same conversations with several prompts and models, and show what is better, worse or undecided."""
    refuse_both(no_resume=no_resume, retry_errors=retry_errors)
    how = TrialOptions(load_scenarios(scenarios or ()), rubric, judge, overall, repeat, temperature)
    page = output if output is not None and is_page(output) else None
    systems = distinct_names(asyncio.run(systems_of(prompts)), prompts)
    folder = trial_folder(systems, output)
    refuse_taken(page, force=force or folder.is_dir())
    judging = how.judging(jobs, cached=not no_cache)
    requests = [
        TrialRequest(
            how.terms(system.name, system.text, name), place, judging, not no_resume, retry_errors, max_failures
        )
        for system, name, place in candidates_of(systems, model, folder)
    ]
    if dry_run:
        print_estimate(requests)
        return
    trials = finished_trials(requests, budget)
    for trial in trials:
        if not trial.rows() and print_missing(trial):
            raise RubricaError(f"{trial.prompt} with {trial.model}: no reply has a score, so nothing can be compared")
    found = compare_trials(trials)
    place = page or str(folder / COMPARISON_PAGE)
    with atomic_text_file(place, force=True) as stream:
        stream.write(comparison_html(found))
    if as_json:
        out().print_json(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        show_comparison(found)
        for trial, name in zip(trials, found.names, strict=True):
            conclude(trial, name)
        _look_at(place, *(request.folder for request in requests))
    _exit_where_missing(trials)
    if found.regressions:
        raise typer.Exit(VERDICT_FAILED)


@app.command("scenarios")
def list_scenarios(
    groups: Annotated[
        list[str] | None, typer.Argument(metavar="[GROUP|FILE.yaml]...", help="All where left out.")
    ] = None,
) -> None:
    """List the scenarios: what users say, and what is put to the test."""
    console, shown = out(), ""
    for scenario in load_scenarios(groups or ()):
        if scenario.group != shown:
            shown = scenario.group
            console.print(Text.assemble((shown, "bold"), f"  {safe(scenario.title)}"))
        kind = ", ".join(part for part in (scenario.kind, safe(scenario.tests or "")) if part)
        console.print(Text.assemble(f"  {scenario.id.removeprefix(f'{shown}/')}  ", (kind, "dim")))
        for turn, said in enumerate(scenario.turns):
            console.print(Padding(Text(short(said, 200)), (0, 0, 0, 4), expand=False))
            for one in scenario.turn_asserts[turn] if scenario.turn_asserts else ():
                console.print(Padding(Text(short(str(one), 200), "dim"), (0, 0, 0, 6), expand=False))
        for one in scenario.asserts:
            console.print(Padding(Text(short(str(one), 200), "dim"), (0, 0, 0, 4), expand=False))


async def _sent(trial: Trial, account: Account, run: LangfuseRun) -> int:
    async with Langfuse(account) as client:
        return await send(trial, client, run)


def _look_at(page: str, *runs: Path) -> None:
    """Where everything is."""
    for what, place in (("Page", page), *(("Run", folder) for folder in runs)):
        out().print(Text(safe(f"{what + ':':5} {place}")), soft_wrap=True)


def _exit_where_missing(trials: Sequence[Trial]) -> None:
    """A decision that replies or scores are missing for is none yet, but for one that nothing could change."""
    owing = [trial for trial in trials if print_missing(trial)]
    if any(trial.decision.label != "revise" for trial in owing):
        raise typer.Exit(1)
