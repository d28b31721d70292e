"""Versions of a rubric: read, compare, restore; forks and lineage; bundles; the readable page."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.exceptions import HTTPException

from rubrica.errors import InputError
from rubrica.report.rubric_page import rubric_html, rubric_markdown
from rubrica.server.depends import Serving, Signed
from rubrica.server.idempotency import write_once
from rubrica.server.preconditions import unchanged
from rubrica.server.request_bodies import JsonRoute, read_document
from rubrica.server.responses import RouteAnswer, decode_cursor, encode_cursor, etag, page, render
from rubrica.server.rubric_shapes import (
    SPEED,
    DifferenceShown,
    EditionPage,
    EvaluationShown,
    Fork,
    LineageShown,
    Restoring,
    VersionShown,
)
from rubrica.server.shared import run_for_user
from rubrica.store.versions import Version, VersionSummary
from rubrica.workspace import catalogue
from rubrica.workspace.access import check_action
from rubrica.workspace.bundle import Format, draft_of, read_bundle, write_bundle
from rubrica.workspace.definition_diff import difference
from rubrica.workspace.draft import LONGEST_NAME, LONGEST_NOTE, Draft
from rubrica.workspace.editing import two_versions
from rubrica.workspace.entry import RubricEntry, origin_shown
from rubrica.workspace.plain_data import plain_text

from .evaluations import MOST, PAGE, Reference, created, row, rubric_answer

router = APIRouter(prefix="/api/evaluations", route_class=JsonRoute, tags=["versions"])
YAML = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/vnd.yaml"})
BUNDLE = {"bundle": 1, "rubric": SPEED, "examples": [{"response": "Done.", "metadata": {"response_time": 8}}]}
IMPORT = {
    "requestBody": {
        "required": True,
        "description": "A bundle as `export` writes it, or a bare rubric document.",
        "content": {
            "application/json": {"schema": {"type": "object"}, "example": BUNDLE},
            "application/yaml": {"schema": {"type": "string"}},
        },
    }
}

Which = Annotated[str, Path(description="A version (1.0.1), or the number of a revision.", examples=["1"])]


@router.get("/{reference}/versions", response_model=EditionPage, summary="List versions")
async def history(
    reference: Reference,
    caller: Signed,
    service: Serving,
    limit: Annotated[int, Query(ge=1, le=MOST, description="Items of a page.")] = PAGE,
    cursor: Annotated[str | None, Query(description="`next` of the page before.")] = None,
) -> Response:
    """Every change ever made, newest first."""
    before = None if cursor is None else _revision(cursor)
    found = await service.database.read(catalogue.history, caller, reference, before, limit + 1)
    following = encode_cursor([found[limit - 1].revision]) if len(found) > limit else None
    return render(RouteAnswer(page([_edition(edition) for edition in found[:limit]], following)))


@router.get("/{reference}/versions/{which}", response_model=VersionShown, summary="Read a version")
async def read_version(
    reference: Reference,
    which: Which,
    caller: Signed,
    service: Serving,
    if_none_match: Annotated[str | None, Header(description="An ETag; 304 if nothing changed.")] = None,
) -> Response:
    """What the rubric said then. `category`, `tags` and `is_public` are those of today."""
    found = await service.database.read(catalogue.entry, caller, reference, which)
    status = 304 if unchanged(if_none_match, found.tag) else 200
    told = found.shown() | {"changed": _edition(found.version)}
    return render(RouteAnswer(told, status, {"ETag": etag(found.tag)}))


@router.get(
    "/{reference}/versions/{which}/diff/{other}", response_model=DifferenceShown, summary="Compare two versions"
)
async def compare(reference: Reference, which: Which, other: Which, caller: Signed, service: Serving) -> Response:
    """What changed from the first to the second, place by place, and in words. Named things in lists are compared with
    their namesakes wherever they stand; examples are compared too."""
    old, new = await service.database.read(two_versions, caller, reference, which, other)
    said = [{**version.definition, "examples": list(version.examples)} for version in (old, new)]
    changes = await service.work.run(caller.user_id, difference, *said)
    told = {
        "from": _edition(old),
        "to": _edition(new),
        "changes": [change.shown() for change in changes],
        "text": [change.text for change in changes],
    }
    return render(RouteAnswer(told))


@router.post(
    "/{reference}/versions/{which}/restore",
    status_code=201,
    response_model=EvaluationShown,
    responses={200: {"model": EvaluationShown, "description": "It says just that already; nothing was changed."}},
    summary="Restore a version",
)
async def restore(
    request: Request,
    reference: Reference,
    which: Which,
    caller: Signed,
    service: Serving,
    body: Restoring | None = None,
) -> Response:
    """Its author, or an admin. The old version comes back as a new one; nothing is lost."""
    note = plain_text(body.note if body else "", "note", LONGEST_NOTE)
    now = service.clock()

    def respond(entry: RubricEntry) -> RouteAnswer:
        return created(entry) if entry.version.created_at == now else rubric_answer(entry)

    return await write_once(request, respond, catalogue.restore, caller, reference, which, note, now)


@router.post("/{reference}/fork", status_code=201, response_model=EvaluationShown, summary="Fork a rubric")
async def fork(
    request: Request, reference: Reference, caller: Signed, service: Serving, body: Fork | None = None
) -> Response:
    """Authors. A private copy of your own, with its examples, that remembers where it comes from. A name that you use
    already gets a number."""
    wanted = body or Fork(name=None, version=None)
    name = None if wanted.name is None else _name(wanted.name)
    return await write_once(request, created, catalogue.fork, caller, reference, wanted.version, name, service.clock())


@router.get("/{reference}/lineage", response_model=LineageShown, summary="Read a lineage")
async def lineage(reference: Reference, caller: Signed, service: Serving) -> Response:
    """Where a rubric comes from, and what was made of it, as far as you may see."""
    listing, found = await service.database.read(catalogue.lineage, caller, reference)
    ancestors = [
        {**origin_shown(origin), "slug": origin.slug, "revision": origin.revision} for origin in found.ancestors
    ]
    told = {
        "id": listing.id,
        "slug": listing.slug,
        "ancestors": ancestors,
        "hidden": found.hidden,
        "forks": [row(each) for each in found.forks],
    }
    return render(RouteAnswer(told))


@router.get(
    "/{reference}/export",
    response_class=Response,
    responses={200: {"content": {"application/yaml": {}, "application/json": {}}}},
    summary="Export a bundle",
)
async def export(
    reference: Reference,
    caller: Signed,
    service: Serving,
    form: Annotated[Format, Query(alias="format", description="Of the file.")] = "yaml",
) -> Response:
    """Rubric, examples and where they come from in one file. slug@version exports that version."""
    found = await service.database.read(catalogue.entry, caller, reference)
    text = await service.work.run(caller.user_id, write_bundle, found, service.clock(), form)
    name = f"{found.listing.slug}-{found.version.version}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "ETag": etag(found.tag)}
    return Response(text, 200, headers, f"application/{form}")


@router.post(
    "/import", status_code=201, response_model=EvaluationShown, openapi_extra=IMPORT, summary="Import a bundle"
)
async def import_bundle(
    request: Request,
    caller: Signed,
    service: Serving,
    rename: Annotated[bool, Query(description="Give it a number if you have one of that name; else 409.")] = False,
) -> Response:
    """Authors. A bundle, or a bare rubric document, in JSON or YAML. It becomes a private rubric of yours. It is
    data: nothing in it is run, and what it says about its origin is kept as a note."""
    check_action(caller, "importing a rubric")
    body = await request.body()
    draft = await run_for_user(request.app, caller, _read, body, request.headers.get("content-type", ""))
    query = catalogue.import_draft if rename else catalogue.create
    return await write_once(request, created, query, caller, draft, service.clock())


@router.get(
    "/{reference}/docs",
    response_class=Response,
    responses={200: {"content": {"text/html": {}, "text/markdown": {}}}},
    summary="Read it in words",
)
async def docs(
    reference: Reference,
    caller: Signed,
    service: Serving,
    accept: Annotated[str, Header(description="`text/markdown` gives Markdown.")] = "",
    form: Annotated[Literal["html", "markdown"] | None, Query(alias="format")] = None,
) -> Response:
    """The rubric for people who do not read definitions: a page, or Markdown."""
    found = await service.database.read(catalogue.entry, caller, reference)
    run = service.work.of(caller.user_id)
    plan = await run(service.plans.of, found.version.definition, found.version.hash)
    headers = {"ETag": etag(found.tag), "Vary": "Accept"}
    if form == "markdown" or (form is None and "text/markdown" in accept.lower()):
        text = await run(rubric_markdown, plan.rubric)
        return Response(text + "\n", 200, headers, "text/markdown")
    return Response(await run(rubric_html, plan.rubric), 200, headers, "text/html")


def _edition(edition: VersionSummary | Version) -> dict[str, Any]:
    return {
        "revision": edition.revision,
        "version": edition.version,
        "hash": edition.hash,
        "note": edition.note,
        "created_by": edition.created_by,
        "created_at": edition.created_at,
    }


def _revision(cursor: str) -> int:
    revision: int = decode_cursor(cursor, int)[0]
    return max(0, min(revision, 2**31 - 1))  # what a column of whole numbers can be compared with


def _name(name: str) -> str:
    name = plain_text(name, "name", LONGEST_NAME)
    if not name or not name.isprintable():
        raise InputError("name is blank or holds characters that cannot be shown")
    return name


def _read(body: bytes, media_type: str) -> Draft:
    kind = media_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        return draft_of(read_document(body))
    if kind not in YAML:
        raise HTTPException(415, "a bundle is JSON or YAML (send Content-Type: application/json or application/yaml)")
    try:
        return read_bundle(body.decode())
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"the body is not UTF-8 text at byte {error.start}") from None
