"""Games: make, list, read and change them, and attach rubrics to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Body, FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from rubrica.games import attachments, games
from rubrica.games.attachments import GameAttachments, Weights
from rubrica.games.games import GameView
from rubrica.server.depends import Serving, Signed
from rubrica.server.game_shapes import (
    AttachedShown,
    Attaching,
    AttachingAll,
    AttachingOne,
    GameChange,
    GamePage,
    GameShown,
    NewGame,
)
from rubrica.server.idempotency import write_once
from rubrica.server.payloads import attachments_payload, game_payload, payloads
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, decode_cursor, encode_cursor, page, render
from rubrica.server.service import Service
from rubrica.server.shared import run_for_user
from rubrica.store.games import NewAttachment
from rubrica.workspace.access import Caller

ONE_OR_SEVERAL = {
    "content": {
        "application/json": {
            "schema": {"anyOf": [{"$ref": "#/components/schemas/AttachingAll"}, AttachingOne.model_json_schema()]}
        }
    }
}
router = APIRouter(prefix="/api/games", route_class=JsonRoute, tags=["games"])
PAGE, MOST = 50, 200
CAN_BE_NONE = ("deadline", "most_rounds", "most_players")

GameId = Annotated[UUID, Path(description="The game's id.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="Items of a page.")]
Cursor = Annotated[str | None, Query(description="`next` of the page before.")]
Scaling = Annotated[Weights, Query(description="renormalise: scale all of the game's weights so that they sum to 1.")]


@router.post("", status_code=201, response_model=GameShown, summary="Make a game")
async def make(request: Request, body: NewGame, caller: Signed, service: Serving) -> Response:
    """Authors."""
    return await write_once(request, made_game, games.make_game, caller, body.model_dump(), service.clock())


@router.get("", response_model=GamePage, summary="List games")
async def listed(
    caller: Signed,
    service: Serving,
    mine: Annotated[bool, Query(description="Those you made only.")] = False,
    limit: Limit = PAGE,
    cursor: Cursor = None,
) -> Response:
    """Public ones, your own, and those you play in, newest first. An admin sees everybody's."""
    before = None if cursor is None else decode_cursor(cursor, UUID)[0]
    found = await service.database.read(games.list_games, caller, mine, before, limit + 1)
    following = encode_cursor([found[limit - 1].id]) if len(found) > limit else None
    return render(RouteAnswer(page([game_payload(game) for game in found[:limit]], following)))


@router.get("/{game_id}", response_model=GameShown, summary="Read a game")
async def read(game_id: GameId, caller: Signed, service: Serving) -> Response:
    """The game, and what is attached to it."""
    return render(_game_answer(await service.database.read(games.view_game, caller, game_id)))


@router.patch("/{game_id}", response_model=GameShown, summary="Change a game")
async def change(game_id: GameId, body: GameChange, caller: Signed, service: Serving) -> Response:
    """Whoever made it, or an admin. Rounds that were scored before stay as they are. `status` opens a draft, closes a
    game and opens it again; a deadline or a limit is taken away with null."""
    told = body.model_dump(exclude_unset=True)
    changes = {key: value for key, value in told.items() if value is not None or key in CAN_BE_NONE}
    return render(
        _game_answer(await service.database.write(games.change_game, caller, game_id, changes, service.clock()))
    )


@router.get("/{game_id}/evaluations", response_model=AttachedShown, summary="List what is attached to a game")
async def attached(game_id: GameId, caller: Signed, service: Serving) -> Response:
    """The attached rubrics, each at its version, and the sum of their weights."""
    return render(_attached(await service.database.read(attachments.attached, caller, game_id)))


@router.post(
    "/{game_id}/evaluations",
    status_code=201,
    response_model=AttachedShown,
    summary="Attach rubrics",
    openapi_extra={"requestBody": ONE_OR_SEVERAL},
)
async def attach(
    request: Request,
    game_id: GameId,
    caller: Signed,
    service: Serving,
    body: Annotated[dict[str, Any], Body(description="One rubric, or several under `evaluations`.")],
    weights: Scaling = "exact",
) -> Response:
    """Whoever made the game, or an admin: one rubric, or `{"evaluations": […]}`, beside those that are there.

    Afterwards all attached weights sum to 1 (± 0.001), or nothing is attached (422), unless `weights` says
    `renormalise`. The game stays at the version it is given, whatever becomes of the rubric later.
    """
    read = _read(body)
    wanted = [read] if isinstance(read, AttachingOne) else read.evaluations
    new = await _check_attachments(request.app, caller, game_id, wanted)
    scaling: Weights = "renormalise" if "renormalise" in (weights, read.weights) else "exact"
    made = partial(_attached, status=201)
    return await write_once(request, made, attachments.attach, caller, game_id, new, scaling, service.clock())


@router.put("/{game_id}/evaluations", response_model=AttachedShown, summary="Replace what is attached")
async def replace(
    request: Request,
    game_id: GameId,
    body: AttachingAll,
    caller: Signed,
    service: Serving,
    weights: Scaling = "exact",
) -> Response:
    """Whoever made the game, or an admin: exactly these. What was attached just so before stays, with its scores."""
    new = await _check_attachments(request.app, caller, game_id, body.evaluations)
    scaling: Weights = "renormalise" if "renormalise" in (weights, body.weights) else "exact"
    done = await service.database.write(attachments.replace, caller, game_id, new, scaling, service.clock())
    return render(_attached(done))


@router.delete("/{game_id}/evaluations/{attachment_id}", response_model=AttachedShown, summary="Take a rubric off")
async def detach(
    game_id: GameId,
    attachment_id: Annotated[UUID, Path(description="The `id` in the list of what is attached.")],
    caller: Signed,
    service: Serving,
    weights: Scaling = "exact",
) -> Response:
    """Whoever made the game, or an admin. Its scores stay, and count no more. The rest has to sum to 1, or is scaled
    with `weights=renormalise`."""
    arguments = (caller, game_id, attachment_id, weights, service.clock())
    return render(_attached(await service.database.write(attachments.detach, *arguments)))


def _read(body: dict[str, Any]) -> AttachingAll | AttachingOne:
    try:
        return (AttachingAll if "evaluations" in body else AttachingOne).model_validate(body)
    except ValidationError as error:
        faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]
        raise RequestValidationError(faults, body=body) from None


async def _check_attachments(
    app: FastAPI, caller: Caller, game_id: UUID, wanted: Sequence[Attaching]
) -> list[NewAttachment]:
    service: Service = app.state.service
    requests = [item.request() for item in wanted]
    resolved = await service.database.read(attachments.resolve, caller, game_id, requests)
    under = None if any(isinstance(item, AttachingOne) for item in wanted) else "evaluations"
    return await run_for_user(app, caller, attachments.check_attachments, resolved, under=under)


def made_game(view: GameView) -> RouteAnswer:
    """What is answered with a new game."""
    answer = _game_answer(view)
    return RouteAnswer(answer.data, 201, {"Location": f"/api/games/{view.game.id}"})


def _game_answer(view: GameView) -> RouteAnswer:
    return RouteAnswer({**game_payload(view.game), "evaluations": payloads(view.attachments)})


def _attached(attached: GameAttachments, status: int = 200) -> RouteAnswer:
    return RouteAnswer(attachments_payload(attached), status)
