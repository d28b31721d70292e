"""Writes lines that were converted one by one, and tells which could not be, and what of the others stayed behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import msgspec

from rubrica.engine.cases import BadLine
from rubrica.interchange.healthbench import ConvertedLine, losses_of
from rubrica.report.printable import printable_json

from .broken_lines import BrokenLines
from .losses import Losses
from .output_files import text_output


@dataclass(frozen=True, slots=True)
class LineCount:
    """How many lines were written, and how many were none."""

    written: int
    broken: int


def write_converted(found: Iterable[ConvertedLine | BadLine], output: str, losses: Losses, *, force: bool) -> LineCount:
    """Write each line as it is converted; where none can be, no file is made."""
    broken, written = BrokenLines(), 0
    lines = _readable(found, broken)
    first = next(lines, None)
    if first is None:
        return LineCount(0, broken.count)
    with text_output(output, printable_json, force=force) as write:
        for line in chain((first,), lines):
            losses.add(losses_of(line))
            write(msgspec.json.encode(line.conversion.data).decode() + "\n")
            written += 1
    return LineCount(written, broken.count)


def _readable(found: Iterable[ConvertedLine | BadLine], broken: BrokenLines) -> Iterator[ConvertedLine]:
    for line in found:
        if isinstance(line, BadLine):
            broken(line)
        else:
            yield line
