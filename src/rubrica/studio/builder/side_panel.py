"""The panel beside the form: problems, preview on the sample, and the sample itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace
from nicegui import ui

from rubrica.errors import Problem
from rubrica.model.evaluation import DimensionResult
from rubrica.report.charts import bar
from rubrica.report.figures import STATUS_WORDS, figure
from rubrica.report.titles import dimension_titles
from rubrica.studio.browser_memory import sample_memory
from rubrica.studio.builder.score_ways import filled_from_cases
from rubrica.studio.criterion_lines import EXAMPLE
from rubrica.studio.parts import drawing, verdict

from .checking import DraftSample
from .editor import DraftEditor

MOST_SHOWN = 12
"""Problems that are listed at once; the rest are counted."""
MOST_PREVIEWED = 20
"""Dimensions that the preview lists; the rest are counted."""

Go = Callable[[Problem], None]


def draw_problems(editor: DraftEditor, go: Go) -> None:
    """What is wrong, each with its place and a click to it."""
    holder = ui.element("section").classes("card side-card").props('aria-live="polite" aria-label="Problems"')

    shown: list[object] = [None]

    def follow() -> None:
        problems, warnings = editor.examination.problems, editor.examination.warnings
        if shown[0] == (problems, warnings):
            return  # whoever is about to click one finds it where it was
        shown[0] = problems, warnings
        holder.clear()
        with holder:
            with ui.element("h2"):
                count = len(problems)
                ui.label("Nothing is wrong" if not count else f"{count} thing{'s' if count > 1 else ''} to mend")
            if not problems:
                ui.label("It can be saved as it is.").classes("quiet")
            _list(problems, go)
            if warnings:
                ui.label("It could be worded better:").classes("quiet")
                _list(warnings, go, advice=True)

    editor.live(holder, follow)
    with holder:
        ui.label("Looking at it …").classes("quiet")


def _list(problems: Sequence[Problem], go: Go, *, advice: bool = False) -> None:
    for problem in problems[:MOST_SHOWN]:
        kind = "problem is-advice" if advice else "problem"
        with ui.element("button").classes(kind).props('type="button"').on("click", partial(go, problem)):
            where = problem.where or "document"
            ui.label(where if problem.line is None else f"{where} · line {problem.line}").classes("mono quiet")
            ui.label(f"{problem.message} ({problem.fix})" if problem.fix else problem.message)
    if len(problems) > MOST_SHOWN:
        ui.label(f"and {len(problems) - MOST_SHOWN} more").classes("quiet")


def draw_preview(editor: DraftEditor) -> None:
    """The score of the sample under the draft, without asking a model."""
    holder = ui.element("section").classes("card side-card").props('aria-label="Preview"')
    shown: list[object] = [None]

    def follow() -> None:
        found = editor.examination
        now = (found.rubric, found.context, found.sample_fault, editor.entry)
        if shown[0] == now:
            return  # the same rubric says the same of the same sample
        shown[0] = now
        holder.clear()
        with holder:
            with ui.element("div").classes("row"):
                with ui.element("h2"):
                    ui.label("Preview")
                ui.label("of the sample below, no model asked").classes("quiet")
            judged = found.evaluation
            if judged is None:
                why = (
                    "The sample cannot be judged as it is: see below."
                    if found.rubric
                    else "It appears once nothing is wrong."
                )
                ui.label(why).classes("quiet")
                return
            with ui.element("div").classes("row"):
                low, high = judged.bounds
                score = figure(judged.score) if judged.score is not None else f"{figure(low)}–{figure(high)}"
                with ui.element("div").classes("figure"), ui.element("b"):
                    ui.label(score)
                ui.label(f"of {figure(judged.out_of)}").classes("quiet")
                ui.element("span").classes("grow")
                verdict(judged.verdict, found.rubric)
            drawing(bar(judged.score, judged.bounds, judged.threshold, judged.out_of))
            ui.label(judged.reason).classes("quiet")
            titles = dimension_titles(found.rubric)
            for name, result in islice(judged.dimensions.items(), MOST_PREVIEWED):
                with ui.element("div").classes("row tight"):
                    ui.label(titles.get(name, name)).classes("grow")
                    ui.label(_value(result)).classes("mono").tooltip(result.reason or "")
            if len(judged.dimensions) > MOST_PREVIEWED:
                ui.label(f"and {len(judged.dimensions) - MOST_PREVIEWED} more").classes("quiet")
            for gate in judged.gates:
                if gate.fired:
                    ui.label(f"Gate {gate.name}: {gate.reason or gate.name}").classes("quiet")
            for line in (*judged.errors, *judged.notes):
                ui.label(line).classes("quiet")
            if editor.entry is not None:
                ui.link("Try the saved version in the sandbox", f"/sandbox?rubric={editor.entry.listing.id}")

    editor.live(holder, follow)


def _value(result: DimensionResult) -> str:
    if result.value is None:
        return STATUS_WORDS[result.status if result.status != "scored" else "unscored"]
    return f"{figure(result.value)} / {figure(result.high)}" + (f" {result.label}" if result.label else "")


class SamplePanel:
    """The sample that patterns, formulas and the preview are tried on. What is typed stays in this tab."""

    def __init__(self, editor: DraftEditor) -> None:
        self.editor, self.first = editor, editor.sample
        self.memory = sample_memory(editor.visitor.caller.user_id)
        self._typed = self._filling = False
        self._areas: dict[str, ui.textarea] = {}

    def draw(self) -> None:
        with ui.element("section").classes("card side-card").props('aria-label="Sample"'):
            with ui.element("div").classes("row"):
                with ui.element("h2"):
                    ui.label("Sample")
                ui.element("span").classes("grow")
                self.back = ui.button("Back to the example", on_click=self._reset).props("flat dense no-caps")
                self.back.set_visibility(False)
            for key, label in (("prompt", "Prompt"), ("response", "Response"), ("more", "Further values")):
                area = ui.textarea(label, value=getattr(self.first, key), on_change=partial(self._changed, key))
                area.props("outlined dense autogrow")
                if key == "more":
                    area.props["placeholder"] = "question_type: FACTUAL"
                    area.props["input-class"] = "mono"
                self._areas[key] = area
            criteria = ui.textarea("Criteria of the case", value=self.first.criteria)
            criteria.on_value_change(partial(self._changed, "criteria"))
            criteria.props("outlined dense autogrow").props["placeholder"] = EXAMPLE
            self._areas["criteria"] = criteria
            self.editor.live(
                criteria, lambda: criteria.set_visibility(filled_from_cases(self.editor.document) is not None)
            )
            criteria.set_visibility(filled_from_cases(self.editor.document) is not None)
            wrong = ui.label("").classes("wrong")
            self.editor.live(wrong, lambda: wrong.set_text(self.editor.examination.sample_fault))

    def _show_criteria(self) -> None:
        """A case has criteria of its own where the draft lets it."""
        self._areas["criteria"].set_visibility(filled_from_cases(self.editor.document) is not None)

    async def restore(self) -> None:
        """Bring back what was typed before, for a page that is connected."""
        try:
            kept = msgspec.convert(await self.memory.read(), DraftSample)
        except msgspec.ValidationError:
            return
        if kept not in (DraftSample(), self.first) and not self._typed:
            self._fill(kept)

    def _changed(self, key: str, event: Any) -> None:
        if self._filling:
            return
        self._typed = True
        self._take(replace(self.editor.sample, **{key: event.value or ""}))
        self.memory.keep(self.editor.client, msgspec.to_builtins(self.editor.sample))

    def _reset(self) -> None:
        self.memory.forget(self.editor.client)
        self._fill(self.first)

    def _fill(self, sample: DraftSample) -> None:
        self._filling = True
        for key, area in self._areas.items():
            area.set_value(getattr(sample, key))
        self._filling = False
        self._take(sample)

    def _take(self, sample: DraftSample) -> None:
        self.editor.sample = sample
        self.back.set_visibility(sample != self.first)
        self.editor.touched()
