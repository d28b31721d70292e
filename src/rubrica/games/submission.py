"""What a request submits to a game: rounds as a client sends them, before anything is known of the game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from rubrica.errors import ContextError, InputError, Problem, RubricError
from rubrica.hints import did_you_mean
from rubrica.model.context import Context
from rubrica.workspace.plain_data import read_plain

MOST_ROUNDS = 100
"""Rounds in one request."""
LARGEST_ROUND = 400_000
"""Bytes of one round, as JSON: a player's later rounds are judged beside it."""
HIGHEST_NUMBER = 1_000_000_000

GIVEN = ("round_history", "game_config", "player_info", "session_id", "entities_mentioned", "patterns_detected")
"""What the game knows itself, or works out."""
KEYS = ("player", "round", "rounds")
ROUND_KEYS = ("prompt", "response", "messages", "metadata", "custom_metrics", "images", "round_number", "token")
"""What a round has: fields of a context, its number, and the token that its start gave."""


@dataclass(frozen=True, slots=True)
class RoundDraft:
    """One round as it was sent; `number` is None where the next one is meant."""

    content: Mapping[str, Any]  # what Context.of reads
    number: int | None = None
    token: UUID | None = None  # of its start


@dataclass(frozen=True, slots=True)
class Submission:
    """Rounds of one player. Without rounds, what was kept before is to be judged by what is attached now."""

    rounds: tuple[RoundDraft, ...] = ()
    player: str | None = None  # an id or a name; None: whoever sends it


def read_submission(body: Mapping[str, Any]) -> Submission:
    """What a body submits; everything wrong with it is told at once.

    >>> read_submission({"player": "ann", "round": {"response": "A moth.", "round_number": 2}}).rounds[0].number
    2
    """
    unknown = [key for key in body if key not in KEYS]
    if unknown:
        raise RubricError([_unknown(key, (key,), KEYS) for key in unknown])
    player = body.get("player")
    if player is not None and not isinstance(player, str):
        raise RubricError([Problem("is an id or a name", ("player",))])
    if "round" in body and "rounds" in body:
        raise InputError("give either round, or rounds with a list of them")
    listed = body.get("rounds", [])
    if not isinstance(listed, list):
        raise RubricError([Problem("is a list of rounds", ("rounds",))])
    if len(listed) > MOST_ROUNDS:
        raise InputError(f"{len(listed)} rounds are too many for one request (at most {MOST_ROUNDS})")
    places = [(("round",), body["round"])] if "round" in body else [(("rounds", i), r) for i, r in enumerate(listed)]
    problems: list[Problem] = []
    drafts = [_read(given, path, problems) for path, given in places]
    numbers = [draft.number for draft in drafts if draft.number is not None]
    if len(set(numbers)) < len(numbers):
        problems.append(Problem("two rounds have the same number", ("rounds",)))
    if problems:
        raise RubricError(problems)
    return Submission(tuple(drafts), player)


def _read(given: Any, path: tuple[str | int, ...], problems: list[Problem]) -> RoundDraft:
    if not isinstance(given, dict) or not given:
        problems.append(Problem("is an object with at least a response", path))
        return RoundDraft({})
    content, faults = read_plain(given, path, nul=True)
    problems += faults
    problems += [Problem("comes from the game", (*path, key), fix="remove it") for key in GIVEN if key in content]
    problems += [
        _unknown(key, (*path, key), ROUND_KEYS) for key in content if key not in ROUND_KEYS and key not in GIVEN
    ]
    number, token = _number(content, path, problems), _token(content, path, problems)
    content = {key: value for key, value in content.items() if key not in ("round_number", "token")}
    if not faults and len(msgspec.json.encode(content)) > LARGEST_ROUND:
        problems.append(Problem("is too long", path, fix=f"at most {LARGEST_ROUND:,} bytes of JSON"))
    elif not problems:
        try:
            Context.of(content)
        except ContextError as error:
            problems.append(Problem(str(error), path))
    return RoundDraft(content, number, token)


def _unknown(key: str, path: tuple[str | int, ...], known: Sequence[str]) -> Problem:
    """A key that nothing reads; what belongs to a rubric goes under metadata or custom_metrics."""
    listed = f"one of {', '.join(known)}"
    fix = did_you_mean(key, known, f"{listed}; numbers that rubrics read go under custom_metrics")
    return Problem("is not a known key", path, fix=fix if known is ROUND_KEYS else did_you_mean(key, known, listed))


def _token(content: Mapping[str, Any], path: tuple[str | int, ...], problems: list[Problem]) -> UUID | None:
    token = content.get("token")
    try:
        return None if token is None else UUID(token)
    except (ValueError, TypeError, AttributeError):
        problems.append(Problem("is not a token", (*path, "token"), fix="the one that POST …/start gave"))
        return None


def _number(content: Mapping[str, Any], path: tuple[str | int, ...], problems: list[Problem]) -> int | None:
    """The number a round was given, beside its texts or among its metadata."""
    metadata = content.get("metadata")
    inner = metadata.get("round_number") if isinstance(metadata, dict) else None
    number = content.get("round_number", inner)
    if number is None:
        return None
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= HIGHEST_NUMBER:
        problems.append(Problem(f"{number!r} is no round number", (*path, "round_number"), fix="1, 2, 3 …"))
        return None
    if inner is not None and inner != number:
        problems.append(Problem(f"metadata says round {inner}", (*path, "round_number"), fix="say it once"))
    return number
