"""A run over questions, from Python: known by what they say, stopped and gone on with, honest about failed judges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event

from education_samples import model_name, provider, question, teacher
from rubrica.education.evaluator import ResponseEvaluator
from rubrica.education.execute import execute_curriculum
from rubrica.education.material import QuestionMaterial, case_of
from rubrica.education.questions import GeneratedQuestion, GenerateQuestionResponse, GenerateQuestionsRequest
from rubrica.education.records import record_of
from rubrica.education.results import RUBRIC
from rubrica.engine.cases import Case
from rubrica.packs.library import load
from rubrica.runs.events import RunAdvanced, RunEvent, RunOpened
from rubrica.runs.files.table_rows import TableRow
from rubrica.runs.request import CaseChoice, RunRequest


def test_questions_without_ids_are_known_by_what_they_say() -> None:
    rows = [question(), question(question="What is 4 times 6?")]
    there = [record_of(TableRow(line, row)) for line, row in enumerate(rows, 1)]
    elsewhere = [record_of(TableRow(line, row)) for line, row in enumerate(reversed(rows), 1)]
    assert {found.id for found in there} == {found.id for found in elsewhere}
    assert len({found.id for found in there}) == 2
    cases = [case_of(found) for found in (there[0], elsewhere[1])]
    assert isinstance(cases[0], Case)
    assert isinstance(cases[1], Case)
    assert cases[0].context == cases[1].context


def test_the_response_says_that_its_judge_failed() -> None:
    request = GenerateQuestionsRequest(grade=3, count=2, instructions="Equal groups")
    response = GenerateQuestionResponse(data=[GeneratedQuestion.of(question())] * 2, grade=3)
    with provider(teacher(), key="sk-0123456789another") as server:
        found = ResponseEvaluator(judge=model_name(server)).evaluate_response(request, response)
    assert (found.success, found.failed_count) == (False, 2)
    assert "401" in found.error
    fine = ResponseEvaluator().evaluate_response(request, response)
    assert (fine.success, fine.failed_count, fine.error) == (True, 0, "")


def questions() -> Iterator[TableRow]:
    for n in range(1, 6):
        yield TableRow(n, {"id": n, "question": f"{n} + 2?", "answer": str(n + 2), "grade": 3})


def test_a_stopped_run_keeps_what_is_finished_and_the_same_request_goes_on(tmp_path: Path) -> None:
    material = QuestionMaterial([record_of(row) for row in questions()])
    request = RunRequest(CaseChoice("five questions", material=material), tmp_path / "run", load(RUBRIC))
    stop, events = Event(), list[RunEvent]()
    stop.set()
    stopped = execute_curriculum(request, events.append, stop)
    assert (stopped.run.ending, stopped.failed, stopped.summary) == ("stopped", 0, None)
    assert [type(event) for event in events] == [RunOpened, RunAdvanced, RunAdvanced]
    rest = execute_curriculum(request, events.append)
    assert (rest.run.ending, rest.run.counts.added, rest.run.counts.skipped) == ("finished", 4, 1)
    assert rest.summary is not None
    assert rest.summary["overall"]["total_questions"] == 5
