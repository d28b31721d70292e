"""The options of commands that hold a council, and what they have to name together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from rubrica.council.settings import CouncilSettings
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
    Literal["quick", "balanced", "high"] | None,
    typer.Option("--tier", help="Seconds for each stage: 20, 60 or 180.", rich_help_panel=COUNCIL),
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
