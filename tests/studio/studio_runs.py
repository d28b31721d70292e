"""Runs for the tests of the studio: made as a user makes them, by rules or by judges that answer from a file."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rubrica.engine.load import rubric_from_data
from rubrica.model.rubric import Rubric
from rubrica.workspace.run_jobs import RunJob, RunJobs, RunProgress

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
VERDICTS = [{"label": "pass", "when": "score >= 6"}, {"label": "fail"}]
WORDS: dict[str, Any] = {
    "name": "words",
    "title": "Words",
    "scale": {"min": 0, "max": 10},
    "dimensions": {
        "length": {"formula": "min(10, word_count)", "weight": 0.5},
        "manners": {"formula": "10 if word_count > 3 else 2", "weight": 0.5},
    },
    "score": {"weighted": True, "out_of": 10},
    "verdicts": VERDICTS,
}
TONE: dict[str, Any] = {
    "name": "tone",
    "title": "Tone of a reply",
    "scale": {"min": 0, "max": 10},
    "dimensions": {
        "kind": {"asks": "Is it kind?", "weight": 0.5, "anchors": {"0-4": "cold", "5-10": "warm"}},
        "help": {"asks": "Does it help?", "weight": 0.5},
    },
    "score": {"weighted": True, "out_of": 10},
    "verdicts": VERDICTS,
    "on_unscored": "inconclusive",
}


def rubric(data: dict[str, Any]) -> Rubric:
    return rubric_from_data(data)


def cases(folder: Path, count: int, name: str = "cases.jsonl") -> Path:
    """Replies of one word, of two, and so on, again from the start after ten."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"id": f"case-{n}", "prompt": f"Say {n} words.", "response": f"reply number {n}. " + "word " * (n % 10)}
        for n in range(count)
    ]
    file = folder / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def script(file: Path, count: int, plus: int = 0) -> str:
    """A judge that gives case n the score n % 11, and `plus` more where it is kinder."""
    lines = []
    for n in range(count):
        for name in ("kind", "help"):
            reply = {"score": min(n % 11 + plus, 10), "reason": f"{name} of {n}", "confidence": 0.9}
            lines.append({"pattern": rf"(?s)reply number {n}\. .*for {name} alone", "reply": reply})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted:{file}"


def conducted(orders: RunJob, seconds: float = 30.0) -> RunProgress:
    """A run that was started and has ended."""
    return ended(RunJobs(lambda: NOW).start(orders), seconds)


def ended(course: RunProgress, seconds: float = 30.0) -> RunProgress:
    until = time.monotonic() + seconds
    while course.state == "running":
        assert time.monotonic() < until, f"still running: {course.done} of {course.expected}"
        time.sleep(0.01)
    return course
