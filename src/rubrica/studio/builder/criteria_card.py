"""The criteria of a rubric in points: rows, a list to paste, and criteria that each case brings."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from rubrica.phrases import count_of
from rubrica.studio.builder.criterion_tree import axis_names
from rubrica.studio.builder.document import Data, Path, free_name, mapping_at
from rubrica.studio.builder.score_ways import filled_from_cases, with_case_criteria, with_criteria
from rubrica.studio.criterion_lines import EXAMPLE, points_text, read_criterion_lines

from .criterion_forms import OTHERS, CriterionTree, Draw
from .editor import LONGEST_FIELD, DraftEditor, typed_text


def draw_criteria(editor: DraftEditor, root: Path, detail: Draw) -> None:
    """The criteria of a rubric in points: rows, a list to paste, and criteria that each case brings."""
    tree = CriterionTree(editor, root, detail)
    wrong = ui.label("").classes("wrong").props('role="alert"')
    holder = ui.element("div").classes("row")
    editor.place(root, holder, lambda messages: wrong.set_text("\n".join(messages)))
    pasting = ui.element("div").classes("sub").props('aria-label="Paste a list" role="group"')
    pasting.set_visibility(False)

    def open_list() -> None:
        pasting.set_visibility(not pasting.visible)
        if pasting.visible:
            area.run_method("focus")

    def let_cases() -> None:
        path: Path = (*root, free_name(axis_names(editor.document), "case_criteria"))
        editor.change(with_case_criteria(editor.document, path), *OTHERS, structural=True)
        tree.open_row(path)
        offer.set_visibility(False)

    with holder:
        ui.button("Paste a list", icon="content_paste", on_click=open_list).props("flat dense no-caps")
        offer = ui.button("Let each case bring its own criteria", icon="playlist_add", on_click=let_cases)
        offer.props("flat dense no-caps")
        editor.live(offer, lambda: offer.set_visibility(filled_from_cases(editor.document) is None))
        offer.set_visibility(filled_from_cases(editor.document) is None)
    with pasting:
        area = ui.textarea("One criterion on each line").props("outlined dense autogrow").classes("full")
        area.props["placeholder"] = EXAMPLE
        area.props["maxlength"] = LONGEST_FIELD
        found = ui.label("Points in front are optional: +5, or -3 for what costs points. Words after # are tags.")
        found.classes("quiet").props('role="status"')

        def look(event: Any) -> None:
            lines = read_criterion_lines(typed_text(event.value))
            found.set_text(points_text(line.points for line in lines))

        def take() -> None:
            lines = read_criterion_lines(typed_text(area.value))
            if not lines:
                ui.notify("There is no criterion in the list yet.", type="warning")
                return
            editor.change(with_criteria(editor.document, root, lines), *OTHERS, structural=True)
            area.value = ""
            pasting.set_visibility(False)
            tree.follow()
            ui.notify(f"{count_of(len(lines), 'criterion is', 'criteria are')} added.", type="positive")

        area.on_value_change(look)
        with ui.element("div").classes("row"):
            ui.button("Add them", icon="add", on_click=take).props("outline no-caps").classes("calm")


def case_example(document: Data, path: Path) -> str:
    """What a case looks like that brings its own criteria."""
    answers = mapping_at(document, (*path, "answers"))
    answered = f"# each is answered with {', '.join(map(str, answers))}\n" if answers else ""
    return (
        "prompt: There is a tick on my leg.\nresponse: Pull it out straight with fine tweezers.\n"
        f"{answered}criteria:\n"
        "  - {criterion: Says to pull the tick out straight., points: 6, tags: [accuracy]}\n"
        "  - {criterion: Recommends oil or glue., points: -7, tags: [safety]}"
    )


def draw_case_criteria(editor: DraftEditor, path: Path) -> None:
    """What it means that each case brings its own criteria, with an example."""
    ui.label(
        "Nothing is asked here: whoever writes a case writes its criteria, each with points. This rubric says how they "
        "are answered and what follows. In the sandbox, a case has a field for them."
    ).classes("quiet")
    ui.label("A case then looks like this:").classes("label")
    example = ui.label(case_example(editor.document, path)).classes("told small mono").props("tabindex=0")
    editor.live(example, lambda: example.set_text(case_example(editor.document, path)))
