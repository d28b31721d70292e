"""Options and arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rubrica.runs.objects.address import is_address

WHAT, HOW, WHERE = "What to judge", "How to judge it", "Where results go"
MODELS = "Judging with models"
SERVER = "Judging on a server"


def rubric_option(meaning: str, panel: str | None = None) -> Any:
    """The option that names a rubric; `meaning` is what a command does with it."""
    return typer.Option("--rubric", "-r", metavar="NAME|FILE", help=meaning, rich_help_panel=panel)


RubricArgument = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A bundled rubric or a file.")]
StoredArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN|EVALUATIONS.jsonl",
        help="A run's folder, or what `rubrica eval -o` stored; - reads standard input.",
    ),
]
Prompt = Annotated[
    str | None,
    typer.Option("--prompt", "-p", help="What was asked; @file reads a file, - standard input.", rich_help_panel=WHAT),
]
Response = Annotated[
    str | None,
    typer.Option("--response", help="What was answered; also @file or -.", rich_help_panel=WHAT),
]
ContextPairs = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        "-c",
        metavar="KEY=VALUE",
        help="What else is known, such as question_type=FACTUAL; may be repeated. A case's own value wins.",
        rich_help_panel=WHAT,
    ),
]
SettingPairs = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Change a setting of the rubric; may be repeated.", rich_help_panel=HOW
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT.jsonl",
        help="Store evaluations here, one per line, as they finish.",
        rich_help_panel=WHERE,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]
ForceOutput = Annotated[bool, typer.Option("--force", help="Replace what is there already.", rich_help_panel=WHERE)]
PrintJson = Annotated[bool, typer.Option("--json", help="Print evaluations as JSON lines.", rich_help_panel=WHERE)]
ServerAddress = Annotated[
    str,
    typer.Option(
        "--server", metavar="URL", envvar="RUBRICA_SERVER", help="A Rubrica server, such as http://localhost:8000."
    ),
]


def local_folder(path: Path) -> Path:
    """A folder of this machine, for options that take no other; an address would become a folder called s3:."""
    if is_address(path.as_posix().replace(":/", "://", 1)):
        raise typer.BadParameter(
            "a folder of this machine is wanted; of a run in an object store, `rubrica summary`, `report` and `export` "
            "take the address"
        )
    return path


TrustedProxy = Annotated[
    list[str] | None,
    typer.Option(
        "--trusted-proxy",
        metavar="ADDRESS",
        help="A proxy in front of it, such as 10.0.0.7 or 10.0.0.0/24, whose X-Forwarded-For is believed; repeat it.",
    ),
]
