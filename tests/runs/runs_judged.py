"""What the tests of judged runs share: a rubric with a judge, its cases, a provider beside them, the command."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loopback import Loopback, Seen

from rubrica.model.evaluation import Evaluation
from warm_start import rubrica_command

KIND = """\
name: kind
scale: {min: 0, max: 10}
dimensions:
  tone: {asks: Is it kind?, weight: 1}
score: {weighted: true, out_of: 10}
verdicts:
  - {label: pass, when: "score >= 5"}
  - {label: fail}
on_unscored: inconclusive
"""
JUDGE = "openai:gpt-4o-mini"
_NUMBER = re.compile(r"number (\d+)")


def score_of(number: int) -> float:
    """What the provider gives case number so and so."""
    return number % 11


def answer(seen: Seen) -> str:
    """A judge's reply by what is judged: the same whenever it is asked."""
    found = _NUMBER.search(seen.prompt)
    assert found is not None
    return json.dumps({"score": score_of(int(found[1])), "reason": f"case {found[1]}", "confidence": 0.9})


def cases(count: int) -> list[dict[str, Any]]:
    return [{"id": f"case-{n}", "response": f"This is number {n}.", "part": n % 2} for n in range(count)]


def write_cases(file: Path, rows: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@contextmanager
def provided(**how: Any) -> Iterator[Loopback]:
    """A provider on a thread of its own, for commands that are processes of their own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = Loopback(**{"script": answer, **how})
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def environment(server: Loopback, folder: Path) -> dict[str, str]:
    """Settings that reach the provider, and nothing of the user's."""
    own = {
        "OPENAI_API_KEY": str(server.key),
        "RUBRICA_OPENAI_BASE_URL": server.openai_url,
        "RUBRICA_CACHE": "off",
        "RUBRICA_ATTEMPTS": "1",
        "HOME": str(folder),
        "COLUMNS": "200",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PYTHONDONTWRITEBYTECODE": "1",  # a process that meets a full disk would leave torn bytecode to all others
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RUBRICA_", "XDG_"))}
    return {**kept, **own}


def command(
    *args: str | Path, env: dict[str, str], from_scratch: bool = False, **options: Any
) -> subprocess.Popen[str]:
    """``rubrica run`` as a process; from scratch where it is killed, and has to be gone at once."""
    line = [sys.executable, "-m", "rubrica", "run", *map(str, args)] if from_scratch else rubrica_command("run", *args)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.Popen(line, env=env, text=True, **(pipes | options))


def finished(*args: str | Path, env: dict[str, str], **options: Any) -> tuple[int, str]:
    """The exit code of a run, and everything it printed."""
    process = command(*args, env=env, **options)
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err


def stored_lines(folder: Path) -> list[bytes]:
    file = folder / "evaluations.jsonl"
    return file.read_bytes().splitlines(keepends=True) if file.exists() else []


def timeless(line: bytes) -> dict[str, Any]:
    """A stored evaluation without what differs from run to run."""
    found = Evaluation.from_json(line).to_dict()
    del found["duration_ms"]
    for result in found["dimensions"].values():
        result.pop("duration_ms", None)
    return found


def by_case(folder: Path) -> dict[str, dict[str, Any]]:
    """The evaluations of a folder by case; an id that occurs twice is an error."""
    found = [timeless(line) for line in stored_lines(folder)]
    assert len({one["case"] for one in found}) == len(found)
    return {one["case"]: one for one in found}
