"""HealthBench's lines as cases with criteria, and back.

A line has a chat (`prompt`), criteria with points and tags (`rubrics`), tags of the example, and for some what experts
answered. Whatever else it holds, its canary string among it, goes along under `metadata`, which no judge is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rubrica.engine.cases import BadLine, case_from
from rubrica.errors import InputError, JsonError, Problem
from rubrica.jsontext import decode_json

from .conversion import Conversion, Path, Reading, shown

Ideal = Literal["context", "reference", "response"]
"""Where an expert's answer goes: beside the case, before the judge's eyes, or in place of a response."""
DEFAULT_RUBRIC = "clinical-answer"
LONGEST_LINE = 10_000_000
"""Bytes."""
_IDEAL, _DATA = "ideal_completion", "ideal_completions_data"
_CASE = ("id", "rubric", "messages", "prompt", "response", "reference", "criteria", "metadata")
_ROLES = {"developer": "system"}


@dataclass(frozen=True, slots=True)
class ConvertedLine:
    """One line in its new form, with the number of the line that it was."""

    line: int
    conversion: Conversion


def import_cases(
    lines: Iterable[str | bytes],
    *,
    rubric: str = DEFAULT_RUBRIC,
    ideal: Ideal = "context",
    responses: Mapping[str, str] | None = None,
) -> Iterator[ConvertedLine | BadLine]:
    """The cases of HealthBench's lines, one by one; a line that is none is told, and the next is read.

    `responses` are what is to be judged, by `prompt_id`.

    >>> row = '{"prompt_id": "p1", "prompt": "A cough?", "completion": "Rest.",'
    >>> row += ' "rubrics": [{"criterion": "Says when to see a doctor.", "points": 5, "tags": []}]}'
    >>> [found] = import_cases([row])
    >>> found.conversion.data["criteria"]
    [{'criterion': 'Says when to see a doctor.', 'points': 5}]
    """
    for number, row in _rows(lines):
        if isinstance(row, BadLine):
            yield row
            continue
        reading = Reading()
        case = _case(row, rubric, ideal, responses or {}, reading)
        yield _checked(case, number, reading, case)


def export_cases(lines: Iterable[str | bytes]) -> Iterator[ConvertedLine | BadLine]:
    """HealthBench's lines of cases with criteria."""
    for number, case in _rows(lines):
        if isinstance(case, BadLine):
            yield case
            continue
        reading = Reading()
        yield _checked(_row(case, number, reading), number, reading, case)


def read_responses(lines: Iterable[str | bytes], file: str) -> dict[str, str]:
    """Responses by the id of their prompt, from lines with `prompt_id` (or `id`) and `completion` (or `response`)."""
    found: dict[str, str] = {}
    for number, row in _rows(lines):
        if isinstance(row, BadLine):
            raise InputError(f"{file}:{number}: {row.reason}")
        name, text = row.get("prompt_id", row.get("id")), _completion(row)
        if not isinstance(name, str | int) or text is None:
            raise InputError(f"{file}:{number}: a line has a prompt_id and a completion")
        if str(name) in found:
            raise InputError(f"{file}:{number}: the response to {str(name)[:60]!r} is given twice")
        found[str(name)] = text
    return found


def _rows(lines: Iterable[str | bytes]) -> Iterator[tuple[int, dict[str, Any] | BadLine]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if len(line) > LONGEST_LINE:
            yield number, BadLine(number, f"the line has {len(line):,} bytes, at most {LONGEST_LINE:,} are read")
            continue
        try:
            data = decode_json(line)
        except JsonError as error:
            yield number, BadLine(number, f"not JSON: {error}")
            continue
        yield number, data if isinstance(data, dict) else BadLine(number, f"a line is an object, not {shown(data)}")


def _checked(data: Any, number: int, reading: Reading, case: dict[str, Any]) -> ConvertedLine | BadLine:
    """The line, unless it is faulty or the case that it is, or comes from, cannot be judged."""
    if reading.faults:
        return BadLine(number, "; ".join(str(fault) for fault in reading.faults))
    judged = case_from(case, number)
    return judged if isinstance(judged, BadLine) else ConvertedLine(number, reading.done(data))


def _case(
    row: dict[str, Any], rubric: str, ideal: Ideal, responses: Mapping[str, str], reading: Reading
) -> dict[str, Any]:
    rest = {key: value for key, value in row.items() if value is not None}
    name = rest.pop("prompt_id", None)
    case: dict[str, Any] = {} if name is None else {"id": str(name)}
    case["rubric"] = rubric
    prompt = rest.pop("prompt", None)
    if isinstance(prompt, list):
        case["messages"] = [_message(one, ("prompt", at), reading) for at, one in enumerate(prompt)]
    elif isinstance(prompt, str):
        case["messages"] = [{"role": "user", "content": prompt}]
    else:
        reading.refuse(f"the prompt is a list of messages, not {shown(prompt)}", ("prompt",))
    own = _completion(rest)
    rest.pop("completion", None)
    rest.pop("response", None)
    told = rest.get(_DATA)
    expert = told.get(_IDEAL) if isinstance(told, dict) else None
    expert = expert if isinstance(expert, str) and expert.strip() else None
    if ideal != "context" and expert is None:
        reading.lose("no expert answered it", (_DATA,))
    response = expert if ideal == "response" else responses.get(str(name), own)
    if response is None:
        fix = "add a `response` to the case, or give --responses"
        reading.lose("there is no response to judge", ("completion",), fix)
    else:
        case["response"] = response
    if ideal == "reference" and expert is not None and isinstance(told, dict):
        case["reference"] = expert
        rest[_DATA] = {key: value for key, value in told.items() if key != _IDEAL}
    case["criteria"] = _criteria(rest.pop("rubrics", None), reading)
    if rest:
        case["metadata"] = rest
    return case


def _completion(row: Mapping[str, Any]) -> str | None:
    """The response of a row: a text, or a chat of one answer."""
    found = row.get("completion", row.get("response"))
    if isinstance(found, list) and len(found) == 1 and isinstance(found[0], dict):
        found = found[0].get("content")
    return found if isinstance(found, str) else None


def _message(found: Any, path: Path, reading: Reading) -> Any:
    if not isinstance(found, dict):
        reading.refuse(f"a message is an object with role and content, not {shown(found)}", path)
        return found
    reading.lose_keys(found, ("role", "content"), path, "a case")
    role = found.get("role")
    return {"role": _ROLES.get(role, role) if isinstance(role, str) else role, "content": found.get("content")}


def _criteria(found: Any, reading: Reading) -> list[Any]:
    if not isinstance(found, list) or not found:
        reading.refuse(f"rubrics are a list of criteria, not {shown(found)}", ("rubrics",))
        return []
    criteria: list[Any] = []
    for at, one in enumerate(found):
        if not isinstance(one, dict):
            reading.refuse(f"a criterion is an object, not {shown(one)}", ("rubrics", at))
            continue
        reading.lose_keys(one, ("criterion", "points", "tags"), ("rubrics", at), "a case's criterion")
        tags = one.get("tags") or []
        missing = [key for key in ("criterion", "points") if one.get(key) is None]
        if missing:
            reading.refuse(f"a criterion has {' and '.join(missing)}", ("rubrics", at))
        criteria.append(
            {"criterion": one.get("criterion"), "points": one.get("points"), **({"tags": tags} if tags else {})}
        )
    return criteria


def _row(case: dict[str, Any], number: int, reading: Reading) -> dict[str, Any]:
    reading.lose_keys(case, _CASE, (), "a line of HealthBench")
    if case.get("rubric") not in (None, DEFAULT_RUBRIC):
        reading.lose("a line of HealthBench names no rubric", ("rubric",))
    messages = case.get("messages")
    chat = list(messages) if isinstance(messages, list) else []
    response = case.get("response")
    if response is None and chat and isinstance(chat[-1], dict) and chat[-1].get("role") == "assistant":
        response = chat.pop()["content"]
    if not chat:
        chat = [{"role": "user", "content": case.get("prompt", "")}]
    metadata = case.get("metadata")
    rest = dict(metadata) if isinstance(metadata, dict) else {}
    if case.get("reference") is not None:
        told = rest.get(_DATA)
        rest[_DATA] = {_IDEAL: case["reference"], **(told if isinstance(told, dict) else {})}
    row: dict[str, Any] = {"prompt_id": str(case.get("id") or number), "prompt": chat}
    if response is not None:
        row["completion"] = response
    criteria = case.get("criteria")
    if not isinstance(criteria, list) or not criteria:
        reading.refuse(
            "the case has no criteria of its own", ("criteria",), "HealthBench keeps criteria with each case"
        )
        criteria = []
    row["rubrics"] = [_rubric_item(one, ("criteria", at), reading) for at, one in enumerate(criteria)]
    taken = sorted(row.keys() & rest.keys())
    for key in taken:
        reading.lose("has the name of a field of HealthBench", ("metadata", key))
    row.update({"example_tags": [], **{key: value for key, value in rest.items() if key not in taken}})
    return row


def _rubric_item(found: Any, path: Path, reading: Reading) -> dict[str, Any]:
    if isinstance(found, str):
        return {"criterion": found, "points": 1, "tags": []}
    if not isinstance(found, dict):
        return {}  # checking the case tells it
    reading.lose_keys(found, ("criterion", "points", "tags"), path, "HealthBench")
    return {
        "criterion": found.get("criterion"),
        "points": found.get("points", 1),
        "tags": list(found.get("tags") or []),
    }


def losses_of(line: ConvertedLine) -> tuple[Problem, ...]:
    """What of a line could not be carried over, with the line's number."""
    return tuple(Problem(one.message, one.path, line.line, fix=one.fix) for one in line.conversion.lost)
