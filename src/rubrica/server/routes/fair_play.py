"""Fair play in games: begin rounds, void them, have open scores judged, vouch, rate, and take everything along."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response

from rubrica.games import game_export, games, rating_access, rounds, starts
from rubrica.games.attempts import Opened, judge_and_keep
from rubrica.games.judging import JudgedRounds, RoundJudging, RoundReply
from rubrica.games.submission import HIGHEST_NUMBER
from rubrica.games.turns import open_retry
from rubrica.server.depends import Serving, Signed
from rubrica.server.fair_play_shapes import RatingsShown, RoundBegun, RoundStarting, RoundVoiding, Vouching
from rubrica.server.game_shapes import GameShown, RoundShown, RoundsJudged
from rubrica.server.idempotency import write_once
from rubrica.server.payloads import payload, payloads, round_payload
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, render
from rubrica.server.shared import KeyedLocks, shared_instance

from .games import GameId
from .rounds import PlayerName

router = APIRouter(prefix="/api/games", route_class=JsonRoute, tags=["games"])
Number = Annotated[int, Path(ge=1, le=HIGHEST_NUMBER)]
NEXT = RoundStarting()


@router.post("/{game_id}/start", status_code=201, response_model=RoundBegun, summary="Begin a round")
async def start(game_id: GameId, caller: Signed, service: Serving, body: RoundStarting = NEXT) -> Response:
    """Players their own. The server's clock runs from here until the round is submitted with this `token`; beginning
    the same round once more gives the same token and does not turn back the clock."""
    wanted = (body.player, body.round_number, service.clock())
    return render(RouteAnswer(await service.database.write(starts.start_round, caller, game_id, *wanted), 201))


@router.post("/{game_id}/retry", response_model=RoundsJudged, summary="Have open scores judged again")
async def retry(request: Request, game_id: GameId, caller: Signed, service: Serving) -> Response:
    """Whoever made the game, or an admin: only scores that a failed judge left open. They are also judged again by
    themselves, later and later, for some two days."""

    async def opened(_now: datetime) -> Opened:
        return await service.database.read(open_retry, caller, game_id)

    def session(now: datetime) -> RoundJudging:
        return RoundJudging(service.plans.of, caller, now, service.work.of(caller.user_id), service.spending)

    async def keep(judged: JudgedRounds, complete: bool) -> Response:
        return await write_once(request, partial(_answer, game_id, complete), rounds.keep_judged_again, judged)

    async with shared_instance(request.app, KeyedLocks).of((game_id, "retry")):
        return await judge_and_keep(opened, session, keep, service.clock)


@router.put("/{game_id}/rounds/{player}/{number}/void", response_model=RoundShown, summary="Void a round")
async def void(
    game_id: GameId, player: PlayerName, number: Number, body: RoundVoiding, caller: Signed, service: Serving
) -> Response:
    """Whoever made the game, or an admin. The round is kept and shown with the reason, and counts no more."""
    done = await service.database.write(
        rounds.void_round, caller, game_id, (player, number), body.reason, service.clock()
    )
    return render(RouteAnswer(round_payload(done)))


@router.delete(
    "/{game_id}/rounds/{player}/{number}/void", response_model=RoundShown, summary="Have a round count again"
)
async def restore(game_id: GameId, player: PlayerName, number: Number, caller: Signed, service: Serving) -> Response:
    """Whoever made the game, or an admin."""
    done = await service.database.write(rounds.void_round, caller, game_id, (player, number), None, service.clock())
    return render(RouteAnswer(round_payload(done)))


@router.put("/{game_id}/vouched", response_model=GameShown, summary="Vouch for a game")
async def vouch(game_id: GameId, body: Vouching, caller: Signed, service: Serving) -> Response:
    """Admins. The game then counts across games whoever plays in it, and whatever is attached."""
    done = await service.database.write(games.vouch, caller, game_id, body.vouched, service.clock())
    return render(RouteAnswer({**payload(done.game), "evaluations": payloads(done.attachments)}))


@router.get("/{game_id}/ratings", response_model=RatingsShown, summary="Ratings of a game's players")
async def ratings(game_id: GameId, caller: Signed, service: Serving) -> Response:
    """Elo and Bradley–Terry from who did better in rounds of the same number, with 95 % intervals, beside the mean."""
    results = await service.database.read(rating_access.results_of_game, caller, game_id)
    return render(RouteAnswer(await service.work.of(caller.user_id)(rating_access.rated, results)))


@router.get("/{game_id}/export", summary="Take a game's rounds and scores along", response_model=None)
async def export(
    game_id: GameId,
    caller: Signed,
    service: Serving,
    format: Annotated[Literal["csv", "json"], Query(description="csv, or json: a list of objects.")] = "csv",
) -> Response:
    """Whoever made the game, or an admin: one line for every score of every round, voided ones too."""
    lines = await service.database.read(game_export.lines, caller, game_id)
    if format == "json":
        return render(RouteAnswer({"items": lines}))
    text = await service.work.of(caller.user_id)(game_export.as_csv, lines)
    headers = {"Content-Disposition": f'attachment; filename="game-{game_id}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def _answer(game_id: UUID, complete: bool, told: list[RoundReply]) -> RouteAnswer:
    return RouteAnswer({"game_id": game_id, "rounds": [round_payload(each) for each in told], "complete": complete})
