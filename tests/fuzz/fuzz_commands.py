"""Command lines: every command that neither serves nor calls others, with any options and files, good and broken."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fuzz_changes import bent, bent_rubric, changes, rubric_names
from fuzz_target import Check, Target
from fuzz_texts import broken, json_text, words, yaml_texts
from fuzz_uploads import CASE
from hypothesis import strategies as st
from typer.main import get_command

import rubrica
from rubrica.cli.app import COMMANDS, app, command_module

LEFT_OUT = ("serve", "gateway", "mcp", "demo", "push", "pull", "companion", "council", "curriculum", "db", "keys")
"""What serves, calls a server or asks models."""
EXIT_CODES = (0, 1, 2, 100, 130)
FILES = ("rubric.yaml", "cases.jsonl", "stored.jsonl", "run", "nothing.yaml", "out.html", "-")
TRIED = tuple(name for name in COMMANDS if name not in LEFT_OUT)


@cache
def options_of(name: str) -> tuple[str, ...]:
    """The options and commands below one command."""
    command: Any = get_command(command_module(name).app)
    found = [option for parameter in command.params for option in parameter.opts if option.startswith("-")]
    for below, inner in getattr(command, "commands", {}).items():
        found += [below, *(option for parameter in inner.params for option in parameter.opts if option[:1] == "-")]
    return tuple(sorted({*found, "--help"}))


def _harmless(text: str) -> bool:
    """Not the name of a file elsewhere: commands write where they are told to."""
    return not set(text) & {"/", "~", "\x00"} and ".." not in text


_value = st.sampled_from(FILES) | rubric_names | words.filter(_harmless) | st.integers(-5, 50).map(str)
_line = st.sampled_from(TRIED).flatmap(
    lambda name: st.lists(st.sampled_from(options_of(name)) | _value | _value, max_size=7).map(
        lambda rest: [name, *rest]
    )
)
_files = st.fixed_dictionaries(
    {
        "rubric.yaml": st.builds(bent_rubric, rubric_names, changes).map(json_text) | yaml_texts,
        "cases.jsonl": st.lists(
            st.builds(bent, st.just(CASE), changes).map(json_text) | broken(st.just(json_text(CASE))), max_size=3
        ).map("\n".join),
    }
)


@cache
def _stored() -> str:
    results = [rubrica.evaluate(name, prompt="Why?", response=name) for name in ("answer-quality", "speed-demon")]
    return "".join(result.to_json() + "\n" for result in results)


@contextmanager
def _commands() -> Iterator[Check]:
    for name in TRIED:  # now, and not while an example is drawn: some of what is loaded draws random numbers
        options_of(name)
    here = Path.cwd()
    with TemporaryDirectory() as folder:
        own = {"HOME": folder, "XDG_CACHE_HOME": folder, "XDG_CONFIG_HOME": folder, "COLUMNS": "80"}
        with _environment({**{name: "" for name in os.environ if name.startswith(("RUBRICA_", "OTEL_"))}, **own}):
            try:
                yield lambda example: _check(Path(folder), *example)
            finally:
                os.chdir(here)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _check(folder: Path, arguments: list[str], files: Mapping[str, str]) -> None:
    """A command ends with one of its exit codes, and says what is wrong where something is."""
    with TemporaryDirectory(dir=folder) as place:
        os.chdir(place)
        for name, content in {**files, "stored.jsonl": _stored()}.items():
            Path(name).write_bytes(content.encode("utf-8", "surrogatepass"))
        said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        code = _exit_code(arguments, said)
        os.chdir(folder)
    assert code in EXIT_CODES, f"exit code {code}"
    said.flush()
    assert code in (0, 100, 130) or said.buffer.getvalue().strip(), "it failed without a word"


def _exit_code(arguments: list[str], said: io.TextIOWrapper) -> int:
    stdin = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(b""))
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            app(arguments, prog_name="rubrica")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    finally:
        sys.stdin = stdin
    return 0


TARGETS: tuple[Target, ...] = (Target("commands", st.tuples(_line, _files), _commands, share=60),)
