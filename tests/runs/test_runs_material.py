"""A workflow's own material goes through the one run: made in its folder, judged once, concluded with its own files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace

from rubrica.engine.cases import BadLine, Case
from rubrica.engine.load import rubric_from_data
from rubrica.errors import InputError
from rubrica.model.context import Context
from rubrica.runs.events import EventCallback, RunEvent, RunNote
from rubrica.runs.execute import execute_run
from rubrica.runs.files.case_source import CaseSource
from rubrica.runs.files.folder import TABLES
from rubrica.runs.material import RunMaterial
from rubrica.runs.request import CaseChoice, RunRequest
from rubrica.runs.run_writer import ModelsDownError
from rubrica.runs.stored import StoredRun
from rubrica.runs.summary.page_tables import PageTable, read_tables, write_tables

RUBRIC = rubric_from_data(
    {
        "name": "words",
        "scale": {"min": 0, "max": 10},
        "dimensions": {"length": {"formula": "min(10, word_count)", "weight": 1}},
        "score": {"weighted": True, "out_of": 10},
        "verdicts": [{"label": "pass", "when": "score >= 3"}, {"label": "fail"}],
    }
)


@dataclass
class Replies:
    """Replies as cases."""

    texts: Mapping[str, str]
    size: int | None = None
    read: int = 0
    notes: tuple[str, ...] = ()

    def cases(self) -> Iterator[Case | BadLine]:
        for line, (name, text) in enumerate(self.texts.items(), 1):
            yield Case(name, line, Context(response=text)) if text else BadLine(line, "no reply")


@dataclass
class Poet(RunMaterial):
    """Writes what is judged into the folder, once, and counts verdicts afterwards."""

    topics: Sequence[str]
    written: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    down: bool = False

    derived = ("verdicts_*.json",)

    def prepare(self, folder: Path, on_event: EventCallback, stop: Event | None) -> bool:
        if self.down:
            raise ModelsDownError("the poet does not answer")
        file = folder / "poems.json"
        self.written = json.loads(file.read_text()) if file.exists() else {}
        for topic in self.topics:
            if topic not in self.written:
                self.asked += 1
                self.written[topic] = f"a poem about {topic}"
        file.write_text(json.dumps(self.written))
        return stop is None or not stop.is_set()

    @contextmanager
    def opened(self) -> Iterator[CaseSource]:
        yield Replies(self.written)

    def conclude(self, folder: Path, now: datetime) -> Sequence[str]:
        verdicts = [row.verdict for row in StoredRun.open(folder).rows()]
        (folder / "verdicts_all.json").write_text(json.dumps(verdicts))
        write_tables(folder, [PageTable("Poems", ("topic", "words"), (("the <sea>", "4"),), "by a poet")])
        return ["counted"]


def request(folder: Path, poet: Poet, **how: Any) -> RunRequest:
    return RunRequest(CaseChoice("poems", material=poet), folder / "run", RUBRIC, **how)


def test_what_is_made_is_judged_once_and_concluded(tmp_path: Path) -> None:
    events: list[RunEvent] = []
    poet = Poet(["the sea", "rain"])
    first = execute_run(request(tmp_path, poet, terms={"poet": "one"}), events.append)
    assert (first.ending, first.counts.added, poet.asked) == ("finished", 2, 2)
    assert [event.text for event in events if isinstance(event, RunNote)] == ["counted"]
    run = StoredRun.open(tmp_path / "run")
    assert run.manifest is not None
    assert (run.manifest.source, run.manifest.terms["poet"]) == ("poems", "one")
    assert "the &lt;sea&gt;" in (tmp_path / "run" / "report.html").read_text()

    longer = Poet(["the sea", "rain", "snow"])
    again = execute_run(request(tmp_path, longer, terms={"poet": "one"}))
    assert (again.counts.added, again.counts.skipped, longer.asked) == (1, 2, 1)
    other = execute_run(request(tmp_path, Poet(["rain"]), terms={"poet": "two"}))
    assert (other.counts.added, other.counts.skipped) == (1, 0)
    assert (tmp_path / "run" / "earlier" / "1" / "verdicts_all.json").exists()


def test_files_of_before_go_when_evaluations_change_and_the_run_is_stopped(tmp_path: Path) -> None:
    execute_run(request(tmp_path, Poet(["rain"])))
    stop = Event()

    def stopping(event: RunEvent) -> None:
        stop.set()

    class Hasty(Poet):
        def prepare(self, folder: Path, on_event: EventCallback, stop: Event | None) -> bool:
            return super().prepare(folder, on_event, None)

    outcome = execute_run(request(tmp_path, Hasty(["rain", "snow", "wind"])), stopping, stop)
    assert outcome.ending == "stopped"
    assert not list((tmp_path / "run").glob("verdicts_*"))
    assert not (tmp_path / "run" / TABLES).exists()


def test_what_cannot_be_made_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    outcome = execute_run(request(tmp_path, Poet(["rain"], down=True)))
    assert (outcome.ending, outcome.reason) == ("unanswered", "the poet does not answer")
    stop = Event()
    stop.set()
    poet = Poet(["rain"])
    assert execute_run(request(tmp_path, poet), stop=stop).ending == "stopped"
    assert poet.asked == 1


def test_evaluations_of_cases_that_are_gone_are_told(tmp_path: Path) -> None:
    events: list[RunEvent] = []
    execute_run(request(tmp_path, Poet(["rain"])))
    (tmp_path / "run" / "poems.json").unlink()
    poet = Poet(["snow"])
    outcome = execute_run(replace(request(tmp_path, poet)), events.append)
    assert outcome.tally is not None
    assert outcome.tally.judged == 2
    assert any("keeps 1 evaluation of cases" in event.text for event in events if isinstance(event, RunNote))


def test_a_file_that_holds_no_tables_is_told(tmp_path: Path) -> None:
    assert read_tables(tmp_path) == ()
    (tmp_path / TABLES).write_text('[{"title": 5}]')
    with pytest.raises(InputError, match="holds no tables"):
        read_tables(tmp_path)
