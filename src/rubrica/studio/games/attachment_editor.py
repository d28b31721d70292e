"""What is attached to a game: shown to everybody, and changed by whoever made it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.games import attachments
from rubrica.games.attachments import LONGEST_DIMENSION, MOST_ATTACHED
from rubrica.games.games import GameView
from rubrica.report.charts import share_bar
from rubrica.report.figures import figure, percent
from rubrica.store.games import Attachment
from rubrica.studio.browser_memory import BrowserMemory
from rubrica.studio.parts import card, drawing, empty, error_text, notifying_errors
from rubrica.studio.rubrics.prose import table
from rubrica.studio.sandbox.picker import pick_rubric
from rubrica.studio.studio import Visitor
from rubrica.workspace import catalogue

from .weights import AttachmentLine, line_of, lines_in, sums_to_one, to_whole, total, with_entry, without


def attached_table(found: Sequence[Attachment]) -> Markup:
    """What is attached, each at its version and with its weight."""
    rows = []
    for each in found:
        name = Markup('<a href="/rubrics/{}@{}">{}</a> <span class="quiet">{}@{}</span>').format(
            each.rubric_id, each.version, each.name, each.slug, each.version
        )
        own = Markup("<code>{}</code>").format(msgspec.json.encode(each.config_overrides).decode())
        weight = Markup("<b>{}</b>{}").format(percent(each.weight), share_bar(each.weight))
        rows.append([name, each.dimension, weight, own if each.config_overrides else "—"])
    return table(("Rubric", "Dimension", "Weight", "Changed for this game"), rows)


class AttachmentEditor:
    """The rubrics of a game while its maker changes them: nothing counts before it is saved."""

    def __init__(self, visitor: Visitor, view: GameView, saved: Callable[[], Awaitable[None]]) -> None:
        self.visitor, self.game = visitor, view.game
        self.lines = [line_of(each) for each in view.attachments]
        self.kept = list(self.lines)
        self._saved = saved
        self.client = ui.context.client
        self.memory = BrowserMemory(f"rubrica-attached:{visitor.caller.user_id}:{view.game.id}", "localStorage")

    def draw(self) -> None:
        """Draw it for the first time."""
        self.banner = ui.label("").classes("banner").props('role="status"')
        self.banner.set_visibility(False)
        with card("Rubrics", "every round is judged by each of them; their weights make the composite"):
            self.body = ui.element("div").classes("weighing")
            with ui.element("div").classes("row"):
                self.sum = ui.label("").props('aria-live="polite"')
                self.scale = ui.button("Scale to 100%", icon="balance", on_click=self._scale).props("flat dense")
            self.problem = ui.label().classes("fault").props('role="alert"')
            with ui.element("div").classes("row"):
                ui.button("Attach a rubric", icon="add", on_click=self._add).props("flat").classes("calm")
                ui.element("span").classes("grow")
                self.undo = ui.button("Discard changes", on_click=self._discard).props("flat")
                self.save = ui.button("Save", on_click=self._save).props("unelevated")
            ui.label("An attached version stays, whatever its author changes later.").classes("quiet")
        self._redraw()

    async def restore(self) -> None:
        """Bring back changes that were left unsaved here, for a page that is connected."""
        kept = await self.memory.read()
        lines = lines_in(kept.get("lines")) if isinstance(kept, dict) else None
        if lines is None or lines == self.kept or len(lines) > MOST_ATTACHED or self.lines != self.kept:
            return
        self.lines = lines
        self._redraw()
        moved = lines_in(kept.get("base")) != self.kept
        meanwhile = " What is attached has changed meanwhile: saving puts these in its place." if moved else ""
        self.banner.set_text(f"Your unsaved changes of the rubrics are back.{meanwhile}")
        self.banner.set_visibility(True)

    def _redraw(self) -> None:
        self.problem.set_visibility(False)
        self.body.clear()
        with self.body:
            if not self.lines:
                empty("Nothing is attached yet: rounds can be kept, but nothing judges them.")
            for at, line in enumerate(self.lines):
                self._draw_line(at, line)
        self._tell()

    def _draw_line(self, at: int, line: AttachmentLine) -> None:
        with ui.element("div").classes("weighed"):
            with ui.element("div").classes("weighed-name"):
                ui.link(line.name, f"/rubrics/{line.rubric_id}@{line.version}")
                changed = " · changed for this game" if line.overrides else ""
                ui.label(f"{line.slug}@{line.version}{changed}").classes("quiet")
            weight = ui.number(f"Weight of {line.slug}", value=line.percent, min=0, max=100, step=1, suffix="%")
            weight.props("outlined dense").on_value_change(lambda event: self._weigh(at, event.value))
            dimension = ui.input(f"Dimension of {line.slug}", value=line.dimension)
            dimension.props(f"outlined dense maxlength={LONGEST_DIMENSION}")
            dimension.on_value_change(lambda event: self._change(at, dimension=event.value or ""))
            remove = ui.button(icon="close", on_click=lambda: self._remove(at)).props("flat round dense")
            remove.props["aria-label"] = f"Take {line.slug} off"

    def _tell(self) -> None:
        whole = sums_to_one(self.lines)
        self.sum.set_text(f"Sum of the weights: {figure(round(100 * total(self.lines), 2))}%" if self.lines else "")
        self.sum.classes(replace="quiet" if whole else "wrong")
        self.scale.set_visibility(not whole)
        changed = self.lines != self.kept
        if changed:
            self.memory.keep(self.client, msgspec.to_builtins({"lines": self.lines, "base": self.kept}))
        else:
            self.banner.set_visibility(False)
        self.save.set_enabled(changed)
        self.undo.set_visibility(changed)

    def _weigh(self, at: int, value: float | None) -> None:
        self.lines[at] = self.lines[at].weighing(value)
        self._tell()

    def _change(self, at: int, **changes: Any) -> None:
        self.lines[at] = replace(self.lines[at], **changes)
        self._tell()

    def _remove(self, at: int) -> None:
        self.lines = without(self.lines, at)
        self._redraw()

    def _scale(self) -> None:
        with notifying_errors():
            self.lines = to_whole(self.lines)
            self._redraw()

    def _discard(self) -> None:
        self.lines = list(self.kept)
        self.memory.forget(self.client)
        self._redraw()

    async def _add(self) -> None:
        if len(self.lines) >= MOST_ATTACHED:
            ui.notify(f"A game has at most {MOST_ATTACHED} rubrics.", type="warning")
            return
        with notifying_errors():
            chosen = await pick_rubric(self.visitor, "Attach which rubric?")
            if chosen is not None:
                entry = await self.visitor.read(catalogue.entry, str(chosen))
                self.lines = with_entry(self.lines, entry)
                self._redraw()

    async def _save(self) -> None:
        """Attach exactly these, if their weights sum to 1."""
        self.problem.set_visibility(False)
        if not sums_to_one(self.lines):
            self._fault("The weights must sum to 100%: change them, or let all be scaled.")
            return
        requests = [line.request() for line in self.lines]
        try:
            resolved = await self.visitor.read(attachments.resolve, self.game.id, requests)
            new = await asyncio.to_thread(attachments.check_attachments, resolved)
            now = self.visitor.service.clock()
            done = await self.visitor.write(attachments.replace, self.game.id, new, "exact", now)
        except RubricaError as error:
            self._fault(error_text(error))
            return
        self.lines = [line_of(each) for each in done.rubrics]
        self.kept = list(self.lines)
        self.memory.forget(self.client)
        self._redraw()
        ui.notify("Saved. Rounds that were judged before keep their scores.", type="positive")
        await self._saved()

    def _fault(self, text: str) -> None:
        self.problem.set_text(text)
        self.problem.set_visibility(True)


def attached_card(view: GameView) -> None:
    """What is attached, for those who only look."""
    with card("Rubrics", "every round is judged by each of them"):
        if view.attachments:
            drawing(attached_table(view.attachments))
        else:
            empty("Nothing is attached yet.")
