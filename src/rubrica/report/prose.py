"""A readable page as blocks of words, which Markdown and HTML both render."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rubrica.phrases import Code, Inline, Phrase, Strong

from .printable import printable


@dataclass(frozen=True, slots=True)
class Heading:
    kind: ClassVar = "heading"
    level: int  # 1 to 3
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    kind: ClassVar = "paragraph"
    words: Phrase


@dataclass(frozen=True, slots=True)
class Bullets:
    kind: ClassVar = "bullets"
    items: tuple[Phrase, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class TableBlock:
    kind: ClassVar = "table"
    head: tuple[str, ...]
    rows: tuple[tuple[Phrase, ...], ...]
    numbers: frozenset[int] = frozenset()  # columns that hold numbers


Block = Heading | Paragraph | Bullets | TableBlock

_SPECIAL = re.compile(r"[\\`*\[\]<>|]|(?<!\w)_|_(?!\w)")
_LINE_START = re.compile(r"^(#{1,6}|[-+]|\d+[.)])(?=\s)")


def markdown(blocks: Sequence[Block]) -> str:
    """The blocks as Markdown.

    >>> print(markdown([Heading(1, "A"), Paragraph(("If ", Code("a < b"), ", ", Strong("fail"), ".")),]))
    # A
    <BLANKLINE>
    If `a < b`, **fail**.
    <BLANKLINE>
    """
    return printable("\n\n".join(_block(block) for block in blocks)) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {_escaped(block.text)}"
        case Paragraph():
            return _line(block.words)
        case Bullets():
            marks = (f"{number}." if block.ordered else "-" for number in range(1, len(block.items) + 1))
            return "\n".join(f"{mark} {_line(item)}" for mark, item in zip(marks, block.items, strict=True))
        case TableBlock():
            return _table(block)


def _table(table: TableBlock) -> str:
    rule = ["---:" if column in table.numbers else "---" for column in range(len(table.head))]
    rows = [[_line(cell, in_table=True) for cell in row] for row in table.rows]
    head = [_escaped(cell) for cell in table.head]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def _line(words: Phrase, *, in_table: bool = False) -> str:
    line = "".join(_inline(part, in_table) for part in words)
    return _LINE_START.sub(r"\\\1", line)


def _inline(part: Inline, in_table: bool) -> str:
    match part:
        case Code(text):
            text = " ".join(text.split())
            fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
            pad = " " if text.startswith("`") or text.endswith("`") else ""
            return f"{fence}{pad}{text.replace('|', chr(92) + '|') if in_table else text}{pad}{fence}"
        case Strong(text):
            return f"**{_escaped(text)}**"
        case str(text):
            return _escaped(text)


def _escaped(text: str) -> str:
    """On one line, with the characters that Markdown would read as its own taken literally."""
    joined = re.sub(r"\s+", " ", text)
    return _SPECIAL.sub(lambda found: "&lt;" if found[0] == "<" else "\\" + found[0], joined)
