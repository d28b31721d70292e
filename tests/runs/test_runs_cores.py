"""A run without models on every core: the same evaluations in the same order, whatever happens to a process."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from rubrica.engine.cases import Case
from rubrica.engine.compile import compile_rubric
from rubrica.engine.load import rubric_from_data
from rubrica.errors import RubricaError
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.runs import core_evaluator
from rubrica.runs.batch import CaseWork, Judged, evaluate_each
from rubrica.runs.core_evaluator import CoreEvaluator

PLANS = [
    compile_rubric(
        rubric_from_data(
            {
                "name": name,
                "scale": {"min": 0, "max": 10},
                "dimensions": {"length": {"weight": 1, "formula": f"min(10, word_count + {points})"}},
                "score": {"weighted": True, "out_of": 10},
                "verdicts": [{"label": "long", "when": "score >= 5"}, {"label": "short"}],
            }
        )
    )
    for name, points in (("wordy", 0), ("kind", 2))
]
COUNT = 400


def works(count: int = COUNT) -> Iterator[CaseWork]:
    for n in range(count):
        context = Context.of({"response": "word " * (n % 13), "metadata": {"grade": n % 5}})
        yield CaseWork(Case(f"c{n}", n, context), PLANS[n % 2], context)


def told(judged: Judged) -> tuple[str, object]:
    work, outcome = judged
    if isinstance(outcome, RubricaError):
        return work.case.id, str(outcome)
    plain = outcome.to_dict()
    del plain["duration_ms"]
    return work.case.id, plain


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[core_evaluator._CoreProcess]:
    """The processes that were started."""
    found: list[core_evaluator._CoreProcess] = []

    class Noted(core_evaluator._CoreProcess):
        def __init__(self) -> None:
            super().__init__()
            found.append(self)

    monkeypatch.setattr(core_evaluator, "_CoreProcess", Noted)
    return found


def works_for(started: list[core_evaluator._CoreProcess], count: int = COUNT) -> Iterator[CaseWork]:
    """Cases of which the others do not get all: after some, the processes are waited for."""
    for number, work in enumerate(works(count)):
        while number == 40 and not all(process.is_ready for process in started):
            time.sleep(0.01)
        yield work


def test_many_processes_give_what_one_gives_in_its_order(started: list[core_evaluator._CoreProcess]) -> None:
    found = list(map(told, CoreEvaluator(3, alone=0)(works_for(started))))
    assert found == list(map(told, evaluate_each(works())))
    assert [bool(process._sent) for process in started] == [True, True]


def test_a_process_that_dies_costs_nothing_but_time(started: list[core_evaluator._CoreProcess]) -> None:
    def interrupted() -> Iterator[CaseWork]:
        for number, work in enumerate(works_for(started)):
            if number == 60:
                started[0].process.send_signal(signal.SIGSTOP)  # so that it has cases when it dies
            if number == 300:
                assert started[0].chunks
                started[0].process.send_signal(signal.SIGKILL)
            yield work

    assert list(map(told, CoreEvaluator(2, alone=0)(interrupted()))) == list(map(told, evaluate_each(works())))


def test_a_process_that_never_starts_is_not_waited_for(
    started: list[core_evaluator._CoreProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert list(map(told, CoreEvaluator(2, alone=0)(works()))) == list(map(told, evaluate_each(works())))
    assert not any(process._sent for process in started)


def test_stopped_early_no_process_is_left(started: list[core_evaluator._CoreProcess]) -> None:
    with closing(CoreEvaluator(2, alone=0)(works(100_000))) as results:
        assert isinstance(next(results)[1], Evaluation)
        assert [one.process.poll() for one in started] == [None]
    assert [one.process.poll() is None for one in started] == [False]


def test_a_short_run_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_evaluator, "_CoreProcess", None)
    assert len(list(CoreEvaluator(8, alone=60)(works()))) == COUNT
