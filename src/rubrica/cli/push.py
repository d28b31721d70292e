"""``rubrica push``: rubric files to a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
import typer

from rubrica.engine.document import read_document
from rubrica.engine.expand import slug
from rubrica.engine.load import rubric_from_text
from rubrica.errors import JsonError, Problem, RubricaError, RubricError
from rubrica.jsontext import decode_json
from rubrica.report.figures import count_of

from .options import ServerAddress
from .remote import Remote, remote
from .screen import note, out, safe

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Files = Annotated[list[Path], typer.Argument(metavar="FILE…", help="Rubrics, YAML or JSON, or bundles of `pull`.")]
Public = Annotated[
    bool | None, typer.Option("--public/--private", help="Who may see it; left out, a new one is private.")
]
Note = Annotated[str, typer.Option("--note", "-m", help="Why it was changed; kept with the version.")]
Examples = Annotated[
    Path | None,
    typer.Option("--examples", metavar="CASES.jsonl", help="Cases that show what it does, kept with the version."),
]
EPILOG = """[bold]Examples[/bold]
  rubrica push my-rubric.yaml --server http://localhost:8000
  rubrica push my-rubric.yaml --public -m 'accuracy weighs more'
  rubrica push rubrics/*.yaml

A rubric you have there already gets a new version, if it changed; its last
version number is counted up unless the file says another. RUBRICA_SERVER names
the server, RUBRICA_API_KEY the key."""


@app.command(epilog=EPILOG)
def push(files: Files, server: ServerAddress, public: Public = None, why: Note = "", examples: Examples = None) -> None:
    """Store rubric files on a server, each change as a new version.

    Every file is checked before the first one is sent.
    """
    if examples is not None and len(files) > 1:
        raise typer.BadParameter("belongs to one rubric; push them one by one", param_hint="--examples")
    drafts = [_draft(path, public, why, examples) for path in files]
    with remote(server) as (there, runner):
        changed = sum(runner.run(_push(there, path, draft)) for path, draft in zip(files, drafts, strict=True))
    if len(files) > 1:
        note(f"{changed} of {count_of(len(files), 'rubric')} changed")


def _draft(path: Path, public: bool | None, why: str, examples: Path | None) -> dict[str, Any]:
    """What is sent of a file: the rubric, and how it is to be listed."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RubricaError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RubricError([Problem(f"not UTF-8 text at byte {error.start}", file=str(path))]) from None
    data = read_document(text, str(path)).data
    if isinstance(data, dict) and isinstance(data.get("rubric"), dict):  # a bundle
        draft = {**data["rubric"], "examples": data.get("examples") or []}
    else:
        rubric_from_text(text, str(path))
        draft = dict(data)
    if public is not None:
        draft["is_public"] = public
    if examples is not None:
        draft["examples"] = _cases(examples)
    return draft | ({"note": why} if why else {})


def _cases(path: Path) -> list[Any]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise RubricaError(f"{path}: cannot be read: {error.strerror}") from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found += [decode_json(line)] if line.strip() else []
        except JsonError as error:
            raise RubricaError(f"{path}:{number}: not JSON: {error}") from None
    return found


class _Myself(msgspec.Struct, frozen=True):
    user_id: str


class _Stored(msgspec.Struct, frozen=True):
    id: str
    slug: str
    version: str
    revision: int
    created_by: str | None = None


async def _push(there: Remote, path: Path, draft: dict[str, Any]) -> bool:
    """Store one rubric; whether that made a version."""
    me, name = (await there.get("/api/whoami")).read(_Myself), str(draft["name"])
    reference = slug(name) if "scoring_type" in draft else quote(name, safe="")
    before = await there.get(f"/api/evaluations/{reference}", answers=(404, 409))  # 409: several others have one
    known = before.read(_Stored) if before.status < 300 else None
    if known is not None and known.created_by == me.user_id:
        own = f"/api/evaluations/{quote(known.id, safe='')}"
        tag = before.headers.get("ETag", "")
        after = (await there.put(own, await _unlabelled(there, own, draft), tag)).read(_Stored)
        changed = after.revision != known.revision
    else:
        after = (await there.post("/api/evaluations", draft)).read(_Stored)
        changed = True
    state = "stored" if changed else "unchanged"
    out().print(safe(f"{path}: {state} as {after.slug}@{after.version}"), style="" if changed else "dim", markup=False)
    return changed


async def _unlabelled(there: Remote, own: str, draft: dict[str, Any]) -> dict[str, Any]:
    """The draft without a version that the server has already: it was counted up there since the file was written."""
    label = draft.get("version")
    if label is None:
        return draft
    known = await there.get(f"{own}/versions/{quote(str(label), safe='')}", answers=(404,))
    return draft if known.status == 404 else {key: value for key, value in draft.items() if key != "version"}
