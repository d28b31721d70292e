"""The options of commands that judge many cases, and what they mean."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from rubrica.errors import RubricaError
from rubrica.hints import did_you_mean
from rubrica.llm.settings import load_settings
from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of, dollars
from rubrica.runs.concurrency import reduced_garbage_collection
from rubrica.runs.events import RunEstimate
from rubrica.runs.judging import open_jury
from rubrica.runs.request import JudgeSettings
from rubrica.runs.rubrics import all_labels

from .options import HOW, MODELS, WHAT, rubric_option
from .screen import note, safe

if TYPE_CHECKING:
    from rich.table import Table

    from rubrica.llm.estimate import CostEstimate
    from rubrica.runs.jury_session import JurySession

VERDICT_FAILED = 100
INTERRUPTED = 130

RubricName = Annotated[str | None, rubric_option("A bundled rubric or a file; left out, each case's own.", HOW)]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="Judge only the first N cases.", rich_help_panel=WHAT)
]
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="VERDICT",
        help="Exit with 100 if this verdict comes out; repeat it or write a,b.",
        rich_help_panel=HOW,
    ),
]
Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-J",
        metavar="MODEL",
        help="The model that judges, such as anthropic:claude-haiku-4-5; repeat it for a panel. See `rubrica config`.",
        rich_help_panel=MODELS,
    ),
]
Repeats = Annotated[
    int | None,
    typer.Option(
        "--repeats",
        min=1,
        max=20,
        help="Ask each judge this many times; left out, as the rubric says.",
        rich_help_panel=MODELS,
    ),
]
BudgetLimit = Annotated[
    float | None,
    typer.Option(
        "--budget", min=0, metavar="USD", help="Stop calling models once this is spent.", rich_help_panel=MODELS
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Call no model: estimate calls, tokens and price.", rich_help_panel=MODELS),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=1, max=1000, help="Cases under way at once.", rich_help_panel=MODELS)
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Ask again, even if there is a cached reply.", rich_help_panel=MODELS)
]
Record = Annotated[
    str | None,
    typer.Option(
        "--record",
        metavar="FILE.jsonl",
        help="Keep every reply, for --judge replay:FILE.jsonl.",
        rich_help_panel=MODELS,
    ),
]
Offline = Annotated[
    bool, typer.Option("--offline", help="Ask no model, even where RUBRICA_JUDGE names one.", rich_help_panel=MODELS)
]


def interrupted(said: str) -> typer.Exit:
    """How a command ends after Ctrl-C: what is kept is told. Raise what is returned."""
    note(f"interrupted: {said}", "bold")
    return typer.Exit(INTERRUPTED)


def judge_names(given: list[str] | None, *, offline: bool) -> list[str]:
    """The models that judge: those named, or the one of the settings."""
    names = split_list(given)
    if names or offline:
        return names
    by_default = load_settings().judge
    return [by_default] if by_default is not None else []


def split_list(given: list[str] | None) -> list[str]:
    """What an option lists that may be repeated or written with commas.

    >>> split_list(["a, b", "c"])
    ['a', 'b', 'c']
    """
    return [name.strip() for several in given or [] for name in several.split(",") if name.strip()]


@contextmanager
def open_judging(judging: JudgeSettings) -> Iterator[JurySession]:
    """The jury of a command that does nothing else meanwhile."""
    with open_jury(judging, note) as jury, reduced_garbage_collection():
        yield jury


def estimate_sentence(estimate: RunEstimate) -> str:
    """How much a dry run would judge."""
    said = count_of(estimate.evaluations, "evaluation")
    done = f" ({estimate.skipped:,} done already)" if estimate.skipped else ""
    return f"{said}{done}; nothing was asked. Repairs and retries come on top."


def estimate_table(models: Iterable[CostEstimate], who: str = "judge") -> Table:
    """What a dry run counted; on a narrow screen the models' names give way, not the figures."""
    from .figures_table import FiguresTable  # here, since only a dry run prints it

    rows = list(models)
    cached = any(row.cached_input_tokens for row in rows)  # by their provider, which then charges less
    table = FiguresTable()
    table.add_column(who)
    for name in ("calls", "tokens in (about)", *(["cached"] if cached else []), "out (about)", "price (about)"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        read = [row.input_tokens, *([row.cached_input_tokens] if cached else [])]
        counts = (f"{count:,}" for count in (row.calls, *read, row.output_tokens))
        table.add_row(safe(row.model), *counts, dollars(row.usd))
    return table


def refuse_unknown(watched: list[str], rubrics: Collection[Rubric]) -> None:
    """A misspelt verdict would never fail anything: refuse it."""
    labels = all_labels(rubrics)
    for label in watched:
        if label not in labels and rubrics:
            hint = did_you_mean(label, labels)
            names = ", ".join(rubric.name for rubric in rubrics)
            raise RubricaError(
                "; ".join(filter(None, [f"--fail-on {label!r}: {names} gives {', '.join(labels)}", hint]))
            )
