"""Consoles of Rich on which no text can control the terminal. `screen` loads this module when something is printed."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

from rubrica.report.printable import printable


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


def open_console(*, stderr: bool) -> Console:
    """A console on standard output or standard error, as they are now."""
    console = Console(stderr=stderr, highlight=False)
    console.push_render_hook(_Neutralising())
    return console


def print_error(message: str) -> None:
    """Print an error on standard error."""
    open_console(stderr=True).print(Text.assemble(("error: ", "bold red"), printable(message)), soft_wrap=True)


def print_note(message: str, style: str) -> None:
    """Print a line on standard error."""
    open_console(stderr=True).print(Text(printable(message), style), soft_wrap=True)
