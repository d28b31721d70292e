"""``rubrica draft``: a model drafts criteria; people review them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from rubrica.authoring.draft import MOST_CRITERIA_DRAFTED, DraftedRubric, DraftingExample, DraftingTerms, draft_rubric
from rubrica.authoring.draft_effect import ExampleEffect, draft_effects, ordered_pairs
from rubrica.authoring.lint import lint_rubric
from rubrica.authoring.lint_warning import LintWarning
from rubrica.errors import RubricaError
from rubrica.model.evaluation import Evaluation
from rubrica.report.figures import count_of, figure
from rubrica.runs.request import JudgeSettings
from rubrica.text.sentence_model import sentence_model
from rubrica.workspace.rubric_text import to_text

from .draft_examples import read_answers, read_preferred_pairs
from .figures_table import FiguresTable
from .judge_options import BudgetLimit, Jobs, Judges, NoCache, Record, judge_names, open_judging
from .options import AsJson, rubric_option
from .output_files import atomic_text_file, refuse_taken
from .remote import check_address
from .screen import echo_json, err, note, out, safe, short
from .sources import rubric_of, text_of
from .stored_draft import store_draft

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

FROM, WHERE = "What to draft from", "Where the draft goes"
Task = Annotated[
    str | None,
    typer.Option(
        "--task", help="What responses have to do; @file reads a file, - standard input.", rich_help_panel=FROM
    ),
]
Good = Annotated[
    str | None, typer.Option("--good", metavar="CASES", help="Answers that people found good.", rich_help_panel=FROM)
]
Bad = Annotated[
    str | None, typer.Option("--bad", metavar="CASES", help="Answers that people found bad.", rich_help_panel=FROM)
]
Pairs = Annotated[
    str | None,
    typer.Option(
        "--pairs", metavar="PAIRS.jsonl", help="Answers to one prompt, one of them preferred.", rich_help_panel=FROM
    ),
]
Base = Annotated[str | None, rubric_option("A rubric whose next version the draft is.", FROM)]
Most = Annotated[
    int,
    typer.Option(
        "--most", min=1, max=MOST_CRITERIA_DRAFTED, help="The highest number of criteria.", rich_help_panel=FROM
    ),
]
DraftName = Annotated[
    str, typer.Option("--name", help="The rubric's name; left out, from its title or its base.", rich_help_panel=WHERE)
]
DraftFile = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE.yaml",
        help="Write the draft here; an existing file is never overwritten. Left out, it is printed.",
        rich_help_panel=WHERE,
    ),
]
StoreAt = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="Keep the draft on a Rubrica server too: as a private rubric NAME-draft, to be read in the studio.",
        rich_help_panel=WHERE,
    ),
]
EXAMPLES = """[bold]Examples[/bold]
  rubrica draft --task 'Answer questions about medicines for lay people' -J MODEL -o medicine.yaml
  rubrica draft --good good.jsonl --bad bad.jsonl -J MODEL -o reply.yaml
  rubrica draft --pairs pairs.jsonl -r reply.yaml -J MODEL -o reply-2.yaml

A line of PAIRS.jsonl:
  {"prompt": "2 + 2?", "preferred": "4", "rejected": "5"}
A draft is for people to read: nothing uses it until somebody does. --store keeps it on a server beside the rubric that
it would follow, with its examples; RUBRICA_API_KEY is the key. The same model judges the examples under it, and
under the rubric it would follow, so that you see what it would change."""


@app.command(epilog=EXAMPLES)
def draft(
    task: Task = None,
    good: Good = None,
    bad: Bad = None,
    pairs: Pairs = None,
    rubric: Base = None,
    most: Most = 8,
    name: DraftName = "",
    output: DraftFile = None,
    store: StoreAt = None,
    as_json: AsJson = False,
    judge: Judges = None,
    budget: BudgetLimit = None,
    jobs: Jobs = 16,
    no_cache: NoCache = False,
    record: Record = None,
) -> None:
    """Draft criteria from a task, from good and bad answers, or from preferred ones."""
    names = judge_names(judge, offline=False)
    if len(names) != 1:
        raise typer.BadParameter("name one model that drafts; `rubrica config` shows how", param_hint="--judge")
    _refuse_existing(output)
    if store is not None:
        check_address(store)
    base = rubric_of(rubric) if rubric is not None else None
    examples = _examples(good, bad, pairs)
    terms = DraftingTerms(text_of(task, "--task") if task is not None else "", examples, base, name, most)
    terms.check()
    judging = JudgeSettings(
        tuple(names), None, budget, jobs, cached=not no_cache, record=Path(record) if record else None
    )
    with open_judging(judging) as jury:
        drafted = jury.runner.run(draft_rubric(terms, jury.jury))
        effects = jury.runner.run(draft_effects(drafted.rubric, examples, jury.jury, base, jobs))
    warnings = lint_rubric(drafted.rubric, model=sentence_model()).warnings
    text = _with_reasons(drafted, names[0])
    if output is not None:
        with atomic_text_file(output) as file:
            file.write(text)
    if as_json:
        echo_json(_plain(drafted, warnings, effects))
    else:
        if output is None:
            typer.echo(safe(text))
        _show(drafted, warnings, effects, output)
    if store is not None:
        note(f"kept as {store_draft(store, drafted, effects, names[0])} on {store}: private, and used by nothing")
    if not as_json and base is not None and (base.gates or base.profiles or base.sections):
        note(f"gates, profiles and sections of {base.reference} are not in the draft; carry over what should stay")


def _examples(good: str | None, bad: str | None, pairs: str | None) -> tuple[DraftingExample, ...]:
    found: list[DraftingExample] = []
    found += read_answers(good, "good") if good is not None else ()
    found += read_answers(bad, "bad") if bad is not None else ()
    found += read_preferred_pairs(pairs) if pairs is not None else ()
    return tuple(found)


def _refuse_existing(output: str | None) -> None:
    if output is not None and Path(output).exists():
        raise RubricaError(f"{output} exists, and a draft replaces nothing; choose another name")
    refuse_taken(output)


def _with_reasons(drafted: DraftedRubric, model: str) -> str:
    """The document, with who drafted it and why each criterion is in it."""
    head = [f"# Drafted by {model}. Read it before you use it.", "#"]
    head += [f"# {name}: {' '.join(reason.split())}" for name, reason in drafted.because.items() if reason]
    return "\n".join([*head, to_text(drafted.document)])


def _plain(
    drafted: DraftedRubric, warnings: Sequence[LintWarning], effects: Sequence[ExampleEffect]
) -> dict[str, object]:
    return {
        "document": drafted.document,
        "because": dict(drafted.because),
        "warnings": [warning.plain for warning in warnings],
        "effects": [
            {
                "id": effect.example.id,
                "side": effect.example.side,
                "before": _outcome(effect.before) if effect.before is not None else None,
                "after": _outcome(effect.after),
            }
            for effect in effects
        ],
    }


def _outcome(evaluation: Evaluation) -> dict[str, object]:
    return {"score": evaluation.score, "verdict": evaluation.verdict, "reason": evaluation.reason}


def _show(
    drafted: DraftedRubric, warnings: Sequence[LintWarning], effects: Sequence[ExampleEffect], output: str | None
) -> None:
    console = out() if output is not None else err()
    criteria = FiguresTable()
    for title in ("criterion", "asks", "weight"):
        criteria.add_column(title, overflow="fold", justify="right" if title == "weight" else "left")
    for name, spec in drafted.rubric.dimensions.items():
        costs = "" if spec.answers.get("yes") else " (a yes costs)"
        criteria.add_row(Text(safe(name)), Text(safe(spec.asks) + costs), f"{spec.weight:g}")
    console.print(criteria)
    if effects:
        console.print(_effects_table(effects))
        higher, count = ordered_pairs(effects)
        told = "the preferred answer" if effects[0].example.side in ("preferred", "rejected") else "the good answer"
        console.print(Text(f"{told} scores higher in {higher:,} of {count_of(count, 'pair')}"))
    for warning in warnings:
        console.print(Text.assemble(("!  ", "bold yellow"), safe(str(warning))), soft_wrap=True)
    if output is not None:
        console.print(Text(f"written to {safe(output)}: read it, change it, then use it"), soft_wrap=True)


def _effects_table(effects: Sequence[ExampleEffect]) -> FiguresTable:
    compared = any(effect.before is not None for effect in effects)
    table = FiguresTable()
    for title in ("example", "people", "response", *(["before"] if compared else []), "after" if compared else "score"):
        table.add_column(title, overflow="fold")
    for effect in effects:
        cells = [safe(effect.example.id), effect.example.side, short(effect.example.context.response, 40)]
        cells += [_cell(effect.before)] if compared else []
        table.add_row(*map(Text, cells), Text(_cell(effect.after)))
    return table


def _cell(evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return ""
    score = "not scored" if evaluation.score is None else f"{figure(evaluation.score)} of {figure(evaluation.out_of)}"
    return f"{score}, {safe(evaluation.verdict)}"
