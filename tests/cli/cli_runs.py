"""What the tests of the command line share: a tiny rubric, texts for it, and the command as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from typer.testing import Result

from rubrica.model.evaluation import Evaluation
from warm_start import rubrica_command

TINY = """\
name: tiny
version: 1.0.0
title: A tiny rubric
scale: {min: 0, max: 10}
score: {weighted: true, out_of: 100}
dimensions:
  politeness:
    weight: 0.5
    start: 4
    rules:
      - type: pattern_detection
        patterns: [{name: polite words, keywords: [please, thanks], score: 3, category: polite}]
  brevity: {weight: 0.5, formula: "10 if word_count <= longest else 0"}
settings: {longest: 5}
threshold: 70
gates:
  - {name: no-shouting, when: "uppercase_share > 0.9", verdict: fail, because: it shouts}
verdicts:
  - {label: pass, when: "score >= threshold"}
  - {label: fail}
"""

GOOD, POOR, LOUD = "thanks a lot", "one two three four five six", "NO THANKS"
"""Score 85 and pass, score 20 and fail, and a veto, under the tiny rubric."""

STEADY = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"}

Cli = Callable[..., Result]
WriteLines = Callable[[Iterable[object]], Path]


def rows(*responses: str) -> list[dict[str, str]]:
    """Cases with ids case-1, case-2, …"""
    return [{"id": f"case-{n}", "response": response} for n, response in enumerate(responses, 1)]


def stored(file: Path) -> list[Evaluation]:
    """The evaluations in a file."""
    return [Evaluation.from_json(line) for line in file.read_bytes().splitlines()]


def process(*args: str | Path, from_scratch: bool = False, **options: Any) -> subprocess.Popen[bytes]:
    """The command as a process of its own; where its number counts, or when a signal reaches it, from scratch."""
    command = [sys.executable, "-m", "rubrica", *map(str, args)] if from_scratch else rubrica_command(*args)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.Popen(command, env={**os.environ, **STEADY}, **(pipes | options))
