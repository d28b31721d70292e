"""The pytest plugin in sessions of its own: what a failed assertion says, the report, workers, and what it costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from rubrica.errors import ContextError
from rubrica.testing import assert_passes

RUBRIC = """\
name: manners
scale: {min: 0, max: 10}
score: {out_of: 100}
threshold: 70
dimensions:
  politeness: {weight: 0.5, formula: "10 if word_count > 2 else 4"}
  brevity: {weight: 0.5, formula: "10 if word_count <= 5 else 0"}
gates:
  - {name: no-shouting, when: "uppercase_share > 0.9", verdict: fail, because: it shouts}
verdicts:
  - {label: pass, when: "score >= threshold"}
  - {label: fail}
"""
JUDGED = """\
name: judged
scale: {min: 1, max: 10}
dimensions: {tone: {weight: 1, asks: "Is it kind?"}}
threshold: 0.7
verdicts: [{label: pass, when: "score >= threshold"}, {label: fail}]
"""
TESTS = """\
import pytest
from rubrica.testing import assert_passes

def test_fine():
    assert_passes("manners.yaml", response="thanks a lot")

def test_rude():
    assert_passes("manners.yaml", response="thanks a lot")
    assert_passes("manners.yaml", response="one two three four five six")

@pytest.mark.parametrize("number", range(4))
def test_many(number):
    assert_passes("manners.yaml", response=f"thanks a lot {number}", min_score=90)

def test_of_something_else():
    assert 1 + 1 == 2
"""
LOADED = any(point.value == "rubrica.pytest_plugin" for point in entry_points(group="pytest11"))


def session(folder: Path, *options: str, tests: str = TESTS) -> subprocess.CompletedProcess[str]:
    (folder / "manners.yaml").write_text(RUBRIC)
    (folder / "judged.yaml").write_text(JUDGED)
    (folder / "test_manners.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\n")
    plugin = [] if LOADED else ["-p", "rubrica.pytest_plugin"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        *plugin,
        "-p",
        "no:schemathesis",
        "-p",
        "no:hypothesispytest",  # nothing here uses it, and it takes as long to import as all the rest
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
    ]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "RUBRICA_"))}
    return subprocess.run(
        [*command, *options], cwd=folder, env={**kept, "COLUMNS": "120"}, capture_output=True, text=True, timeout=120
    )


def test_a_response_that_passes_gives_its_evaluation(tmp_path: Path) -> None:
    (tmp_path / "manners.yaml").write_text(RUBRIC)
    assert assert_passes(tmp_path / "manners.yaml", response="thanks a lot").score == 100


@pytest.mark.parametrize(
    ("response", "lines"),
    [
        (
            "one two three four five six",
            ["manners@1.0.0: fail, 50 of 100; wanted: pass", "brevity  0 / 10", "brevity at 4 or more (now 0)"],
        ),
        ("NO MORE THANKS", ["gate no-shouting: it shouts", "not the scores: full marks everywhere would not pass"]),
    ],
)
def test_a_failed_assertion_says_why_and_what_would_change_it(tmp_path: Path, response: str, lines: list[str]) -> None:
    (tmp_path / "manners.yaml").write_text(RUBRIC)
    with pytest.raises(AssertionError) as failed:
        assert_passes(tmp_path / "manners.yaml", response=response)
    for line in lines:
        assert line in str(failed.value)
    assert f"response: {response!r}" in str(failed.value)


def test_what_would_change_it_is_the_lowest_score_that_does(tmp_path: Path) -> None:
    (tmp_path / "manners.yaml").write_text(RUBRIC.replace("threshold: 70", "threshold: 75"))
    with pytest.raises(AssertionError, match=r"politeness at 5 or more \(now 4\)"):
        assert_passes(tmp_path / "manners.yaml", response="thanks")


def test_a_score_or_a_verdict_can_be_asked_for_instead(tmp_path: Path) -> None:
    rubric = tmp_path / "manners.yaml"
    rubric.write_text(RUBRIC)
    rude = "one two three four five six"
    assert assert_passes(rubric, response=rude, min_score=50).verdict == "fail"
    assert assert_passes(rubric, response=rude, verdict=("fail", "pass")).score == 50
    with pytest.raises(AssertionError, match="wanted: fail with a score of 60 or more"):
        assert_passes(rubric, response=rude, verdict="fail", min_score=60)
    with pytest.raises(ContextError, match="never gives 'passed'; it gives pass, fail"):
        assert_passes(rubric, response=rude, verdict="passed")


def test_a_rubric_without_a_good_verdict_wants_to_be_told_what_passes() -> None:
    with pytest.raises(ContextError, match=r"speed-demon@1.0 has no verdict .* min_score="):
        assert_passes("speed-demon", response="Done.", context={"metadata": {"response_time": 20}})


def test_a_session_tells_what_was_judged_and_shows_it_where_a_test_failed(tmp_path: Path) -> None:
    done = session(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 6 passed" in done.stdout
    assert "rubrica: 7 judged (6 pass, 1 fail)" in done.stdout
    assert done.stdout.count("- judged by rubrica -") == 1
    assert "manners@1.0.0: pass, 100 of 100" in done.stdout  # what else the failed test judged
    assert "rubrica/testing.py" not in done.stdout  # the trace ends in the test


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_report_holds_every_evaluation_also_those_of_workers(tmp_path: Path, workers: str) -> None:
    done = session(tmp_path, "--rubrica-report", "judged.html", "-n", workers)
    assert "rubrica: 7 evaluations in judged.html" in done.stdout, done.stdout + done.stderr
    page = (tmp_path / "judged.html").read_text()
    assert page.count('<article class="card') == 7
    first = page.index("<article")
    assert page.index("test_manners.py::test_rude") < page.index("test_manners.py::test_fine")  # failures come first
    assert page.index("is-bad", first) < page.index("is-good", first)
    assert "test_of_something_else" not in page


def test_a_judge_named_on_the_command_line_is_asked(tmp_path: Path) -> None:
    tests = (
        "from rubrica.testing import assert_passes\n\ndef test_tone():\n"
        "    assert assert_passes('judged.yaml', response='Hi.').dimensions['tone'].judge\n"
    )
    (tmp_path / "kind.jsonl").write_text(json.dumps({"reply": {"score": 9, "reason": "warm"}}) + "\n")
    (tmp_path / "harsh.jsonl").write_text(json.dumps({"reply": {"score": 2, "reason": "cold"}}) + "\n")
    kind = session(tmp_path, "--rubrica-judge", "scripted:kind.jsonl", tests=tests)
    assert kind.returncode == 0, kind.stdout + kind.stderr
    harsh = session(tmp_path, "--rubrica-judge", "scripted:harsh.jsonl", tests=tests)
    assert harsh.returncode == 1
    assert "tone at 7 or more (now 2), all else the same" in harsh.stdout


def test_an_assertion_works_inside_a_running_event_loop(tmp_path: Path) -> None:
    tests = (
        "import asyncio\nfrom rubrica.testing import assert_passes\n\n"
        "async def judged():\n    return assert_passes('judged.yaml', response='Hi.', judge='scripted:kind.jsonl')\n\n"
        "def test_tone():\n    assert asyncio.run(judged()).verdict == 'pass'\n"
    )
    (tmp_path / "kind.jsonl").write_text(json.dumps({"reply": {"score": 9, "reason": "warm"}}) + "\n")
    done = session(tmp_path, tests=tests)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_session_that_uses_nothing_of_it_imports_nothing_of_it(tmp_path: Path) -> None:
    tests = (
        "import sys\n\ndef test_nothing():\n"
        "    assert {n for n in sys.modules if n.split('.')[0] == 'rubrica'} <= {'rubrica', 'rubrica.pytest_plugin'}\n"
        "    assert 'pydantic' not in sys.modules and 'msgspec' not in sys.modules\n"
    )
    done = session(tmp_path, tests=tests)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rubrica" not in done.stdout.partition("test session starts")[2].partition("plugins:")[0]
    assert "judged" not in done.stdout


def test_a_report_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    done = session(tmp_path, "--rubrica-report", "nowhere/judged.html")
    assert done.returncode == 4
    assert "--rubrica-report: there is no folder" in done.stderr
