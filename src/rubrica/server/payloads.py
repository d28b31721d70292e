"""Records as payloads of the REST API. It has a word of its own: its paths and payloads call a rubric "evaluation"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from rubrica.games.attachments import GameAttachments
from rubrica.games.composite import Composite
from rubrica.games.judging import RoundReply
from rubrica.games.leaderboard_access import Leaderboard
from rubrica.games.rounds import RoundLine, RoundView

WORDS = {"rubric_id": "evaluation_id", "rubric": "evaluation", "rubrics": "evaluations"}


def payload(record: msgspec.Struct, **parts: object) -> dict[str, Any]:
    """A record in the words of the API. `parts` take the place of what holds further records.

    >>> from uuid import UUID; from rubrica.games.composite import MissingScore
    >>> payload(MissingScore(UUID(int=1), "rigor", "rigor", "no judge"))["evaluation"]
    'rigor'
    """
    fields = ((name, parts[name] if name in parts else getattr(record, name)) for name in record.__struct_fields__)
    return {WORDS.get(name, name): value for name, value in fields}


def payloads(records: Sequence[msgspec.Struct]) -> list[dict[str, Any]]:
    """Each of some records."""
    return [payload(record) for record in records]


def attachments_payload(attached: GameAttachments) -> dict[str, Any]:
    """What is attached to a game."""
    return payload(attached, rubrics=payloads(attached.rubrics))


def round_payload(round_: RoundLine | RoundReply) -> dict[str, Any]:
    """A round, with its scores where they belong to it."""
    composite = _composite(round_.composite)
    if isinstance(round_, RoundView | RoundReply):
        return payload(round_, composite=composite, scores=payloads(round_.scores))
    return payload(round_, composite=composite)


def leaderboard_payload(board: Leaderboard) -> dict[str, Any]:
    """A leaderboard."""
    rows = [payload(row, missing=payloads(row.missing), scores=payloads(row.scores)) for row in board.items]
    return payload(board, items=rows, uncounted=payloads(board.uncounted))


def _composite(composite: Composite) -> dict[str, Any]:
    return payload(composite, missing=payloads(composite.missing))
