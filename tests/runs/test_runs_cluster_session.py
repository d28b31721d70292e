"""What the driver of a cluster gives out and takes back, with workers in this process in place of a cluster's: each
hands over its cases one at a time, in an order of its own, and some are lost on the way."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

import rubrica
from rubrica.engine.cases import Case
from rubrica.model.context import Context
from rubrica.runs.batch import CaseWork
from rubrica.runs.case_messages import CaseMessage, ResultMessage
from rubrica.runs.cluster.session import ClusterSession, ClusterWorker


class LostError(Exception):
    pass


class Place:
    """A worker that judges nothing, and says so of one case for each exchange."""

    def __init__(self, dice: random.Random, losses: int) -> None:
        self._dice, self._losses = dice, losses
        self._held: list[CaseMessage] = []
        self.ready = SimpleNamespace(remote=lambda: Answer(("", str(id(self)))))
        self.exchange = SimpleNamespace(remote=lambda _turn, works, _rubrics: Answer(self._exchanged(works)))

    def _exchanged(self, works: list[CaseMessage]) -> list[ResultMessage] | LostError:
        self._held += works
        if self._losses and self._dice.random() < 0.2:
            self._losses -= 1
            self._held = []
            return LostError()
        if not self._held:
            return []
        done = self._held.pop(self._dice.randrange(len(self._held)))
        return [ResultMessage(done.ticket, b"", problem=f"{done.case} was seen")]


class Answer:
    """Something that a worker was asked for."""

    def __init__(self, value: object) -> None:
        self.value = value


class Nodes:
    """As much of Ray as the driver uses."""

    exceptions = SimpleNamespace(RayError=LostError, RayTaskError=ZeroDivisionError)

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def wait(self, answers: list[Answer], num_returns: int, timeout: float) -> tuple[list[Answer], list[Answer]]:
        assert answers, "nothing is under way"
        first = self._dice.choice(answers)
        return [first], [one for one in answers if one is not first]

    def get(self, answer: Answer) -> Any:
        if isinstance(answer.value, LostError):
            raise answer.value
        return answer.value


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("losses", [0, 2])
def test_every_case_comes_back_once_however_workers_hand_them_over(seed: int, losses: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - nothing secret
    plan = rubrica.compile({"name": "plain", "dimensions": {"d": {"formula": "1"}}, "verdicts": [{"label": "done"}]})
    work = [CaseWork(Case(f"case-{n}", n, Context(response="x")), plan, Context(response="x")) for n in range(17)]
    workers = [ClusterWorker(f"w{n}", Place(dice, losses)) for n in range(3)]
    limits: Any = SimpleNamespace(lost=SimpleNamespace(remote=lambda _name: None))
    jury: Any = None  # who makes plans, which are there
    session = ClusterSession(Nodes(dice), workers, limits, jury, each=2)
    session.begin()
    found = [str(outcome) for _, outcome in session.evaluator(work)]
    assert sorted(found) == sorted(f"{one.case.id} was seen" for one in work)
