"""Unsaved work that the browser kept: offered when its page is opened again, to go on with or to discard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from nicegui import ui

from rubrica.errors import JsonError, RubricaError
from rubrica.jsontext import decode_json
from rubrica.studio.parts import error_text
from rubrica.workspace import catalogue

from .editor import DraftEditor
from .panels import Panels


async def read_unsaved(storage: str) -> Mapping[str, Any] | None:
    """What the browser kept of a draft; a TimeoutError where the browser does not answer."""
    found = await ui.run_javascript(f"return localStorage.getItem({json.dumps(storage)})", timeout=30)
    try:
        kept = decode_json(found) if isinstance(found, str) else None
    except JsonError:
        return None
    return kept if isinstance(kept, dict) and isinstance(kept.get("text"), str) else None


def when(kept: Mapping[str, Any]) -> str:
    at = kept.get("at")
    if not isinstance(at, int | float):
        return "before"
    return datetime.fromtimestamp(at / 1000).astimezone().strftime("%d %B, %H:%M")


async def offer_kept(editor: DraftEditor, panels: Panels, banner: ui.element, *, aside: bool = False) -> None:
    """Offer unsaved work of this browser, to go on with or to discard."""
    storage = f"{editor.storage}:aside" if aside else editor.storage
    try:
        kept = await read_unsaved(storage)
    except TimeoutError:
        return  # still undecided: what is there stays there
    if kept is None or kept["text"] == editor.text:
        editor.undecided = editor.undecided and aside
        return

    async def go_on() -> None:
        holder.delete()
        editor.undecided = editor.undecided and aside
        await resume(editor, panels, kept)
        if aside:
            editor.client.run_javascript(f"localStorage.removeItem({json.dumps(storage)})")

    def discard() -> None:
        holder.delete()
        editor.undecided = editor.undecided and aside
        editor.client.run_javascript(f"localStorage.removeItem({json.dumps(storage)})")

    with banner, ui.element("div").classes("banner").props('role="status"') as holder:
        words = (
            "What you set aside is still in this browser."
            if aside
            else f"You have unsaved work here, from {when(kept)}."
        )
        ui.label(words).classes("grow")
        ui.button("Bring it back" if aside else "Go on with it", on_click=go_on).props("unelevated dense no-caps")
        ui.button("Discard it", on_click=discard).props("flat dense no-caps")


async def resume(editor: DraftEditor, panels: Panels, kept: Mapping[str, Any]) -> None:
    """Put kept work on the editor. If the rubric moved on since, saving will say so."""
    revision = kept.get("revision")
    if editor.entry is not None and kept.get("tag") not in (None, editor.entry.tag) and isinstance(revision, int):
        try:
            editor.entry = await editor.visitor.read(catalogue.entry, str(editor.entry.listing.id), revision)
        except RubricaError as error:
            ui.notify(error_text(error), type="warning")
    editor.is_public = bool(kept.get("is_public", editor.is_public))
    editor.named = True
    if (
        editor.read(str(kept["text"]))
        and editor.label is not None
        and editor.document.get("version") == kept.get("label")
    ):
        editor.put(("version",), editor.label)
    panels.redraw()
