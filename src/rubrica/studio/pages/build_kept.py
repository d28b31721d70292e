"""Unsaved work that the browser kept: offered when its page is opened again, to go on with or to discard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from nicegui import ui

from rubrica.arena import catalogue
from rubrica.errors import JsonError, RubricaError
from rubrica.jsontext import decode_json
from rubrica.studio.parts import told

from .build_desk import Desk
from .build_panels import Panels


async def remembered(storage: str) -> Mapping[str, Any] | None:
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


async def offer_kept(desk: Desk, panels: Panels, banner: ui.element, *, aside: bool = False) -> None:
    """Offer unsaved work of this browser, to go on with or to discard."""
    storage = f"{desk.storage}:aside" if aside else desk.storage
    try:
        kept = await remembered(storage)
    except TimeoutError:
        return  # still undecided: what is there stays there
    if kept is None or kept["text"] == desk.text:
        desk.undecided = desk.undecided and aside
        return

    async def go_on() -> None:
        holder.delete()
        desk.undecided = desk.undecided and aside
        await resume(desk, panels, kept)
        if aside:
            desk.client.run_javascript(f"localStorage.removeItem({json.dumps(storage)})")

    def discard() -> None:
        holder.delete()
        desk.undecided = desk.undecided and aside
        desk.client.run_javascript(f"localStorage.removeItem({json.dumps(storage)})")

    with banner, ui.element("div").classes("banner").props('role="status"') as holder:
        words = (
            "What you set aside is still in this browser."
            if aside
            else f"You have unsaved work here, from {when(kept)}."
        )
        ui.label(words).classes("grow")
        ui.button("Bring it back" if aside else "Go on with it", on_click=go_on).props("unelevated dense no-caps")
        ui.button("Discard it", on_click=discard).props("flat dense no-caps")


async def resume(desk: Desk, panels: Panels, kept: Mapping[str, Any]) -> None:
    """Put kept work on the desk. If the rubric moved on since, saving will say so."""
    revision = kept.get("revision")
    if desk.entry is not None and kept.get("tag") not in (None, desk.entry.tag) and isinstance(revision, int):
        try:
            desk.entry = await desk.visitor.read(catalogue.entry, str(desk.entry.listing.id), revision)
        except RubricaError as error:
            ui.notify(told(error), type="warning")
    desk.is_public = bool(kept.get("is_public", desk.is_public))
    desk.named = True
    if desk.read(str(kept["text"])) and desk.label is not None and desk.document.get("version") == kept.get("label"):
        desk.put(("version",), desk.label)
    panels.redraw()
