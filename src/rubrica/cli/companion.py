"""``rubrica companion``: system prompts of voice companions, judged over scenarios."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from rubrica.companion.journal import under_way
from rubrica.companion.langfuse import LangfuseRun, send
from rubrica.companion.page import trial_html
from rubrica.companion.scenarios import load_scenarios
from rubrica.companion.trial import Trial
from rubrica.errors import RubricaError
from rubrica.report.figures import count_of
from rubrica.runs.compare.comparison import compare as compared
from rubrica.runs.summary.grading import Grading
from rubrica.telemetry.langfuse import Account, Langfuse

from .companion_tables import conclude, show
from .companion_work import TrialSettings, finished_trials, journal_place, systems_of
from .comparison_tables import comparison_page
from .options import AsJson, Force
from .output_files import atomic_text_file, json_lines, refuse_same, refuse_taken
from .screen import note, out, safe, short
from .sources import rubric_of

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich",
    no_args_is_help=True,
    help="Judge a voice companion's system prompt over scenarios.",
    epilog="""[bold]Examples[/bold]
  rubrica companion evaluate --prompt system.md --model openai:gpt-4o-mini -o report.html
  rubrica companion compare old.md new.md --model openai:gpt-4o-mini
  rubrica companion scenarios""",
)

PROMPT = typer.Option(
    "--prompt",
    help="The system prompt: a file, the text itself, or langfuse:NAME, langfuse:NAME@LABEL, langfuse:NAME#3.",
)
Model = Annotated[str, typer.Option("--model", "-m", metavar="MODEL", help="The model that speaks under the prompt.")]
JudgeName = Annotated[
    str | None,
    typer.Option("--judge", metavar="MODEL", help="A model that scores the six dimensions; without it, rules alone."),
]
Scenarios = Annotated[
    list[str] | None,
    typer.Option(
        "--scenarios",
        "-s",
        metavar="GROUP|FILE.yaml",
        help="Groups to use, or a suite of your own; may be repeated. All bundled ones where left out.",
    ),
]
RubricName = Annotated[str, typer.Option("--rubric", "-r", metavar="NAME|FILE", help="What replies are judged by.")]
Holistic = Annotated[
    bool, typer.Option("--overall", help="Ask the judge for one score per reply instead of one per dimension.")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Conversations under way at once.")]
Temperature = Annotated[float, typer.Option("--temperature", min=0, max=2, help="Of the candidate.")]
Page = Annotated[str | None, typer.Option("--output", "-o", metavar="REPORT.html", help="Write the page here.")]
Save = Annotated[
    str | None,
    typer.Option("--save", metavar="OUT.jsonl", help="Store every evaluation that counts, a line each."),
]
Sent = Annotated[
    str | None,
    typer.Option(
        "--langfuse",
        metavar="DATASET",
        help="Send the trial to Langfuse as a run of this dataset, with a score per dimension (LANGFUSE_… variables).",
    ),
]
RunName = Annotated[str | None, typer.Option("--run-name", help="How the run is called in Langfuse.")]
EXAMPLES = """[bold]Examples[/bold]
  rubrica companion evaluate --prompt system.md --model openai:gpt-4o-mini -o report.html
  rubrica companion evaluate --prompt system.md --model local: --judge anthropic:claude-haiku-4-5 -s support -s trust
  rubrica companion scenarios support

Stopped by whatever, the same command goes on: replies lie in a folder beside
the page, or in the current one, until the trial is over. Exit codes: 0 deploy
or A/B candidate, 100 needs revision or inconclusive, 130 after Ctrl-C."""
COMPARE_EXAMPLES = """[bold]Examples[/bold]
  rubrica companion compare old.md new.md --model openai:gpt-4o-mini --judge anthropic:claude-haiku-4-5
  rubrica companion compare langfuse:mira@production langfuse:mira@staging --model openai:gpt-4o-mini

Replies are paired by scenario and turn; the turns of one conversation count
together. Stopped by whatever, the same command goes on. Exit codes: 0 nothing
got worse beyond noise, 100 something did, 130 after Ctrl-C."""
NOT_READY = 100


@app.command(epilog=EXAMPLES)
def evaluate(
    prompt: Annotated[str, PROMPT],
    model: Model,
    judge: JudgeName = None,
    scenarios: Scenarios = None,
    output: Page = None,
    save: Save = None,
    langfuse: Sent = None,
    run_name: RunName = None,
    rubric: RubricName = "voice-companion",
    overall: Holistic = False,
    jobs: Jobs = 8,
    temperature: Temperature = 0.0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Let a model speak under a system prompt through every scenario, judge each reply, and say whether to ship it."""
    talks = load_scenarios(scenarios or ())
    setting = TrialSettings(model, judge, rubric_of(rubric), talks, overall, jobs, temperature)
    refuse_same(output, save)
    force = force or under_way(journal_place((), output, save))  # its page, if there is one, is not the last word
    for path in (output, save):
        refuse_taken(path, force=force)  # before anything is spent
    account = Account.of() if langfuse is not None else None
    systems = asyncio.run(systems_of([prompt]))
    with finished_trials(setting, systems, journal_place(systems, output, save)) as done:
        trial, system = done.trials[0], systems[0]
        if save is not None:
            with json_lines(save, force=force) as sink:
                for reply in trial.replies:
                    sink.write(reply.evaluation)
        if output is not None:
            with atomic_text_file(output, force=force) as page:
                page.write(trial_html(trial))
        if as_json:
            out().print_json(json.dumps(trial.to_dict(), ensure_ascii=False))
        else:
            show(trial)
            if output is not None:
                out().print(Text(safe(f"Page: {output}")), soft_wrap=True)
        if langfuse is not None and account is not None:
            name = run_name or f"{system.name} {done.began:%Y-%m-%d %H:%M}"
            run = LangfuseRun(name, langfuse, "", int(done.began.timestamp()) * 10**9, system.kept)
            count = asyncio.run(_sent(trial, account, run))
            note(f"{count_of(count, 'score')} sent to Langfuse as the run {run.name!r} of {langfuse!r}")
    if trial.decision.label in ("revise", "inconclusive"):
        raise typer.Exit(NOT_READY)


@app.command(epilog=COMPARE_EXAMPLES)
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="The system prompt as it is: a file, text or langfuse:NAME.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The one that may take its place.")],
    model: Model,
    judge: JudgeName = None,
    scenarios: Scenarios = None,
    rubric: RubricName = "voice-companion",
    overall: Holistic = False,
    jobs: Jobs = 8,
    temperature: Temperature = 0.0,
    as_json: AsJson = False,
) -> None:
    """Hold the same conversations under two prompts and tell what is better, worse, or cannot be told."""
    talks = load_scenarios(scenarios or ())
    setting = TrialSettings(model, judge, rubric_of(rubric), talks, overall, jobs, temperature)
    first, second = systems = asyncio.run(systems_of([a, b]))
    if first.text == second.text:
        raise RubricaError("both prompts say the same; name two different ones")
    with finished_trials(setting, systems, journal_place(systems)) as done:
        trials = done.trials
        for trial in trials:
            if not trial.replies:
                raise RubricaError(f"{trial.prompt}: no reply could be had ({trial.missing[0].failure})")
        grading = Grading.of([trials[0].rubric])
        names = (first.name, second.name) if first.name != second.name else (a, b)
        found = compared(trials[0].rows(), trials[1].rows(), gradings=(grading, grading), names=names)
        if as_json:
            whole = {"comparison": found.to_dict(), "trials": [trial.to_dict() for trial in trials]}
            out().print_json(json.dumps(whole, ensure_ascii=False))
        else:
            out().print(comparison_page(found, names))
            for trial in trials:
                if trial.missing:
                    first_gap = trial.missing[0]
                    count = count_of(len(trial.missing), "reply", "replies")
                    note(f"{trial.prompt}: {count} missing, such as {first_gap.case}: {first_gap.failure}", "yellow")
                conclude(trial, named=True)
    if found.regressions:
        raise typer.Exit(NOT_READY)


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
        for said in scenario.turns:
            console.print(Padding(Text(short(said, 200)), (0, 0, 0, 4), expand=False))


async def _sent(trial: Trial, account: Account, run: LangfuseRun) -> int:
    async with Langfuse(account) as client:
        return await send(trial, client, run)
