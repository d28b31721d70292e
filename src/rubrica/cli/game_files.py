"""Games and rounds in files: what ``rubrica games`` reads before it asks a server."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from rubrica.engine.document import Document, read_document
from rubrica.errors import JsonError, Problem, RubricaError, RubricError
from rubrica.hints import did_you_mean
from rubrica.jsontext import decode_json
from rubrica.phrases import fault_path, fault_words

STRICT = ConfigDict(frozen=True, extra="forbid")


class GameRubricEntry(BaseModel):
    """A rubric in a game."""

    model_config = STRICT

    rubric: str
    weight: float = 1.0
    dimension: str | None = None
    version: str | None = None
    config_overrides: dict[str, Any] | None = None

    def plain(self) -> dict[str, Any]:
        told = self.model_dump(exclude_none=True)
        return {"evaluation_id": told.pop("rubric"), **told}


class SeasonEntry(BaseModel):
    """A season of a game."""

    model_config = STRICT

    name: str
    starts_at: str
    ends_at: str


class GameFile(BaseModel):
    """A game as a file describes it."""

    model_config = STRICT

    name: str
    rubrics: list[GameRubricEntry] = []
    public: bool = False
    status: Literal["draft", "open"] = "draft"
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
    data = _plain_times(document.data)
    try:
        return GameFile.model_validate(data, strict=True)
    except ValidationError as error:
        raise RubricError([_problem(document, fault, data) for fault in error.errors()]) from None


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


def _problem(document: Document, fault: Any, data: Any) -> Problem:
    """What is wrong, in words, and on the line it is about."""
    path = fault_path(fault, data)
    owner = GameRubricEntry if path[:1] == ("rubrics",) else SeasonEntry if path[:1] == ("seasons",) else GameFile
    fix = "`rubrica games create --help` shows a game"
    if fault["type"] == "extra_forbidden":
        fix = did_you_mean(str(path[-1]), list(owner.model_fields), fix)
    return document.place(Problem(fault_words(fault), path, fix=fix))
