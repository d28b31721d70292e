"""What lint tells an author: which rule, where, why, and a wording to put in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from rubrica.engine.document import Document
from rubrica.errors import Problem

RuleName = Literal[
    "two-questions",
    "vague",
    "cannot-fail",
    "overlap",
    "contradiction",
    "always-met",
    "never-met",
    "unsteady",
    "scale-end",
]
LINT_RULES: Mapping[RuleName, str] = {
    "two-questions": "one criterion asks two things, so that no answer fits where only one holds",
    "vague": "two careful readers may answer differently",
    "cannot-fail": "nothing that could be written would fail it, or nothing would meet it",
    "overlap": "two criteria ask the same, which counts twice",
    "contradiction": "two criteria cannot both be met",
    "always-met": "every case of a run meets it, so it tells none apart",
    "never-met": "no case of a run meets it, so it tells none apart",
    "unsteady": "the same case gets other answers when it is judged again",
    "scale-end": "a formula never reaches an end of its scale",
}
"""Every rule of lint, and what a criterion that breaks it suffers from."""


class LintWarning(msgspec.Struct, frozen=True):
    """One thing an author may want to change. The rubric can be used as it is.

    >>> print(LintWarning("vague", Problem("'good' means what?", ("dimensions", "tone", "asks")), "Is it polite?"))
    dimensions.tone.asks: 'good' means what? (rather: Is it polite?) [vague]
    """

    rule: RuleName
    problem: Problem
    wording: str = ""  # to put in its place
    judge: str = ""  # the model that says so; empty: a rule does

    def placed(self, document: Document) -> LintWarning:
        """The same warning with its file and line."""
        return replace(self, problem=document.place(self.problem))

    @property
    def advice(self) -> Problem:
        """The warning as a problem whose fix is the proposed wording."""
        return replace(self.problem, fix=f"rather: {self.wording}" if self.wording else self.problem.fix)

    @property
    def plain(self) -> dict[str, object]:
        """Plain data, ready for JSON."""
        return {
            "rule": self.rule,
            "file": self.problem.file,
            "line": self.problem.line,
            "path": self.problem.where,
            "why": self.problem.message,
            "wording": self.wording,
            "judge": self.judge,
        }

    def __str__(self) -> str:
        return f"{self.advice} [{self.rule}]"
