"""The rubrics of a run, compiled once each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from rubrica.engine.compile import compile_rubric
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.model.evaluation import INCONCLUSIVE
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load


class JudgeOf(Protocol):
    """Gives the judge of a rubric; one for each repeat of a run, so that every repeat is asked anew."""

    def __call__(self, rubric: Rubric, turn: int = 0) -> Judge: ...


class RunRubrics:
    """The rubrics of a run, each compiled once: the one given for all cases, or the one each case names."""

    def __init__(self, rubric: Rubric | None = None, judge_of: JudgeOf | None = None) -> None:
        self.rubrics: dict[str, Rubric] = {}  # by rubric name, those used so far
        self._judge_of = judge_of
        self._plans: dict[tuple[str | None, int], Plan] = {}
        self._given = rubric
        if rubric is not None:
            self.plan(None)  # a rubric that cannot be used with these judges is told before anything is read

    def plan(self, name: str | None, turn: int = 0) -> Plan:
        """The plan for a case that names this rubric, or none."""
        key = (name if self._given is None else None), turn if self._judge_of is not None else 0
        found = self._plans.get(key)
        if found is None:
            found = self._plans[key] = self._compiled(*key)
        return found

    def _compiled(self, name: str | None, turn: int) -> Plan:
        rubric = self._given
        if rubric is None:
            if name is None:
                raise NoRubricError("the case names no rubric; add --rubric NAME or FILE")
            rubric = load(name)
        self.rubrics[rubric.name] = rubric
        return compile_rubric(rubric, self._judge_of(rubric, turn) if self._judge_of is not None else None)


class NoRubricError(RubricaError):
    """Neither the command line nor the case says which rubric to use."""


def all_labels(rubrics: Iterable[Rubric]) -> list[str]:
    """Every verdict that evaluations by these rubrics can have, in their order."""
    return list(dict.fromkeys([*(label for rubric in rubrics for label in labels_of(rubric)), INCONCLUSIVE]))


def labels_of(rubric: Rubric) -> list[str]:
    """The verdicts a rubric can give, by its rules and by its gates."""
    by_gates = (gate.verdict for gate in rubric.gates if gate.verdict is not None)
    return list(dict.fromkeys([*(verdict.label for verdict in rubric.verdicts), *by_gates]))
