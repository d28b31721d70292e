"""The ``rubrica`` command: its table of commands, its exit codes, and how errors are told.

A command's module is imported when the command is called, so that ``rubrica --help`` stays quick.

Exit codes: 0 fine, 100 a verdict failed, 1 an error, 2 a wrong option, 130 interrupted.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Annotated, Any

import msgspec
import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from rubrica import __version__
from rubrica.errors import RubricaError, RubricError
from rubrica.extras import MissingExtraError, requires
from rubrica.llm.early_client import load_client_early
from rubrica.runs.cores import ONE_THREAD

from .screen import note, say_error

YOUNG = 50_000
"""New objects that may gather before they are scanned for cycles, once a command is loaded."""
NO_PLUGINS = {"PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""pydantic would look for its plugins among all installed packages."""


class CommandEntry(msgspec.Struct, frozen=True):
    """One line of the command table; the command itself is `app` in the module ``rubrica.cli.<name>``."""

    panel: str
    summary: str
    extra: str = ""  # what has to be installed for it, as in ``rubrica[server]``
    module: str = ""  # where its name is no name of a module


COMMANDS: Mapping[str, CommandEntry] = {
    "demo": CommandEntry("Start here", "Judge the bundled examples, offline, and write a report."),
    "init": CommandEntry("Start here", "Write a commented starter rubric."),
    "eval": CommandEntry("Judge", "Judge one response, or a file of cases."),
    "prefer": CommandEntry("Judge", "Say which of several responses to the same prompt is better.", "judges"),
    "run": CommandEntry("Judge", "Judge a whole dataset into a folder; resumes after any crash."),
    "explain": CommandEntry("Judge", "Show where every point came from."),
    "rejudge": CommandEntry("Judge", "Apply a changed rubric to stored scores; nothing is scored again."),
    "report": CommandEntry("Judge", "Write stored evaluations, or a run with its plots, as one HTML page."),
    "agreement": CommandEntry("Judge", "Show how far judges agree over stored evaluations."),
    "summary": CommandEntry("Runs", "Show a stored run in figures: scores, verdicts, times, cost, outliers."),
    "export": CommandEntry("Runs", "Write a stored run as a table, or a rubric in another tool's format."),
    "compare": CommandEntry("Runs", "Show what got better or worse between two runs, and what cannot be decided."),
    "baseline": CommandEntry("Runs", "Keep runs as baselines, and fail if a later one got worse beyond noise."),
    "review": CommandEntry("Runs", "Let people score a sample of a run, and compare the judge with them."),
    "curriculum": CommandEntry("Workflows", "Write and judge questions for every skill of a curriculum.", "judges"),
    "companion": CommandEntry("Workflows", "Judge a voice companion's system prompt over scenarios.", "judges"),
    "council": CommandEntry("Workflows", "Put a question to several models that review each other.", "judges"),
    "list": CommandEntry("Rubrics", "List the bundled rubrics."),
    "show": CommandEntry("Rubrics", "Show what a rubric asks, weighs and decides."),
    "validate": CommandEntry("Rubrics", "Check rubric files and report every problem."),
    "draft": CommandEntry(
        "Rubrics", "Draft criteria from a task, from good and bad answers, or from preferred ones.", "judges"
    ),
    "lint": CommandEntry("Rubrics", "Find criteria that ask two things, are vague, overlap or contradict each other."),
    "docs": CommandEntry("Rubrics", "Write a readable page of a rubric."),
    "import": CommandEntry("Rubrics", "Read rubrics and cases of other tools.", module="import_files"),
    "calibrate": CommandEntry("Rubrics", "Correct judges by people's scores of the same responses."),
    "config": CommandEntry("Models", "Show every setting, its value and its source."),
    "cache": CommandEntry("Models", "Show or clear the cached replies of models."),
    "serve": CommandEntry("Server", "Serve the studio, and rubrics, games and scores over a REST API.", "studio"),
    "worker": CommandEntry("Server", "Execute the runs of servers that share a PostgreSQL database.", "queue"),
    "gateway": CommandEntry(
        "Server", "Answer with the cheap model when it is good enough, else with the better one.", "gateway"
    ),
    "mcp": CommandEntry("Server", "Offer a council and rubrics to an agent, over the Model Context Protocol.", "mcp"),
    "db": CommandEntry("Server", "Upgrade a server's database, or show its version.", "server"),
    "keys": CommandEntry("Server", "Create, list and revoke the keys of a server.", "server"),
    "push": CommandEntry("Server", "Store rubric files on a server, each change as a new version.", "server"),
    "pull": CommandEntry("Server", "Write a rubric of a server to a file, as its author wrote it.", "server"),
    "games": CommandEntry("Server", "Create, open, play and read the games of a server.", "server"),
    "schema": CommandEntry("Reference", "Print the JSON Schema of rubric files."),
    "features": CommandEntry("Reference", "List the text features that formulas can read."),
}


class CommandTable(TyperGroup):
    """Lists the commands from the table; imports one only when it is called."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        for name, entry in COMMANDS.items():
            self.add_command(TyperCommand(name, help=entry.summary, rich_help_panel=entry.panel))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in COMMANDS:
            if _asks_provider(args):
                load_client_early()
            self.add_command(get_command(command_module(args[0]).app), args[0])
            if not gc.isenabled():  # as `rubrica.__main__` leaves it
                gc.freeze()
                gc.enable()
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **options: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # an old terminal shows a ? rather than nothing at all
        try:
            _start_telemetry()
            try:
                return super().main(*args, **options)
            finally:
                sys.stdout.flush()
        except RubricError as error:
            for problem in error.problems:
                say_error(str(problem))
        except RubricaError as error:
            say_error(str(error))
        except BrokenPipeError:  # the reader went away (`| head`): nothing to say, and nothing left to flush
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        except OSError as error:
            say_error(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
        sys.exit(1)


def _asks_provider(args: Sequence[str]) -> bool:
    """Whether a command line names a judge that is asked over HTTP. To be wrong costs time only.

    >>> _asks_provider(["run", "-J", "openai:gpt-4o-mini"]), _asks_provider(["run", "-J", "local:"])
    (True, False)
    """
    named = any(argument.startswith(("-J", "--judge")) for argument in args)
    return named and not any(one in argument for argument in args for one in ("local:", "scripted:", "replay:"))


def _start_telemetry() -> None:
    """Send evaluations to the collector that the environment names, if it names one."""
    if not any(map(os.environ.get, ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"))):
        return
    try:
        with requires("telemetry", "no telemetry is sent"):
            from rubrica.telemetry import otlp  # late: most commands send nothing, and it takes a while to load
    except MissingExtraError as error:
        note(str(error))
    else:
        if otlp.wanted():
            otlp.start()


def command_module(name: str) -> Any:
    """A command's module; where it needs an extra that is not installed, an error that says so."""
    with requires(COMMANDS[name].extra, f"rubrica {name}") if COMMANDS[name].extra else nullcontext():
        return import_module(f"rubrica.cli.{COMMANDS[name].module or name}")


app = typer.Typer(
    cls=CommandTable,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="[bold]First hour[/bold]\n"
    "  rubrica demo\n"
    "  rubrica show answer-quality\n"
    "  rubrica eval -r answer-quality -p 'What is 2 + 2?' --response '4'\n"
    "  rubrica init my-rubric.yaml\n\n"
    "Exit codes: 0 fine, 100 a verdict failed, 1 an error, 2 a wrong option.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rubrica {__version__}")
        raise typer.Exit


@app.callback()
def rubrica(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Judge AI output with rubrics people can read, trust and change."""


def main() -> None:
    """What the ``rubrica`` script does."""
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    for name, value in {**ONE_THREAD, **NO_PLUGINS}.items():
        os.environ.setdefault(name, value)
    app(prog_name="rubrica")
