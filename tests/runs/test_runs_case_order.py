"""The order of a run is that of its cases, however they were judged and however often it was gone on with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import msgspec
import pytest

from rubrica.engine.cases import BadLine, Case
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.engine.load import rubric_from_data
from rubrica.errors import RubricaError
from rubrica.model.context import Context
from rubrica.runs.batch import Batch, CaseWork, Judged
from rubrica.runs.case_order import CaseTurns
from rubrica.runs.files.evaluation_head import head_of
from rubrica.runs.files.folder import EVALUATIONS
from rubrica.runs.files.rows import RunRow, row_of
from rubrica.runs.rubrics import RunRubrics
from rubrica.runs.run_writer import RunWriter
from rubrica.runs.summary.tally import RunTally

PLAN = compile_rubric(
    rubric_from_data(
        {
            "name": "words",
            "scale": {"min": 0, "max": 10},
            "dimensions": {"length": {"formula": "min(10, word_count)", "weight": 1}},
            "score": {"weighted": True, "out_of": 10},
            "verdicts": [{"label": "pass", "when": "score >= 3"}, {"label": "fail"}],
        }
    )
)
NAMES = [f"c{number}" for number in range(40)]


@dataclass
class Pass:
    """One process at a run: what it judges, in which order that comes back, and where it stops."""

    names: Sequence[str] = tuple(NAMES)
    texts: str = "word"
    failing: frozenset[str] = frozenset()
    stop: int | None = None
    rows: list[str] = field(default_factory=list)  # whose turn came

    def execute(self, folder: Path, seed: int) -> None:
        kept = RunWriter(folder)

        def shuffled(work: Iterable[CaseWork]) -> Iterator[Judged]:
            works = list(work)
            Random(seed).shuffle(works)  # noqa: S311 - an order to try
            for item in works[: self.stop]:
                failed = item.case.id in self.failing
                yield item, RubricaError("no") if failed else evaluate(item.plan, item.context, item.case.id)

        def broken(line: BadLine) -> None:
            kept.broken(line)

        batch = Batch(RunRubrics(PLAN.rubric, None), RunTally(), broken, {}, shuffled, wanted=kept.wanted)
        cases = (Case(name, 1, Context.of({"response": f"{self.texts} {name}"})) for name in self.names)
        for evaluation in kept.kept(batch.evaluations(cases)):
            self.note(kept.turns.add(kept.number, row_of(evaluation)))
        self.note(kept.turns.due())
        kept.close()
        if self.stop is None:
            kept.tidy()

    def note(self, rows: Sequence[RunRow]) -> None:
        self.rows += [row.case or "" for row in rows]


def stored(folder: Path) -> list[str]:
    return [head_of(line).case or "" for line in (folder / EVALUATIONS).read_bytes().splitlines()]


@pytest.mark.parametrize("seed", range(5))
def test_evaluations_stand_in_the_order_of_their_cases_and_come_in_their_turn(tmp_path: Path, seed: int) -> None:
    failing = frozenset({"c0", "c17", "c39"})
    first = Pass(failing=failing)
    first.execute(tmp_path, seed)
    judged = [name for name in NAMES if name not in failing]
    assert stored(tmp_path) == first.rows == judged
    before = (tmp_path / EVALUATIONS).stat()
    Pass(failing=failing).execute(tmp_path, seed)
    assert (tmp_path / EVALUATIONS).stat() == before  # nothing was to be done
    Pass().execute(tmp_path, seed)
    assert stored(tmp_path) == NAMES


@pytest.mark.parametrize("seed", range(5))
def test_a_run_that_is_gone_on_with_or_whose_cases_changed_is_in_order_too(tmp_path: Path, seed: int) -> None:
    Pass(stop=13).execute(tmp_path, seed)
    assert len(stored(tmp_path)) == 13
    Pass().execute(tmp_path, seed + 1)
    assert stored(tmp_path) == NAMES
    with (tmp_path / EVALUATIONS).open("ab") as file:
        file.write(b"{no evaluation\n")
    fewer = [*NAMES[20:], *NAMES[:10]]  # in another order, and not all of them
    Pass(fewer, "other").execute(tmp_path, seed + 2)
    assert stored(tmp_path) == [*fewer, *NAMES[10:20]]
    assert (tmp_path / f"{EVALUATIONS}.torn").read_bytes() == b"{no evaluation\n"
    lines = (tmp_path / EVALUATIONS).read_bytes().splitlines()
    texts = [msgspec.json.decode(line)["context"]["response"].partition(" ")[0] for line in lines]
    assert texts == ["other"] * 30 + ["word"] * 10


def test_results_are_not_held_without_end_for_one_that_does_not_come() -> None:
    turns: CaseTurns[int] = CaseTurns(3)
    assert [turns.add(number, number) for number in (1, 2, 3, 4, 5)] == [[]] * 5
    assert turns.add(0, 0) == []
    assert not turns.is_complete
