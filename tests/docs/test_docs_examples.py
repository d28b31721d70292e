"""Every block of code in README and docs is run, or read, as a reader would."""

from __future__ import annotations

import contextlib
import doctest
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from docs_pages import PAGES, ROOT, Block, blocks_of, commands_of, fits, page_id, run

import rubrica

SHELL_LINE = re.compile(r"make( [a-z]+)?|\.venv/bin/\S+( \S+)*|cd \S+|git \S+( \S+)*|source \S+")
_FILE = re.compile(r"# file: (\S+)\n")
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_block_of_code_runs(page: Path, tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(tmp_path):
        for block in blocks_of(page.read_text(encoding="utf-8")):
            where = f"{page_id(page)}:{block.line}"
            match block.kind:
                case "python":
                    run_python(block, names, where)
                case "console":
                    run_console(block, tmp_path, where)
                case "yaml" | "json" | "jsonl":
                    read_data(block, tmp_path, where)
                case "sh":
                    check_shell(block, where)
                case "text":
                    pass
                case _:
                    pytest.fail(f"{where}: a block of kind {block.kind!r} is neither run nor read")


def run_python(block: Block, names: dict[str, Any], where: str) -> None:
    """Plain code is executed; a session of ``>>>`` lines must print what it shows."""
    if ">>> " not in block.body:
        exec(compile("\n" * (block.line - 1) + block.body, where, "exec"), names)  # noqa: S102
        return
    session = doctest.DocTestParser().get_doctest(block.body, names, where, where, block.line - 1)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=_FLAGS)
    runner.run(session, out=said.append, clear_globs=False)
    names.update(session.globs)  # get_doctest works on a copy
    assert not runner.summarize(verbose=False).failed, "".join(said)


def run_console(block: Block, folder: Path, where: str) -> None:
    *before, last = commands_of(block.body)
    for command in (*before, last):
        done = run(command.text, folder)
        wanted = int(block.options.get("exit", "0")) if command is last else 0
        assert done.returncode == wanted, f"{where}: {command.text}\nexit code {done.returncode}\n{done.stdout}"
        assert fits(command.expected, done.stdout), f"{where}: {command.text}\nprinted\n{done.stdout}"


def read_data(block: Block, folder: Path, where: str) -> None:
    """Data must parse; a named file is written for later blocks, and a whole rubric must load."""
    body = block.body
    if named := _FILE.match(body):
        body = body[named.end() :]
        (folder / named[1]).write_text(body, encoding="utf-8")
    if block.kind == "jsonl":
        for line in body.splitlines():
            json.loads(line)
        return
    data = json.loads(body) if block.kind == "json" else yaml.safe_load(body)
    assert data is not None, f"{where}: the block is empty"
    whole = isinstance(data, dict) and "name" in data and ("dimensions" in data or "scoring_type" in data)
    if whole and block.options.get("valid") != "no":
        file = folder / (named[1] if named else "rubric.yaml")
        file.write_text(body, encoding="utf-8")
        rubrica.load(file)


def check_shell(block: Block, where: str) -> None:
    """Installing is not run here: that its lines are commands that exist is all that is checked."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line in filter(None, (line.partition("#")[0].strip() for line in block.body.splitlines())):
        assert SHELL_LINE.fullmatch(line), f"{where}: unknown command {line!r}"
        if line.startswith("make "):
            assert line.split()[1] in targets, f"{where}: the Makefile has no target {line.split()[1]!r}"
