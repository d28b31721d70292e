"""What stands in `examples/` works as it stands there."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from rubrica.cli.app import app
from rubrica.gateway.settings import settings_from_text

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "rubrica.pytest_plugin")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the examples, as a reader would take one."""
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "examples"


def run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RUBRICA_", "PYTEST_"))}
    return subprocess.run(
        command,
        cwd=folder,
        env={
            **kept,
            "PATH": path,
            "NO_COLOR": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONUTF8": "1",
            "XDG_CACHE_HOME": str(folder),
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_the_rubric_in_pytest_passes_good_replies_and_holds_bad_ones(folder: Path) -> None:
    done = run(*PYTEST, "ci", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    assert "3 send, 1 hold" in done.stdout


def test_a_worse_reply_fails_the_rubric_in_pytest(folder: Path) -> None:
    cases = folder / "ci" / "cases.jsonl"
    text = cases.read_text(encoding="utf-8")
    cases.write_text(re.sub(r'"response": "Sorry[^"]*"', '"response": "Not our problem."', text), encoding="utf-8")
    done = run(*PYTEST, "ci", folder=folder)
    assert done.returncode == 1
    assert "it sends the customer away" in done.stdout


def test_the_commands_of_the_workflow_judge_annotate_and_compare(folder: Path) -> None:
    workflow = yaml.safe_load((folder / "ci" / "workflow.yml").read_text(encoding="utf-8"))
    steps = {step["name"]: step["run"] for step in workflow["jobs"]["judge"]["steps"] if "name" in step}
    runner = CliRunner(env={"RUBRICA_CACHE": "off", "GITHUB_STEP_SUMMARY": None, "NO_COLOR": "1"})
    with contextlib.chdir(folder / "ci"):
        for command in (steps["Judge"], steps["Tell"], "rubrica baseline add runs/now", steps["Compare"]):
            name, *options = shlex.split(command)
            assert name == "rubrica"
            done = runner.invoke(app, options, prog_name=name)
            assert done.exit_code == 0, f"{command}\n{done.output}"
    assert (folder / "ci" / "report.xml").read_text(encoding="utf-8").count("<testcase") == 3


def test_the_settings_of_the_gateway_are_accepted() -> None:
    file = EXAMPLES / "gateway" / "gateway.yaml"
    settings = settings_from_text(file.read_text(encoding="utf-8"), str(file))
    assert (settings.tier0, settings.budget.usd_per_day) == ("openai:gpt-4o-mini", 20)


def test_the_script_in_cells_runs_to_its_end(folder: Path) -> None:
    done = run(sys.executable, "explore.py", folder=folder)
    assert done.returncode == 0, done.stderr
    assert "useless     45.0  hold" in done.stdout
    assert done.stdout.endswith("curt: 90 before, 75 where kindness counts half\n")


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    folders = [EXAMPLES / "plugin"]  # a package, listed as a whole
    found = [path for path in EXAMPLES.rglob("*") if path.is_file() and not set(path.parents) & set(folders)]
    files = [path.relative_to(EXAMPLES).as_posix() for path in (*found, *(path / "pyproject.toml" for path in folders))]
    missing = [
        name for name in files if f"]({name})" not in listed and name != "README.md" and "__pycache__" not in name
    ]
    assert missing == []
