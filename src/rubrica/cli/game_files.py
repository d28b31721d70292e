"""Games and rounds in files: what ``rubrica games`` reads before it asks a server."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import msgspec

from rubrica.engine.document import Document, read_document
from rubrica.errors import JsonError, Problem, RubricaError, RubricError
from rubrica.jsontext import decode_json


class GameRubricEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rubric in a game."""

    rubric: str
    weight: float = 1.0
    dimension: str | None = None
    version: str | None = None
    config_overrides: dict[str, Any] | None = None

    def plain(self) -> dict[str, Any]:
        told = {key: value for key, value in msgspec.structs.asdict(self).items() if value is not None}
        return {"evaluation_id": told.pop("rubric"), **told}


class SeasonEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A season of a game."""

    name: str
    starts_at: str
    ends_at: str


class GameFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A game as a file describes it."""

    name: str
    rubrics: list[GameRubricEntry] = []
    public: bool = False
    status: str = "draft"
    config: dict[str, Any] = {}
    deadline: str | None = None
    most_rounds: int | None = None
    most_players: int | None = None
    teams: list[str] = []
    seasons: list[SeasonEntry] = []

    def game(self) -> dict[str, Any]:
        """What is sent to make it: a draft, until everything belongs to it."""
        told = {key: getattr(self, key) for key in ("name", "config", "deadline", "most_rounds", "most_players")}
        return {**told, "is_public": self.public, "status": "draft"}


def read_game(path: Path) -> GameFile:
    """The game that a file describes; everything that is wrong is told with its line."""
    document = read_document(_text(path), str(path))
    try:
        found = msgspec.convert(_plain_times(document.data), GameFile)
    except msgspec.ValidationError as error:
        raise RubricError([_problem(document, error)]) from None
    if found.status not in ("draft", "open"):
        raise RubricError([document.place(Problem(f"{found.status!r} is no status", ("status",), fix="draft or open"))])
    return found


def read_rounds(path: Path) -> list[Any]:
    """Rounds, a JSON object on each line."""
    found = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        try:
            found += [decode_json(line)] if line.strip() else []
        except JsonError as error:
            raise RubricaError(f"{path}:{number}: not JSON: {error}") from None
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RubricaError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RubricError([Problem(f"not UTF-8 text at byte {error.start}", file=str(path))]) from None


def _plain_times(data: Any) -> Any:
    """The data with times as text, as JSON has them: a time without a zone is told by the server."""
    match data:
        case datetime() | date():
            return data.isoformat()
        case Mapping():
            return {key: _plain_times(value) for key, value in data.items()}
        case list():
            return [_plain_times(value) for value in data]
        case _:
            return data


def _problem(document: Document, error: msgspec.ValidationError) -> Problem:
    """What msgspec says, in words, and on the line it is about.

    Its messages end in a place such as ``$.rubrics[0].weight``.
    """
    said, _, place = str(error).partition(" - at `$")
    path: list[str | int] = []
    for step in place.rstrip("`").replace("[", ".[").split("."):
        if step.startswith("[") and step[1:-1].isdigit():
            path.append(int(step[1:-1]))
        elif step:
            path.append(step)
    words = said.replace("Object contains unknown field", "is not a known key:").replace("`", "")
    words = words.replace("Object missing required field", "is missing:")
    return document.place(Problem(words, tuple(path), fix="`rubrica games create --help` shows a game"))
