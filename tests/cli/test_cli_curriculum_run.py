"""``rubrica curriculum`` is a run like others: pairs by id, goes on, counts costs, and owns up to failed judges."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_runs import STEADY
from loopback import Said, Seen
from typer.testing import CliRunner, Result

from education_samples import MARKS, judgement, model_name, provider, question, schema_of, teacher
from rubrica.cli.app import app
from rubrica.education.baseline import BaselineFile
from rubrica.runs.stored import StoredRun

Cli = Callable[..., Result]
SETTINGS = {"RUBRICA_JUDGE": "", "RUBRICA_HTTP_KEY": "", "RUBRICA_CACHE": "off", "RUBRICA_ATTEMPTS": "1"}
KEPT = ".rubrica/baselines.json"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner(env={**STEADY, **SETTINGS, "RUBRICA_BASELINES": KEPT})

    def run(*args: object) -> Result:
        return runner.invoke(app, [str(arg) for arg in args], prog_name="rubrica")

    return run


def bank(count: int, **changes: Any) -> list[dict[str, Any]]:
    """Questions of grades 3 and 4, each with an id."""
    return [
        {
            **question(question=f"There are {n} equal groups of 6 apples. How many apples are there in all?"),
            "options": [f"A) {6 * n}", f"B) {6 + n}", f"C) {7 * n + 1}", "D) 1"],
            "answer": "A",
            "id": f"q{n}",
            "grade": 3 + n % 2,
            "skill": "Equal groups",
            **changes,
        }
        for n in range(2, 2 + count)
    ]


def write(rows: list[dict[str, Any]], name: str = "bank.jsonl") -> Path:
    path = Path(name)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def shuffled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return random.Random(5).sample(rows, len(rows))  # noqa: S311 - a test's dice


def asked_for(seen: Seen) -> str:
    """Which question of the bank a judge is asked about."""
    found = re.findall(r"There are (\d+) equal groups", json.dumps(seen.body["messages"]))
    return str(found[-1])


# --- the story of sixty questions ---------------------------------------------------------------------------


def test_sixty_questions_in_another_order_are_the_same_sixty(cli: Cli) -> None:
    rows = bank(60)
    write(rows)
    write(shuffled(rows), "other.jsonl")
    assert cli("curriculum", "evaluate", "bank.jsonl", "-o", "monday", "--offline").exit_code == 0
    assert cli("curriculum", "evaluate", "other.jsonl", "-o", "tuesday", "--offline").exit_code == 0
    found = json.loads(cli("compare", "monday", "tuesday", "--json").stdout)
    assert (found["cases"], found["only_a"], found["only_b"], found["verdict"]) == (60, [], [], "same")

    worse = [{**row, "explanation": "", "answer": "D"} for row in shuffled(rows)]
    write(worse, "worse.jsonl")
    assert cli("curriculum", "evaluate", "worse.jsonl", "-o", "wednesday", "--offline").exit_code == 0
    checked = cli("baseline", "check", "wednesday", "--json", "--file", KEPT)
    told = json.loads(checked.stdout)
    assert (checked.exit_code, told["cases"], told["verdict"]) == (100, 60, "regression")


def test_the_folder_is_open_to_every_command_about_runs(cli: Cli) -> None:
    write(bank(12))
    assert cli("curriculum", "evaluate", "bank.jsonl", "-o", "graded", "--offline").exit_code == 0
    assert json.loads(cli("summary", "graded", "--json").stdout)["evaluations"] == 12
    assert "q5" in cli("explain", "graded", "--case", "q5").stdout
    assert cli("report", "graded", "-o", "again.html").exit_code == 0
    for page in (Path("graded/report.html").read_text(), Path("again.html").read_text()):
        assert "Class of error" in page
        assert "Grade 4" in page
    assert Path("graded/evaluations.parquet").exists()
    assert len(list(StoredRun.open("graded").rows())) == 12


def test_one_line_more_is_one_line_judged(cli: Cli) -> None:
    rows = bank(9)
    write(rows)
    with provider(teacher()) as server:
        args = ["curriculum", "evaluate", "bank.jsonl", "-J", model_name(server), "-o", "graded"]
        assert cli(*args).exit_code == 0
        assert server.requests == 9
        write([*bank(10)[-1:], *shuffled(rows)])
        dry = cli(*args, "--dry-run")
        assert "1 evaluation (9 done already)" in dry.output
        assert server.requests == 9
        assert cli(*args).exit_code == 0
        assert server.requests == 10
    lines = Path("graded/evaluation_grade_3.jsonl").read_text().splitlines()
    kept = [json.loads(line) for line in [*lines, *Path("graded/evaluation_grade_4.jsonl").read_text().splitlines()]]
    assert Counter(record["record_id"] for record in kept) == Counter(f"q{n}" for n in range(2, 12))
    assert {record["record_id"]: record["line"] for record in kept}["q11"] == 1


# --- judges that fail -----------------------------------------------------------------------------------------


def test_a_judge_that_refuses_everybody_ends_the_run_with_its_reason(cli: Cli) -> None:
    write(bank(40))
    with provider(teacher(), key="sk-0123456789another") as server:
        args = ["curriculum", "evaluate", "bank.jsonl", "-J", model_name(server), "-o", "graded", "-j", 4]
        dead = cli(*args)
        assert server.requests < 40
    assert dead.exit_code == 1
    assert "401" in dead.stderr
    assert not list(Path("graded").glob("evaluation_grade_*"))
    assert not Path("baseline_evaluation.json").exists()
    assert list(StoredRun.open("graded").evaluations()) == []


def test_what_a_judge_left_open_is_a_failure_and_retry_errors_asks_for_it_alone(cli: Cli) -> None:
    write(bank(8))
    down = {"3", "7"}

    def moody(seen: Seen) -> Said:
        if asked_for(seen) in down:
            return Said("I would rather talk about the weather")
        return Said(judgement(schema_of(seen)[1], MARKS))

    with provider(moody) as server:
        args = ["curriculum", "evaluate", "bank.jsonl", "-J", model_name(server), "-o", "graded"]
        first = cli(*args)
        assert first.exit_code == 1
        assert "2 questions got no score from the judge" in first.stderr
        records = [
            json.loads(line)
            for file in Path("graded").glob("evaluation_grade_*")
            for line in file.read_text().splitlines()
        ]
        failed = {record["record_id"]: record["error"] for record in records if not record["success"]}
        assert failed.keys() == {"q3", "q7"}
        assert all("no score from the judge" in reason for reason in failed.values())
        overall = json.loads(Path("graded/summary_all_grades.json").read_text())["overall"]
        assert (overall["failed_questions"], overall["total_questions"]) == (2, 8)
        assert not Path("baseline_evaluation.json").exists()
        before = server.requests
        assert cli(*args).exit_code == 1
        assert server.requests == before
        down.clear()
        assert cli(*args, "--retry-errors").exit_code == 0
        assert server.requests == before + 2


def test_a_budget_holds_for_writing_and_judging_together(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    refused = cli(
        "curriculum", "run", "-g", 3, "-m", "http://127.0.0.1:1/v1#x", "--budget", 1, "-o", "out", "--offline"
    )
    assert refused.exit_code == 1
    assert "price unknown" in refused.stderr
    broke = cli("curriculum", "run", "-g", 3, "-m", "openai:gpt-4o-mini", "--budget", 0, "-o", "out", "--offline")
    assert broke.exit_code == 1
    assert "budget" in broke.stderr


def test_a_writer_that_does_not_answer_ends_the_run_with_its_reason(cli: Cli) -> None:
    with provider(teacher(), key="sk-0123456789another") as server:
        args = ["curriculum", "run", "-g", 3, 4, "-m", model_name(server), "-o", "out", "--offline"]
        dead = cli(*args, "--max-failures", 5)
        assert (dead.exit_code, "401" in dead.stderr) == (1, True)
        assert server.requests < 12


def test_a_dry_run_counts_writing_and_judging(cli: Cli) -> None:
    with provider(teacher()) as server:
        name = model_name(server)
        args = ["curriculum", "run", "-g", 3, "--max-skills", 3, "-n", 2, "-m", name, "-J", name, "-o", "out"]
        dry = cli(*args, "--dry-run")
        assert (dry.exit_code, server.requests) == (0, 0)
        assert not Path("out").exists()
        calls = [line.split()[1] for line in dry.output.splitlines() if line.startswith("http")]
        assert calls == ["3", "6"]
        assert "6 evaluations; nothing was asked" in dry.output


# --- baselines --------------------------------------------------------------------------------------------------


def test_finished_runs_are_added_to_both_baselines_once(cli: Cli) -> None:
    write(bank(6))
    args = ["curriculum", "evaluate", "bank.jsonl", "-o", "graded", "--offline"]
    assert cli(*args).exit_code == 0
    assert cli(*args).exit_code == 0
    (entry,) = BaselineFile("baseline_evaluation.json").entries()
    assert entry["question_count"] == 6
    assert entry["aggregate_scores"]["overall"] == entry["overall_score"]
    assert entry["compliance_report"]["count_compliance"] == {"requested": 6, "generated": 6, "compliant": True}
    assert len(json.loads(Path(KEPT).read_text())["entries"]) == 1
    write(bank(7))
    assert cli(*args).exit_code == 0
    assert len(BaselineFile("baseline_evaluation.json").entries()) == 2
    assert cli("curriculum", "evaluate", "bank.jsonl", "-o", "other", "--offline", "--baseline", "off").exit_code == 0
    assert len(BaselineFile("baseline_evaluation.json").entries()) == 2
    assert len(json.loads(Path(KEPT).read_text())["entries"]) == 2
    assert cli("curriculum", "evaluate", "bank.jsonl", "-o", "part", "--offline", "--limit", 2).exit_code == 0
    assert len(BaselineFile("baseline_evaluation.json").entries()) == 2
