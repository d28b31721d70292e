"""Executing a run: events in their order, stopping, going on, models that do not answer, and what would be asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace

from rubrica.engine.load import rubric_from_data
from rubrica.errors import RubricaError
from rubrica.runs.events import IdRepeated, LineBroken, RunAdvanced, RunEvent, RunOpened
from rubrica.runs.execute import estimate_run, execute_run
from rubrica.runs.files.manifest import read_manifest
from rubrica.runs.request import CaseChoice, JudgeSettings, RunRequest
from rubrica.runs.selection import Selection, sample_of
from rubrica.runs.stored import StoredRun

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
WORDS: dict[str, Any] = {
    "name": "words",
    "scale": {"min": 0, "max": 10},
    "dimensions": {"length": {"formula": "min(10, word_count)", "weight": 1}},
    "score": {"weighted": True, "out_of": 10},
    "verdicts": [{"label": "pass", "when": "score >= 3"}, {"label": "fail"}],
}
TONE = {**WORDS, "name": "tone", "dimensions": {"kind": {"asks": "Is it kind?", "weight": 1}}, "on_unscored": "skip"}


@pytest.fixture(autouse=True)
def _at_home_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RUBRICA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def request_of(tmp_path: Path) -> Callable[..., RunRequest]:
    def made(*lines: object, data: dict[str, Any] = WORDS, **how: Any) -> RunRequest:
        source = tmp_path / "cases.jsonl"
        source.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return RunRequest(CaseChoice(str(source)), tmp_path / "run", rubric_from_data(data), **how)

    return made


def case(number: int, **rest: Any) -> dict[str, Any]:
    return {"id": f"case-{number}", "response": f"reply number {number}.", **rest}


def judge(file: Path, *numbers: int) -> JudgeSettings:
    """A judge that answers for some cases only."""
    said = [
        {"pattern": f"reply number {number}\\.", "reply": {"score": 7, "reason": "kind", "confidence": 0.9}}
        for number in numbers
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in said))
    return JudgeSettings((f"scripted:{file}",), jobs=1, cached=False)


def kinds(events: list[RunEvent]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_a_run_reports_its_opening_its_troubles_and_how_far_it_is(request_of: Callable[..., RunRequest]) -> None:
    events: list[RunEvent] = []
    request = request_of(case(1), "no case", case(1), case(2))
    outcome = execute_run(request, events.append, clock=lambda: NOW)
    assert kinds(events) == ["RunOpened", "RunAdvanced", "LineBroken", "IdRepeated", "RunAdvanced"]
    opened, first, broken, repeated, last = events
    assert isinstance(opened, RunOpened)
    assert (opened.opening.kind, opened.before) == ("new", 0)
    assert isinstance(first, RunAdvanced)
    assert isinstance(last, RunAdvanced)
    assert [(told.done, told.total) for told in (first, last)] == [(0, 4), (3, 4)]
    assert isinstance(broken, LineBroken)
    assert isinstance(repeated, IdRepeated)
    assert (broken.line.line, repeated.case.line) == (2, 3)
    assert (outcome.ending, outcome.counts.added, outcome.counts.broken) == ("finished", 3, 1)
    assert outcome.tally is not None
    assert outcome.tally.judged == 3
    manifest = read_manifest(request.folder)
    assert manifest is not None
    assert (manifest.id, manifest.finished) == (request.id, NOW.isoformat())


def test_a_stopped_run_keeps_what_is_done_and_the_same_request_goes_on(request_of: Callable[..., RunRequest]) -> None:
    request, stop = request_of(*map(case, range(50))), Event()
    stop.set()
    stopped = execute_run(request, stop=stop)
    assert (stopped.ending, stopped.counts.added, stopped.tally) == ("stopped", 1, None)
    assert not (request.folder / "summary.json").exists()
    events: list[RunEvent] = []
    rest = execute_run(replace(request, id="another"), events.append)
    assert isinstance(events[0], RunOpened)
    assert (events[0].opening.kind, events[0].before) == ("resumed", 1)
    assert (rest.ending, rest.counts.added, rest.counts.skipped) == ("finished", 49, 1)
    stored = StoredRun.open(request.folder)
    assert sorted(row.case for row in stored.rows()) == sorted(f"case-{n}" for n in range(50))
    assert stored.manifest is not None
    assert stored.manifest.id == request.id


def test_ctrl_c_while_an_event_is_shown_stops_a_run_as_the_flag_does(request_of: Callable[..., RunRequest]) -> None:
    def interrupted(event: RunEvent) -> None:
        if isinstance(event, LineBroken):
            raise KeyboardInterrupt

    outcome = execute_run(request_of(case(1), "no case", case(2)), interrupted)
    assert (outcome.ending, outcome.counts.added) == ("stopped", 1)


def test_other_terms_begin_another_run_and_so_does_asking_for_one(request_of: Callable[..., RunRequest]) -> None:
    events: list[RunEvent] = []
    request = request_of(case(1))
    execute_run(request)
    execute_run(replace(request, cases=replace(request.cases, context={"grade": 3})), events.append)
    execute_run(replace(request, cases=replace(request.cases, context={"grade": 3}), resume=False), events.append)
    openings = [event.opening for event in events if isinstance(event, RunOpened)]
    assert [opening.kind for opening in openings] == ["restarted", "restarted"]
    assert [bool(opening.changes) for opening in openings] == [True, False]


def test_models_that_do_not_answer_end_a_run_and_are_asked_again_by_the_same_request(
    request_of: Callable[..., RunRequest], tmp_path: Path
) -> None:
    dumb = judge(tmp_path / "judge.jsonl", 0)
    request = request_of(*map(case, range(6)), data=TONE, judging=dumb, max_failures=3)
    outcome = execute_run(request)
    assert (outcome.ending, outcome.counts.added) == ("unanswered", 1)
    assert outcome.reason.startswith("no model answered the last 3 cases: ")
    judge(tmp_path / "judge.jsonl", *range(6))
    rest = execute_run(request)
    assert (rest.ending, rest.counts.added, rest.counts.skipped) == ("finished", 5, 1)


def test_an_estimate_counts_what_would_be_asked_and_writes_nothing(
    request_of: Callable[..., RunRequest], tmp_path: Path
) -> None:
    request = request_of(*map(case, range(6)), data=TONE, judging=judge(tmp_path / "judge.jsonl"))
    estimate = estimate_run(replace(request, cases=replace(request.cases, selection=Selection(limit=4))))
    assert (estimate.evaluations, [model.calls for model in estimate.models]) == (4, [4])
    assert not request.folder.exists()


def test_cases_of_others_open_no_file_of_this_machine(request_of: Callable[..., RunRequest], tmp_path: Path) -> None:
    picture = tmp_path / "there.gif"
    picture.write_bytes(b"GIF89a" + bytes([64, 0, 32, 0]))
    request = request_of(case(1, images=[str(picture)]), case(2))
    assert execute_run(replace(request, cases=replace(request.cases, from_others=True))).counts.broken == 1


def test_a_bulk_run_reports_its_pieces_and_comes_to_the_same_figures(request_of: Callable[..., RunRequest]) -> None:
    events: list[RunEvent] = []
    request = request_of(*map(case, range(30)), "no case", bulk=True)
    outcome = execute_run(request, events.append)
    assert kinds(events) == ["RunOpened", "BulkProgress"]
    assert (outcome.bulk, outcome.counts.added, outcome.counts.broken) == (True, 30, 1)
    other = execute_run(replace(request, folder=request.folder.with_name("other"), bulk=False))
    assert outcome.tally is not None
    assert other.tally is not None
    assert outcome.tally.by_rubric == other.tally.by_rubric


def test_no_folder_is_made_for_a_request_that_cannot_be_executed(
    request_of: Callable[..., RunRequest], tmp_path: Path
) -> None:
    request = request_of(case(1))
    for cases in (CaseChoice(str(tmp_path / "none.jsonl")), CaseChoice(str(tmp_path))):
        with pytest.raises(RubricaError, match="cannot be read"):
            execute_run(replace(request, cases=cases))
    sampled = replace(request.cases, selection=Selection(sample=sample_of("1", seed=0)))
    with pytest.raises(RubricaError, match="--bulk takes"):
        execute_run(replace(request, cases=sampled, bulk=True))
    assert not request.folder.exists()
