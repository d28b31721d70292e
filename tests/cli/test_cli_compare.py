"""``rubrica summary``, ``compare`` and ``baseline``: what they print, write and exit with."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from cli_runs import STEADY, TINY
from typer.testing import CliRunner, Result

from rubrica.cli import baseline, compare, summary
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.engine.load import rubric_from_data
from rubrica.errors import RubricaError
from rubrica.model.context import Context

PLAN = compile_rubric(rubric_from_data(yaml.safe_load(TINY)))
Run = Callable[..., Result]
Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A file of evaluations of so many cases, of which a share is polite and short, the rest neither."""

    def made(name: str, polite: float, seed: int = 1, cases: int = 40) -> Path:
        chance = Random(seed)  # noqa: S311
        lines = []
        for n in range(cases):
            text = "thanks a lot" if chance.random() < polite else "this is not at all a polite text"
            context = Context(response=text, metadata={"topic": "ab"[n % 2], "passage": f"p{n // 4}"})
            lines.append(evaluate(PLAN, context, f"case-{n}").to_json() + "\n")
        file = tmp_path / name
        file.write_text("".join(lines))
        return file

    return made


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner(env={**STEADY, "COLUMNS": "140", "GITHUB_STEP_SUMMARY": None})

    def call(module: Any, *args: str | Path, **env: str) -> Result:
        return runner.invoke(module.app, [str(arg) for arg in args], env=env or None)

    return call


def failed(result: Result) -> str:
    """What a command that cannot be done says."""
    assert isinstance(result.exception, RubricaError), result.output
    return str(result.exception)


def test_a_summary_shows_verdicts_scores_and_times(make: Make, run: Run) -> None:
    result = run(summary, make("a.jsonl", 0.75))
    assert result.exit_code == 0, result.output
    for expected in ("tiny@1.0.0: 40 evaluations", "pass", "p95", "politeness: polite words", "score of 100"):
        assert expected in result.stdout


def test_a_narrow_terminal_gets_fewer_percentiles(make: Make, run: Run) -> None:
    shown = run(summary, make("a.jsonl", 0.75), COLUMNS="80").stdout
    assert "p95" in shown
    assert "p25" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_summary_as_json_by_metadata(make: Make, run: Run) -> None:
    plain = json.loads(run(summary, make("a.jsonl", 0.75), "--json", "--by", "topic").stdout)
    assert plain["evaluations"] == 40
    assert {value: own["evaluations"] for value, own in plain["by"]["values"].items()} == {"a": 20, "b": 20}
    assert "b " in run(summary, make("c.jsonl", 0.5), "--by", "topic").stdout
    assert list(json.loads(run(summary, "a.jsonl", "--json", "--by", "verdict").stdout)["by"]["values"]) != [""]


def test_a_key_that_no_case_has_is_refused(make: Make, run: Run) -> None:
    assert "says what its colour is" in failed(run(summary, make("a.jsonl", 0.75), "--by", "colour"))


def test_junit_and_annotations_tell_the_failed_cases(make: Make, run: Run, tmp_path: Path) -> None:
    file = make("a.jsonl", 0.75)
    page = tmp_path / "page.md"
    result = run(summary, file, "--junit", "j.xml", "--github", "--fail-on", "fail", GITHUB_STEP_SUMMARY=str(page))
    assert result.exit_code == 100
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()  # noqa: S314 - written just now
    failures = int(suite.get("failures") or 0)
    assert 0 < failures < 40
    assert result.stdout.count("::error ") == min(failures, 10)
    assert "| score |" in page.read_text()
    assert "exists; add --force" in failed(run(summary, file, "--junit", "j.xml"))


def test_json_stays_json_beside_annotations(make: Make, run: Run) -> None:
    result = run(summary, make("a.jsonl", 0.2), "--github", "--json")
    assert json.loads(result.stdout)["run"] == "a"
    assert "::error " in result.stderr


def test_no_failing_verdict_is_exit_code_0(make: Make, run: Run) -> None:
    assert run(summary, make("a.jsonl", 1.0), "--fail-on", "fail").exit_code == 0


def test_a_comparison_tells_a_regression_and_exits_with_100_when_asked(make: Make, run: Run) -> None:
    before, after = make("a.jsonl", 0.95), make("b.jsonl", 0.3, seed=2)
    result = run(compare, before, after, "--github")
    assert result.exit_code == 0, result.output
    assert "regression in score, pass rate, Politeness, Brevity, over 40 cases in both" in result.stdout
    assert "pass → fail" in result.stdout
    assert "::error title=b against a%3A score::regression" in result.stdout
    assert run(compare, before, after, "--check").exit_code == 100
    assert run(compare, after, before, "--check").exit_code == 0


def test_a_comparison_heeds_the_group_that_is_named(make: Make, run: Run) -> None:
    files = make("a.jsonl", 0.9), make("b.jsonl", 0.6, seed=2)
    plain = json.loads(run(compare, *files, "--group", "passage", "--json").stdout)
    assert plain["groups"] == 10
    assert {own["method"] for own in plain["lines"]} <= {"sign-flip", "none"}
    alone = json.loads(run(compare, *files, "--group", "passage", "--independent", "--json").stdout)
    assert alone["groups"] is None


def test_runs_of_other_cases_are_refused(make: Make, run: Run) -> None:
    before, after = make("a.jsonl", 1.0), make("b.jsonl", 1.0)
    after.write_text(after.read_text().replace('"case":"case-', '"case":"other-'))
    assert "no case in common" in failed(run(compare, before, after))
    assert "there is no" in failed(run(compare, before, "nothing.jsonl"))


def test_a_broken_line_is_told_once_and_the_rest_compared(make: Make, run: Run) -> None:
    before, after = make("a.jsonl", 1.0), make("b.jsonl", 0.2)
    after.write_text(after.read_text() + "{oops\n")
    result = run(compare, before, after)
    assert result.exit_code == 1
    assert result.stderr.count("line 41:") == 1
    assert "regression" in result.stdout


def test_a_baseline_is_kept_checked_and_followed(make: Make, run: Run, tmp_path: Path) -> None:
    good, poor = make("a.jsonl", 0.95), make("b.jsonl", 0.3, seed=2)
    assert "keeps one" in failed(run(baseline, "check", good))
    kept = run(baseline, "add", good, "--note", "first")
    assert kept.exit_code == 0, kept.output
    assert "kept 40 evaluations as " in kept.stdout
    assert "outside of git" in kept.stdout
    assert (tmp_path / ".rubrica" / "baselines.json").is_file()
    same = run(baseline, "check", good)
    assert same.exit_code == 0
    assert "no difference that matters" in same.stdout
    worse = run(baseline, "check", poor, "--github")
    assert worse.exit_code == 100
    assert "::error title=b against baseline" in worse.stdout
    assert run(baseline, "add", poor).exit_code == 0
    assert run(baseline, "check", good).exit_code == 0  # against the last, it is better
    shown = run(baseline, "trend", "--html", "trend.html")
    assert "2 baselines" in shown.stdout
    assert "█▁" in shown.stdout
    assert "Politeness" in (tmp_path / "trend.html").read_text()
    plain = json.loads(run(baseline, "trend", "--json").stdout)
    assert plain["trends"][0]["name"] == "score"


def test_a_difference_that_may_be_noise_passes_the_check_and_is_told(make: Make, run: Run) -> None:
    run(baseline, "add", make("a.jsonl", 0.7, cases=12))
    result = run(baseline, "check", make("b.jsonl", 0.6, seed=4, cases=12))
    assert result.exit_code == 0
    assert "cannot tell" in result.stdout
    assert "more cases would" in result.stdout


def test_a_baseline_carries_the_commit_it_was_made_at(make: Make, run: Run, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for args in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *args], cwd=tmp_path, check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], cwd=tmp_path, check=True, capture_output=True, text=True)
    file = make("a.jsonl", 0.9)
    assert json.loads(run(baseline, "add", file, "--json").stdout)["commit"] == head.stdout.strip()
    checked = json.loads(run(baseline, "check", file, "--json", "--against", head.stdout[:8]).stdout)
    assert checked["commit"] == head.stdout.strip()
