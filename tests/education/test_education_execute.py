"""Executing a run over a curriculum: what is reported, stopping it, and going on."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from rubrica.education.evaluator import RUBRIC
from rubrica.education.execute import (
    CurriculumEvent,
    CurriculumRequest,
    CurriculumSession,
    PieceFinished,
    execute_curriculum,
)
from rubrica.education.records import record_of
from rubrica.education.work import RecordWork
from rubrica.packs.library import load
from rubrica.runs.events import RunAdvanced
from rubrica.runs.files.table_rows import TableRow
from rubrica.runs.request import NO_JUDGES


def work(session: CurriculumSession) -> list[RecordWork]:
    rows = [TableRow(n, {"question": f"{n} + 2?", "answer": str(n + 2), "grade": 3}) for n in range(1, 6)]
    return [RecordWork(record_of(row), session.evaluator) for row in rows]


def test_a_stopped_run_keeps_what_is_finished_and_the_same_request_goes_on(tmp_path: Path) -> None:
    request = CurriculumRequest("five questions", tmp_path / "run", load(RUBRIC), NO_JUDGES, {}, [3])
    stop, events = Event(), list[CurriculumEvent]()
    stop.set()
    stopped = execute_curriculum(request, work, events.append, stop)
    assert (stopped.ending, stopped.failed, stopped.summary) == ("stopped", 0, None)
    assert [type(event) for event in events] == [RunAdvanced, PieceFinished, RunAdvanced]
    events.clear()
    rest = execute_curriculum(request, work, events.append)
    assert rest.ending == "finished"
    assert rest.summary is not None
    assert rest.summary["overall"]["total_questions"] == 5
    told = [event for event in events if isinstance(event, RunAdvanced)]
    assert [(event.done, event.total) for event in told] == [(done, 5) for done in range(1, 6)]
    assert {event.piece.key.partition(":")[0] for event in events if isinstance(event, PieceFinished)} < set("12345")
