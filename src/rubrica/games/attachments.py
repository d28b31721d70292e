"""Rubrics in a game: attach them with weights that sum to 1, replace them, take them off.

An attached rubric stays at the version it was attached with; what its author changes later does not reach the game.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import InputError, MissingError, Problem, RubricError
from rubrica.store import games as store
from rubrica.store import versions
from rubrica.store.games import Attachment, NewAttachment
from rubrica.store.standings import BOARD_FORM
from rubrica.store.versions import Version
from rubrica.workspace import catalogue
from rubrica.workspace.access import Caller
from rubrica.workspace.plain_data import plain_text

from .composite import NOISE_DIGITS
from .games import hosted_game, visible_game
from .overrides import check_overrides
from .standings import rebuild_standings

Weights = Literal["exact", "renormalise"]
"""What becomes of weights that do not sum to 1: they are refused, or all of the game's are scaled so that they do."""

TOLERANCE = 0.001
MOST_ATTACHED = 50
LONGEST_DIMENSION = 100


@dataclass(frozen=True, slots=True)
class AttachmentRequest:
    """What somebody wants attached."""

    rubric: str  # id, slug or slug@version
    weight: float = 1.0
    dimension: str | None = None  # None: the slug
    config_overrides: Mapping[str, Any] | None = None
    version: str | None = None  # None: the newest


@dataclass(frozen=True, slots=True)
class ResolvedAttachment:
    """A request, and the version it comes down to."""

    request: AttachmentRequest
    slug: str
    version: Version


class GameAttachments(msgspec.Struct, frozen=True):
    """Everything that is attached to a game, and the sum of the weights."""

    rubrics: list[Attachment]
    sum: float


def resolve(
    conn: Connection, caller: Caller, game_id: UUID, requests: Sequence[AttachmentRequest]
) -> list[ResolvedAttachment]:
    """The versions that are asked for, if the caller may see them and attach them. What is attached may stay."""
    hosted_game(conn, caller, game_id, "attaching rubrics to")
    present = {(str(each.rubric_id), each.version): each for each in store.attachments(conn, [game_id])}
    found = []
    for request in requests:
        kept = present.get((request.rubric, request.version or ""))
        version = None if kept is None else versions.by_id(conn, kept.version_id)
        if kept is None or version is None:
            entry = catalogue.entry(conn, caller, request.rubric, request.version)
            found.append(ResolvedAttachment(request, entry.listing.slug, entry.version))
        else:
            found.append(ResolvedAttachment(request, kept.slug, version))
    return found


def check_attachments(resolved: Sequence[ResolvedAttachment], *, under: str | None = "rubrics") -> list[NewAttachment]:
    """What is to be attached, once the engine has read every overridden definition: all problems are told at once.

    `under` is the key of the list that the requests came in, for the paths of problems; None: one came without a list.
    """
    problems: list[Problem] = []
    if len(resolved) > MOST_ATTACHED:
        raise InputError(f"{len(resolved)} rubrics are too many for one game (at most {MOST_ATTACHED})")
    new = []
    for i, item in enumerate(resolved):
        request, place = item.request, () if under is None else (under, i)
        overrides = request.config_overrides or {}
        dimension = plain_text(request.dimension or "", "dimension", LONGEST_DIMENSION) or item.slug
        if not 0 <= request.weight <= 1:
            problems.append(Problem(f"{request.weight:g} is no weight", (*place, "weight"), fix="a number from 0 to 1"))
        try:
            check_overrides(item.version.definition, overrides, *place)
        except RubricError as error:
            problems += error.problems
        new.append(NewAttachment(item.version.rubric_id, item.version.id, request.weight, dimension, dict(overrides)))
    if problems:
        raise RubricError(problems)
    return new


def attach(
    conn: Connection, caller: Caller, game_id: UUID, new: Sequence[NewAttachment], weights: Weights, now: datetime
) -> GameAttachments:
    """Attach rubrics beside those that are there."""
    hosted_game(conn, caller, game_id, "attaching rubrics to")
    store.lock_game_row(conn, game_id)
    store.attach(conn, game_id, new, now)
    return _settle(conn, game_id, weights, now)


def replace(
    conn: Connection, caller: Caller, game_id: UUID, new: Sequence[NewAttachment], weights: Weights, now: datetime
) -> GameAttachments:
    """Attach exactly these. What was attached just so before stays, with its scores, and takes the new weight."""
    hosted_game(conn, caller, game_id, "attaching rubrics to")
    store.lock_game_row(conn, game_id)
    present = store.attachments(conn, [game_id])
    added = []
    for item in new:
        same = next((old for old in present if _same(old, item)), None)
        if same is None:
            added.append(item)
        else:
            present.remove(same)
            store.set_weight(conn, same.id, item.weight)
    store.detach(conn, [old.id for old in present], now)
    store.attach(conn, game_id, added, now)
    return _settle(conn, game_id, weights, now)


def detach(
    conn: Connection, caller: Caller, game_id: UUID, attachment_id: UUID, weights: Weights, now: datetime
) -> GameAttachments:
    """Take one off. Its scores stay, and count no more."""
    hosted_game(conn, caller, game_id, "attaching rubrics to")
    store.lock_game_row(conn, game_id)
    if store.attachment_by_id(conn, game_id, attachment_id) is None:
        raise MissingError(f"nothing called {attachment_id} is attached to this game")
    store.detach(conn, [attachment_id], now)
    return _settle(conn, game_id, weights, now)


def attached(conn: Connection, caller: Caller, game_id: UUID) -> GameAttachments:
    """What is attached to a game."""
    visible_game(conn, caller, game_id)
    return _attached(store.attachments(conn, [game_id]))


def scaled(weights: Sequence[float]) -> list[float]:
    """The same weights in proportion, with the sum 1.

    >>> scaled([1, 1, 2])
    [0.25, 0.25, 0.5]
    """
    total = math.fsum(weights)
    if total <= 0:
        raise InputError("every weight is 0, so that nothing would count (give at least one more than 0)")
    return [min(round(weight / total, NOISE_DIGITS), 1.0) for weight in weights]


def _settle(conn: Connection, game_id: UUID, weights: Weights, now: datetime) -> GameAttachments:
    """What is attached, with weights that sum to 1, and standings to match."""
    told = _settle_weights(conn, game_id, weights)
    if (game := store.game_by_id(conn, game_id)) is not None and game.board_form == BOARD_FORM:
        rebuild_standings(conn, game_id, now)
    return told


def _settle_weights(conn: Connection, game_id: UUID, weights: Weights) -> GameAttachments:
    """What is attached, with weights that sum to 1; otherwise nothing of this has happened."""
    found = store.attachments(conn, [game_id])
    if len(found) > MOST_ATTACHED:
        raise InputError(f"{len(found)} rubrics are too many for one game (at most {MOST_ATTACHED})")
    if not found:
        return _attached(found)
    if weights == "renormalise":
        for attachment, weight in zip(found, scaled([each.weight for each in found]), strict=True):
            store.set_weight(conn, attachment.id, weight)
        return _attached(store.attachments(conn, [game_id]))
    told = _attached(found)
    if round(abs(told.sum - 1), NOISE_DIGITS) > TOLERANCE:
        parts = " + ".join(f"{each.slug} {each.weight:g}" for each in found)
        raise InputError(
            f"the weights of what is attached would sum to {told.sum:g}, not 1: {parts} (send all that changes in one "
            'request, {"evaluations": […]}, or let all be scaled with "weights": "renormalise")'
        )
    return told


def _attached(found: list[Attachment]) -> GameAttachments:
    return GameAttachments(found, round(math.fsum(each.weight for each in found), NOISE_DIGITS))


def _same(old: Attachment, new: NewAttachment) -> bool:
    return (old.version_id, old.dimension, old.config_overrides) == (
        new.version_id,
        new.dimension,
        new.config_overrides,
    )
