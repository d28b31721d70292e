"""``rubrica curriculum``: grades are written and judged, a killed run goes on, existing questions are judged too."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cli_runs import STEADY
from loopback import Seen
from typer.testing import CliRunner, Result

from education_samples import calls, model_name, provider, question, teacher
from rubrica.cli.curriculum import app, grades_of, spread_grades
from rubrica.education.results import DIMENSIONS
from rubrica.runs.stored import StoredRun

Cli = Callable[..., Result]
SETTINGS = {"RUBRICA_JUDGE": "", "RUBRICA_HTTP_KEY": "", "RUBRICA_CACHE": "off", "RUBRICA_ATTEMPTS": "1"}


@pytest.fixture
def curriculum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner(env={**STEADY, **SETTINGS})

    def run(*args: object) -> Result:
        return runner.invoke(app, [str(arg) for arg in args])

    return run


def records(folder: Path, grade: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"evaluation_grade_{grade}.jsonl").read_text().splitlines()]


def summary(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"summary_{name}.json").read_text())
    return found


def script(folder: Path, *replies: Any) -> str:
    file = folder / "script.jsonl"
    lines = [{"reply": reply} if not isinstance(reply, dict) or "questions" in reply else reply for reply in replies]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted:{file}"


@pytest.mark.parametrize(
    ("args", "grades"),
    [
        (["--grades", "3", "4", "5", "--model", "m"], [3, 4, 5]),
        (["--grades", "3", "--grades", "5", "--model", "m"], [3, 5]),
        (["-g", "3-5", "8", "-m", "m"], [3, 4, 5, 8]),
        (["--model", "m", "--grades", "3,5-6"], [3, 5, 6]),
        (["--model", "m", "--grades=4"], [4]),
    ],
)
def test_grades_are_written_as_people_like(args: list[str], grades: list[int]) -> None:
    spread = spread_grades(args)
    given = [value for option, value in pairwise(spread) if option in ("--grades", "-g")]
    given += [arg.removeprefix("--grades=") for arg in spread if arg.startswith("--grades=")]
    assert grades_of(given) == grades


def test_a_run_writes_judges_and_sums_up(curriculum: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    seats = question(  # fits all three grades
        question="A hall has 24 equal rows of 36 seats. How many seats are there in all?",
        options=["A) 60", "B) 764", "C) 864", "D) 8640"],
        explanation="First, see that there are 24 equal rows with 36 seats in each. Next, think of 24 times 36. Then "
        "check in parts, because equal rows can be counted on.",
    )
    remarks: dict[str, Any] = {"issues": ["Explanation could be more detailed"], "strengths": ["Clear question text"]}
    with provider(teacher(lambda _: json.dumps({"questions": [seats]}), **remarks)) as server:
        name = model_name(server)
        done = curriculum(
            "run", "--grades", 3, 4, 5, "--model", name, "--judge", name, "--max-skills", 2, "-o", folder, "-j", 3
        )
        assert done.exit_code == 0, done.output
        assert (calls(server, "questions"), calls(server, "judgement")) == (6, 6)
    for grade in (3, 4, 5):
        found = records(folder, grade)
        assert sorted(record["skill_index"] for record in found) == [1, 2]
        for record in found:
            assert {
                "timestamp", "grade", "skill_index", "substandard_id", "lesson_title", "unit_name", "question_index",
                "request", "question", "question_evaluation", "overall_evaluation", "duration", "success",
            } <= record.keys()  # fmt: skip
            assert record["question_evaluation"]["recommendation"] == "accept"
            assert record["overall_evaluation"]["section_scores"]["question"]["count"] == 1
        figures = summary(folder, f"grade_{grade}")
        assert (figures["total_skills"], figures["successful_skills"], figures["total_questions"]) == (2, 2, 2)
        assert set(figures["dimension_scores"]) == set(DIMENSIONS)
        assert set(figures["durations"]) == {"mean", "median", "p90", "p95", "p99", "min", "max"}
        assert set(figures["scores"]) == {"mean", "median", "min", "max", "p25", "p75", "std"}
        assert set(figures["dimension_scores"]["correctness"]) == {"mean", "median", "std", "min", "max"}
        assert set(figures["section_scores"]["scaffolding"]) == {"mean", "median", "std", "count"}
        assert figures["section_scores"]["image"] == {"mean": None, "median": None, "std": None, "count": 0}
        assert (
            figures["quality_distribution"] | {"accept": 2, "total": 2, "accept_rate": 1.0, "reject_rate": 0.0}
            == (figures["quality_distribution"])
        )
        assert figures["error_taxonomy"]["pedagogical"] == figures["error_taxonomy"]["total_errors"] == 2
    together = summary(folder, "all_grades")
    assert (together["model"], together["grades_evaluated"]) == (name, [3, 4, 5])
    assert len(together["grade_summaries"]) == 3
    assert together["overall"]["total_questions"] == 6
    assert together["overall"]["mean_score"] == pytest.approx(0.8575, abs=1e-4)
    assert together["aggregated_error_taxonomy"]["total"] == 6
    assert set(together["aggregated_dimension_scores"]["correctness"]) == {"mean", "std", "min", "max"}
    assert together["aggregated_quality_distribution"]["accept_rate"] == 1.0
    for part in ("Grade 3", "p99", "85.75 %", "accept 2", "All grades", "pedagogical", str(folder)):
        assert part in done.output.replace("\n", "")


def test_the_folder_is_a_run_that_other_commands_can_read(curriculum: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    name = script(tmp_path, {"questions": [question(), question()]})
    assert curriculum("run", "-g", 3, "-m", name, "--max-skills", 3, "-n", 2, "-o", folder).exit_code == 0
    run = StoredRun.open(folder)
    assert sorted(evaluation.case or "" for evaluation in run.evaluations()) == sorted(
        record["case"] for record in records(folder, 3)
    )
    assert run.rubrics().keys() == {"education-question"}
    assert run.manifest is not None
    assert run.manifest.finished
    assert json.loads((folder / "summary.json").read_text())["evaluations"] == 6
    assert "education-question" in (folder / "report.html").read_text()


def test_a_garbled_reply_fails_its_skill_and_the_run_goes_on(curriculum: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    good = {"questions": [question()]}
    failing = script(tmp_path, good, "Once upon a time", {"error": "overloaded", "message": "busy"}, good)
    done = curriculum("run", "-g", 3, "-m", failing, "--max-skills", 4, "-o", folder, "-j", 1)
    assert done.exit_code == 1
    told = {record["skill_index"]: record.get("error", "") for record in records(folder, 3)}
    assert [bool(told[place]) for place in (1, 2, 3, 4)] == [False, True, True, False]
    assert "Once upon a time" in told[2]
    assert "R3.MUL.2" in done.output
    assert (summary(folder, "grade_3")["total_skills"], summary(folder, "grade_3")["successful_skills"]) == (4, 2)

    Path(failing.removeprefix("scripted:")).write_text(json.dumps({"reply": good}) + "\n")
    again = curriculum("run", "-g", 3, "-m", failing, "--max-skills", 4, "-o", folder, "-j", 1)
    assert again.exit_code == 0, again.output
    assert "2 of 4 skills are written" in again.output
    assert sorted(record["skill_index"] for record in records(folder, 3)) == [1, 2, 3, 4]
    assert all(record["success"] for record in records(folder, 3))


def test_going_on_asks_only_for_what_is_missing(curriculum: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with provider(teacher()) as server:
        run = ["run", "-m", model_name(server), "-o", folder, "--offline"]
        curriculum(*run, "-g", 3, "--max-skills", 2)
        assert curriculum(*run, "-g", 3, 4, "--max-skills", 3).exit_code == 0
        assert calls(server, "questions") == 6
        assert curriculum(*run, "-g", 3, 4, "--max-skills", 3).exit_code == 0
        assert calls(server, "questions") == 6
        changed = curriculum(*run, "-g", 3, "--max-skills", 1, "-n", 2)
        assert "questions per skill: 1 → 2" in changed.output
        assert len(records(folder / "earlier" / "1", 3)) == 3
        fresh = curriculum(*run, "-g", 3, "--max-skills", 1, "-n", 2, "--no-resume")
        assert fresh.exit_code == 0
        assert "a new run, as asked" in fresh.output
        assert calls(server, "questions") == 8


def command(*args: object) -> subprocess.Popen[bytes]:
    """The command as a process of its own."""
    code = "from rubrica.cli.curriculum import app; app()"
    environment = {**os.environ, **STEADY, **SETTINGS}
    args = (*args, "--baseline", "off")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, args)], env=environment, **pipes)  # type: ignore[call-overload,no-any-return]


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_without_doing_a_skill_twice_or_missing_one(tmp_path: Path) -> None:
    dice = random.Random(7)  # noqa: S311 - a test's dice
    folder = tmp_path / "out"
    lines = tmp_path / "skills.jsonl"
    lines.write_text("".join(json.dumps({"grade": 3, "id": f"S{n}", "title": f"Skill {n}"}) + "\n" for n in range(60)))
    asked: Counter[str] = Counter()

    def write(seen: Seen) -> str:
        found = re.search(r"What they are about: (.*)", seen.prompt)
        assert found is not None
        asked[found[1]] += 1
        return json.dumps({"questions": [question(), question()]})

    with provider(teacher(write), latency=0.02) as server:
        name = model_name(server)
        args = ["run", "-g", 3, "-m", name, "-J", name, "--curriculum", lines, "-n", 2, "-j", 3, "-o", folder]
        kills = 0
        for _ in range(4):
            before = len(asked)
            process = command(*args)
            until = time.monotonic() + 60
            while process.poll() is None and len(asked) < before + 4 and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(dice.random() * 0.3)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
            kills += process.returncode == -signal.SIGKILL
        final = command(*args)
        _, errors = final.communicate(timeout=120)
    assert kills >= 2
    assert final.returncode == 0, errors.decode()
    done = Counter((record["substandard_id"], record["question_index"]) for record in records(folder, 3))
    assert done == Counter((f"S{n}", place) for n in range(60) for place in (0, 1))
    assert summary(folder, "grade_3")["total_skills"] == 60
    assert Counter(evaluation.case for evaluation in StoredRun.open(folder).evaluations()) == Counter(
        record["case"] for record in records(folder, 3)
    )
    assert sum(asked.values()) <= 60 + 3 * kills  # only what was under way when it was killed is asked for again


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with provider(teacher(), latency=0.3) as server:
        args = ["run", "-g", 3, "-m", model_name(server), "--offline", "-j", 1, "-o", folder]
        process = command(*args)
        until = time.monotonic() + 60
        while server.requests < 3 and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()
            process.communicate()
    assert process.returncode == 130
    assert b"the same command goes on" in errors
    assert b"Traceback" not in errors
    assert 1 <= len((folder / "questions.jsonl").read_text().splitlines()) < 11


def test_half_of_a_skill_is_done_again_as_a_whole(curriculum: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    name = script(tmp_path, {"questions": [question(), question()]})
    run = ["run", "-g", 3, "-m", name, "--max-skills", 3, "-n", 2, "-o", folder]
    assert curriculum(*run).exit_code == 0
    file = folder / "questions.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:3]) + lines[3][:50])
    again = curriculum(*run)
    assert again.exit_code == 0, again.output
    assert "1 of 3 skills are written" in again.output
    places = Counter((record["skill_index"], record["question_index"]) for record in records(folder, 3))
    assert places == Counter((skill, place) for skill in (1, 2, 3) for place in (0, 1))


def test_questions_that_exist_are_judged_and_broken_records_told(curriculum: Cli, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    rows: list[Any] = [
        {**question(), "id": "good", "grade": 3, "skill": "Equal groups of apples"},
        {**question(answer="E"), "id": "bad key", "grade": 4, "skill": "Equal groups"},
        {"id": "empty", "grade": 3},
        {**question(), "id": "no grade", "skill": "Equal groups"},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{oops\n")
    folder = tmp_path / "out"
    done = curriculum("evaluate", file, "-o", folder)
    assert done.exit_code == 1
    assert "line 3: not a question" in done.output
    assert "line 5: not JSON" in done.output
    assert {record["record_id"]: record["success"] for record in records(folder, 3)} == {"good": True, "empty": False}
    assert records(folder, 4)[0]["question_evaluation"]["recommendation"] == "reject"
    assert [record["record_id"] for record in records(folder, "unknown") if record["success"]] == ["no grade"]
    assert summary(folder, "all_grades")["grades_evaluated"] == [3, 4, None]
    told = curriculum("evaluate", file, "--grade", 3)
    assert told.exit_code == 1
    assert "Grade 3" in told.output
    assert "no grade" not in told.output


def test_existing_questions_are_judged_with_one_call_each_and_never_again(curriculum: Cli, tmp_path: Path) -> None:
    file = tmp_path / "questions.csv"
    file.write_text("id,question,option_a,option_b,option_c,option_d,answer,explanation,difficulty,grade,skill\n"
                    "1,What is 4 times 6?,10,20,24,46,C,Count on.,easy,3,Equal groups\n"
                    "2,What is 4 times 6?,10,20,24,46,24,Count on.,easy,3,Equal groups\n")  # fmt: skip
    with provider(teacher()) as server:
        args = ["evaluate", file, "-J", model_name(server), "-o", tmp_path / "out"]
        assert curriculum(*args).exit_code == 0
        assert server.requests == 2
        assert "2 evaluations done before" in curriculum(*args).output
        assert server.requests == 2


def test_wrong_options_are_told(curriculum: Cli, tmp_path: Path) -> None:
    assert "no grade 9" in str(curriculum("run", "-g", 9, "-m", "local:", "-o", tmp_path).exception)
    assert curriculum("run", "-g", "three", "-m", "local:", "-o", tmp_path).exit_code == 2
    assert curriculum("run", "-g", "5-3", "-m", "local:", "-o", tmp_path).exit_code == 2
    assert "names no model" in str(curriculum("run", "-g", 3, "-m", "gpt", "-o", tmp_path / "a").exception)
    (tmp_path / "empty.jsonl").write_text("")
    assert "holds no records" in str(curriculum("evaluate", tmp_path / "empty.jsonl").exception)
    assert "cannot be read" in str(curriculum("evaluate", tmp_path / "none.jsonl").exception)


def test_skills_and_trends_are_shown(curriculum: Cli, tmp_path: Path) -> None:
    listed = curriculum("skills", 3, "8")
    assert "R3.MUL.1" in listed.output
    assert "R8.GEO.1" in listed.output
    assert "R5." not in listed.output
    file = tmp_path / "b.json"
    scores = [0.80, 0.81, 0.82, 0.80, 0.81, 0.82, 0.80, 0.81, 0.3]
    file.write_text(json.dumps({"evaluations": [{"timestamp": str(n), "aggregate_scores": {"overall": score}}
                                                for n, score in enumerate(scores)]}))  # fmt: skip
    fallen = curriculum("trend", file)
    assert (fallen.exit_code, "regression" in fallen.output) == (100, True)
    assert "keeps no evaluations" in str(curriculum("trend", tmp_path / "none.json").exception)


def test_a_judge_that_does_not_answer_ends_the_run_and_the_same_command_goes_on(
    curriculum: Cli, tmp_path: Path
) -> None:
    file, folder = tmp_path / "questions.csv", tmp_path / "out"
    file.write_text("id,question,answer,grade\n" + "".join(f"{n},What is {n} times 6?,{6 * n},3\n" for n in range(2)))
    with provider(teacher(), faults=["error", "error"]) as server:
        args = ["evaluate", file, "-J", model_name(server), "-o", folder]
        dumb = curriculum(*args)
        assert dumb.exit_code == 1
        assert "no model answered the last 2 cases" in str(dumb.exception)
        assert not (folder / "evaluation_grade_3.jsonl").exists()
        assert curriculum(*args).exit_code == 0
    assert [record["success"] for record in records(folder, 3)] == [True, True]
