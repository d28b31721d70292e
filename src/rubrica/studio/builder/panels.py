"""The form and the YAML text of a draft: two views kept in sync."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nicegui import ui

from rubrica.errors import Problem
from rubrica.studio.builder.document import is_short

from .dimension_forms import draw_dimensions
from .editor import DraftEditor
from .group_forms import draw_bands, draw_sections
from .note_forms import draw_comparing, draw_notes
from .other_forms import card_section, draw_about, draw_judging, draw_names, draw_others, draw_profiles
from .verdict_forms import draw_gates, draw_verdicts

FORM, TEXT = "Form", "Document"
FOLDS: Mapping[str, Callable[[DraftEditor], None]] = {
    "sections": draw_sections,
    "bands": draw_bands,
    "profiles": draw_profiles,
    "notes": draw_notes,
    "names": draw_names,
    "judging": draw_judging,
    "comparing": draw_comparing,
    "others": draw_others,
}
"""What is folded away below the verdicts, by the name it is drawn anew by."""


class Panels:
    """The form and the document: two views of one draft."""

    def __init__(self, editor: DraftEditor) -> None:
        self._draft = editor
        with ui.tabs().props("dense no-caps align=left").classes("build-tabs") as self._tabs:
            ui.tab(FORM)
            ui.tab(TEXT)
        self._tabs.set_value(FORM)
        self._form = ui.element("div").classes("build-form")
        with ui.element("div").classes("build-form") as self._text:
            ui.label("A change in the form writes this text anew: comments in it are lost then.").classes("quiet")
            self._editor = ui.codemirror(editor.text, language="YAML", on_change=self._typed, line_wrapping=True)
            self._editor.classes("editor").props('aria-label="The rubric document"')
        self._stuck = ui.element("div")
        self._turned(None)
        self._tabs.on_value_change(self._turned)

    def _draw(self) -> None:
        editor = self._draft
        self._short = is_short(editor.document)
        self._form.clear()
        with self._form:
            card_section(editor, "about", draw_about)
            if self._short:
                with ui.element("section").classes("card build-card"):
                    editor.section("comparing", partial(draw_comparing, editor))
                return
            card_section(editor, "dimensions", draw_dimensions)
            card_section(editor, "gates", draw_gates)
            card_section(editor, "verdicts", draw_verdicts)
            with ui.element("section").classes("card build-card"):
                for name, draw in FOLDS.items():
                    editor.section(name, partial(draw, editor))

    def redraw(self) -> None:
        """Draw both anew from the draft."""
        self._draw()
        self._restate()

    def _restate(self) -> None:
        if self._editor.value != self._draft.text:
            self._editor.value = self._draft.text

    def _typed(self, event: Any) -> None:
        if event.value != self._draft.text:
            self._draft.read(event.value if isinstance(event.value, str) else "")

    def _turned(self, _: Any) -> None:
        """Show one of the two. A text that cannot be read leaves the form as it was, out of reach."""
        editor, wants_text = self._draft, self._tabs.value == TEXT
        if wants_text:
            self._restate()
        elif not editor.unreadable:
            self._draw()
        self._stuck.clear()
        stuck = bool(editor.unreadable) and not wants_text
        if stuck:
            with self._stuck, ui.element("div").classes("banner"):
                ui.label("The document cannot be read as it stands, so the form waits.").classes("grow")
                ui.button("Mend the document", on_click=lambda: self._tabs.set_value(TEXT)).props("flat dense no-caps")
                ui.button("Go back to what could be read", on_click=self._go_back).props("flat dense no-caps")
        self._form.set_visibility(not wants_text and not stuck)
        self._text.set_visibility(wants_text)
        editor.touched()

    def _go_back(self) -> None:
        self._draft.restate()
        self._turned(None)

    def go_to(self, problem: Problem) -> None:
        """Bring what is wrong into view: its line in the document, or its field in the form."""
        if (self._draft.unreadable or not problem.path) and self._tabs.value != TEXT:
            self._tabs.value = TEXT
        if self._tabs.value == TEXT:
            line = problem.line or 1
            ui.run_javascript(
                f"const found = getElement({self._editor.id}); const view = found.editor;"
                f"if (view) {{ const at = view.state.doc.line(Math.min({line}, view.state.doc.lines)).from;"
                "view.dispatch({selection: {anchor: at}, scrollIntoView: true});"
                "if (!window.rubricaCarry?.isWriting()) view.focus(); }"
            )
        else:
            self._draft.go_to(problem.path)
