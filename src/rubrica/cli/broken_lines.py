"""Reports the broken lines of a file as they are met."""

from __future__ import annotations

import msgspec

from rubrica.engine.cases import BadLine

from .screen import note

LONGEST_REASON = 500  # characters
MOST_TOLD = 1_000
"""Broken lines told one by one; a file that is something else entirely need not be printed whole."""


class BrokenLines(msgspec.Struct):
    """Tells of each broken line on standard error with its number, and counts them."""

    count: int = 0

    def __call__(self, line: BadLine) -> None:
        self.count += 1
        if self.count == MOST_TOLD + 1:
            note("further broken lines are counted, not shown", "yellow")
        if self.count > MOST_TOLD:
            return
        note(f"{line.place or f'line {line.line}'}: {line.reason[:LONGEST_REASON]}", "yellow")
