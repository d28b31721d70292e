"""`rubrica draft`: what it reads, shows and writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli_runs import Cli

from rubrica.packs.library import load

YES, NO = ({"reason": "so", "answer": answer, "confidence": 1} for answer in ("yes", "no"))
CRITERIA = [
    {
        "name": "gives_sum",
        "asks": "Gives the [bold]sum[/bold].",
        "wanted": True,
        "importance": 5,
        "because": "asked for",
    },
    {"name": "nice", "asks": "Is it nice?", "wanted": True, "importance": 5, "because": "it is"},
]
DRAFT = {"title": "Sums", "description": "Small sums.", "criteria": CRITERIA}


def script(folder: Path) -> str:
    """A model that drafts, and then finds the sum wherever a response says four."""
    lines: list[Any] = [
        {"match": "Draft at most", "reply": DRAFT},
        {"pattern": r"(?s)response\nFour.*for gives_sum alone", "reply": YES},
        {"pattern": r"(?s)response\nFive.*for gives_sum alone", "reply": NO},
        {"match": "for nice alone", "reply": YES},
    ]
    file = folder / "script.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted:{file}"


def write(folder: Path, name: str, *rows: object) -> Path:
    file = folder / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_a_draft_from_a_task_is_written_linted_and_never_replaces_a_file(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "sums.yaml"
    result = cli("draft", "--task", "Add two numbers.", "-J", script(tmp_path), "-o", target)
    assert result.exit_code == 0, result.stderr
    assert load(target).title == "Sums"
    assert "# gives_sum: asked for" in target.read_text()
    assert "Gives the [bold]sum[/bold]." in result.stdout
    assert "[vague]" in result.stdout
    again = cli("draft", "--task", "Add two numbers.", "-J", script(tmp_path), "-o", target)
    assert again.exit_code == 1
    assert "a draft replaces nothing" in again.stderr


def test_good_and_bad_answers_are_judged_under_the_draft_and_under_its_base(cli: Cli, tmp_path: Path) -> None:
    base = tmp_path / "base.yaml"
    base.write_text("{name: sums, dimensions: {full: {formula: '1'}}, verdicts: [{label: done}]}")
    good = write(tmp_path, "good.jsonl", {"prompt": "2 + 2?", "response": "Four"})
    bad = write(tmp_path, "bad.jsonl", {"prompt": "2 + 2?", "response": "Five"})
    result = cli("draft", "--good", good, "--bad", bad, "-r", base, "-J", script(tmp_path), "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["document"]["version"] == "2.0.0"
    outcomes = [(one["side"], one["before"]["verdict"], one["after"]["score"]) for one in found["effects"]]
    assert outcomes == [("good", "done", 100), ("bad", "done", 50)]
    assert "vague" in [warning["rule"] for warning in found["warnings"]]


def test_pairs_of_either_form_are_read_and_broken_ones_are_refused(cli: Cli, tmp_path: Path) -> None:
    pairs = write(
        tmp_path,
        "pairs.jsonl",
        {"prompt": "2 + 2?", "preferred": "Four", "rejected": "Five"},
        {"id": "q2", "prompt": "1 + 3?", "responses": ["Five", "Four"], "human": "second"},
    )
    result = cli("draft", "--pairs", pairs, "-J", script(tmp_path))
    assert result.exit_code == 0, result.stderr
    assert "name: sums" in result.stdout
    assert "the preferred answer scores higher in 2 of 2 pairs" in result.stderr
    write(tmp_path, "pairs.jsonl", {"prompt": "2 + 2?", "preferred": "Four"})
    broken = cli("draft", "--pairs", pairs, "-J", script(tmp_path))
    assert broken.exit_code == 1
    assert "pairs.jsonl:1: a line has texts for `preferred` and `rejected`" in broken.stderr


def test_a_model_and_something_to_draft_from_are_needed(cli: Cli, tmp_path: Path) -> None:
    assert cli("draft", "--task", "Add.").exit_code == 2
    nothing = cli("draft", "-J", script(tmp_path))
    assert nothing.exit_code == 1
    assert "nothing to draft from" in nothing.stderr
