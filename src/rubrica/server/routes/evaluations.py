"""Rubrics: create, list, read, change, delete, and try out without storing anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from fastapi import APIRouter, Body, Header, Path, Query, Request, Response
from pydantic import BaseModel, Field, WithJsonSchema

from rubrica.engine.plan import Plan
from rubrica.errors import InputError
from rubrica.model.context import Context
from rubrica.server.depends import Serving, Signed
from rubrica.server.idempotency import write_once
from rubrica.server.preconditions import must_have_seen, seen_revision, unchanged
from rubrica.server.request_bodies import JsonRoute, run_by_size
from rubrica.server.responses import RouteAnswer, decode_cursor, encode_cursor, etag, page, render
from rubrica.server.rubric_shapes import (
    CONTEXTS,
    DEFINITION,
    DEFINITIONS,
    EvaluationPage,
    EvaluationShown,
    ScoringType,
    Tryout,
)
from rubrica.server.service import Service
from rubrica.server.shared import run_for_user
from rubrica.store.rubrics import Order, RubricListing, RubricQuery
from rubrica.workspace import catalogue, score_records
from rubrica.workspace.access import check_action
from rubrica.workspace.draft import LONGEST_CATEGORY, LONGEST_TAG, MOST_TAGS, read_draft
from rubrica.workspace.entry import ANYTHING, RubricEntry
from rubrica.workspace.plain_data import plain_text
from rubrica.workspace.rubric_search import LONGEST_QUERY

router = APIRouter(prefix="/api/evaluations", route_class=JsonRoute, tags=["evaluations"])
PAGE, MOST = 50, 200

Reference = Annotated[str, Path(description="An id, a slug, or slug@version.", examples=["speed-demon"])]
IfMatch = Annotated[str | None, Header(description="The ETag that GET gave; `*` overwrites whatever is there.")]
Definition = Annotated[dict[str, Any], WithJsonSchema(DEFINITION), Body(openapi_examples=DEFINITIONS)]


class RubricListQuery(BaseModel):
    """What a list is narrowed down to."""

    q: str = Field("", max_length=LONGEST_QUERY, description="Words that occur in name, description, category or tag.")
    category: str | None = Field(None, max_length=LONGEST_CATEGORY)
    tag: list[str] = Field([], max_length=MOST_TAGS, description="May be given several times: every one of them.")
    scoring_type: ScoringType | None = None
    mine: bool = Field(False, description="Your own only.")
    sort: Order = "newest"
    limit: int = Field(PAGE, ge=1, le=MOST, description="Items of a page.")
    cursor: str | None = Field(None, description="`next` of the page before, with the same `sort`.")

    def wanted(self) -> RubricQuery:
        return RubricQuery(
            plain_text(self.q, "q", LONGEST_QUERY),
            None if self.category is None else plain_text(self.category, "category", LONGEST_CATEGORY),
            tuple(plain_text(tag, "tag", LONGEST_TAG) for tag in self.tag),
            self.scoring_type,
            self.mine,
            self.sort,
            None if self.cursor is None else decode_cursor(self.cursor, str, UUID),
        )


@router.post("", status_code=201, response_model=EvaluationShown, summary="Create a rubric")
async def create(request: Request, body: Definition, caller: Signed, service: Serving) -> Response:
    """Authors. A definition that cannot work comes back (422) with everything wrong with it. It is private unless it
    says `is_public: true`."""
    check_action(caller, "creating a rubric")
    draft = await run_for_user(request.app, caller, service.plans.draft, body)
    return await write_once(request, created, catalogue.create, caller, draft, service.clock())


@router.get("", response_model=EvaluationPage, summary="List rubrics")
async def listed(caller: Signed, service: Serving, query: Annotated[RubricListQuery, Query()]) -> Response:
    """What is public, and your own. An admin sees everybody's."""
    wanted, limit = query.wanted(), query.limit
    found = await service.database.read(catalogue.browse, caller, wanted, limit + 1)
    last = found[limit - 1] if len(found) > limit else None
    following = None if last is None else encode_cursor([last.slug, last.id])
    return render(RouteAnswer(page([row(listing) for listing in found[:limit]], following)))


@router.get("/{reference}", response_model=EvaluationShown, summary="Read a rubric")
async def read(
    reference: Reference,
    caller: Signed,
    service: Serving,
    if_none_match: Annotated[str | None, Header(description="An ETag; 304 if nothing changed.")] = None,
) -> Response:
    """By id, slug or slug@version. A slug is your own rubric, else the bundled one, else the only public one; if
    several are public, 409 lists their ids."""
    found = await service.database.read(catalogue.entry, caller, reference)
    status = 304 if unchanged(if_none_match, found.tag) else 200
    return render(RouteAnswer(found.shown(), status, {"ETag": etag(found.tag)}))


@router.put("/{reference}", response_model=EvaluationShown, summary="Change a rubric")
async def change(
    request: Request,
    reference: Reference,
    body: Definition,
    caller: Signed,
    service: Serving,
    if_match: IfMatch = None,
) -> Response:
    """Its author, or an admin. Send what GET gave, changed, with its ETag as If-Match (or its `revision` left in).

    A changed definition, or changed examples, are a new version. Unless you change `version` yourself its last number
    is counted up. `category`, `tags` and `is_public` are changed in place; what you leave out stays as it is.
    """
    check_action(caller, "changing a rubric")
    draft = await run_for_user(request.app, caller, service.plans.draft, body)
    read = must_have_seen(if_match, draft.revision)
    changed = await service.database.write(catalogue.update, caller, reference, draft, read, service.clock())
    return render(rubric_answer(changed))


@router.delete("/{reference}", status_code=204, summary="Delete a rubric")
async def delete(reference: Reference, caller: Signed, service: Serving, if_match: IfMatch = None) -> Response:
    """Its author, or an admin. Games and scores keep the versions they use."""
    read = seen_revision(if_match) or ANYTHING
    await service.database.write(catalogue.delete, caller, reference, read, service.clock())
    return render(RouteAnswer(None, 204))


@router.post("/{reference}/test", response_model=Tryout, summary="Try a rubric out")
async def try_out(
    request: Request,
    reference: Reference,
    caller: Signed,
    service: Serving,
    body: Annotated[
        dict[str, Any],
        Body(
            description="A context; or `{context, definition}`, to try a definition that is not saved.",
            openapi_examples=CONTEXTS,
        ),
    ],
) -> Response:
    """Everybody who sees it. Nothing is stored. Judges are asked for players only, because they cost: for a viewer,
    offline scorers stand in, and the notes say so."""
    given, definition = _tryout(body)
    found = await service.database.read(catalogue.entry, caller, reference)
    context = await run_by_size(await request.body(), Context.of, given)
    if definition is None:
        definition, slug = found.version.definition, found.listing.slug
        plan = await run_for_user(request.app, caller, service.plans.of, definition, found.version.hash)
    else:
        plan = await run_for_user(request.app, caller, _unsaved, service, definition)
        slug = plan.rubric.name
    plan, note = score_records.affordable(plan, caller)
    async with service.spending.judging(caller, [(plan, context)]):
        evaluation = await score_records.judge(plan, context, service.work.of(caller.user_id))
    outcome = score_records.outcome(evaluation, short=score_records.is_short(definition))
    told = {
        "slug": slug,
        "version": plan.rubric.version,
        "hash": plan.rubric.hash,
        **msgspec.structs.asdict(outcome),
        "notes": (*outcome.notes, *note),
        "evaluation": score_records.record(evaluation),
    }
    return render(RouteAnswer(told))


def _unsaved(service: Service, definition: Mapping[str, Any]) -> Plan:
    """The plan of a definition that somebody tries out, of which everything wrong is told."""
    return service.plans.judged(read_draft(definition).compiled())


def _tryout(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """The context and the unsaved definition in a body; a body that has neither key is a context itself."""
    if not body or not body.keys() <= {"context", "definition"}:
        return body, None
    context, definition = body.get("context") or {}, body.get("definition")
    if not isinstance(context, Mapping):
        raise InputError("context should be an object with at least a response")
    if definition is not None and not isinstance(definition, Mapping):
        raise InputError("definition should be a rubric document")
    return context, definition


def row(listing: RubricListing) -> dict[str, Any]:
    """A rubric as a list shows it."""
    return {
        "id": listing.id,
        "slug": listing.slug,
        "name": listing.name,
        "description": listing.description,
        "version": listing.version,
        "revision": listing.revision,
        "scoring_type": listing.scoring_type,
        "category": listing.category,
        "tags": listing.tags,
        "is_public": listing.is_public,
        "created_by": listing.created_by,
        "created_at": listing.created_at,
        "updated_at": listing.updated_at,
    }


def rubric_answer(entry: RubricEntry, status: Literal[200, 201] = 200) -> RouteAnswer:
    """A rubric with its ETag."""
    return RouteAnswer(entry.shown(), status, {"ETag": etag(entry.tag)})


def created(entry: RubricEntry) -> RouteAnswer:
    """The answer to what made a rubric."""
    headers = {"ETag": etag(entry.tag), "Location": f"/api/evaluations/{entry.listing.id}"}
    return RouteAnswer(entry.shown(), 201, headers)
