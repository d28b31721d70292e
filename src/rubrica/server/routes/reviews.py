"""Reviews: score a sample of a run's evaluations blind, hold the judge against people, and calibrate it by them."""

from __future__ import annotations

from datetime import date
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response

from rubrica.server.depends import Serving, Signed
from rubrica.server.idempotency import write_once
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, decode_cursor, encode_cursor, page, render
from rubrica.server.review_shapes import (
    AgreementShown,
    CalibrationProposal,
    CalibrationWanted,
    NewReviewScores,
    ReviewItemList,
    ReviewItemShown,
    ReviewProgressShown,
    agreement_shown,
    item_shown,
    proposal_shown,
    summary_shown,
)
from rubrica.server.rubric_shapes import EvaluationShown
from rubrica.server.service import Service
from rubrica.store.review_queue import Pile, QueueCursor
from rubrica.workspace import reviews
from rubrica.workspace.access import Caller, check_action
from rubrica.workspace.calibration import CalibratedRubric, calibrated, labels_of, save_calibrated, ways_to_save
from rubrica.workspace.plain_data import plain_text
from rubrica.workspace.review_agreement import AgreementReport, agreement_report
from rubrica.workspace.reviews import ReviewTask, ScoredItem

from .evaluations import created
from .games import PAGE, Cursor, Limit

router = APIRouter(prefix="/api/reviews", route_class=JsonRoute, tags=["reviews"])
LONGEST_RUN = 200

OfRun = Annotated[str | None, Query(max_length=LONGEST_RUN, description="Only of this run.")]
ItemId = Annotated[UUID, Path(description="The item's id.")]


@router.get("/items", response_model=ReviewItemList, summary="List what is to be scored")
async def listed(
    caller: Signed,
    service: Serving,
    pile: Annotated[
        Pile, Query(description="open: nobody has scored it. mine: you have. second: only others have.")
    ] = "open",
    run: OfRun = None,
    limit: Limit = PAGE,
    cursor: Cursor = None,
) -> Response:
    """Items of the reviews that you take part in, the disputed first. The first open one is the next to score."""
    after = None if cursor is None else QueueCursor(*decode_cursor(cursor, int, UUID))
    found = await service.database.read(reviews.list_items, caller, pile, _run(run), after, limit + 1)
    following = encode_cursor(list(found[limit - 1].spot)) if len(found) > limit else None
    return render(RouteAnswer(page([summary_shown(own) for own in found[:limit]], following)))


@router.get("/progress", response_model=ReviewProgressShown, summary="How far the reviews are")
async def progress(caller: Signed, service: Serving, run: OfRun = None) -> Response:
    """Of every run that you may review, and how many items wait for you."""
    named = _run(run)
    runs = await service.database.read(reviews.review_progress, caller)
    counts = await service.database.read(reviews.count_items, caller, named)
    told = {name: getattr(counts, name) for name in ("open", "disputed", "mine", "second", "all")}
    return render(RouteAnswer({"runs": [own for own in runs if named in (None, own.run)], **told}))


@router.get("/items/{item_id}", response_model=ReviewItemShown, summary="Read an item")
async def read(item_id: ItemId, caller: Signed, service: Serving) -> Response:
    """The texts and the questions. What the judge and others gave is told once you have scored it."""
    return render(RouteAnswer(item_shown(await service.database.read(reviews.read_item, caller, item_id))))


@router.post("/items/{item_id}/scores", status_code=201, response_model=ReviewItemShown, summary="Score an item")
async def submit(
    request: Request, item_id: ItemId, body: NewReviewScores, caller: Signed, service: Serving
) -> Response:
    """Players. What you give stands: 409 if you have scored it already. The reply tells what the judge gave."""
    return await write_once(
        request, _submitted, reviews.submit, caller, item_id, body.scores, body.note, service.clock()
    )


@router.get("/agreement", response_model=AgreementShown, summary="Hold the judge against people")
async def agreement(caller: Signed, service: Serving, run: OfRun = None) -> Response:
    """Over what people have scored of runs that you may read."""
    return render(RouteAnswer(agreement_shown(await _report(caller, service, run))))


@router.get("/calibration", response_model=CalibrationProposal, summary="What calibration would change")
async def propose(
    caller: Signed,
    service: Serving,
    rubric: Annotated[str, Query(min_length=1, max_length=LONGEST_RUN, description="Its name, or name@version.")],
    run: OfRun = None,
) -> Response:
    """Learned from people's scores of runs that you may read. Nothing is kept."""
    made = await _calibrated(caller, service, rubric, run)
    keep, _ = await service.database.read(ways_to_save, caller, made.fit.rubric)
    return render(RouteAnswer(proposal_shown(made, keep)))


@router.post("/calibration", status_code=201, response_model=EvaluationShown, summary="Keep the calibrated rubric")
async def keep(request: Request, body: CalibrationWanted, caller: Signed, service: Serving) -> Response:
    """Authors. As the next version of your own rubric, as your fork of somebody else's, or as a new one. 409 if the
    rubric has changed since its judge scored by it, 422 if no correction clearly helps."""
    check_action(caller, "keeping a calibrated rubric")
    made = await _calibrated(caller, service, body.rubric, body.run)
    return await write_once(request, created, save_calibrated, caller, made, service.clock())


async def _report(caller: Caller, service: Service, run: str | None) -> AgreementReport:
    runs = await service.database.read(reviews.reviewed_runs, caller, _run(run))
    done = await service.database.read(reviews.done_items, caller, runs)
    return await service.work.run(caller.user_id, agreement_report, done, service.runs.places.rubrics)


async def _calibrated(caller: Caller, service: Service, rubric: str, run: str | None) -> CalibratedRubric:
    labelled = labels_of(await _report(caller, service, run), rubric)
    today: date = service.clock().date()
    return await service.work.run(caller.user_id, calibrated, labelled, today)


def _submitted(found: ScoredItem | ReviewTask) -> RouteAnswer:
    return RouteAnswer(item_shown(found), 201)


def _run(name: str | None) -> str | None:
    return None if name is None else plain_text(name, "run", LONGEST_RUN)
