"""The workflow and the pre-commit hooks run what a contributor runs, with few rights and nothing fetched unpinned."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = [ROOT / ".github/workflows/test.yml", ROOT / "examples/ci/workflow.yml"]


def read_yaml(path: Path) -> dict[Any, Any]:
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_the_workflow_tests_every_python_that_the_package_names() -> None:
    jobs = read_yaml(WORKFLOWS[0])["jobs"]
    named = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    versions = [line.rpartition(" ")[2] for line in named if re.search(r":: 3\.\d+$", line)]
    assert jobs["test"]["strategy"]["matrix"]["python"] == versions == ["3.11", "3.12", "3.13"]


def test_the_workflow_runs_make_targets_that_exist() -> None:
    steps = [step for job in read_yaml(WORKFLOWS[0])["jobs"].values() for step in job["steps"]]
    commands = [step["run"].split() for step in steps if step.get("run", "").startswith("make ")]
    assert {command[1] for command in commands} == {"test", "docs", "audit"}
    assert {command[1] for command in commands} <= make_targets()


def test_the_dependencies_are_audited_on_a_schedule() -> None:
    workflow = read_yaml(WORKFLOWS[0])
    assert workflow[True]["schedule"], "YAML reads the key `on` as true"
    assert "--strict --require-hashes" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_workflow_may_only_read_and_names_versions_of_actions(path: Path) -> None:
    workflow = read_yaml(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in workflow["jobs"].values())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@v\d+\.\d+\.\d+", action)] == []
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_pre_commit_hooks_use_the_tools_of_the_environment() -> None:
    repos = read_yaml(ROOT / ".pre-commit-config.yaml")["repos"]
    assert [repo["repo"] for repo in repos] == ["local"]
    hooks = [hook for repo in repos for hook in repo["hooks"]]
    assert {hook["language"] for hook in hooks} == {"system"}
    lint = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nlint:")[2].partition("\n\n")[0]
    tools = {tuple(line.split()[:2]) for line in re.findall(r"\$\(BIN\)/(.+)", lint)}
    named = {tuple(hook["entry"].removeprefix(".venv/bin/").split()[:2]) for hook in hooks}
    assert {tool[0] for tool in named} == {tool[0] for tool in tools}
    assert {("ruff", "check"), ("ruff", "format")} <= named
