"""The baseline file keeps the last hundred evaluations, survives several writers, and shows a decline."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from education_samples import question
from rubrica.education import (
    BaselineFile,
    GeneratedQuestion,
    GenerateQuestionResponse,
    GenerateQuestionsRequest,
    ResponseEvaluator,
)
from rubrica.errors import RubricaError


def entry(number: int, overall: float | None = 0.8, **scores: float | None) -> dict[str, Any]:
    return {
        "timestamp": f"2026-01-01T00:00:{number % 60:02}",
        "number": number,
        "aggregate_scores": {**scores, "overall": overall},
    }


def test_the_last_hundred_are_kept(tmp_path: Path) -> None:
    file = BaselineFile(tmp_path / "b.json")
    for number in range(103):
        file.add(entry(number))
    assert [kept["number"] for kept in file.entries()] == [*range(3, 103)]


@pytest.mark.parametrize("text", ["{", "[]", '{"evaluations": 5}', '{"evaluations": [1]}', "", "\xff"])
def test_a_file_that_is_something_else_is_refused_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "b.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RubricaError, match="no baseline file"):
        BaselineFile(path).add(entry(1))
    assert path.read_bytes() == text.encode("latin-1")


ADDING = """
import sys
from rubrica.education.baseline import BaselineFile
file, first = BaselineFile(sys.argv[1]), int(sys.argv[2])
for number in range(first, first + 15):
    file.add({"timestamp": "2026-01-01", "number": number, "aggregate_scores": {"overall": 0.8}})
"""


def test_several_processes_lose_none_of_their_entries(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    workers = [subprocess.Popen([sys.executable, "-c", ADDING, str(path), str(100 * worker)]) for worker in range(3)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    expected = {100 * worker + number for worker in range(3) for number in range(15)}
    assert {kept["number"] for kept in BaselineFile(path).entries()} == expected


def test_the_commit_of_the_working_directory_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*run, "init", "-q"], check=True)
    subprocess.run([*run, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    commit = subprocess.run([*run, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    monkeypatch.chdir(tmp_path)
    request = GenerateQuestionsRequest(grade=3, instructions="Equal groups")
    response = GenerateQuestionResponse(data=[GeneratedQuestion.of(question())], grade=3)
    ResponseEvaluator().evaluate_response(request, response, update_baseline=True)
    (kept,) = json.loads((tmp_path / "baseline_evaluation.json").read_text())["evaluations"]
    assert kept["commit_hash"] == commit


def test_a_fall_beyond_noise_is_a_regression_and_noise_is_none(tmp_path: Path) -> None:
    file = BaselineFile(tmp_path / "b.json")
    for number in range(12):
        file.add(entry(number, 0.80 + 0.01 * (number % 3), correctness=0.9 + 0.01 * (number % 2)))
    assert file.regressions() == []
    file.add(entry(12, 0.81, correctness=0.5))
    assert [trend.name for trend in file.regressions()] == ["correctness"]


def test_a_slow_decline_is_told_while_it_lasts(tmp_path: Path) -> None:
    file = BaselineFile(tmp_path / "b.json")
    for number in range(6):
        file.add(entry(number, 0.85 - 0.01 * number))
    assert [trend.name for trend in file.declines()] == ["overall"]
    for number in range(6, 18):
        file.add(entry(number, 0.80 + 0.002 * (number % 2)))
    assert file.declines() == []


def test_trends_tell_which_way_figures_move(tmp_path: Path) -> None:
    file = BaselineFile(tmp_path / "b.json")
    for number in range(10):
        file.add(entry(number, 0.5 + 0.03 * number, clarity=None, language_quality=0.9 - 0.02 * number))
    assert {trend.name: trend.direction for trend in file.trends()} == {
        "overall": "rising",
        "language_quality": "falling",
    }


def test_a_file_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert BaselineFile(tmp_path / "none.json").entries() == []
    assert BaselineFile(tmp_path / "none.json").trends() == []
