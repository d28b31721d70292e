"""``rubrica eval``: judge one response, or a file of cases."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rubrica.engine.evaluate import evaluate
from rubrica.errors import RubricaError
from rubrica.extras import requires
from rubrica.model.context import Context
from rubrica.report.figures import count_of
from rubrica.runs.batch import Batch
from rubrica.runs.files.case_source import cases_of
from rubrica.runs.files.layout import AS_IT_IS, FileLayout
from rubrica.runs.request import JudgeSettings
from rubrica.runs.rubrics import RunRubrics
from rubrica.runs.summary.tally import RunTally

from .broken_lines import BrokenLines
from .card import card
from .judge_options import (
    VERDICT_FAILED,
    BudgetLimit,
    DryRun,
    FailOn,
    Jobs,
    Judges,
    Limit,
    NoCache,
    Offline,
    Record,
    Repeats,
    RubricName,
    estimate_table,
    judge_names,
    open_judging,
    refuse_unknown,
    split_list,
)
from .mapping_options import KeyBaseNumber, MapPairs, RecordsName, layout_of, offering_map
from .options import (
    HOW,
    MODELS,
    SERVER,
    WHERE,
    ContextPairs,
    ForceOutput,
    Output,
    PrintJson,
    Prompt,
    Response,
    SettingPairs,
)
from .output import CaseFilePart, Destinations, deliver, judge_file
from .output_files import refuse_same
from .screen import out
from .sources import context_of, gives_text, rubric_of, settings_of, single_context

if TYPE_CHECKING:
    from rubrica.runs.jury_session import JurySession

    from .remote import RemoteJudging

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Cases = Annotated[
    str | None,
    typer.Argument(
        metavar="CASES.jsonl",
        help="One JSON object a line with prompt, response and context; or .json, .csv, .xlsx, .parquet; - reads "
        "standard input.",
    ),
]
Report = Annotated[
    str | None, typer.Option("--report", metavar="FILE.html", help="Write an HTML report too.", rich_help_panel=WHERE)
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, help="Shuffle the order in which judges see dimensions; 0: as written.", rich_help_panel=MODELS
    ),
]
CheckExpected = Annotated[
    bool,
    typer.Option("--check", help="Exit with 100 if a case does not come out as its expect says.", rich_help_panel=HOW),
]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        help="Judge on a Rubrica server, with its rubric and its judges; RUBRICA_API_KEY is the key.",
        rich_help_panel=SERVER,
    ),
]
Keep = Annotated[bool, typer.Option("--keep", help="Store the scores on the server too.", rich_help_panel=SERVER)]

EXAMPLES = """[bold]Examples[/bold]
  rubrica eval -r answer-quality -p 'What is 2 + 2?' --response '4'
  rubrica eval -r my-rubric.yaml -p @question.txt --response @answer.txt
  rubrica eval cases.jsonl -r answer-quality -o results.jsonl
  rubrica eval cases.jsonl -r answer-quality --report results.html
  rubrica eval cases.jsonl -r answer-quality --fail-on fail,inconclusive
  rubrica eval cases.jsonl -r answer-quality -J anthropic:claude-haiku-4-5 --dry-run
  rubrica eval cases.jsonl -r answer-quality -J local: -o judged.jsonl
  rubrica eval cases.jsonl -r speed-demon --server http://localhost:8000

A broken line is reported with its number, and the rest is judged; the exit
code is then 1."""


@app.command(epilog=EXAMPLES)
def eval(
    cases: Cases = None,
    prompt: Prompt = None,
    response: Response = None,
    context: ContextPairs = None,
    mapped: MapPairs = None,
    records: RecordsName = None,
    key_base: KeyBaseNumber = None,
    limit: Limit = None,
    rubric: RubricName = None,
    settings: SettingPairs = None,
    fail_on: FailOn = None,
    check: CheckExpected = False,
    output: Output = None,
    report: Report = None,
    force: ForceOutput = False,
    as_json: PrintJson = False,
    judge: Judges = None,
    repeats: Repeats = None,
    budget: BudgetLimit = None,
    dry_run: DryRun = False,
    jobs: Jobs = 16,
    no_cache: NoCache = False,
    offline: Offline = False,
    seed: Seed = 0,
    record: Record = None,
    server: Server = None,
    keep: Keep = False,
) -> None:
    """Judge one response, or a file of cases.

    Without a model, judged dimensions use their offline scorer, and the result
    says so.
    """
    names = judge_names(judge, offline=offline) if server is None else []
    if server is not None and (judge or offline or settings):
        raise typer.BadParameter("the server's rubric and judges are used", param_hint="--judge, --offline, --set")
    if keep and server is None:
        raise typer.BadParameter("goes with --server URL", param_hint="--keep")
    if not names and (repeats is not None or budget is not None or dry_run or record is not None):
        raise typer.BadParameter("goes with --judge MODEL", param_hint="--repeats, --budget, --dry-run, --record")
    what = EvalInput(cases, prompt, response, context_of(context or []), limit, layout_of(mapped, records, key_base))
    if what.single == (cases is not None):
        wanted = "give --response TEXT, or a file of cases" + (", not both" if what.single else "")
        raise typer.BadParameter(wanted, param_hint="CASES.jsonl")
    if rubric is None and (what.single or settings or server is not None):
        raise typer.BadParameter("name a rubric; `rubrica list` shows the bundled ones", param_hint="--rubric")
    to = Destinations(output, report, force, as_json)
    _refuse_clashes(to, record, [cases, rubric], names)
    judging = JudgeSettings(
        tuple(names),
        repeats,
        budget,
        jobs,
        cached=not no_cache,
        record=Path(record) if record is not None else None,
        seed=seed,
        dry=dry_run,
    )
    tally = RunTally()
    watched = split_list(fail_on)
    _judge(what, RubricChoice(rubric, settings or [], server, keep), judging, to, tally, watched)
    if tally.broken:
        raise typer.Exit(1)
    if tally.count(watched) or (check and tally.mismatched):
        raise typer.Exit(VERDICT_FAILED)


@dataclass(frozen=True, slots=True)
class EvalInput:
    """What is judged: one response that options give, or a file of cases."""

    cases: str | None
    prompt: str | None
    response: str | None
    extra: dict[str, Any]  # context of every case
    limit: int | None
    layout: FileLayout = AS_IT_IS

    @property
    def single(self) -> bool:
        return gives_text(self.prompt, self.response, self.extra if self.cases is None else {})

    def context(self) -> Context:
        return single_context(self.prompt, self.response, self.extra)


@dataclass(frozen=True, slots=True)
class RubricChoice:
    """What it is judged by: a rubric with some of its settings changed, a server's, or that of each case."""

    name: str | None
    settings: list[str]
    server: str | None
    keep: bool  # the scores, on the server


def _judge(
    what: EvalInput, by: RubricChoice, judging: JudgeSettings, to: Destinations, tally: RunTally, watched: list[str]
) -> None:
    """Judge, and bring the evaluations to where they are wanted; a dry run only counts."""
    with ExitStack() as stack:
        jury = there = given = None
        if by.server is not None and by.name is not None:
            there = stack.enter_context(_serving(by.server, by.name, judging.jobs, by.keep))
            given = there.rubric()
        elif by.name is not None:
            given = rubric_of(by.name, settings_of(by.settings))
        if judging.names:
            jury = stack.enter_context(open_judging(judging))
        run_rubrics = RunRubrics(given, jury.judge_of if jury is not None else None)
        if given is not None:
            refuse_unknown(watched, run_rubrics.rubrics.values())
        if judging.dry and jury is not None:
            _count(jury, run_rubrics, what)
            return
        asked = jury or there
        if what.single and given is not None:
            seen = what.context()
            plan = run_rubrics.plan(None)
            evaluation = evaluate(plan, seen) if asked is None else asked.evaluate(plan, seen)
            tally.add(evaluation)
            deliver(iter([evaluation]), to, run_rubrics)
            if not to.printed:
                out().print(card(evaluation, plan.rubric, may_ask=asked is None))
        elif what.cases is not None:
            evaluator = asked.evaluator if asked is not None else None
            with offering_map(["eval", what.cases, *(("-r", by.name) if by.name is not None else ())], given):
                file = CaseFilePart(what.cases, what.layout, what.limit)
                judge_file(file, Batch(run_rubrics, tally, BrokenLines(), what.extra, evaluator), to)
            refuse_unknown(watched, run_rubrics.rubrics.values())


def _refuse_clashes(to: Destinations, record: str | None, inputs: list[str | None], names: list[str]) -> None:
    """Nothing is written over what is read, or over another result."""
    refuse_same(to.output, to.report, *inputs)
    refuse_same(to.report, *inputs)
    refuse_same(record, to.output, to.report, *inputs, *(name.partition(":")[2] for name in names))
    if record is not None and Path(record).exists() and not to.force:
        raise RubricaError(f"{record} exists; add --force to replace it, or choose another name")


def _serving(url: str, reference: str, jobs: int, keep: bool) -> AbstractContextManager[RemoteJudging]:
    with requires("server", "--server"):
        from .remote import remote_judging  # late: only this option needs an HTTP client
    return remote_judging(url, reference, jobs, keep=keep)


def _count(jury: JurySession, run_rubrics: RunRubrics, what: EvalInput) -> None:
    """A dry run: everything is prepared, nothing is asked."""
    tally = RunTally()
    if what.single:
        tally.add(jury.evaluate(run_rubrics.plan(None), what.context()))
    elif what.cases is not None:
        with cases_of(what.cases, what.layout) as file:
            batch = Batch(run_rubrics, tally, BrokenLines(), what.extra, jury.evaluator)
            for _ in batch.evaluations(islice(file.cases(), what.limit)):
                pass
    out().print(estimate_table(jury.estimates))
    out().print(f"{count_of(tally.judged, 'case')}; nothing was asked. Repairs and retries come on top.")
