"""Consoles that follow redirection, and text that cannot control the terminal."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import typer
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

from rubrica.report.printable import printable, printable_json


class _Printable:
    """Whatever is printed, without characters that steer the terminal; styles are Rich's own and stay."""

    def __init__(self, shown: RenderableType) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._shown, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self._shown)


class _Neutralising(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Printable(shown) for shown in renderables]


def out() -> Console:
    """Standard output; made anew each time, so that it follows redirection."""
    return _console(stderr=False)


def err() -> Console:
    """Standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False)
    console.push_render_hook(_Neutralising())
    return console


def echo_json(data: object, *, indent: int | None = 2) -> None:
    """Data as JSON on standard output."""
    typer.echo(printable_json(json.dumps(data, indent=indent, ensure_ascii=False)))


def say_error(message: str) -> None:
    """An error, the way every command tells it."""
    err().print(Text.assemble(("error: ", "bold red"), safe(message)), soft_wrap=True)


def note(message: str, style: str = "") -> None:
    """A line on standard error."""
    err().print(Text(safe(message), style), soft_wrap=True)


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
