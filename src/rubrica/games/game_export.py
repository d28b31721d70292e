"""A game's rounds and scores as lines, for whoever made it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from rubrica.errors import InputError
from rubrica.store import scores
from rubrica.workspace.access import Caller

from .games import hosted_game

MOST_LINES = 1_000_000
COLUMNS = (
    "player",
    "player_id",
    "round_number",
    "evaluation",
    "version",
    "dimension",
    "weight",
    "raw_score",
    "normalized_score",
    "verdict",
    "judged_at",
    "tries",
    "voided_at",
)


def lines(conn: Connection, caller: Caller, game_id: UUID) -> list[dict[str, Any]]:
    """One line for every score of every round, voided ones too, under what is attached now."""
    hosted_game(conn, caller, game_id, "exporting")
    found = scores.lines_of_game(conn, game_id, MOST_LINES + 1)
    if len(found) > MOST_LINES:
        raise InputError(f"the game has more than {MOST_LINES:,} scores, too many for one file")
    return [dict(zip(COLUMNS, row, strict=True)) for row in found]


def as_csv(found: Sequence[dict[str, Any]]) -> str:
    """The lines as CSV; a text that a spreadsheet would take for a formula is marked as text.

    >>> as_csv([dict.fromkeys(COLUMNS, "") | {"player": "=1+1"}]).splitlines()[1].split(",")[0]
    "'=1+1"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(line[column]) for column in COLUMNS] for line in found)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return "" if value is None else value
