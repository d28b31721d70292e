"""The builder: a rubric written by form or as a document, tried on a sample, and saved as a new version."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib.resources import files
from typing import Any

from fastapi import Request
from nicegui import ui

from rubrica.errors import MissingError, RubricaError
from rubrica.packs.library import bundled_rubrics
from rubrica.studio.builder.checking import DraftSample
from rubrica.studio.builder.starters import STARTERS, starter
from rubrica.studio.criterion_lines import criterion_lines
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import chip, error_label, heading, notifying_errors
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace import catalogue
from rubrica.workspace.entry import RubricEntry
from rubrica.workspace.rubric_text import from_text, to_text

from .editor import DraftEditor, editable_document
from .panels import Panels
from .save_dialog import ask_to_save
from .side_panel import SamplePanel, draw_preview, draw_problems
from .unsaved import offer_kept, read_unsaved, resume, when

PLACE = "/rubrics"
SAMPLE = DraftSample(
    "What is the capital of France?",
    "Thank you for asking! The capital of France is Paris, which has about two million people.",
)


def install(studio: Studio) -> None:
    """Add the builder's pages."""

    @page("/build/new")
    async def new(request: Request, begin: str = "") -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "New rubric", PLACE):
            if not visitor.caller.may("author"):
                _refused(visitor)
            elif begin:
                await _begin(visitor, begin)
            else:
                await _choose(visitor)

    @page("/build/{reference}")
    async def build(request: Request, reference: str, anyway: bool = False) -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Builder", PLACE):
            try:
                entry = await visitor.read(catalogue.entry, reference)
            except RubricaError as error:
                with heading("Builder", back=("Rubrics", PLACE)):
                    pass
                error_label(error)
                return
            own = visitor.caller.owns(entry.listing.created_by)
            if not visitor.caller.may("author"):
                _refused(visitor)
            elif own or (anyway and visitor.caller.is_admin):
                await _edit(_editor_of(visitor, entry))
            else:
                _offer_fork(visitor, entry)


def _refused(visitor: Visitor) -> None:
    with heading("Builder", back=("Rubrics", PLACE)):
        pass
    ui.label(f"Writing rubrics needs the role author; you have {visitor.caller.role}.").classes("fault").props(
        'role="alert"'
    )


async def _choose(visitor: Visitor) -> None:
    """What a new rubric begins with."""
    with heading("New rubric", back=("Rubrics", PLACE)):
        pass
    kept = ui.element("div")
    with ui.element("div").classes("grid starters"):
        for begin in STARTERS.values():
            with ui.link(target=f"/build/new?begin={begin.name}").classes("card starter"):
                with ui.element("h2"):
                    ui.label(begin.title)
                ui.label(begin.says).classes("quiet")
    with ui.element("section").classes("card"):
        with ui.element("h2"):
            ui.label("Or begin with a copy")
        ui.label("A fork remembers where it comes from. Every rubric’s page has a Fork button, too.").classes("quiet")
        names = {bundled.name: bundled.name for bundled in bundled_rubrics()}
        with ui.element("div").classes("row"):
            choice = ui.select(names, label="Rubric that comes with Rubrica", value=next(iter(names)))
            choice.props("outlined dense options-dense").classes("medium")
            ui.button("Fork it", on_click=lambda: _fork(visitor, str(choice.value))).props("outline no-caps").classes(
                "calm"
            )
    await ui.context.client.connected()
    found = None
    with suppress(TimeoutError):
        found = await read_unsaved(_storage(visitor, None))
    if found is not None:
        with kept, ui.element("div").classes("banner").props('role="status"'):
            ui.label(f"You have a new rubric that is not saved, from {when(found)}.").classes("grow")
            ui.link("Go on with it", "/build/new?begin=kept")


async def _begin(visitor: Visitor, begin: str) -> None:
    client, storage = ui.context.client, _storage(visitor, None)
    if begin == "kept":
        editor = DraftEditor(visitor, client, storage, from_text(starter("nothing").text)[0], sample=SAMPLE)
        await _edit(editor, at_once=True)
        return
    try:
        document, _ = from_text(starter(begin).text)
    except MissingError as error:
        with heading("New rubric", back=("Rubrics", PLACE)):
            pass
        error_label(error)
        return
    await _edit(DraftEditor(visitor, client, storage, document, sample=SAMPLE))


def _editor_of(visitor: Visitor, entry: RubricEntry) -> DraftEditor:
    storage = _storage(visitor, entry)
    return DraftEditor(
        visitor,
        ui.context.client,
        storage,
        editable_document(entry),
        entry,
        entry.listing.is_public,
        _sample_of(entry),
        named=True,
    )


def _sample_of(entry: RubricEntry) -> DraftSample:
    """The first example of a rubric, or else a text of our own."""
    if not entry.version.examples:
        return SAMPLE
    case = dict(entry.version.examples[0])
    texts = [case.pop(key, "") for key in ("prompt", "response")]
    criteria = criterion_lines(case.get("criteria"))
    if criteria is not None:
        del case["criteria"]
    more = {key: value for key, value in case.items() if key not in ("id", "expect")}
    prompt, response = (text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for text in texts)
    return DraftSample(prompt, response, to_text(more) if more else "", criteria or "")


def _storage(visitor: Visitor, entry: RubricEntry | None) -> str:
    return f"rubrica-draft:{visitor.caller.user_id}:{'new' if entry is None else entry.listing.id}"


def _offer_fork(visitor: Visitor, entry: RubricEntry) -> None:
    listing = entry.listing
    with heading(listing.name, back=("Rubrics", PLACE)):
        chip(listing.version)
    whose = "comes with Rubrica" if listing.created_by is None else "belongs to somebody else"
    with ui.element("div").classes("empty"):
        ui.label(
            f"{listing.slug} {whose}. Fork it: you get a private copy of your own, which you can change as you like."
        )
        ui.button("Fork it and edit the fork", on_click=lambda: _fork(visitor, str(listing.id))).props(
            "unelevated no-caps"
        )
        if visitor.caller.is_admin:
            ui.link("Change it in place, as an admin", f"/build/{listing.id}?anyway=true").classes("quiet")


async def _fork(visitor: Visitor, reference: str) -> None:
    with notifying_errors():
        made = await visitor.write(catalogue.fork, reference, None, None, visitor.service.clock())
        ui.navigate.to(f"/build/{made.listing.id}")


async def _edit(editor: DraftEditor, *, at_once: bool = False) -> None:
    """The page of a draft. `at_once`: go on with what the browser kept, without asking."""
    entry = editor.entry

    def undo() -> None:
        if not editor.undo():
            ui.notify("There is nothing to undo.")

    title = "New rubric" if entry is None else str(entry.version.definition.get("title") or entry.listing.name)
    with heading(title, back=("Rubrics", PLACE)), ui.element("div").classes("row"):
        state = ui.label("").classes("quiet state").props('role="status"')
        mend = ui.button("", on_click=lambda: first_problem()).props("flat dense no-caps")
        mend.props("color=negative").set_visibility(False)
        ui.button(icon="undo", on_click=undo).props('flat round dense aria-label="Undo"').tooltip("Undo")
        public = ui.switch("Public", value=editor.is_public)
        public.tooltip("Public rubrics can be found and copied by everybody. It counts once you save.")
        save = ui.button("Save", icon="save").props("unelevated no-caps")
    banner = ui.element("div")
    with ui.element("div").classes("build"):
        with ui.element("div").classes("build-main"):
            panels = Panels(editor)
        with ui.element("aside").classes("build-side").props('aria-label="What the rubric comes to"'):
            draw_problems(editor, panels.go_to)
            draw_preview(editor)
            sample = SamplePanel(editor)
            sample.draw()

    def first_problem() -> None:
        if editor.examination.problems:
            panels.go_to(editor.examination.problems[0])

    def publish(event: Any) -> None:
        editor.is_public = bool(event.value)
        editor.touched()

    def follow() -> None:
        label = "" if editor.entry is None else f"version {editor.entry.version.version} · "
        state.set_text(
            label + ("unsaved changes" if editor.unsaved else "saved" if editor.entry is not None else "not saved yet")
        )
        count = len(editor.examination.problems)
        mend.set_text(f"{count} to mend")
        mend.set_visibility(bool(count))
        if public.value != editor.is_public:
            public.value = editor.is_public

    def kept(now: RubricEntry) -> None:
        if editor.entry is None or now.listing.id != editor.entry.listing.id:
            editor.leave()
            ui.navigate.to(f"/build/{now.listing.id}")
            return
        editor.mark_saved(now)
        panels.redraw()
        ui.notify(f"It is at version {now.version.version} now.", type="positive")
        editor.client.run_javascript("emitEvent('aside')")

    async def pressed() -> None:
        editor.touched()
        if editor.examination.problems:
            first_problem()
            ui.notify("Nothing is saved while something is wrong; here is the first.", type="warning")
            return
        if editor.entry is not None and not editor.unsaved:
            ui.notify("There is nothing to save.")
            return
        await ask_to_save(editor, kept)

    public.on_value_change(publish)
    save.on_click(pressed)
    editor.live(state, follow)
    follow()
    ui.on("aside", lambda: offer_kept(editor, panels, banner, aside=True))
    await ui.context.client.connected()
    editor.client.run_javascript((files("rubrica.studio.builder") / "carry.js").read_text("utf-8"))
    editor.touched()
    await sample.restore()
    if at_once:
        found = None
        with suppress(TimeoutError):
            found = await read_unsaved(editor.storage)
            editor.undecided = False
        if found is not None:
            await resume(editor, panels, found)
        return
    await offer_kept(editor, panels, banner)
    await offer_kept(editor, panels, banner, aside=True)
