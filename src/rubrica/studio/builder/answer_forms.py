"""What a judge answers with, a score or labels with values, and examples of responses that were judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nicegui import ui

from rubrica.phrases import count_of
from rubrica.studio.builder.criterion_tree import yes_or_no
from rubrica.studio.builder.dimensions import NAME, scale_of
from rubrica.studio.builder.document import Data, Path, append, at, free_name, list_at, mapping_at, put, remove
from rubrica.studio.builder.form_schema import field_at
from rubrica.studio.criterion_lines import whole

from .editor import DraftEditor, keep_focus
from .fields import choice_field, icon_button, number_field, text_field
from .schema_fields import other_fields

CANNOT_TELL = "cannot_assess"
SCORE, YES_NO, THREE, OWN, LEFT_OUT = "score", "yes", "three", "own", ""
WAYS = {
    SCORE: "a score on the scale",
    YES_NO: "yes or no",
    THREE: "met, partly or not met",
    OWN: "answers of its own",
}
CASE_WAYS = {LEFT_OUT: "met or not met", **{way: words for way, words in WAYS.items() if way != SCORE}}


def answer_way(document: Data, path: Path) -> str:
    """Which of the usual ways of answering a draft has."""
    answers = mapping_at(document, (*path, "answers"))
    if not answers:
        return LEFT_OUT if at(document, (*path, "from")) else SCORE
    labels = [label for label in answers if label != CANNOT_TELL]
    return YES_NO if labels == ["yes", "no"] else THREE if labels == ["met", "partly", "not_met"] else OWN


def with_answer_way(document: Data, path: Path, way: str) -> Data:
    """The document with a criterion answered in another of the usual ways. Labels have no ranges, so anchors go.

    >>> with_answer_way({"dimensions": {"a": {"asks": "?"}}}, ("dimensions", "a"), "three")["dimensions"]["a"]
    {'asks': '?', 'answers': {'met': 1, 'partly': 0.5, 'not_met': 0}}
    """
    ends = yes_or_no(document, path)
    high, low = ends["yes"], ends["no"]
    middle = whole((high + low) / 2)
    made = {
        YES_NO: ends,
        THREE: {"met": high, "partly": middle, "not_met": low},
        OWN: {"yes": high, "partly": middle, "no": low},  # to be called otherwise
    }
    document = put(document, (*path, "answers"), made.get(way))
    return put(document, (*path, "anchors"), None) if way in made else document


def draw_answers(editor: DraftEditor, path: Path, redraw: Callable[[], None]) -> None:
    """How a judge answers: one of the usual ways, and the labels with their values."""
    place: Path = (*path, "answers")
    ways = CASE_WAYS if at(editor.document, (*path, "from")) else WAYS

    def turn(event: Any) -> None:
        editor.change(with_answer_way(editor.document, path, str(event.value)), structural=True)
        redraw()

    def offer(event: Any) -> None:
        answers = {label: value for label, value in mapping_at(editor.document, place).items() if label != CANNOT_TELL}
        editor.change(put(editor.document, place, {**answers, **({CANNOT_TELL: None} if event.value else {})}))
        redraw()

    answers = mapping_at(editor.document, place)
    with ui.element("div").classes("row"):
        choice = ui.select(ways, label="A judge answers with", value=answer_way(editor.document, path), on_change=turn)
        keep_focus(choice.props("outlined dense options-dense").classes("medium"), (*place, "way"))
        if answers:
            switch = ui.switch("or that it cannot tell", value=CANNOT_TELL in answers, on_change=offer)
            switch.tooltip("Then it stays unscored, with the judge's reason")
            keep_focus(switch, (*place, "cannot"))
    wrong = ui.label("").classes("wrong").props('role="alert"')
    editor.place(place, choice, lambda messages: wrong.set_text("\n".join(messages)))
    if answer_way(editor.document, path) == OWN:
        _labels(editor, path, redraw)


def _labels(editor: DraftEditor, path: Path, redraw: Callable[[], None]) -> None:
    """Labels of its own, each with its value."""
    place: Path = (*path, "answers")
    scale = scale_of(editor.document, str(path[1]))

    def rewrite(rows: list[tuple[str, Any]]) -> None:
        editor.change(put(editor.document, place, dict(rows) or None), structural=True)
        redraw()

    def called(index: int, field: ui.input) -> None:
        rows, wanted = list(mapping_at(editor.document, place).items()), (field.value or "").strip().replace(" ", "_")
        if wanted == rows[index][0]:
            return
        if NAME.fullmatch(wanted) is None or wanted in dict(rows):
            ui.notify("An answer is a word of letters, digits and _, and each is there once.", type="warning")
            field.value = rows[index][0]
            return
        rows[index] = (wanted, rows[index][1])
        rewrite(rows)

    def worth(label: str, event: Any) -> None:
        editor.put((*place, label), event.value if event.value is not None else scale.min)

    for index, (label, value) in enumerate(mapping_at(editor.document, place).items()):
        if label == CANNOT_TELL:
            continue
        with ui.element("div").classes("band"):
            field = ui.input("Answer", value=label).props("outlined dense maxlength=64")
            keep_focus(field, (*place, index, "label"))
            field.on("change", partial(called, index, field))
            number = ui.number("Worth", value=value, on_change=partial(worth, label)).props("outlined dense step=any")
            number.props["title"] = f"From {scale.min:g} to {scale.max:g}."
            keep_focus(number, (*place, index, "value"))
            rows = [row for row in mapping_at(editor.document, place).items() if row[0] != label]
            icon_button("delete", f"Remove the answer {label}", partial(rewrite, rows))

    def another() -> None:
        rows = mapping_at(editor.document, place)
        rewrite([*rows.items(), (free_name(rows, "answer"), scale.min)])

    ui.button("Add an answer", icon="add", on_click=another).props("flat dense no-caps").classes("self-start")


def draw_examples(editor: DraftEditor, path: Path, redraw: Callable[[], None]) -> None:
    """Responses with the answer that each deserves, and whether there are as many of each."""
    place: Path = (*path, "examples")
    field = field_at(editor.document, place)
    labels = {label: label for label in mapping_at(editor.document, (*path, "answers"))}
    count = len(list_at(editor.document, place))
    wrong = ui.label("").classes("wrong").props('role="alert"')
    with ui.element("div").classes("rows").props('role="group" aria-label="Examples"') as holder:
        ui.label("Examples: responses that the judge is shown, with the right answer").classes("label")
        for index in range(count):
            own: Path = (*place, index)
            with ui.element("div").classes("sub"):
                text_field(editor, (*own, "response"), area=True)
                with ui.element("div").classes("row"):
                    if labels:
                        choice_field(editor, (*own, "answer"), options=labels).props(remove="clearable")
                    else:
                        number_field(editor, (*own, "score"))
                    text_field(editor, (*own, "because"))
                    icon_button("delete", f"Remove example {index + 1}", partial(_drop, editor, own, redraw))
                other_fields(editor, own)
        told = ui.label("").classes("quiet").props('role="status"')

    def another() -> None:
        made = {"response": "", **({"answer": _rarest(editor, path)} if labels else {})}
        editor.change(append(editor.document, place, made), structural=True)
        redraw()

    button = ui.button("Add an example", icon="add", on_click=another).props("flat dense no-caps")
    button.classes("self-start").props["title"] = field.description
    editor.place(place, holder, lambda messages: wrong.set_text("\n".join(messages)))

    def follow() -> None:
        told.set_text(balance_of(editor.document, path))

    editor.live(holder, follow)
    follow()


def _drop(editor: DraftEditor, path: Path, redraw: Callable[[], None]) -> None:
    editor.change(remove(editor.document, path), structural=True)
    redraw()


def _answers_of(document: Data, path: Path) -> Counter[str]:
    """How many examples there are of each answer, none for some."""
    labels = [label for label, value in mapping_at(document, (*path, "answers")).items() if value is not None]
    given = [
        str(at(one, ("answer",), "")) for one in list_at(document, (*path, "examples")) if isinstance(one, Mapping)
    ]
    return Counter({label: given.count(label) for label in labels})


def _rarest(editor: DraftEditor, path: Path) -> str | None:
    counts = _answers_of(editor.document, path)
    return min(counts, key=lambda label: counts[label]) if counts else None


def balance_of(document: Data, path: Path) -> str:
    """Whether there are as many examples of each answer, in words.

    >>> axis = {"answers": {"yes": 1, "no": 0}, "examples": [{"answer": "yes"}, {"answer": "yes"}, {"answer": "yes"}]}
    >>> balance_of({"dimensions": {"a": axis}}, ("dimensions", "a"))
    '3 of yes, 0 of no. Add one of no, so that the judge sees one of each.'
    """
    counts = _answers_of(document, path)
    if not list_at(document, (*path, "examples")):
        return ""
    if not counts:
        return (
            f"{count_of(len(list_at(document, (*path, 'examples'))), 'example')}. Give low scores as well as high ones."
        )
    said = ", ".join(f"{count} of {label}" for label, count in counts.items()) + "."
    (_, high), (least, low) = counts.most_common(1)[0], counts.most_common()[-1]
    if high == low:
        return f"{said} As many of each: all are shown."
    if low == 0:
        return f"{said} Add one of {least}, so that the judge sees one of each."
    shown = max(low, 2)
    return said + (f" Of each answer, {shown} are shown at most." if high > shown else " All are shown.")
