"""What is made of the scores besides the verdict: sections, which group dimensions, and bands, which name levels."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from rubrica.studio.builder import bands
from rubrica.studio.builder.anchors import Stretch
from rubrica.studio.builder.bands import Band
from rubrica.studio.builder.dimensions import NAME
from rubrica.studio.builder.document import Path, at, listed, mapped, move, put, rename
from rubrica.studio.builder.sections import ROOT, by_formula, members_of, summary_of, with_member, with_section

from .build_desk import Desk, focus, stay
from .build_fields import fold, icon_button, name_field, retitle, text_field
from .build_formula import FormulaField
from .build_ruling import verdict_lines, write_verdict

WAYS = {False: "the mean of its dimensions", True: "a formula"}
BANDS: Path = ("bands",)


def draw_sections(desk: Desk) -> None:
    """Named groups of dimensions."""

    def body() -> None:
        ui.label(
            "A section groups dimensions, such as those about the content. It has a score of its own in every result, "
            "and may have verdicts of its own; the score of the whole stays as it is."
        ).classes("quiet")
        for name in mapped(desk.document, ROOT):
            _section(desk, name)
        ui.button("Add a section", icon="add", on_click=partial(_add_section, desk)).props("flat dense no-caps")

    def heads() -> tuple[str, str]:
        return "Sections", summary_of(desk.document) or "groups of dimensions with a score of their own"

    retitle(desk, fold(desk, ROOT, *heads(), body), heads)


def _add_section(desk: Desk) -> None:
    document, name = with_section(desk.document)
    desk.opened.add((*ROOT, name))
    desk.change(document, "sections")
    found = desk.nearest((*ROOT, name, "title"))
    if found is not None:
        focus(desk.client, found[1].element)


def _section(desk: Desk, name: str) -> None:
    path: Path = (*ROOT, name)

    async def called(wish: str) -> None:
        if NAME.fullmatch(wish) is None:
            ui.notify("A name is a letter, then letters, digits and _.", type="warning")
        elif wish in mapped(desk.document, ROOT):
            ui.notify(f"There already is a section called {wish}.", type="warning")
        else:
            await desk.move_path(path, (*ROOT, wish), lambda now: rename(now, path, wish))

    def drop() -> None:
        desk.change(put(desk.document, path, None), "sections")
        ui.notify(f"The section {name} is removed. Undo brings it back.")

    def body() -> None:
        with ui.element("div").classes("row tools"):
            text_field(desk, (*path, "title"), "Title of the section")
            name_field(desk, "Name in results", path, called)
            icon_button("arrow_upward", "Move the section up", partial(_shift, desk, path, -1))
            icon_button("arrow_downward", "Move the section down", partial(_shift, desk, path, 1))
            icon_button("delete", "Remove the section", drop)
        _members(desk, name)
        _score(desk, name)
        _rulings(desk, path)

    def heads() -> tuple[str, str]:
        members = ", ".join(members_of(desk.document, name)) or "no dimension yet"
        return str(at(desk.document, (*path, "title"), "") or name), members

    retitle(desk, fold(desk, path, *heads(), body), heads)


def _shift(desk: Desk, path: Path, by: int) -> None:
    desk.change(move(desk.document, path, by), "sections")


def _wrong() -> ui.label:
    return ui.label("").classes("wrong").props('role="alert"')


def _members(desk: Desk, name: str) -> None:
    """The dimensions, each to be ticked or not."""
    path: Path = (*ROOT, name, "dimensions")

    def ticked(dimension: str, event: Any) -> None:
        formula = at(desk.document, (*ROOT, name, "formula"))
        document = with_member(desk.document, name, dimension, inside=bool(event.value))
        follows = at(document, (*ROOT, name, "formula")) != formula
        desk.change(document, *(("sections",) if follows else ()))

    members = members_of(desk.document, name)
    with ui.element("div").props('role="group" aria-label="Dimensions in the section"') as holder:
        ui.label("Dimensions in it").classes("label")
        with ui.element("div").classes("members"):
            every = mapped(desk.document, ("dimensions",))
            for dimension in (*every, *(one for one in members if one not in every)):
                title = str(at(every, (dimension, "title"), "") or dimension)
                box = ui.checkbox(title, value=dimension in members, on_change=partial(ticked, dimension))
                stay(box.props("dense"), (*path, dimension))
        wrong = _wrong()
    desk.place(path, holder, lambda messages: wrong.set_text("\n".join(messages)))


def _score(desk: Desk, name: str) -> None:
    """How the dimensions combine."""
    path: Path = (*ROOT, name, "formula")
    is_formula = at(desk.document, path) is not None

    def turn(event: Any) -> None:
        desk.change(by_formula(desk.document, name, formula=bool(event.value)), "sections")

    choice = ui.select(WAYS, label="Its score is", value=is_formula, on_change=turn)
    stay(choice.props("outlined dense options-dense").classes("medium"), (*path, "way"))
    if is_formula:
        FormulaField(desk, path, "Score of the section", "score")


def _rulings(desk: Desk, path: Path) -> None:
    """The section's own verdicts, which may read its score."""
    place: Path = (*path, "verdicts")
    is_asked = place in desk.opened
    if not listed(desk.document, place) and not is_asked:

        def ask() -> None:
            desk.opened.add(place)
            desk.redraw("sections")

        ui.button("Give it verdicts of its own", on_click=ask).props("flat dense no-caps")
        return
    ui.label("Verdicts of the section, tried from top to bottom; its score is called section").classes("label")
    verdict_lines(desk, place)
    write_verdict(desk, place, "Write a verdict of the section", "weak if section < 50")


def draw_bands(desk: Desk) -> None:
    """Names for levels of the score, with a bar that shows what each covers."""

    def body() -> None:
        _Bands(desk)

    def heads() -> tuple[str, str]:
        names = [row.name for row in bands.rows_of(at(desk.document, BANDS)) if row.name]
        return "Bands", ", ".join(names) or "names for levels of the score, such as good or poor"

    retitle(desk, fold(desk, BANDS, *heads(), body), heads)


class _Bands:
    """The bands, the best first. One that begins elsewhere finds its place when its field is left."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._rows = dict(enumerate(bands.rows_of(at(desk.document, BANDS))))  # by a number that stays with its row
        most = at(desk.document, ("score", "out_of"), 1)
        points = f" ({most:g} points)" if isinstance(most, int | float) and most != 1 else ""
        ui.label(
            f"A band names a level of the score. It begins at a share of full marks{points} and reaches up to the next "
            "one. It is shown beside the score, and decides nothing."
        ).classes("quiet")
        self._bar = ui.element("div").classes("cover").props('role="img"')
        self._list = ui.element("div").classes("anchors")
        self._wrong = _wrong()
        desk.live(self._list, self._tell)
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
            stay(name.props("outlined dense maxlength=60"), (*BANDS, number, "name"))
            start = ui.number("From, in percent", value=row.start, on_change=partial(self._begun, number))
            stay(start.props("outlined dense step=any").on("change", self._sort), (*BANDS, number, "start"))
            icon_button("delete", f"Remove the band {row.name}".strip(), partial(self._drop, number))

    def _show(self) -> None:
        """Draw what each band covers."""
        self._bar.clear()
        found = bands.coverage(list(self._rows.values())).stretches if self._rows else ()
        with self._bar:
            for stretch in found:
                piece = ui.label(stretch.label).classes(f"stretch is-{stretch.kind}").style(f"width: {stretch.width}%")
                piece.tooltip(_reach(stretch))
        self._bar.props["aria-label"] = "Bands over the score: " + "; ".join(map(_reach, found))

    def _tell(self) -> None:
        found = [problem for problem in self._desk.examination.problems if problem.path[:1] == BANDS]
        said = (f"{problem.message} ({problem.fix})" if problem.fix else problem.message for problem in found)
        self._wrong.set_text("\n".join(dict.fromkeys(said)))

    def _keep(self, *, structural: bool = False) -> None:
        kept = put(self._desk.document, BANDS, bands.bands_of(list(self._rows.values())) or None)
        self._desk.change(kept, structural=structural)
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
        self._rows[number] = bands.another(list(self._rows.values()))
        self._sort()
        self._keep(structural=True)
        self._draw()

    def _usual(self) -> None:
        self._rows = dict(enumerate(bands.USUAL))
        self._keep(structural=True)
        self._draw()


def _reach(stretch: Stretch) -> str:
    """A band, and from where to where it reaches."""
    return f"{stretch.label}: {stretch.left:g} to {stretch.left + stretch.width:g} %"
