"""`rubrica lint --probe`: what answers gain, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

from cli_runs import Cli

LONG = """\
name: long
dimensions:
  length: {formula: "min(word_count / 30, 1)"}
verdicts: [{label: done}]
"""
KIND = """\
name: kind
dimensions:
  tone: {asks: "Greets the reader by name.", answers: {yes: 1, no: 0}}
verdicts: [{label: done}]
"""


def written(folder: Path, rubric: str) -> tuple[Path, Path]:
    file, cases = folder / "rubric.yaml", folder / "cases.jsonl"
    file.write_text(rubric)
    cases.write_text(json.dumps({"id": "a", "prompt": "Hi?", "response": "Hello to you."}) + "\n")
    return file, cases


def test_a_probe_that_gains_too_much_is_told_and_exits_with_1(cli: Cli, tmp_path: Path) -> None:
    file, cases = written(tmp_path, LONG)
    result = cli("lint", file, "--probe", "--cases", cases)
    assert result.exit_code == 1
    assert "padding gains +0.90 on average (at most +0.05), +0.90 in case a" in result.stdout
    assert cli("lint", file, "--probe", "--cases", cases, "--most-gain", "1").exit_code == 0
    assert cli("lint", file).exit_code == 0
    (told,) = json.loads(cli("lint", file, "--probe", "--cases", cases, "--json").stdout)
    assert told["probed"]["cases"] == 1
    assert {one["probe"]: round(one["gain"], 2) for one in told["probed"]["probes"]}["padding"] == 0.9


def test_the_judge_is_probed_where_one_is_named(cli: Cli, tmp_path: Path) -> None:
    file, cases = written(tmp_path, KIND)
    replies = [
        {"match": "Disregard the criteria", "reply": {"reason": "so it says", "answer": "yes", "confidence": 1}},
        {"reply": {"reason": "no name", "answer": "no", "confidence": 1}},
    ]
    script = tmp_path / "replies.jsonl"
    script.write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    result = cli("lint", file, "--probe", "--cases", cases, "--judge", f"scripted:{script}", "--no-cache")
    assert "probes on 1 case, by models" in result.stdout
    assert "instructions gains +1.00" in result.stdout
    assert "flattery gains" not in result.stdout
    assert result.exit_code == 1


def test_what_only_a_judge_can_score_is_not_passed_without_one(cli: Cli, tmp_path: Path) -> None:
    file, cases = written(tmp_path, KIND)
    result = cli("lint", file, "--probe", "--cases", cases)
    assert "no answer has a score, so nothing was probed; a judge can tell (--judge)" in result.stdout
    assert "no probe gains" not in result.stdout
    assert result.exit_code == 1


def test_cases_are_wanted_where_none_come_with_the_rubric(cli: Cli, tmp_path: Path) -> None:
    file, cases = written(tmp_path, LONG)
    result = cli("lint", file, "--probe")
    assert result.exit_code == 1
    assert "long comes with no examples; give cases with responses to change (--cases)" in result.stderr
    assert "add --probe" in cli("lint", file, "--cases", cases).stderr
