"""Where commands print: consoles that follow redirection, and text that cannot steer the terminal."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from shutil import which

from rich.console import Console
from rich.text import Text

_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
_HIDDEN = [*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000)]
_VISIBLE = _PICTURES | dict.fromkeys(_HIDDEN, 0xFFFD)


def out() -> Console:
    """Standard output; made anew each time, so that it follows redirection."""
    return Console(highlight=False)


def err() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False)


def say_error(message: str) -> None:
    """An error, the way every command tells it."""
    err().print(Text.assemble(("error: ", "bold red"), safe(message)), soft_wrap=True)


def note(message: str, style: str = "") -> None:
    """A line on standard error."""
    err().print(Text(safe(message), style), soft_wrap=True)


def safe(text: str) -> str:
    r"""Text that cannot steer the terminal: control and direction-changing characters are made visible.

    >>> safe("red \x1b[31m")
    'red ␛[31m'
    """
    return text.translate(_VISIBLE)


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
