"""Which evaluations of a run count as failed, for the tools that ask: by what verdicts mean, or as they are named."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from rubrica.report.figures import figure
from rubrica.runs.files.rows import RunRow

from .grading import Grading

Outcome = Literal["passed", "failed", "open"]


@dataclass(frozen=True, slots=True)
class FailureRule:
    """What an evaluation must not come to. Without names, bad verdicts fail and inconclusive ones are open.

    >>> FailureRule(Grading()).outcome(RunRow("1", "r@1.0.0", "reject", 10.0, 100.0))
    'failed'
    >>> FailureRule(Grading(), frozenset({"revise"})).outcome(RunRow("1", "r@1.0.0", "reject", 10.0, 100.0))
    'passed'
    """

    grading: Grading
    fail_on: Collection[str] = ()

    def outcome(self, row: RunRow) -> Outcome:
        if self.fail_on:
            return "failed" if row.verdict in self.fail_on else "passed"
        match self.grading.role(row.rubric, row.verdict):
            case "bad":
                return "failed"
            case "inconclusive":
                return "open"
            case _:
                return "passed"


def headline_of(row: RunRow) -> str:
    """A row in one line: its verdict, its score and why."""
    score = f" at {figure(row.score)} of {figure(row.out_of)}" if row.score is not None else ""
    return f"{row.verdict}{score}" + (f": {row.reason}" if row.reason else "")


def title_of(row: RunRow) -> str:
    """The case, and which repeat of it."""
    return row.case + (f" (repeat {row.repeat + 1})" if row.repeat else "")
