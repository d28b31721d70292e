"""Criteria as rows of a tree, in points or weights, each with a form of its own below it where one asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Any

from nicegui import ui

from rubrica.errors import InputError
from rubrica.phrases import count_of
from rubrica.studio.builder.advice import take_advice
from rubrica.studio.builder.criterion_tree import (
    TreeRow,
    add_below,
    add_inside,
    add_last,
    axis_names,
    counts_in_points,
    indent,
    is_unnamed,
    leaves_of,
    outdent,
    remove_row,
    short_name,
    tree_rows,
)
from rubrica.studio.builder.dimensions import kind_of, move_dimension, rename_dimension, weights_of, with_weights
from rubrica.studio.builder.document import Data, Path, at, list_at, mapping_at
from rubrica.studio.builder.form_schema import choices_of
from rubrica.studio.builder.score_ways import list_points
from rubrica.studio.builder.weights import normalise_weights, rebalance
from rubrica.studio.criterion_lines import points_text, whole

from .editor import LONGEST_FIELD, DraftEditor, text_at, typed_text

MOST_UNFOLDED = 60
"""Rows up to which a tree is shown unfolded when it is opened."""
LONGEST_ID = 40
FIELDS = ("text", "count", "tags")
OTHERS = ("profiles", "sections")
"""Sections of the page that name dimensions."""
FROM_CASES = "each case brings its own criteria"

Draw = Callable[[DraftEditor, Path, Callable[[], None]], None]


class CriterionRows(ui.element, component="criterion_rows.js"):
    """The rows on the page."""


class CriterionTree:
    """The rows below a place of the document, and what is done with them."""

    def __init__(self, editor: DraftEditor, root: Path, detail: Draw) -> None:
        self._draft, self._root, self._detail = editor, root, detail
        self._ids: dict[str, Path] = {}  # rows are known by numbers that stay with them, whatever they are called
        self._seen = self._turn = self._made = 0
        self._focus: dict[str, Any] | None = None
        self._wrong: dict[Path, Sequence[str]] = {}
        self._shown: dict[str, Any] = {}
        self._drawn: Path | None = None  # the row whose form is drawn
        self._unfold_first()
        self._told = ui.label("").classes("points-sum").props('role="status"')
        self._page = CriterionRows()
        self._page.on("edit", self._edited)
        self._page.on("act", self._acted)
        self._slot = self._page.add_slot("detail")
        self.follow()
        editor.live(self._page, self.follow)

    # What the rows show

    def _unfold_first(self) -> None:
        """A tree that is not too large begins unfolded, a large one with its headings."""
        mark: Path = (*self._root, "rows")
        if mark in self._draft.opened:
            return
        self._draft.opened.add(mark)
        every = tree_rows(self._draft.document, self._root, lambda _: True)
        if len(every) <= MOST_UNFOLDED:
            self._draft.opened |= {(*row.path, "parts") for row in every if row.is_node}

    def _is_unfolded(self, path: Path) -> bool:
        return (*path, "parts") in self._draft.opened

    def follow(self) -> None:
        """Show the document as it is now."""
        editor = self._draft
        rows = tree_rows(editor.document, self._root, self._is_unfolded)
        self._place(rows)
        chosen = max((row.path for row in rows if row.path in editor.opened), key=len, default=None)
        if chosen != self._drawn:
            self._drawn = chosen
            self.draw_detail()
        in_points = counts_in_points(editor.document, self._root)
        known = {path: key for key, path in self._ids.items()}
        state = {
            "rows": [
                {"id": self._id_of(row.path, known), **self._row(row), "detail": row.path == chosen} for row in rows
            ],
            "label": "Criteria",
            "head": "Points" if in_points else "Percent",
            "adds": "Add a criterion",
            "longest": LONGEST_FIELD,
            "focus": self._focus,
        }
        if state != self._shown:
            self._shown = state
            self._page.props["state"] = {**state, "seen": self._seen}
            self._page.update()
        self._told.set_text(summary_of(editor.document, self._root))

    def _row(self, row: TreeRow) -> dict[str, Any]:
        document, axis = self._draft.document, mapping_at(self._draft.document, row.path)
        field, in_points = text_key(axis), counts_in_points(document, row.path[:-1])
        counted = axis.get("points" if in_points else "weight")
        number = counted if isinstance(counted, int | float) else None
        shown = "" if number is None else f"{number if in_points else round(100 * number, 2):g}"
        messages = dict.fromkeys(line for key in row_keys(axis) for line in self._wrong.get((*row.path, *key), ()))
        return {
            "number": row.number,
            "level": row.level,
            "heading": row.is_node,
            "unfolded": row.is_node and self._is_unfolded(row.path),
            "text": text_at(document, (*row.path, field)),
            "hint": "what the response does" if field == "asks" else "what this is about",
            "count": None if "from" in axis and in_points else shown,
            "counts": "Points" if in_points else "Weight in percent",
            "settles": not in_points,  # once the field is left: others make room then
            "means": "Below 0, it costs points" if in_points else "Among those beside it; they sum to 100 %",
            "share": "" if row.share is None else f"{100 * row.share:.3g} %",
            "tags": None if row.is_node or "from" in axis else ", ".join(map(str, list_at(axis, ("tags",)))),
            "note": note_of(axis),
            "wrong": list(messages),
            "advice": [
                {"why": one.why, "wording": one.wording, "action": one.action}
                for one in self._draft.examination.advice.get(row.path, ())
            ],
        }

    def _id_of(self, path: Path, known: Mapping[Path, str] | None = None) -> str:
        found = ({own: key for key, own in self._ids.items()} if known is None else known).get(path)
        if found is None:
            self._made += 1
            found = f"row{self._made}"
            self._ids[found] = path
        return found

    def _place(self, rows: Sequence[TreeRow]) -> None:
        """Say where on the page each field of a row is."""
        places = {}
        for row in rows:
            for key in row_keys(mapping_at(self._draft.document, row.path)):
                field = {"points": "count", "weight": "count", "tags": "tags"}.get(str(key[-1]) if key else "", "text")
                places[(*row.path, *key)] = partial(self._go, row.path, field, alone=bool(key))
        self._wrong = {path: found for path, found in self._wrong.items() if path in places}
        self._draft.place_rows(self._page, places, self._wrong)

    def _go(self, path: Path, field: str, *, asked: bool = False, alone: bool = False) -> None:
        """Put the cursor into a row. `asked`: by whoever is writing in another. `alone`: its form is not wanted."""
        if alone:
            self._draft.opened.discard(path)
        self._turn += 1
        self._focus = {"id": self._id_of(path), "field": field, "turn": self._turn, "asked": asked}
        self.follow()

    def open_row(self, path: Path | None) -> None:
        """Show the form of one row, or of none."""
        editor = self._draft
        editor.opened -= {row.path for row in tree_rows(editor.document, self._root, lambda _: True)}
        if path is not None:
            editor.opened.add(path)
        self.follow()
        editor.touched()

    def draw_detail(self) -> None:
        """Draw the form of the row that is open anew."""
        self._page.clear()
        if self._drawn is not None:
            with self._slot:
                self._detail(self._draft, self._drawn, self.draw_detail)

    # What is done with them

    def _edited(self, event: Any) -> None:
        match event.args:
            case {"id": str(key), "field": str(field), "value": str(value), "seq": int(seq)}:
                self._seen = max(self._seen, seq)
                path = self._path_of(key)
                if path is not None and field in FIELDS:
                    self._write(path, field, typed_text(value))
                    self._draft_row(key)[field] = value  # the page shows it already

    def _path_of(self, key: str) -> Path | None:
        """Where a row is; None where it has just gone."""
        path = self._ids.get(key)
        return path if path is not None and path[-1] in mapping_at(self._draft.document, path[:-1]) else None

    def _draft_row(self, key: str) -> dict[str, Any]:
        return next((row for row in self._shown.get("rows", ()) if row["id"] == key), {})

    def _write(self, path: Path, field: str, value: str) -> None:
        editor, axis = self._draft, mapping_at(self._draft.document, path)
        if field == "text":
            key = text_key(axis)
            editor.put((*path, key), value or ("" if key == "asks" else None))
        elif field == "tags":
            editor.put((*path, "tags"), [tag.strip() for tag in value.split(",") if tag.strip()] or None)
        elif field == "count" and counts_in_points(editor.document, path[:-1]):
            editor.put((*path, "points"), number_of(value))

    def _acted(self, event: Any) -> None:
        match event.args:
            case {"id": str(key), "action": "below", "made": str(made), "seq": int(seq)} if len(made) <= LONGEST_ID:
                self._seen = max(self._seen, seq)
                path = self._path_of(key)
                add = partial(add_last, root=self._root) if path is None else partial(add_below, path=path)
                self._change(add, made)
            case {"id": str(key), "action": str(action), "index": int(index), "field": str(field), "seq": int(seq)}:
                self._seen = max(self._seen, seq)
                path = self._path_of(key)
                if path is not None:
                    self._act(path, action, index, field)

    def _act(self, path: Path, action: str, index: int, field: str) -> None:
        editor = self._draft
        match action:
            case "fold":
                (editor.opened.discard if self._is_unfolded(path) else editor.opened.add)((*path, "parts"))
                editor.touched()
                self.follow()
            case "detail":
                before = self._drawn
                self.open_row(None if path in editor.opened else path)
                if before is not None:
                    self._name(before)
            case "inside":
                editor.opened.add((*path, "parts"))
                self._change(partial(add_inside, path=path))
            case "up" | "down":
                self._change(lambda now: (move_dimension(now, path, -1 if action == "up" else 1), path), field=field)
            case "in" | "out":
                self._change(partial(indent if action == "in" else outdent, path=path), moved=path, field=field)
            case "remove":
                self._change(lambda now: (remove_row(now, path), None))
                ui.notify("The criterion is removed. Undo brings it back.")
            case "take":
                found = editor.examination.advice.get(path, ())
                if index in range(len(found)):
                    self._change(lambda now: (take_advice(now, found[index]), path))
                    editor.touched()
            case "named":
                self._name(path)
            case "counted":
                self._weigh(path)

    def _change(
        self,
        change: Callable[[Data], tuple[Data, Path | None]],
        made: str = "",
        *,
        moved: Path | None = None,
        field: str = "text",
    ) -> None:
        """Change the rows, and put the cursor where something came or went to."""
        try:
            document, path = change(self._draft.document)
        except InputError as error:
            ui.notify(str(error), type="warning")
            self._resend()
            return
        if moved is not None and path is not None:
            self._move_ids(moved, path)
        elif made and path is not None:
            self._ids[made] = path
        if path is not None:
            self._draft.opened |= {path[:length] for length in range(1, len(path)) if path[length - 1] == "parts"}
        self._draft.change(document, *OTHERS, structural=True)
        if path is not None and not made:
            self._go(path, field, asked=True)
        else:
            self.follow()

    def _move_ids(self, old: Path, new: Path) -> None:
        def moved(path: Path) -> Path:
            return (*new, *path[len(old) :]) if path[: len(old)] == old else path

        self._ids = {key: moved(path) for key, path in self._ids.items()}
        self._draft.opened = {moved(path) for path in self._draft.opened}
        self._drawn = None if self._drawn is None else moved(self._drawn)
        if self._drawn is not None and self._drawn[: len(new)] == new:
            self._drawn = ()  # its form is of another place now

    def _resend(self) -> None:
        self._shown = {}
        self.follow()

    def _name(self, path: Path) -> None:
        """Name a criterion that has been written by its first words, unless its form is open, where it has a name."""
        editor = self._draft
        if path == self._drawn:
            return
        text = text_at(editor.document, (*path, text_key(mapping_at(editor.document, path))))
        if not text.strip() or not is_unnamed(path):
            return
        new: Path = (*path[:-1], short_name(text, axis_names(editor.document)))
        self._move_ids(path, new)
        editor.change(rename_dimension(editor.document, path, str(new[-1])), *OTHERS, structural=True)
        self.follow()

    def _weigh(self, path: Path) -> None:
        """Give a part the weight that was typed; those beside it make room."""
        editor, holder, name = self._draft, path[:-1], str(path[-1])
        if counts_in_points(editor.document, holder):
            return
        percent = number_of(str(self._draft_row(self._id_of(path)).get("count", "")))
        weights = weights_of(editor.document, holder)
        if percent is not None and 0 <= percent <= 100:
            even = weights if abs(sum(weights.values()) - 1) < 1e-6 else normalise_weights(weights)
            editor.change(with_weights(editor.document, holder, rebalance(even, name, percent / 100)), structural=True)
        self._resend()


def text_key(axis: Mapping[str, Any]) -> str:
    """Which text of a dimension or part its row shows: the question of what is judged, else the title."""
    return "asks" if kind_of(axis) == "judge" and "from" not in axis else "title"


def row_keys(axis: Mapping[str, Any]) -> list[Path]:
    """The fields of a dimension or part that its row edits, and the whole of it."""
    return [(), ("points",), ("weight",), ("tags",), (text_key(axis),)]


def note_of(axis: Mapping[str, Any]) -> str:
    """What a row says besides, in a line."""
    if "from" in axis:
        return FROM_CASES
    kind = kind_of(axis)
    if kind != "judge":
        return "" if kind == "parts" else choices_of("Dimension", "scorer")[kind]
    answers = axis.get("answers")
    title = str(axis.get("title") or "")
    labels = [str(label) for label in answers] if isinstance(answers, Mapping) else []
    said = "scored on the scale" if not labels else "" if labels == ["yes", "no"] else ", ".join(labels)
    examples = count_of(len(axis["examples"]), "example") if isinstance(axis.get("examples"), list) else ""
    return " · ".join(one for one in (title, said, examples) if one)


def number_of(text: str) -> float | None:
    """A number as somebody writes it; None where it is none.

    >>> number_of(" −2,5 "), number_of("+4"), number_of("many")
    (-2.5, 4, None)
    """
    try:
        found = float(text.strip().replace("−", "-").replace("–", "-").replace(",", "."))
    except ValueError:
        return None
    return whole(found) if isfinite(found) else None


def summary_of(document: Data, root: Path) -> str:
    """What the rows come to: criteria and points, and how deep a tree they are."""
    every = leaves_of(document, root)
    leaves = [path for path in every if at(document, (*path, "from")) is None]
    levels = max(((len(path) - len(root) + 1) // 2 for path in leaves), default=0)
    if counts_in_points(document, root):
        if len(leaves) < len(every) and not leaves:
            return FROM_CASES
        said = points_text(list_points(document, root))
        if levels > 1:
            criteria = count_of(len(leaves), "criterion", "criteria")
            said = f"{criteria} on {levels} levels: {said.partition(': ')[2]}"
        return said + (", and those of each case" if len(leaves) < len(every) else "")
    told = count_of(len(leaves), "criterion is", "criteria are") + " judged"
    return f"{told}, on {levels} levels" if levels > 1 else told
