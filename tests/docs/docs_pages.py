"""The pages of the documentation, their code blocks, and how each kind of block is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from warm_start import rubrica_script

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OUTSIDE = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "examples/README.md")
]
PAGES = sorted([*OUTSIDE, *DOCS.rglob("*.md")])
STEADY = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"}
_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
_RATE = re.compile(r" \([\d,.]+ a second\)")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: ```kind option=value."""

    kind: str
    options: dict[str, str]
    body: str
    line: int  # 1-based, of its first line of code


@dataclass(frozen=True, slots=True)
class Command:
    """One ``$ `` line of a console block, and what should be printed after it."""

    text: str
    expected: str


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks_of(text: str) -> list[Block]:
    """Every fenced block, in order.

    >>> blocks_of("```console exit=100\\n$ false\\n```\\n")[0].options
    {'exit': '100'}
    """
    found = []
    for match in _FENCE.finditer(text):
        kind, *options = match["info"].split() or [""]
        pairs = dict(option.split("=", 1) for option in options)
        found.append(Block(kind, pairs, match["body"], text.count("\n", 0, match.start("body")) + 1))
    return found


def commands_of(body: str) -> list[Command]:
    """The commands of a console block; a line that ends in a backslash goes on in the next.

    >>> commands_of("$ echo a\\na\\n$ true\\n")
    [Command(text='echo a', expected='a'), Command(text='true', expected='')]
    """
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
    assert not parts[0].strip(), "a console block starts with a line that begins with '$ '"
    found = []
    for part in parts[1:]:
        match = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n?", part)
        assert match is not None
        found.append(Command(match[1], part[match.end() :].strip("\n")))
    return found


@cache
def _scripts() -> TemporaryDirectory[str]:
    folder = TemporaryDirectory(prefix="rubrica-docs-")
    rubrica_script(folder.name)
    return folder


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would type it; the environment's own ``rubrica`` comes first."""
    path = os.pathsep.join([_scripts().name, str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, **STEADY, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def fits(expected: str, printed: str) -> bool:
    """Whether the output is as shown; white space is one, and ``...`` stands for anything.

    How many a second is told where it took a second or more: no page shows that, and a busy machine does.

    >>> fits("score ... of 100", "score   71\\nof 100"), fits("pass", "pass or fail")
    (True, False)
    >>> fits("2 judged in ... s, offline", "2 judged in 1.4 s (1 a second), offline")
    True
    """
    printed = _RATE.sub("", printed)
    pieces = (re.escape(" ".join(piece.split())) for piece in expected.split("..."))
    pattern = r"\s*.*?\s*".join(pieces)
    return re.fullmatch(pattern, " ".join(printed.split()), re.DOTALL) is not None
