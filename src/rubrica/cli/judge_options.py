"""The options of commands that judge many cases, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rubrica.errors import RubricaError
from rubrica.llm.settings import load_settings
from rubrica.runs.rubrics import RunRubrics

from .options import HOW, MODELS, WHAT

if TYPE_CHECKING:
    from .jury_session import JurySession

VERDICT_FAILED = 100
INTERRUPTED = 130

RubricName = Annotated[
    str | None,
    typer.Option(
        "--rubric",
        "-r",
        metavar="NAME|FILE",
        help="A bundled rubric or a file; left out, each case's own.",
        rich_help_panel=HOW,
    ),
]
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
        help="Ask each judge so often; left out, as the rubric says.",
        rich_help_panel=MODELS,
    ),
]
BudgetLimit = Annotated[
    float | None,
    typer.Option("--budget", min=0, metavar="USD", help="Ask no more once this is spent.", rich_help_panel=MODELS),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Ask nothing: count calls and tokens, and tell the price.", rich_help_panel=MODELS),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=1, max=1000, help="Cases under way at once.", rich_help_panel=MODELS)
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Ask again, whatever was answered before.", rich_help_panel=MODELS)
]
Offline = Annotated[
    bool, typer.Option("--offline", help="Ask no model, even where RUBRICA_JUDGE names one.", rich_help_panel=MODELS)
]


def judge_names(given: list[str] | None, *, offline: bool) -> list[str]:
    """The models that judge: those named, or the one of the settings."""
    names = listed(given)
    if names or offline:
        return names
    by_default = load_settings().judge
    return [by_default] if by_default is not None else []


def listed(given: list[str] | None) -> list[str]:
    """What an option lists that may be repeated or written with commas.

    >>> listed(["a, b", "c"])
    ['a', 'b', 'c']
    """
    return [name.strip() for several in given or [] for name in several.split(",") if name.strip()]


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """How models judge: which ones, how often each is asked, for how much, and what is kept of it."""

    names: Sequence[str]
    repeats: int | None = None  # None: as the rubric says
    budget: float | None = None  # USD
    jobs: int = 16  # cases under way at once
    cached: bool = True
    seed: int = 0  # of the order in which judges see dimensions; 0: as written
    dry: bool = False  # count, and ask nothing
    warm: bool = False  # whole evaluations are repeated
    record: str | None = None  # the file that keeps every reply


def open_judging(wanted: JudgingOptions) -> AbstractContextManager[JurySession]:
    """The jury; loaded only now, because judging by code alone needs no HTTP client and no price list."""
    module = loaded("jury_session", "--judge", "judges")
    opened: AbstractContextManager[JurySession] = module.jury_session(wanted)
    return opened


def loaded(module: str, option: str, extra: str) -> Any:
    """A module that an option needs; where an extra is not installed, an error that says so."""
    try:
        return import_module(f"rubrica.cli.{module}")
    except ModuleNotFoundError as error:
        raise RubricaError(f"{option}: {error.name} is missing (pip install 'rubrica[{extra}]')") from error


def refuse_unknown(watched: list[str], run_rubrics: RunRubrics) -> None:
    """A misspelt verdict would never fail anything: refuse it."""
    labels = list(run_rubrics.labels())
    for label in watched:
        if label not in labels and run_rubrics.rubrics:
            near = get_close_matches(label, labels, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise RubricaError(f"--fail-on {label!r}: {', '.join(run_rubrics.rubrics)} gives {', '.join(labels)}{hint}")
