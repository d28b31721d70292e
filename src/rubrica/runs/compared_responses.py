"""Responses to be compared: a line of a file, with what people chose where that is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rubrica.engine.cases import BadLine
from rubrica.errors import JsonError
from rubrica.jsontext import decode_json
from rubrica.judges.labels import TIES
from rubrica.judges.preference import LETTERS
from rubrica.judges.response_names import ORDINALS
from rubrica.model.rubric import Rubric
from rubrica.phrases import count_of

_KEPT = ("human", "group", "rater")


class PreferenceTerms(msgspec.Struct, frozen=True):
    """How responses are compared."""

    rubric: Rubric | None = None
    graded: bool = False
    labels: Sequence[str] = LETTERS


class ComparedCase(msgspec.Struct, frozen=True):
    """Some responses to one prompt, by name."""

    id: str
    prompt: str
    responses: dict[str, str]
    kept: dict[str, Any] = msgspec.field(default_factory=dict)  # what is written out again: human, group, rater


def read_comparisons(lines: Iterable[bytes]) -> Iterator[ComparedCase | BadLine]:
    """The comparisons of a JSON Lines file, and its broken lines.

    >>> line = b'{"id": 1, "prompt": "2 + 2?", "responses": ["4", "5"], "human": "first"}'
    >>> next(read_comparisons([line]))
    ComparedCase(id='1', prompt='2 + 2?', responses={'first': '4', 'second': '5'}, kept={'human': 'first'})
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _case_of(decode_json(line), number)
        except (JsonError, ValueError) as error:
            yield BadLine(number, str(error))


def named(responses: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Responses by name: their own, or first, second and so on."""
    if not 2 <= len(responses) <= len(ORDINALS):
        raise ValueError(f"{count_of(len(responses), 'response')} cannot be compared; give 2 to {len(ORDINALS)}")
    if isinstance(responses, Mapping):
        return {str(name): text for name, text in responses.items()}
    return dict(zip(ORDINALS, responses, strict=False))


TIE = "tie"
"""What stands for a choice of people that is none."""


def _chosen(human: object, responses: Mapping[str, str]) -> str:
    """What people chose: a response by its name, its place or its letter, or a tie.

    >>> responses = {"old": "In 1889.", "new": "Long ago."}
    >>> _chosen("B", responses), _chosen(1, responses), _chosen("Both", responses)
    ('new', 'old', 'tie')
    """
    if isinstance(human, str) and human in responses:
        return human
    given = str(human).strip().casefold() if isinstance(human, str | int) and not isinstance(human, bool) else ""
    for place, name in enumerate(responses):
        if given in (name.casefold(), str(place + 1), ORDINALS[place], LETTERS[place].casefold()):
            return name
    if given in TIES:
        return TIE
    raise ValueError(f"`human` is {human!r}; it is one of {', '.join(responses)}, or {TIE}")


def _case_of(row: Any, number: int) -> ComparedCase:
    if not isinstance(row, dict) or not isinstance(row.get("responses"), list | dict):
        raise ValueError("a line is an object with `prompt` and `responses`, a list or by name")
    given = row["responses"]
    texts = list(given.values()) if isinstance(given, dict) else given
    if not all(isinstance(text, str) for text in texts) or not isinstance(row.get("prompt", ""), str):
        raise ValueError("`prompt` and every response are texts")
    responses = named(given)
    name = row.get("id")
    kept = {key: row[key] for key in _KEPT if row.get(key) is not None}
    if "human" in kept:
        kept["human"] = _chosen(kept["human"], responses)
    return ComparedCase(f"line {number}" if name is None else str(name), row.get("prompt", ""), responses, kept)
