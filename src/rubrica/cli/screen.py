"""Consoles that follow redirection, and text that cannot control the terminal."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import typer

from rubrica.report.printable import printable, printable_json

if TYPE_CHECKING:
    from rich.console import Console


def out() -> Console:
    """Standard output; made anew each time, so that it follows redirection."""
    from .console import open_console  # here, since Rich takes a while to load, and many a command prints little

    return open_console(stderr=False)


def err() -> Console:
    """Standard error."""
    from .console import open_console

    return open_console(stderr=True)


def err_may_be_terminal() -> bool:
    """Whether standard error may be a terminal, which the console knows for sure."""
    return sys.stderr.isatty() or any(name in os.environ for name in ("FORCE_COLOR", "TTY_COMPATIBLE"))


def echo_json(data: object, *, indent: int | None = 2) -> None:
    """Data as JSON on standard output."""
    typer.echo(printable_json(json.dumps(data, indent=indent, ensure_ascii=False)))


def say_error(message: str) -> None:
    """An error, the way every command tells it."""
    from .console import print_error

    print_error(message)


def note(message: str, style: str = "") -> None:
    """A line on standard error."""
    from .console import print_note

    print_note(message, style)


def safe(text: str) -> str:
    r"""Text that cannot steer the terminal, for where its width counts.

    >>> safe("red \x1b[31m")
    'red ␛[31m'
    """
    return printable(text)


def short(text: str, length: int = 60) -> str:
    r"""One line of a text, safe to print.

    >>> short("one\n two  three", 10)
    'one two t…'
    """
    line = safe(" ".join(text[: length * 8].split()))
    return line if len(line) <= length else line[: length - 1] + "…"


def program() -> str:
    """How the user called us, for commands to type next: ``rubrica`` where that is on the path."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return "python -m rubrica"
    if which("rubrica") is None and called.name == "rubrica":
        return shlex.quote(str(called))
    return "rubrica"
