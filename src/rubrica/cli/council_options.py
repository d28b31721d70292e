"""The options of commands that hold a council, and what they have to name together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from rubrica.council.settings import CouncilSettings
from rubrica.council.tiers import MOST_ROUNDS, MOST_TOKENS
from rubrica.engine.document import read_document
from rubrica.errors import RubricaError

COUNCIL = "The council"

Models = Annotated[
    str | None,
    typer.Option(
        "--models",
        "-m",
        metavar="A,B,C",
        help="The members; `rubrica config` lists the forms.",
        rich_help_panel=COUNCIL,
    ),
]
Chair = Annotated[
    str | None,
    typer.Option(
        "--chair", metavar="MODEL", help="Who writes the final answer; left out: the best.", rich_help_panel=COUNCIL
    ),
]
TierOption = Annotated[
    Literal["quick", "balanced", "high", "reasoning"] | None,
    typer.Option("--tier", help="Seconds for each stage: 20, 60, 180 or 600.", rich_help_panel=COUNCIL),
]
HOW = "How it is held"
Deadline = Annotated[
    float | None,
    typer.Option("--deadline", min=0.1, max=3600, metavar="SECONDS", help="For each stage.", rich_help_panel=HOW),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens", min=1, max=MOST_TOKENS, metavar="N", help="Of one answer, or one vote.", rich_help_panel=HOW
    ),
]
ReviewTokens = Annotated[
    int | None,
    typer.Option("--review-tokens", min=1, max=MOST_TOKENS, metavar="N", help="Of one review.", rich_help_panel=HOW),
]
FinalTokens = Annotated[
    int | None,
    typer.Option(
        "--final-tokens", min=1, max=MOST_TOKENS, metavar="N", help="Of the final answer.", rich_help_panel=HOW
    ),
]
Debate = Annotated[
    int | None,
    typer.Option(
        "--debate",
        min=0,
        max=MOST_ROUNDS,
        metavar="ROUNDS",
        help="Rounds in which members see each other's points and may change their minds.",
        rich_help_panel=HOW,
    ),
]
WeightsFile = Annotated[
    Path | None,
    typer.Option(
        "--reviewer-weights",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="What `council learn` wrote: how much each member counts.",
        rich_help_panel=HOW,
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the highest possible cost by stage, and call no model.")]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        help="Of labels and orders; replies to the same seed and question are kept and found again.",
        rich_help_panel=HOW,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", metavar="FILE", help="A council.yaml; options win over it.", rich_help_panel=COUNCIL
    ),
]


def refuse_alone(settings: CouncilSettings) -> None:
    """A council has two members at least."""
    if len(settings.models) < 2:
        raise RubricaError("name two or more models: --models a,b,c (or `models` in --config)")


def read_reviewer_weights(file: Path | None) -> dict[str, float] | None:
    """The weights in a file of `council learn`; None where none is named."""
    if file is None:
        return None
    document = read_document(file.read_text(encoding="utf-8"), str(file)).data
    found = document.get("reviewer_weights") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise RubricaError(f"{file}: it has no `reviewer_weights` (write it with `rubrica council learn`)")
    if not found:
        raise RubricaError(f"{file}: nothing was learnt, so there are no weights to use (leave --reviewer-weights out)")
    return found
