"""Reads what `rubrica draft` is given: good and bad answers, and pairs of which one was preferred."""

from __future__ import annotations

from collections.abc import Iterator

from rubrica.authoring.draft import DraftingExample, Side
from rubrica.engine.cases import BadLine
from rubrica.errors import InputError, JsonError, RubricaError
from rubrica.jsontext import decode_json
from rubrica.model.context import Context
from rubrica.runs.compared_responses import read_comparisons
from rubrica.runs.files.case_source import cases_of, lines_of
from rubrica.runs.files.layout import AS_IT_IS

_PREFERRED = ("preferred", "chosen")
FORM = '{"prompt": "2 + 2?", "preferred": "4", "rejected": "5"}'


def read_answers(source: str, side: Side) -> Iterator[DraftingExample]:
    """The cases of a file, all of them found good, or bad."""
    with cases_of(source, AS_IT_IS) as cases:
        for case in cases.cases():
            if isinstance(case, BadLine):
                raise InputError(f"{source}:{case.line}: {case.reason}")
            yield DraftingExample(case.id, side, case.context)


def read_preferred_pairs(source: str) -> Iterator[DraftingExample]:
    """Two examples for each line: what was preferred, and what was not. Lines of `rubrica prefer` will do too."""
    with lines_of(source) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield from _pair(line, number)
                except (JsonError, ValueError, RubricaError) as error:
                    raise InputError(f"{source}:{number}: {error}") from None


def _pair(line: bytes, number: int) -> Iterator[DraftingExample]:
    row = decode_json(line)
    if isinstance(row, dict) and "responses" in row:
        yield from _compared(line, number)
        return
    if not isinstance(row, dict):
        raise InputError(f"a line is an object such as {FORM}")
    preferred = next((row[key] for key in _PREFERRED if key in row), None)
    rejected, prompt = row.get("rejected"), row.get("prompt", "")
    if not all(isinstance(text, str) for text in (preferred, rejected, prompt)):
        raise InputError(f"a line has texts for `preferred` and `rejected`, such as {FORM}")
    name = str(row.get("id") or number)
    yield DraftingExample(name, "preferred", Context.of({"prompt": prompt, "response": preferred}))
    yield DraftingExample(name, "rejected", Context.of({"prompt": prompt, "response": rejected}))


def _compared(line: bytes, number: int) -> Iterator[DraftingExample]:
    """A line of `rubrica prefer`, where people said which response is better."""
    (case,) = read_comparisons([line])
    if isinstance(case, BadLine):
        raise InputError(case.reason)
    chosen = case.kept.get("human")
    if chosen not in case.responses:
        raise InputError(f"`human` names no response; it is one of {', '.join(case.responses)}")
    name = case.id if not case.id.startswith("line ") else str(number)
    for label, text in case.responses.items():
        side: Side = "preferred" if label == chosen else "rejected"
        yield DraftingExample(name, side, Context.of({"prompt": case.prompt, "response": text}))
