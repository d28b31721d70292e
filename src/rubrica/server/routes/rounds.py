"""Rounds of a game: submit them, have them judged, and see what each was given."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query, Request, Response

from rubrica.games import rounds
from rubrica.games.attempts import Opened, judge_and_keep
from rubrica.games.judging import JudgedRounds, RoundJudging, RoundReply
from rubrica.games.submission import HIGHEST_NUMBER, MOST_ROUNDS, read_submission
from rubrica.games.turns import open_catch_up, open_turn
from rubrica.server.depends import Serving, Signed
from rubrica.server.game_shapes import RoundPage, RoundShown, RoundsJudged
from rubrica.server.idempotency import write_once
from rubrica.server.payloads import round_payload
from rubrica.server.request_bodies import JsonRoute, run_by_size
from rubrica.server.responses import RouteAnswer, decode_cursor, encode_cursor, page, render
from rubrica.server.shared import KeyedLocks, shared_instance

from .games import MOST, PAGE, Cursor, GameId

router = APIRouter(prefix="/api/games", route_class=JsonRoute, tags=["games"])
PlayerName = Annotated[
    str, Path(min_length=1, max_length=255, description="A player's id, or their name in this game.")
]
EXAMPLES = {
    "round": {
        "summary": "One round",
        "value": {
            "player": "ann",
            "round": {
                "prompt": "Go on.",
                "response": "In 1974 my doctor had a moth.",
                "metadata": {"response_time": 8},
            },
        },
    },
    "rounds": {"summary": "Several", "value": {"rounds": [{"response": "One moth."}, {"response": "Two moths."}]}},
    "again": {"summary": "What was kept before, by what is attached now", "value": {}},
}


@router.post("/{game_id}/evaluate", response_model=RoundsJudged, summary="Have rounds judged")
async def evaluate(
    request: Request,
    game_id: GameId,
    caller: Signed,
    service: Serving,
    body: Annotated[
        dict[str, Any] | None,
        Body(
            description="`player` (an id or a name; left out: you) and `round`, or `rounds` with at most "
            f"{MOST_ROUNDS} of them. A round has what a context has (`prompt`, `response`, `metadata`, "
            "`custom_metrics` …) and may have a `round_number`; without one it is the player's next.",
            openapi_examples=EXAMPLES,
        ),
    ] = None,
) -> Response:
    """Players their own rounds; whoever made the game also those of players they made and of players who joined.

    Every round is judged by everything that is attached, beside the player's own earlier rounds, and stored with its
    scores: all or nothing. A number that is taken is refused (409). Without rounds, those that were stored before and
    lack a score of something attached are judged.
    """
    submission = await run_by_size(await request.body(), read_submission, body or {})
    what = submission.player or caller.user_id if submission.rounds else None

    async def opened(now: datetime) -> Opened:
        if submission.rounds:
            return [await service.database.read(open_turn, caller, game_id, submission, now)], True
        return await service.database.read(open_catch_up, caller, game_id, submission.player, now)

    def session(now: datetime) -> RoundJudging:
        return RoundJudging(service.plans.of, caller, now, service.work.of(caller.user_id), service.spending)

    async def keep(judged: JudgedRounds, complete: bool) -> Response:
        return await write_once(request, partial(_rounds_answer, game_id, complete), rounds.keep_rounds, judged)

    async with shared_instance(request.app, KeyedLocks).of((game_id, what)):
        return await judge_and_keep(opened, session, keep, service.clock)


@router.get("/{game_id}/rounds", response_model=RoundPage, summary="List rounds")
async def listed(
    game_id: GameId,
    caller: Signed,
    service: Serving,
    player: Annotated[UUID | None, Query(description="Of this player only.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST, description="Items of a page.")] = PAGE,
    cursor: Cursor = None,
) -> Response:
    """Player by player, each by number, with the composite of each."""
    after = None if cursor is None else decode_cursor(cursor, UUID, int)
    if after is not None and not 0 <= after[1] <= HIGHEST_NUMBER:
        after = (after[0], HIGHEST_NUMBER)
    found = await service.database.read(rounds.list_rounds, caller, game_id, player, after, limit + 1)
    last = found[limit - 1] if len(found) > limit else None
    following = None if last is None else encode_cursor([last.player_id, last.round_number])
    return render(RouteAnswer(page([round_payload(each) for each in found[:limit]], following)))


@router.get("/{game_id}/rounds/{player}/{number}", response_model=RoundShown, summary="Read a round")
async def read(
    game_id: GameId,
    player: PlayerName,
    number: Annotated[int, Path(ge=1, le=HIGHEST_NUMBER)],
    caller: Signed,
    service: Serving,
) -> Response:
    """What was sent, and every score of it with its whole breakdown."""
    found = await service.database.read(rounds.view_round, caller, game_id, player, number)
    return render(RouteAnswer(round_payload(found)))


def _rounds_answer(game_id: UUID, complete: bool, told: list[RoundReply]) -> RouteAnswer:
    return RouteAnswer({"game_id": game_id, "rounds": [round_payload(each) for each in told], "complete": complete})
