"""A run without models on every core: the same evaluations in the same order, whatever happens to a process."""

from __future__ import annotations

import signal
import subprocess
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


def test_many_processes_give_what_one_gives_in_its_order() -> None:
    assert list(map(told, CoreEvaluator(3, alone=0)(works()))) == list(map(told, evaluate_each(works())))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that were started."""
    found: list[subprocess.Popen[bytes]] = []

    class Noted(core_evaluator._CoreProcess):
        def __init__(self) -> None:
            super().__init__()
            found.append(self.process)

    monkeypatch.setattr(core_evaluator, "_CoreProcess", Noted)
    return found


def test_a_process_that_dies_costs_nothing_but_time(started: list[subprocess.Popen[bytes]]) -> None:
    found = []
    for number, judged in enumerate(CoreEvaluator(2, alone=0)(works())):
        if number == 50:
            started[0].send_signal(signal.SIGKILL)
        found.append(told(judged))
    assert found == list(map(told, evaluate_each(works())))
    assert [process.returncode for process in started] == [-signal.SIGKILL]


def test_stopped_early_no_process_is_left(started: list[subprocess.Popen[bytes]]) -> None:
    with closing(CoreEvaluator(2, alone=0)(works(100_000))) as results:
        assert isinstance(next(results)[1], Evaluation)
        assert [process.poll() for process in started] == [None]
    assert [process.poll() is None for process in started] == [False]


def test_a_short_run_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_evaluator, "_CoreProcess", None)
    assert len(list(CoreEvaluator(8, alone=60)(works()))) == COUNT
