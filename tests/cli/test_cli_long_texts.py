"""The command line tells what was read of a long text, one at a time and in bulk."""

from __future__ import annotations

import json
from pathlib import Path

from cli_runs import Cli, WriteLines

LONG = "first moth. " + "x " * 50_000 + "and a last moth."
NOTE = f"the response has {len(LONG):,} characters: the first 19,998 and the last 19,997 were read"
PATTERNS = """\
name: moths
scale: {min: 0, max: 10}
dimensions:
  moths:
    asks: moths
    rules: [{type: pattern_detection, patterns: [{keywords: [moth], score: 2, count: each}]}]
verdicts: [{label: done}]
"""
FEATURES = """\
name: words
scale: {min: 0, max: 10}
dimensions: {words: {asks: words, formula: "min(word_count / 10000, 10)"}}
verdicts: [{label: done}]
"""


def test_keywords_are_looked_for_in_all_of_a_long_text(cli: Cli, write_lines: WriteLines, tmp_path: Path) -> None:
    (tmp_path / "rubric.yaml").write_text(PATTERNS)
    cases = write_lines([{"id": "long", "response": LONG.replace("x x ", "x moth ", 1) + LONG}])
    found = json.loads(cli("eval", cases, "-r", tmp_path / "rubric.yaml", "--json").stdout)
    assert found["dimensions"]["moths"]["value"] == 10  # five of them
    assert "notes" not in found


def test_what_was_read_of_a_long_text_is_told(cli: Cli, write_lines: WriteLines, tmp_path: Path) -> None:
    (tmp_path / "rubric.yaml").write_text(FEATURES)
    cases = write_lines([{"id": "short", "response": "a moth"}, {"id": "long", "response": LONG}])
    short, long = cli("eval", cases, "-r", tmp_path / "rubric.yaml", "--json").stdout.splitlines()
    assert "notes" not in json.loads(short)
    assert json.loads(long)["notes"] == [NOTE]
    (tmp_path / "long.txt").write_text(LONG)
    shown = cli("eval", "-r", tmp_path / "rubric.yaml", "--response", f"@{tmp_path / 'long.txt'}").stdout
    assert NOTE in " ".join(shown.split())
    cli("run", cases, "-r", tmp_path / "rubric.yaml", "-o", tmp_path / "run")
    kept = [json.loads(line) for file in (tmp_path / "run").glob("*.jsonl") for line in file.read_text().splitlines()]
    assert [row["notes"] for row in kept if "notes" in row] == [[NOTE]]
