"""What is made of the scores besides the verdict: sections, which group dimensions, and bands, which name levels."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from rubrica.studio.builder import bands
from rubrica.studio.builder.anchors import ScaleStretch
from rubrica.studio.builder.bands import Band
from rubrica.studio.builder.dimensions import NAME
from rubrica.studio.builder.document import Path, at, list_at, mapping_at, move, put, rename
from rubrica.studio.builder.form_schema import field_at
from rubrica.studio.builder.sections import ROOT, by_formula, members_of, summary_of, with_member, with_section

from .editor import DraftEditor, focus, keep_focus
from .fields import folded_section, icon_button, name_field, retitle, text_field
from .formula_field import FormulaField
from .schema_fields import other_fields
from .verdict_forms import verdict_lines, write_verdict

WAYS = {False: "the mean of its dimensions", True: "a formula"}
BANDS: Path = ("bands",)


def draw_sections(editor: DraftEditor) -> None:
    """Named groups of dimensions."""

    def body() -> None:
        ui.label(
            "A section groups dimensions, such as those about the content. It has a score of its own in every result, "
            "and may have verdicts of its own; the score of the whole stays as it is."
        ).classes("quiet")
        for name in mapping_at(editor.document, ROOT):
            _section(editor, name)
        ui.button("Add a section", icon="add", on_click=partial(_add_section, editor)).props("flat dense no-caps")

    def headings() -> tuple[str, str]:
        return "Sections", summary_of(editor.document) or "groups of dimensions with a score of their own"

    retitle(editor, folded_section(editor, ROOT, *headings(), body), headings)


def _add_section(editor: DraftEditor) -> None:
    document, name = with_section(editor.document)
    editor.opened.add((*ROOT, name))
    editor.change(document, "sections")
    found = editor.nearest((*ROOT, name, "title"))
    if found is not None:
        focus(editor.client, found[1].element)


def _section(editor: DraftEditor, name: str) -> None:
    path: Path = (*ROOT, name)

    async def called(new_name: str) -> None:
        if NAME.fullmatch(new_name) is None:
            ui.notify("A name is a letter, then letters, digits and _.", type="warning")
        elif new_name in mapping_at(editor.document, ROOT):
            ui.notify(f"There already is a section called {new_name}.", type="warning")
        else:
            await editor.move_path(path, (*ROOT, new_name), lambda now: rename(now, path, new_name))

    def drop() -> None:
        editor.change(put(editor.document, path, None), "sections")
        ui.notify(f"The section {name} is removed. Undo brings it back.")

    def body() -> None:
        with ui.element("div").classes("row tools"):
            text_field(editor, (*path, "title"))
            name_field(editor, "Name in results", path, called)
            icon_button("arrow_upward", "Move the section up", partial(_shift, editor, path, -1))
            icon_button("arrow_downward", "Move the section down", partial(_shift, editor, path, 1))
            icon_button("delete", "Remove the section", drop)
        _members(editor, name)
        _score(editor, name)
        _rulings(editor, path)
        other_fields(editor, path, scope="section")

    def headings() -> tuple[str, str]:
        members = ", ".join(members_of(editor.document, name)) or "no dimension yet"
        return str(at(editor.document, (*path, "title"), "") or name), members

    retitle(editor, folded_section(editor, path, *headings(), body), headings)


def _shift(editor: DraftEditor, path: Path, by: int) -> None:
    editor.change(move(editor.document, path, by), "sections")


def _wrong() -> ui.label:
    return ui.label("").classes("wrong").props('role="alert"')


def _members(editor: DraftEditor, name: str) -> None:
    """The dimensions, each to be ticked or not."""
    path: Path = (*ROOT, name, "dimensions")

    def ticked(dimension: str, event: Any) -> None:
        formula = at(editor.document, (*ROOT, name, "formula"))
        document = with_member(editor.document, name, dimension, inside=bool(event.value))
        follows = at(document, (*ROOT, name, "formula")) != formula
        editor.change(document, *(("sections",) if follows else ()))

    members = members_of(editor.document, name)
    with ui.element("div").props('role="group" aria-label="Dimensions in the section"') as holder:
        ui.label(field_at(editor.document, path).title).classes("label")
        with ui.element("div").classes("members"):
            every = mapping_at(editor.document, ("dimensions",))
            for dimension in (*every, *(one for one in members if one not in every)):
                title = str(at(every, (dimension, "title"), "") or dimension)
                box = ui.checkbox(title, value=dimension in members, on_change=partial(ticked, dimension))
                keep_focus(box.props("dense"), (*path, dimension))
        wrong = _wrong()
    editor.place(path, holder, lambda messages: wrong.set_text("\n".join(messages)))


def _score(editor: DraftEditor, name: str) -> None:
    """How the dimensions combine."""
    path: Path = (*ROOT, name, "formula")
    is_formula = at(editor.document, path) is not None

    def turn(event: Any) -> None:
        editor.change(by_formula(editor.document, name, formula=bool(event.value)), "sections")

    choice = ui.select(WAYS, label="Its score is", value=is_formula, on_change=turn)
    keep_focus(choice.props("outlined dense options-dense").classes("medium"), (*path, "way"))
    if is_formula:
        FormulaField(editor, path, "score")


def _rulings(editor: DraftEditor, path: Path) -> None:
    """The section's own verdicts, which may read its score."""
    place: Path = (*path, "verdicts")
    is_asked = place in editor.opened
    if not list_at(editor.document, place) and not is_asked:

        def ask() -> None:
            editor.opened.add(place)
            editor.redraw("sections")

        ui.button("Give it verdicts of its own", on_click=ask).props("flat dense no-caps")
        return
    ui.label("Verdicts of the section, tried from top to bottom; its score is called section").classes("label")
    verdict_lines(editor, place)
    write_verdict(editor, place, "Write a verdict of the section", "weak if section < 50")


def draw_bands(editor: DraftEditor) -> None:
    """Names for levels of the score, with a bar that shows what each covers."""

    def body() -> None:
        _Bands(editor)

    def headings() -> tuple[str, str]:
        names = [row.name for row in bands.rows_of(at(editor.document, BANDS)) if row.name]
        return "Bands", ", ".join(names) or "names for levels of the score, such as good or poor"

    retitle(editor, folded_section(editor, BANDS, *headings(), body), headings)


class _Bands:
    """The bands, the best first. One that begins elsewhere finds its place when its field is left."""

    def __init__(self, editor: DraftEditor) -> None:
        self._draft = editor
        self._rows = dict(enumerate(bands.rows_of(at(editor.document, BANDS))))  # by a number that stays with its row
        most = at(editor.document, ("score", "out_of"), 1)
        points = f" ({most:g} points)" if isinstance(most, int | float) and most != 1 else ""
        ui.label(
            f"A band names a level of the score. It begins at a share of full marks{points} and reaches up to the next "
            "one. It is shown beside the score, and decides nothing."
        ).classes("quiet")
        self._bar = ui.element("div").classes("cover").props('role="img"')
        self._list = ui.element("div").classes("anchors")
        self._wrong = _wrong()
        editor.live(self._list, self._tell)
        self._draw()

    def _draw(self) -> None:
        self._list.clear()
        with self._list:
            for number, row in self._rows.items():
                self._row(number, row)
            with ui.element("div").classes("row"):
                ui.button("Add a band", icon="add", on_click=self._another).props("flat dense no-caps")
                if not self._rows:
                    ui.button("Five usual bands", on_click=self._usual).props("flat dense no-caps")
        self._show()

    def _row(self, number: int, row: Band) -> None:
        with ui.element("div").classes("band"):
            name = ui.input("Band", value=row.name, on_change=partial(self._named, number))
            keep_focus(name.props("outlined dense"), (*BANDS, number, "name"))
            start = ui.number("From, in percent", value=row.start, on_change=partial(self._begun, number))
            keep_focus(start.props("outlined dense step=any").on("change", self._sort), (*BANDS, number, "start"))
            icon_button("delete", f"Remove the band {row.name}".strip(), partial(self._drop, number))

    def _show(self) -> None:
        """Draw what each band covers."""
        self._bar.clear()
        found = bands.coverage(list(self._rows.values())).stretches if self._rows else ()
        with self._bar:
            for stretch in found:
                piece = ui.label(stretch.label).classes(f"stretch is-{stretch.kind}").style(f"width: {stretch.width}%")
                piece.tooltip(_band_text(stretch))
        self._bar.props["aria-label"] = "Bands over the score: " + "; ".join(map(_band_text, found))

    def _tell(self) -> None:
        found = [problem for problem in self._draft.examination.problems if problem.path[:1] == BANDS]
        said = (f"{problem.message} ({problem.fix})" if problem.fix else problem.message for problem in found)
        self._wrong.set_text("\n".join(dict.fromkeys(said)))

    def _keep(self, *, structural: bool = False) -> None:
        kept = put(self._draft.document, BANDS, bands.bands_of(list(self._rows.values())) or None)
        self._draft.change(kept, structural=structural)
        self._show()

    def _named(self, number: int, event: Any) -> None:
        self._rows[number] = Band(event.value or "", self._rows[number].start)
        self._keep()

    def _begun(self, number: int, event: Any) -> None:
        self._rows[number] = Band(self._rows[number].name, event.value)
        self._keep()

    def _sort(self) -> None:
        """Put the rows in their order, where they are not in it."""
        best_first = dict(sorted(self._rows.items(), key=lambda item: bands.rank(item[1]), reverse=True))
        if list(best_first) != list(self._rows):
            self._rows = best_first
            self._draw()

    def _drop(self, number: int) -> None:
        del self._rows[number]
        self._keep(structural=True)
        self._draw()

    def _another(self) -> None:
        number = max(self._rows, default=-1) + 1
        self._rows[number] = bands.new_band(list(self._rows.values()))
        self._sort()
        self._keep(structural=True)
        self._draw()

    def _usual(self) -> None:
        self._rows = dict(enumerate(bands.USUAL))
        self._keep(structural=True)
        self._draw()


def _band_text(stretch: ScaleStretch) -> str:
    """A band, and from where to where it reaches."""
    return f"{stretch.label}: {stretch.left:g} to {stretch.left + stretch.width:g} %"
