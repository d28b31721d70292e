"""Reads what commands are given: texts, context and settings from options, rubrics by name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from rubrica.errors import ContextError, RubricaError
from rubrica.model.context import Context
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.runs.files.case_source import BOM, STDIN
from rubrica.runs.files.cells import TEXT_KEYS, json_or_text


def text_of(value: str, option: str) -> str:
    """An option's text: as it stands, from a file (``@path``), or from standard input (``-``).

    >>> text_of("Paris.", "--response"), text_of("@@home", "--response")
    ('Paris.', '@home')
    """
    if value.startswith("@@"):
        return value[1:]
    if value != STDIN and not value.startswith("@"):
        return value
    try:
        data = sys.stdin.buffer.read() if value == STDIN else Path(value[1:]).read_bytes()
        return data.removeprefix(BOM).decode()
    except OSError as error:
        hint = "; write @@ for a text that starts with @" if " " in value or "/" not in value else ""
        raise RubricaError(f"{option}: the file {value[1:]!r} cannot be read: {error.strerror}{hint}") from None
    except UnicodeDecodeError as error:
        raise RubricaError(f"{option}: not UTF-8 text at byte {error.start}") from None


def context_of(pairs: list[str]) -> dict[str, Any]:
    """``key=value`` options as context. A value that is JSON is read as JSON, anything else is text.

    >>> context_of(["question_type=FACTUAL", "response_time=12", 'note="12"'])
    {'question_type': 'FACTUAL', 'response_time': 12, 'note': '12'}
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, value = _pair(pair, "--context")
        found[key] = value if key in TEXT_KEYS else json_or_text(value)
    return found


def settings_of(pairs: list[str]) -> dict[str, float | bool]:
    """``name=value`` options as rubric settings, which are numbers or true/false."""
    found: dict[str, float | bool] = {}
    for pair in pairs:
        key, text = _pair(pair, "--set")
        value = json_or_text(text)
        if not isinstance(value, bool | int | float):
            elsewhere = "what else a rubric says is changed in a copy of it: rubrica show NAME --yaml > copy.yaml"
            wrong = f"{key} is a number, true or false, not {text!r}; {elsewhere}"
            raise typer.BadParameter(wrong, param_hint="--set")
        found[key] = value if isinstance(value, bool) else float(value)
    return found


def rubric_of(name: str, settings: Mapping[str, float | bool] | None = None) -> Rubric:
    """A rubric by name or path, with some of its settings changed."""
    rubric = load(name)
    if not settings:
        return rubric
    try:
        return rubric.with_settings(**settings)
    except ValueError as error:
        raise RubricaError(str(error)) from None


def single_context(prompt: str | None, response: str | None, extra: Mapping[str, Any]) -> Context:
    """The context of one response given by options."""
    if prompt == response == STDIN:
        raise ContextError("--prompt and --response cannot both be read from standard input")
    given = {"prompt": prompt, "response": response}
    texts = {name: text_of(value, f"--{name}") for name, value in given.items() if value is not None}
    return Context.of({**extra, **texts})


def gives_text(prompt: str | None, response: str | None, extra: Mapping[str, Any]) -> bool:
    """Whether the options give something to judge."""
    return prompt is not None or response is not None or bool({"response", "messages"} & extra.keys())


def _pair(pair: str, option: str) -> tuple[str, str]:
    key, equals, value = pair.partition("=")
    if not equals or not key.strip():
        raise typer.BadParameter(f"write it as name=value, not {pair!r}", param_hint=option)
    return key.strip(), value
