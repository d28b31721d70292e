"""Tells what a conversion could not carry over: a line for each thing, and one for what many lines have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from rubrica.errors import Problem, RubricError
from rubrica.report.figures import count_of

from .screen import note

MOST_TOLD = 1_000
"""Losses told one by one."""


@dataclass(slots=True)
class Losses:
    """Collects losses. Those of the same kind in many lines of a file are told once, with how many they are."""

    strict: bool = False  # to stop where something is lost
    kinds: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)

    def add(self, lost: Sequence[Problem]) -> None:
        """Note what one rubric, or one line, leaves behind; strict, it is an error with all of that."""
        if self.strict and lost:
            raise RubricError([replace(one, message=f"not carried over: {one.message}") for one in lost])
        for one in lost:
            lines = self.kinds.setdefault((one.where, one.message, one.fix), [])
            if one.line is not None:
                lines.append(one.line)

    def tell(self) -> None:
        """Say all of it on standard error."""
        for told, ((where, message, fix), lines) in enumerate(self.kinds.items()):
            if told == MOST_TOLD:
                note(f"{len(self.kinds) - told:,} further kinds of things are not carried over", "yellow")
                return
            place = (
                "" if not lines else f"line {lines[0]}: " if len(lines) == 1 else f"{count_of(len(lines), 'line')}: "
            )
            text = ": ".join(part for part in (where, message) if part)
            note(f"not carried over: {place}{text}{f' ({fix})' if fix else ''}", "yellow")
