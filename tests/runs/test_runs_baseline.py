"""Baselines: kept with their commit and cases, held against later runs, never lost and never written over."""

from __future__ import annotations

import fcntl
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from run_rows import RUBRIC, row, seeded, twins

from rubrica.errors import InputError, MissingError, RubricaError
from rubrica.file_lock import alone_with
from rubrica.runs.compare.baseline import (
    MOST_AUTOMATIC,
    MOST_KEPT,
    Baselines,
    BaselineSource,
    content_of_rows,
)
from rubrica.runs.compare.comparison import compare
from rubrica.runs.compare.trend import TrendPoint, trends
from rubrica.runs.compare.trend_page import trend_page
from rubrica.runs.summary.grading import Grading

DAY = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
COMMIT = "4f2a91c0d1e2f3a4b5c6d7e8f90a1b2c3d4e5f60"


@pytest.fixture
def baselines(tmp_path: Path) -> Baselines:
    return Baselines(tmp_path / ".rubrica" / "baselines.json")


def test_a_kept_run_can_be_compared_case_by_case(baselines: Baselines) -> None:
    before, after = twins(seeded(1), 40, drop=1.0, groups=20)
    grading = Grading(scales={"essay": {"d0": (1.0, 10.0)}}, roles={"essay": {"pass": "good", "fail": "bad"}})
    entry = baselines.add(before, BaselineSource("monday", grading, f"{COMMIT}+", ("model-a",), "first"), DAY)
    assert (entry.commit, entry.dirty, entry.label) == (COMMIT, True, "4f2a91c0d1+")
    found = baselines.find()
    assert found == entry
    assert found.grading == grading
    kept = list(baselines.rows(found))
    assert [(own.key, own.group, own.score, own.dimensions) for own in kept] == [
        (own.key, own.group, own.score, own.dimensions) for own in before
    ]
    assert compare(kept, after).to_dict() == compare(before, after).to_dict()
    assert compare(kept, after).verdict == "regression"


def test_figures_are_means_and_the_pass_rate(baselines: Baselines) -> None:
    rows = [row("1", 80.0, dimensions={"tone": 4.0}, sections={"tone": 50.0}), row("2", 60.0, dimensions={"tone": 2.0})]
    entry = baselines.add(rows, BaselineSource("monday"), DAY)
    assert entry.figures == {"score": 70.0, "dimension.tone": 3.0, "section.tone": 50.0, "pass rate": 0.5}
    assert entry.commit is None
    assert entry.verdicts == {"pass": 1, "fail": 1}


def test_the_last_hundred_are_kept_with_their_cases(baselines: Baselines) -> None:
    for n in range(MOST_KEPT + 3):
        baselines.add([row("1", 50.0 + n / 10)], BaselineSource(f"run-{n}"), DAY + timedelta(days=n))
    entries = baselines.entries()
    assert [entries[0].run, entries[-1].run, len(entries)] == ["run-3", "run-102", MOST_KEPT]
    files = {file.name for file in (baselines.path.parent / "baselines").iterdir()}
    assert files == {f"{entry.id}.jsonl.gz" for entry in entries}


def test_the_same_run_kept_twice_in_one_second_is_two_baselines(baselines: Baselines) -> None:
    first, second = (baselines.add([row("1")], BaselineSource("monday"), DAY) for _ in range(2))
    assert first.id != second.id
    assert list(baselines.rows(first)) == list(baselines.rows(second))


def test_those_who_write_at_once_wait_for_each_other(baselines: Baselines) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: baselines.add([row(str(n))], BaselineSource(f"run-{n}"), DAY), range(24)))
    assert {entry.run for entry in baselines.entries()} == {f"run-{n}" for n in range(24)}


def test_a_lock_that_is_never_let_go_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "baselines.json"
    with (tmp_path / ".baselines.json.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(RubricaError, match="in use by another process"), alone_with(file, patience=0.1):
            pass


@pytest.mark.parametrize("content", ["{oops", "[]", '{"entries": [{"id": 7}]}', "", "\udcff"])
def test_a_corrupt_file_is_told_and_left_as_it_is(baselines: Baselines, content: str) -> None:
    baselines.path.parent.mkdir()
    baselines.path.write_bytes(content.encode(errors="surrogateescape"))
    before = baselines.path.read_bytes()
    with pytest.raises(InputError, match=r"left as it is \(restore it from git or a copy, or move it away"):
        baselines.add([row("1")], BaselineSource("monday"), DAY)
    assert baselines.path.read_bytes() == before


def test_a_newer_format_is_not_touched(baselines: Baselines) -> None:
    baselines.path.parent.mkdir()
    baselines.path.write_text(json.dumps({"format": 99, "entries": []}))
    with pytest.raises(InputError, match="newer Rubrica"):
        baselines.add([row("1")], BaselineSource("monday"), DAY)


def test_damaged_cases_are_an_error_rather_than_fewer_cases(baselines: Baselines) -> None:
    entry = baselines.add([row(str(n), 60.0 + n) for n in range(50)], BaselineSource("monday"), DAY)
    file = baselines.cases_file(entry.id)
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InputError, match="cannot be read"):
        list(baselines.rows(entry))
    file.unlink()
    with pytest.raises(MissingError, match="is gone"):
        list(baselines.rows(entry))


def test_an_empty_run_is_not_kept(baselines: Baselines) -> None:
    with pytest.raises(InputError, match="nothing to keep"):
        baselines.add([], BaselineSource("monday"), DAY)
    assert not baselines.entries()


def test_a_baseline_is_found_by_rubric_commit_and_id(baselines: Baselines) -> None:
    essay = baselines.add([row("1")], BaselineSource("monday", commit=COMMIT), DAY)
    letter = baselines.add([row("1", rubric="letter@1.0.0")], BaselineSource("tuesday"), DAY)
    assert baselines.find() == letter
    assert baselines.find(rubrics=[RUBRIC]) == essay
    assert baselines.find(rubrics=["essay@9.0.0"]) == essay
    assert baselines.find("4f2a91c") == essay
    assert baselines.find(letter.id) == letter
    with pytest.raises(MissingError, match="holds no baseline abcdef; the latest are 4f2a91c0d1"):
        baselines.find("abcdef")
    with pytest.raises(MissingError, match=r"`rubrica baseline add RUN` keeps one"):
        baselines.find(rubrics=["poem@1.0.0"])


def test_finished_runs_are_added_once_and_none_is_held_against_itself(baselines: Baselines) -> None:
    monday, tuesday = [row("1", 80.0), row("2", 70.0)], [row("2", 60.0), row("1", 75.0)]
    first = baselines.add(monday, BaselineSource("monday", automatic=True), DAY)
    assert baselines.add(monday[::-1], BaselineSource("monday", automatic=True), DAY) == first
    with pytest.raises(MissingError, match="holds only this run"):
        baselines.find(now=("monday", content_of_rows(monday)))
    second = baselines.add(tuesday, BaselineSource("tuesday", automatic=True), DAY)
    assert baselines.find(now=("tuesday", content_of_rows(tuesday))) == first
    assert baselines.find(now=("wednesday", content_of_rows(tuesday))) == second
    assert baselines.find() == second
    chosen = baselines.add(monday, BaselineSource("monday"), DAY)
    assert [entry.id for entry in baselines.entries()] == [second.id, chosen.id]
    baselines.add([row("1", 10.0)], BaselineSource("friday", automatic=True), DAY)
    assert baselines.find(now=("sunday", content_of_rows([row("1", 9.0)]))) == chosen


def test_of_runs_that_were_added_by_themselves_only_the_last_keep_their_cases(baselines: Baselines) -> None:
    for n in range(MOST_AUTOMATIC + 2):
        baselines.add([row("1", 50.0 + n)], BaselineSource(f"run-{n}", automatic=True), DAY + timedelta(days=n))
    entries = baselines.entries()
    assert len(entries) == MOST_AUTOMATIC + 2
    assert [baselines.cases_file(entry.id).exists() for entry in entries] == [False, False, *[True] * MOST_AUTOMATIC]


def points(*values: float | None) -> list[TrendPoint]:
    return [TrendPoint(f"2026-03-{n:02}", {"score": value}, f"c{n}") for n, value in enumerate(values, 1)]


def test_a_steady_rise_is_a_trend() -> None:
    (found,) = trends(points(70, 71, 72, 74, 75, 77))
    assert (found.direction, found.spark) == ("rising", "▁▂▃▅▆█")
    assert found.step == pytest.approx(1.4, abs=0.1)


def test_the_latest_far_below_all_before_it_is_a_regression() -> None:
    (found,) = trends(points(80, 82, 79, 81, 80, 82, 60))
    assert (found.latest, found.direction) == ("regression", "no clear trend")


@pytest.mark.parametrize("scale", [1, 10, 100])
@pytest.mark.parametrize("runs", [3, 5, 12])
def test_a_fall_after_a_flat_history_is_a_regression(runs: int, scale: int) -> None:
    (found,) = trends(points(*[0.85 * scale] * runs, 0.40 * scale))
    assert found.latest == "regression"
    (flat,) = trends(points(*[0.85 * scale] * (runs + 1)))
    assert (flat.latest, flat.direction) == ("as before", "no clear trend")
    (hardly,) = trends(points(*[0.85 * scale] * runs, 0.849 * scale))
    assert hardly.latest != "regression"


def test_a_fall_of_all_figures_together_is_told_for_all_of_them() -> None:
    names = ("overall", *(f"dimension.d{n}" for n in range(10)))
    history = [TrendPoint(str(n), dict.fromkeys(names, 0.85 if n < 4 else 0.40)) for n in range(5)]
    assert {own.latest for own in trends(history)} == {"regression"}


def test_a_small_drift_over_several_runs_is_a_trend_and_a_tiny_one_is_none() -> None:
    names = ("overall", *(f"dimension.d{n}" for n in range(10)))
    history = [TrendPoint(str(n), dict.fromkeys(names, 0.85 - 0.008 * n)) for n in range(6)]
    assert {own.name: own.direction for own in trends(history)}["overall"] == "falling"
    (tiny,) = trends(points(*(0.85 - 0.0005 * n for n in range(8))))
    assert tiny.direction == "no clear trend"
    (late,) = trends(points(*[0.85] * 6, 0.84, 0.83, 0.82, 0.81))
    assert late.direction == "falling"


def test_too_few_runs_cannot_tell() -> None:
    (found,) = trends(points(80, None, 60))
    assert (found.latest, found.direction, found.spark) == ("cannot tell", "no clear trend", "█·▁")


def test_noise_over_many_figures_is_rarely_called_a_regression() -> None:
    chance = seeded(3)
    alarms = 0
    for _ in range(200):
        history = [TrendPoint(str(n), {f"f{k}": chance.gauss(0.8, 0.02) for k in range(8)}) for n in range(12)]
        found = trends(history)
        alarms += any(own.latest == "regression" or own.direction == "falling" for own in found)
    assert alarms / 200 <= 0.08


def test_the_page_of_a_trend_is_self_contained_and_escapes_names() -> None:
    history = [
        TrendPoint("2026-03-01", {"<b>": 1.0}, "<i>"),
        TrendPoint("2026-03-02", {"<b>": None}),
        TrendPoint("2026-03-03", {"<b>": 2}),
    ]
    page = trend_page(history, trends(history), "Baselines")
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert "<b>:" not in page
    assert "&lt;b&gt;" in page
    assert "http" not in page.replace("http-equiv", "")
