"""Named cells of a table, or of options, as a case: texts that are JSON are read as JSON where a case has more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from rubrica.engine.cases import OWN_KEYS, BadLine, Case, case_from
from rubrica.model.context import Context

TEXT_KEYS = frozenset({"id", "rubric", "prompt", "response", "session_id", "model_used"})
"""Keys of a case whose value is a text, also where it looks like a number."""
_MAPPINGS = ("metadata", "custom_metrics", "game_config", "player_info", "expect")


def case_from_cells(cells: Mapping[str, Any], number: int) -> Case | BadLine:
    """A case from named cells. Texts that are JSON are read as JSON where a case has more than text there.

    >>> case_from_cells({"id": "7", "response": "12", "grade": "4", "custom_metrics.pace": "0.5"}, 1).context.metadata
    Metadata(response_time=None, token_count=None, model_used=None, timestamp=None, round_number=None, grade=4)
    """
    data: dict[str, Any] = {}
    for name, cell in cells.items():
        value = cell if name in TEXT_KEYS or not isinstance(cell, str) else json_or_text(cell)
        outer, dot, inner = name.partition(".")
        if dot and inner and outer in _MAPPINGS:
            inside = data.setdefault(outer, {})
            if not isinstance(inside, dict):
                return BadLine(number, f"{outer} and {name} are both given, and {outer} is not a mapping")
            inside[inner] = value
        else:
            data[name] = {**value, **data[name]} if isinstance(value, dict) and name in data else value
    return case_from({name: value for name, value in data.items() if value is not None}, number)


def structured(name: str) -> bool:
    """Whether a case has more than text under this name."""
    return name not in TEXT_KEYS and (name in Context.model_fields or name in OWN_KEYS)


def json_or_text(value: str) -> Any:
    """JSON where a text is JSON, else the text."""
    try:
        return from_json(value, allow_inf_nan=False)
    except ValueError:
        return value
