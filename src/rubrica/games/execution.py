"""Executing a rubric: one context, with or without a game around it, and one score that is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import InputError, Problem, RubricError
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.store import scores
from rubrica.store.columns import new_id
from rubrica.store.scores import NewScore, ScoredVersion
from rubrica.store.versions import Version
from rubrica.workspace import catalogue, score_records
from rubrica.workspace.access import Caller, require
from rubrica.workspace.plain_data import read_plain

from .games import visible_game
from .judging import history, kept_context
from .players import playable
from .submission import HIGHEST_NUMBER
from .turns import MovedError, open_history

_WRAPPED = frozenset({"context", "game_id", "player_id"})
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class ExecutionDraft:
    """What somebody wants judged: a context, and the game and player it belongs to, if any."""

    context: Mapping[str, Any]
    game_id: UUID | None = None
    player_id: UUID | None = None

    @property
    def in_game(self) -> bool:
        return self.game_id is not None or self.player_id is not None


@dataclass(frozen=True, slots=True)
class ExecutionTarget:
    """The version of a rubric that is executed."""

    rubric_id: UUID
    slug: str
    version_id: UUID
    version: str
    revision: int
    short: bool  # written in the short form
    newest: bool  # whichever is newest was asked for


@dataclass(frozen=True, slots=True)
class GameContext:
    """What a game and a player add to a context."""

    game_id: UUID | None = None
    player_id: UUID | None = None
    fields: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)  # of the context


NOWHERE = GameContext()


class ExecutionReply(msgspec.Struct, frozen=True):
    """A new score, as it is told."""

    id: UUID
    game_id: UUID | None
    player_id: UUID | None
    rubric_id: UUID
    rubric: str  # its slug
    version: str
    revision: int
    round_number: int | None
    raw_score: float | None
    normalized_score: float | None
    bounds: tuple[float, float]  # the normalised score lies between these
    verdict: str
    reason: str
    rule_breakdown: list[score_records.RuleLine]
    dimension_scores: dict[str, score_records.DimensionScore]
    errors: tuple[str, ...]  # rules, gates and formulas that could not be applied
    notes: tuple[str, ...]  # what was assumed
    offline: bool  # an offline scorer stood in for a judge
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RubricExecution:
    """A score to be kept, and as it is told."""

    row: NewScore
    told: ExecutionReply


def read_execution(body: Any) -> ExecutionDraft:
    """What a body asks for: a context with `game_id` and `player_id` beside it, or all three under their keys.

    >>> read_execution({"response": "A moth.", "player_id": "018f0000-0000-7000-8000-000000000001"}).context
    {'response': 'A moth.'}
    """
    if not isinstance(body, dict):
        raise InputError("the body is an object with at least a response")
    plain, problems = read_plain(body, nul=True)
    ids = {key: _id(plain.pop(key, None), key, problems) for key in ("game_id", "player_id")}
    context = plain
    if "context" in plain:
        problems += [Problem("does not go with context", (key,)) for key in plain if key not in _WRAPPED]
        context = plain["context"]
        if not isinstance(context, dict):
            problems.append(Problem("is an object with at least a response", ("context",)))
    if problems:
        raise RubricError(problems)
    return ExecutionDraft(context, ids["game_id"], ids["player_id"])


def open_target(conn: Connection, caller: Caller, reference: str) -> tuple[ExecutionTarget, Version]:
    """What a reference comes down to, for a caller who may execute it."""
    require(caller, "player", "executing a rubric")
    found = catalogue.entry(conn, caller, reference)
    version = found.version
    target = ExecutionTarget(
        found.listing.id,
        found.listing.slug,
        version.id,
        version.version,
        version.revision,
        score_records.is_short(version.definition),
        "@" not in reference,
    )
    return target, version


def open_surroundings(conn: Connection, caller: Caller, draft: ExecutionDraft) -> GameContext:
    """The game and the player of an execution, and the player's earlier rounds there unless the context brings its own.

    The player is one that the caller may submit for.
    """
    game = None if draft.game_id is None else visible_game(conn, caller, draft.game_id)
    player = None if draft.player_id is None else playable(conn, caller, game, draft.player_id)
    fields: dict[str, Any] = {}
    if player is not None:
        fields["player_info"] = player.info
    if game is not None:
        fields |= {"game_config": game.config, "session_id": str(game.id)}
        if player is not None and "round_history" not in draft.context:
            number = _number(Context.of(draft.context))
            fields["round_history"] = history(open_history(conn, game, player, number), number)
    return GameContext(draft.game_id, draft.player_id, fields)


def context_of(draft: ExecutionDraft, around: GameContext) -> Context:
    """The context that is judged: what was sent, and what the game knows where nothing was sent."""
    if not around.fields:
        return Context.of(draft.context)
    return Context.of({**around.fields, **draft.context})


def execution_of(
    target: ExecutionTarget, context: Context, around: GameContext, evaluation: Evaluation, by: UUID, now: datetime
) -> RubricExecution:
    """What is kept and told of an evaluation."""
    outcome = score_records.outcome(evaluation, short=target.short)
    score_id, number = new_id(now), _number(context)
    row = NewScore(
        score_id,
        around.game_id,
        around.player_id,
        target.rubric_id,
        target.version_id,
        None,
        number,
        outcome.raw_score,
        outcome.normalized_score,
        outcome.verdict,
        outcome.rule_breakdown,
        outcome.dimension_scores,
        kept_context(context) if "round_history" in around.fields else score_records.snapshot(context),
        score_records.record(evaluation),
        by,
        now,
    )
    told = ExecutionReply(
        score_id,
        around.game_id,
        around.player_id,
        target.rubric_id,
        target.slug,
        target.version,
        target.revision,
        number,
        outcome.raw_score,
        outcome.normalized_score,
        outcome.bounds,
        outcome.verdict,
        outcome.reason,
        outcome.rule_breakdown,
        outcome.dimension_scores,
        outcome.errors,
        outcome.notes,
        outcome.offline,
        now,
    )
    return RubricExecution(row, told)


def keep_execution(
    conn: Connection, caller: Caller, target: ExecutionTarget, execution: RubricExecution
) -> ExecutionReply:
    """Keep a score, if the rubric is still there for the caller and at the version that was judged by."""
    seen_by = None if caller.is_admin else caller.user_id
    origin = ScoredVersion(target.rubric_id, target.revision if target.newest else None, seen_by)
    if not scores.add_score_if(conn, execution.row, origin):
        raise MovedError(f"{target.slug} has changed meanwhile (send it again)")
    return execution.told


def _number(context: Context) -> int | None:
    number = context.metadata.round_number
    if number is not None and number > HIGHEST_NUMBER:
        raise InputError(f"{number} is no round number (at most {HIGHEST_NUMBER})")
    return number


def _id(value: Any, key: str, problems: list[Problem]) -> UUID | None:
    if value is None:
        return None
    try:
        return UUID(value)
    except (ValueError, TypeError, AttributeError):
        problems.append(Problem("is not an id", (key,), fix="a UUID, as GET shows it"))
        return None
