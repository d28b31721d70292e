"""A rubric is compiled once on its way from a file to a verdict, and plans are kept by what they hold."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from typer.testing import CliRunner

import rubrica
from rubrica import api
from rubrica.cli.app import app
from rubrica.engine.compile import try_compile
from rubrica.engine.load import plan_from_data, rubric_from_data
from rubrica.engine.plan_cache import PLANS
from rubrica.workspace.draft import read_draft

RUBRIC = """
name: {name}
version: 1.0.0
dimensions:
  brief: {{asks: "Is it brief?", formula: "1 - min(word_count / 10, 1)"}}
verdicts: [{{label: pass, when: "score >= 0.5"}}, {{label: fail}}]
"""


def compilations(work: Callable[[], object]) -> int:
    """How often a rubric is compiled while something is done, as the interpreter sees it."""
    count = 0

    def seen(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_code is try_compile.__code__

    earlier = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(earlier)
    return count


def command(*words: str) -> None:
    found = CliRunner().invoke(app, list(words))
    assert found.exit_code == 0, found.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rubric.yaml"
    path.write_text(RUBRIC.format(name=f"brief-{tmp_path.name.replace('_', '-')}"), encoding="utf-8")
    return path


def test_loading_compiling_and_judging_compile_once(file: Path) -> None:
    assert compilations(lambda: api.evaluate(rubric=rubrica.load(file), response="Short.")) == 1
    assert compilations(lambda: api.evaluate(rubric=rubrica.load(file), response="Shorter.")) == 0
    assert api.compile(file) is api.compile(rubrica.load(file)) is PLANS.get(rubrica.load(file).hash)


def test_eval_compiles_its_rubric_once(file: Path) -> None:
    assert compilations(lambda: command("eval", "-r", str(file), "--response", "Short.", "--offline")) == 1


def test_run_compiles_its_rubric_once(file: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"response": "Short."}\n{"response": "A longer one."}\n', encoding="utf-8")
    words = ("run", str(cases), "-r", str(file), "-o", str(tmp_path / "run"), "--offline")
    assert compilations(lambda: command(*words)) == 1


def test_validate_compiles_each_rubric_once(file: Path) -> None:
    assert compilations(lambda: command("validate", str(file))) == 1


def test_a_draft_is_compiled_once_and_kept_nowhere(file: Path) -> None:
    document = {**rubrica.load(file).model_dump(mode="json", exclude_defaults=True), "title": "Tried out"}
    assert compilations(lambda: read_draft(document).compiled()) == 1
    assert PLANS.get(plan_from_data(document).rubric.hash) is None


def test_a_rubric_under_another_category_is_read_as_it_is_written(file: Path) -> None:
    document = rubrica.load(file).model_dump(mode="json", exclude_defaults=True)
    listed = rubric_from_data({**document, "category": "style"})
    assert listed.category == "style"
    assert listed.hash == rubrica.load(file).hash
    assert rubrica.load(file).category != "style"
