"""`rubrica.run` over a file, records and frames, and what a Run shows."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pytest
from runs_judged import JUDGE, KIND, environment, provided
from runs_judged import cases as numbered

import rubrica
from rubrica.engine.load import rubric_from_text
from rubrica.errors import RubricaError
from rubrica.runs.events import RunAdvanced, RunEvent
from rubrica.runs.stored import StoredRun

RUBRIC: dict[str, Any] = {
    "name": "wordy",
    "scale": {"min": 0, "max": 10},
    "dimensions": {"length": {"weight": 1, "formula": "min(10, word_count)"}},
    "score": {"weighted": True, "out_of": 10},
    "verdicts": [{"label": "long", "when": "score >= 5"}, {"label": "short"}],
}
RECORDS: list[dict[str, Any]] = [
    {"id": "one", "response": "word " * 3},
    {"id": "two", "response": "word " * 8, "metadata": {"grade": 4}},
    {"id": "three", "response": "<b>" + "word " * 20},
]


class NAType:
    """pandas.NA: neither true nor false, and equal to nothing."""

    def __eq__(self, _other: object) -> NoReturn:
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = object.__hash__


class NaTType:
    """pandas.NaT, which no date is."""

    def isoformat(self) -> NoReturn:
        raise TypeError("no date")


class Pandas:
    """As much of a pandas frame as is read, with cells that have no value and a figure of numpy's kind."""

    columns = ("id", "response", "grade", "subject", "day")

    class Figure:
        ndim = 0

        def item(self) -> int:
            return 4

    def __len__(self) -> int:
        return 2

    def itertuples(self, *, index: bool, name: None) -> Iterator[tuple[Any, ...]]:
        assert not index
        yield "one", "word " * 3, float("nan"), NAType(), NaTType()
        yield "two", "word " * 8, self.Figure(), "maths", "2026-11-18"


def verdicts(run: rubrica.Run) -> dict[str, str]:
    return dict(run.frame().select("case", "verdict").iter_rows())


def test_a_file_records_an_iterator_and_frames_are_judged_alike(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    plain = [{key: value for key, value in record.items() if key != "metadata"} for record in RECORDS]
    expected = {"one": "short", "two": "long", "three": "long"}
    for cases in (file, str(file), RECORDS, iter(RECORDS), pl.DataFrame(plain), pl.LazyFrame(plain)):
        assert verdicts(rubrica.run(cases, rubric=RUBRIC)) == expected
    from_pandas = rubrica.run(Pandas(), rubric=RUBRIC)
    assert verdicts(from_pandas) == {"one": "short", "two": "long"}
    context = from_pandas.evaluation("two").context
    assert context is not None
    assert context.metadata.model_dump()["grade"] == 4
    empty = from_pandas.evaluation("one").context
    assert empty is not None
    assert not empty.metadata.model_dump(exclude_none=True)


def test_several_files_are_one_run(tmp_path: Path) -> None:
    lines, table = tmp_path / "cases.jsonl", tmp_path / "more.parquet"
    lines.write_text(json.dumps(RECORDS[0]) + "\n")
    pl.DataFrame({"id": ["four"], "response": ["word " * 9]}).write_parquet(table)
    run = rubrica.run([lines, str(table)], rubric=RUBRIC, out=tmp_path / "run")
    assert verdicts(run) == {"one": "short", "four": "long"}
    assert repr(run) == f"Run({str(tmp_path / 'run')!r})"


def test_a_task_that_is_cancelled_asks_no_more_and_what_it_judged_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(folder: Path) -> None:
        task = asyncio.create_task(rubrica.arun(numbered(400), rubric=kind, judge=JUDGE, jobs=4, out=folder))
        while not server.seen:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    kind = rubric_from_text(KIND)
    with provided(latency=0.02) as server:
        for name, value in environment(server, tmp_path).items():
            monkeypatch.setenv(name, value)
        asyncio.run(scenario(tmp_path / "run"))
        asked = len(server.seen)
        kept = StoredRun.open(tmp_path / "run")
        assert kept.manifest is not None
        assert kept.manifest.ending == "stopped"
        assert 0 < len(list(kept.evaluations())) <= asked < 200
        time.sleep(0.2)
        assert len(server.seen) == asked


def test_the_same_call_goes_on_and_only_what_changed_is_judged(tmp_path: Path) -> None:
    first = rubrica.run(RECORDS[:2], rubric=RUBRIC, out=tmp_path / "run")
    heard: list[RunEvent] = []
    again = rubrica.run(RECORDS, rubric=RUBRIC, out=tmp_path / "run", tell=heard.append)
    assert first.outcome is not None
    assert again.outcome is not None
    assert (first.outcome.counts.added, again.outcome.counts.added, again.outcome.counts.skipped) == (2, 1, 2)
    assert any(isinstance(event, RunAdvanced) and event.total == 3 for event in heard)
    assert rubrica.Run.open(tmp_path / "run").summary().evaluations == 3


def test_a_run_shows_itself_and_how_it_stands_to_another_with_every_text_escaped(tmp_path: Path) -> None:
    run = rubrica.run(RECORDS, rubric=RUBRIC, out=tmp_path / "a<b")
    stricter = {**RUBRIC, "verdicts": [{"label": "long", "when": "score >= 9"}, {"label": "short"}]}
    other = rubrica.run(RECORDS, rubric=stricter, out=tmp_path / "other")
    assert "3 evaluations of 3 cases" in run._repr_html_()
    assert "a&lt;b" in run._repr_html_()
    comparison = run.compare(other)
    assert comparison.changes[("long", "short")] == 1
    assert run.compare(tmp_path / "other").to_dict() == comparison.to_dict()
    assert "<td>score</td>" in comparison._repr_html_()
    page = run.evaluation("three")._repr_html_()
    assert "<td>length</td>" in page
    assert "<b>" not in page
    with pytest.raises(RubricaError, match="no evaluation of a case 'four'"):
        run.evaluation("four")


def test_a_run_can_be_made_inside_a_running_loop_with_and_without_waiting_for_it() -> None:
    async def notebook() -> tuple[int, int]:
        now = rubrica.run(RECORDS, rubric=RUBRIC)
        later = await rubrica.arun(RECORDS, rubric=RUBRIC)
        return now.summary().cases, later.summary().cases

    assert asyncio.run(notebook()) == (3, 3)


def test_what_cannot_be_judged_is_told(tmp_path: Path) -> None:
    with pytest.raises(RubricaError, match=r"no such option of a run: budge \("):
        rubrica.run(RECORDS, rubric=RUBRIC, budge=3)
    with pytest.raises(RubricaError, match="records one after the other, not dict"):
        rubrica.run({"response": "Hi"}, rubric=RUBRIC)
    broken = rubrica.run([{"response": "Hi"}, "Hi"], rubric=RUBRIC, out=tmp_path / "run")
    assert broken.outcome is not None
    assert broken.outcome.counts.broken == 1
    assert "1 record could not be judged" in broken._repr_html_()
    with pytest.raises(RubricaError, match="no case could be judged; the first: line 1: a case is a mapping"):
        rubrica.run([1, 2], rubric=RUBRIC)
    assert "a mapping with at least a response, not str" in (tmp_path / "run" / "errors.jsonl").read_text()
