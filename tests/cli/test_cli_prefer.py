"""``rubrica prefer``: pairs from options and files, what it prints and stores, and learning from it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli_runs import Cli

FAIR: list[dict[str, Any]] = [
    {"pattern": r"(?s)response A\nright", "reply": {"reason": "A is right", "choice": "A", "confidence": 0.9}},
    {"pattern": r"(?s)response B\nright", "reply": "Therefore, Response (B) is better."},
]
FOOLED: list[dict[str, Any]] = [
    {"pattern": r"(?s)response A\nright", "reply": "[[B]]"},
    {"pattern": r"(?s)response B\nright", "reply": "[[A]]"},
]
MUTE: list[dict[str, Any]] = [{"reply": "Who knows."}]
RUBRIC = """\
name: answers
dimensions:
  truth: {asks: "Is it true?", weight: 1}
verdicts:
  - {label: done}
"""


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("RUBRICA_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("RUBRICA_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    for name, lines in (("fair", FAIR), ("x", FOOLED), ("y", FOOLED), ("mute", MUTE)):
        write(Path(f"{name}.jsonl"), lines)
    Path("answers.yaml").write_text(RUBRIC)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def pairs(count: int) -> Path:
    rows = []
    for number in range(count):
        texts = ["right", "wrong"] if number % 3 else ["wrong", "right"]
        human = "first" if number % 3 else "second"
        rows.append({"id": number, "prompt": f"Question {number}?", "responses": texts, "human": human})
    return write(Path("pairs.jsonl"), rows)


def test_one_pair_is_decided_and_the_reason_told(cli: Cli) -> None:
    result = cli("prefer", "-p", "Which?", "--response", "wrong", "--response", "right", "-J", "scripted:fair.jsonl")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("second")
    assert "A is right (A is second, B is first)" in result.stdout


def test_an_undecided_pair_exits_with_1_and_says_why(cli: Cli) -> None:
    result = cli("prefer", "--response", "a", "--response", "b", "-J", "scripted:mute.jsonl")
    assert result.exit_code == 1
    assert "not decided" in result.stdout
    assert "could not be read" in " ".join(result.stdout.split())


def test_choices_of_a_file_teach_whom_to_hear(cli: Cli) -> None:
    panel = [word for name in ("fair", "x", "y") for word in ("-J", f"scripted:{name}.jsonl")]
    alike = cli("prefer", pairs(30), *panel, "-o", "choices.jsonl")
    assert alike.exit_code == 0, alike.stderr
    assert "0 of 30 as people chose" in alike.stdout
    learned = cli("calibrate", "choices.jsonl", "-r", "answers.yaml", "-o", "calibrated.yaml")
    assert learned.exit_code == 0, learned.stderr
    weighed = cli("prefer", "pairs.jsonl", *panel, "-r", "calibrated.yaml")
    assert "30 of 30 as people chose" in weighed.stdout
    row = json.loads(Path("choices.jsonl").read_text().splitlines()[0])
    assert row["choice"] == "first"
    assert len(row["votes"]) == 6


def test_broken_lines_are_told_and_the_others_compared(cli: Cli) -> None:
    good = json.dumps({"prompt": "?", "responses": {"mine": "right", "theirs": "wrong"}})
    Path("pairs.jsonl").write_text(f"{good}\n[]\n{json.dumps({'responses': ['one']})}\n")
    result = cli("prefer", "pairs.jsonl", "-J", "scripted:fair.jsonl", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["choice"] == "mine"
    assert "`responses`" in result.stderr
    assert "1 response cannot be compared" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["prefer", "-J", "scripted:fair.jsonl"],
        ["prefer", "--response", "a", "-J", "scripted:fair.jsonl"],
        ["prefer", "--response", "a", "--response", "b"],
        ["prefer", "pairs.jsonl", "--response", "a", "-J", "scripted:fair.jsonl"],
    ],
)
def test_wrong_options_are_refused(cli: Cli, arguments: list[str]) -> None:
    assert cli(*arguments).exit_code == 2


def test_a_dry_run_asks_nobody_and_counts_both_orders(cli: Cli) -> None:
    result = cli("prefer", pairs(3), "-J", "openai:gpt-4o-mini", "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert "6" in result.stdout.split()


def test_what_people_chose_may_be_a_tie_a_letter_or_a_place(cli: Cli) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "tie", "responses": ["same", "same"], "human": "Tie"},
        {"id": "letter", "responses": ["wrong", "right"], "human": "b"},
        {"id": "place", "responses": {"old": "right", "new": "wrong"}, "human": 1},
        {"id": "stranger", "responses": ["right", "wrong"], "human": "third"},
    ]
    write(Path("mixed.jsonl"), rows)
    write(Path("even.jsonl"), [*FAIR, {"match": "same", "reply": {"reason": "alike", "choice": "tie"}}])
    result = cli("prefer", "mixed.jsonl", "-J", "scripted:even.jsonl", "-o", "out.jsonl")
    assert result.exit_code == 1
    assert "3 of 3 as people chose" in result.stdout
    assert "line 4: `human` is 'third'; it is one of first, second, or tie" in result.stderr
    stored = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [row["human"] for row in stored] == ["tie", "second", "old"]


def test_choices_are_learned_from_whatever_the_responses_are_called(cli: Cli) -> None:
    rows = [json.loads(line) for line in pairs(30).read_text().splitlines()]
    for row in rows:
        names = [f"{name}-{row['id']}" for name in ("old", "new")]
        row["human"] = names[row["human"] == "second"]
        row["responses"] = dict(zip(names, row["responses"], strict=True))
    write(Path("named.jsonl"), rows)
    judges = [word for name in ("fair", "x", "y") for word in ("-J", f"scripted:{name}.jsonl")]
    assert cli("prefer", "named.jsonl", *judges, "-o", "choices.jsonl").exit_code == 0
    result = cli("calibrate", "choices.jsonl", "-r", "answers.yaml")
    assert result.exit_code == 0, result.stderr
    assert "100.0% weighted, 0.0% by majority" in result.stdout
