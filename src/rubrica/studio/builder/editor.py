"""The editor: one draft on one open page, what is wrong with it, and who is told when it changes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from nicegui import Client, background_tasks, ui

from rubrica.engine.document import Document
from rubrica.errors import Problem, RubricError
from rubrica.studio.builder.checking import DraftCheck, DraftSample, check_draft
from rubrica.studio.builder.document import Data, Path, at, mapping_at, put
from rubrica.studio.builder.formulas import FormulaSample
from rubrica.studio.studio import Visitor
from rubrica.workspace.draft import LARGEST_DEFINITION
from rubrica.workspace.entry import RubricEntry
from rubrica.workspace.rubric_text import from_text, to_text

PAUSE = 0.25
"""Seconds without a change after which a draft is looked at."""
ONE_GO = 1.5
"""Seconds between changes that are gone back together."""
A_CLICK = 0.2
"""Seconds in which the click arrives that took the cursor out of a field."""
MOST_STEPS = 100
LEAST_STEPS = 5
MOST_REMEMBERED = 2_000_000
"""Characters of all steps together, so that a page that is open for days stays small."""
LONGEST_FIELD = LARGEST_DEFINITION
"""Characters of a text in a field of the form; a rubric cannot hold more."""
LONGEST_DOCUMENT = 2 * LARGEST_DEFINITION
"""Characters of a document that is read while it is typed; what can be saved is shorter."""


@dataclass(frozen=True, slots=True)
class FormPlace:
    """Where on the page something of the document is edited, and how problems are shown there."""

    element: ui.element
    show: Callable[[Sequence[str]], object]
    go: Callable[[], object] | None = None  # puts the cursor there; None: into the element


@dataclass
class DraftEditor:
    """A draft, and everything on the page that depends on it."""

    visitor: Visitor
    client: Client
    storage: str  # the key of unsaved work in this browser
    document: Data
    entry: RubricEntry | None = None  # what is being changed; None: something new
    is_public: bool = False
    sample: DraftSample = field(default_factory=DraftSample)
    unreadable: tuple[Problem, ...] = ()  # why the text is no document; the form shows what it was before
    examination: DraftCheck = field(default_factory=DraftCheck)
    formula_sample: FormulaSample = field(default_factory=FormulaSample)  # the sample, for formulas
    locked: set[Path] = field(default_factory=set)  # weights that stay
    opened: set[Path] = field(default_factory=set)  # what is unfolded
    undecided: bool = True  # whether earlier work in the browser is to be gone on with; until then it stays
    score_news: list[str] = field(default_factory=list)  # what another way to score has just changed
    named: bool = False  # the name was chosen, and no longer follows the title

    def __post_init__(self) -> None:
        self._generation = 0
        self._busy = asyncio.Lock()
        self._before: list[Data] = []
        self._size = 1  # characters of the text when it was last looked at
        self._changed_at = 0.0
        self._places: dict[Path, FormPlace] = {}
        self._live: list[tuple[ui.element, Callable[[], object]]] = []
        self._sections: dict[str, Callable[[], None]] = {}
        self._saved = self._state()
        self._text: str | None = None  # as it was typed, or written since the form changed

    # The document

    def put(self, path: Path, value: Any, *redraw: str) -> None:
        """Set what stands at a place."""
        self.change(put(self.document, path, value), *redraw)

    def change(self, document: Data, *redraw: str, structural: bool = False) -> None:
        """Take another document, from the form, and draw some sections anew.

        `structural`: something came, went or is of another kind, which is undone by itself.
        """
        if document == self.document and not redraw:
            return
        self._remember(structural=structural or bool(redraw))
        self.document = document
        self.restate()
        for section in redraw:
            self.redraw(section)
        self.touched()

    def undo(self) -> bool:
        """Go back to what the form said before; False where there is nothing to go back to."""
        if not self._before:
            return False
        self.document = self._before.pop()
        self._changed_at = -ONE_GO
        self.restate()
        self.redraw_all()
        self.touched()
        return True

    def _remember(self, *, structural: bool) -> None:
        """Keep what can be gone back to; what is typed in one go is one step."""
        now = time.monotonic()
        if structural or now - self._changed_at > ONE_GO or not self._before:
            steps = max(LEAST_STEPS, min(MOST_STEPS, MOST_REMEMBERED // self._size))
            self._before = [*self._before[-steps:], self.document]
        self._changed_at = -ONE_GO if structural else now

    def read(self, text: str) -> bool:
        """Take another document, from its text; False where the text cannot be read, and the document stays."""
        self._text = text
        try:
            document = _read(text)
        except RubricError as error:
            self.unreadable = error.problems
            self.touched()
            return False
        self.unreadable = ()
        if document != self.document:
            self._remember(structural=False)
        self.document = document
        self.touched()
        return True

    def restate(self) -> None:
        """Let the text follow the document: it is written when somebody wants it."""
        self._text, self.unreadable = None, ()

    @property
    def text(self) -> str:
        """The document in YAML, or what was typed in its place."""
        if self._text is None:
            self._text = to_text(self.document)
        return self._text

    def mark_saved(self, entry: RubricEntry) -> None:
        """What the editor holds is what is kept now."""
        self.entry, self.is_public = entry, entry.listing.is_public
        self.document = editable_document(entry)
        self._before = []  # an earlier version is restored from the history, not undone
        self.restate()
        self._saved = self._state()
        self.forget()
        self.touched()

    @property
    def unsaved(self) -> bool:
        """Whether there is work that only this page has."""
        return self._state() != self._saved or bool(self.unreadable)

    @property
    def label(self) -> str | None:
        """The version that was read."""
        return None if self.entry is None else self.entry.version.version

    def _state(self) -> tuple[Data, bool]:
        return self.document, self.is_public

    # The page

    def section(self, name: str, draw: Callable[[], None]) -> None:
        """A part of the page that can be drawn anew by its name."""
        holder = ui.element("div").classes("build-section")

        def again() -> None:
            holder.clear()
            with holder:
                draw()

        self._sections[name] = again
        again()

    def redraw(self, name: str) -> None:
        """Draw a section anew, where the page has it."""
        if name in self._sections:
            self._sections[name]()

    def redraw_all(self) -> None:
        """Draw the whole form anew."""
        for name in list(self._sections):
            self.redraw(name)

    def place(self, path: Path, element: ui.element, show: Callable[[Sequence[str]], object] | None = None) -> None:
        """Say that a part of the document is edited in an element; a field of its own shows what is wrong itself."""
        if show is None:
            keep_focus(element, path)
        self._places[path] = FormPlace(element, show or (lambda messages: show_problems(element, messages)))

    def place_rows(
        self, element: ui.element, fields: Mapping[Path, Callable[[], object]], wrong: dict[Path, Sequence[str]]
    ) -> None:
        """Say which parts of the document the rows of one element edit, each with what puts the cursor there.

        What is wrong with each is kept in `wrong`, which the element shows.
        """
        self._places = {path: place for path, place in self._places.items() if place.element is not element}
        for path, go in fields.items():
            self._places[path] = FormPlace(element, partial(wrong.__setitem__, path), go)

    def has_place(self, path: Path) -> bool:
        """Whether a part of the document is edited somewhere on the page."""
        place = self._places.get(path)
        return place is not None and not place.element.is_deleted

    def live(self, element: ui.element, follow: Callable[[], object]) -> None:
        """Call something after every look at the draft, for as long as an element is there."""
        self._live.append((element, follow))

    def nearest(self, path: Path) -> tuple[Path, FormPlace] | None:
        """The place where a part of the document is edited, or the nearest around it that is on the page."""
        for length in range(len(path), 0, -1):
            place = self._places.get(path[:length])
            if place is not None and not place.element.is_deleted:
                return path[:length], place
        return None

    def go_to(self, path: Path) -> None:
        """Unfold what hides a part of the document, and put the cursor there."""
        hidden = {path[:length] for length in range(1, len(path) + 1)} - self.opened
        if hidden:
            self.opened |= hidden
            self.redraw_all()
            self._tell()
        found = self.nearest(path)
        if found is not None:
            (found[1].go or partial(focus, self.client, found[1].element))()

    async def move_path(self, old: Path, new: Path, change: Callable[[Data], Data], *, reads: bool = False) -> None:
        """Call a thing otherwise, and draw the form anew. Whoever types somewhere in it goes on typing there.

        `reads`: formulas read it by its name. A field is often left by a click, on what would not be there any more: so
        that click comes first. The change is made to the draft as it is then, since one may have typed meanwhile.
        """
        await asyncio.sleep(A_CLICK)
        said = ", ".join(json.dumps(part) for part in (old, new, reads))
        with suppress(TimeoutError):
            await self.client.run_javascript(f"window.rubricaCarry?.move({said})", timeout=5)
        holder = mapping_at(self.document, old[:-1])
        if old[-1] not in holder or new[-1] in holder:
            return

        def moved(path: Path) -> Path:
            return (*new, *path[len(old) :]) if path[: len(old)] == old else path

        self.opened = {moved(path) for path in self.opened}
        self.locked = {moved(path) for path in self.locked}
        self.change(change(self.document), structural=True)
        self.redraw_all()

    # What follows a change

    def touched(self) -> None:
        """Look at the draft once nothing has changed for a moment, and keep it in the browser."""
        self._generation += 1
        background_tasks.create(self._settle(self._generation))

    async def _settle(self, generation: int) -> None:
        await asyncio.sleep(PAUSE)
        async with self._busy:
            if generation != self._generation or self.client.is_deleted:
                return
            text, found = await asyncio.to_thread(_check_text, self.document, self._text, self.sample)
        if generation != self._generation or self.client.is_deleted:
            return
        self._text, self._size = text, max(1, len(text))
        self.examination = replace(found, problems=self.unreadable) if self.unreadable else found
        self.formula_sample = FormulaSample(found.context, found.evaluation or self.formula_sample.evaluation)
        with self.client:
            self._tell()
            self.keep()

    def _tell(self) -> None:
        """Show every problem where it belongs, and let whatever depends on the draft follow."""
        self._places = {path: place for path, place in self._places.items() if not place.element.is_deleted}
        messages: dict[Path, list[str]] = {path: [] for path in self._places}
        for problem in self.examination.problems:
            found = self.nearest(problem.path)
            if found is not None:
                inner = Problem("", problem.path[len(found[0]) :]).where
                told = f"{problem.message} ({problem.fix})" if problem.fix else problem.message
                messages[found[0]].append(f"{inner}: {told}" if inner else told)
        for path, place in list(self._places.items()):
            place.show(messages[path])
        self._live = [(element, follow) for element, follow in self._live if not element.is_deleted]
        for _, follow in list(self._live):
            follow()

    # The browser's memory

    def keep(self) -> None:
        """Leave unsaved work in the browser, so that it survives whatever happens to the page."""
        if self.undecided:
            if not self.unsaved:
                return
            self.undecided = False
            key, beside = json.dumps(self.storage), json.dumps(f"{self.storage}:aside")
            self.client.run_javascript(
                f"const kept = localStorage.getItem({key}); if (kept) localStorage.setItem({beside}, kept)"
            )
        if not self.unsaved:
            self.forget()
            return
        kept = {
            "text": self.text,
            "is_public": self.is_public,
            "label": self.label,
            "tag": None if self.entry is None else self.entry.tag,
            "revision": None if self.entry is None else self.entry.listing.revision,
        }
        value = f"JSON.stringify({{...{json.dumps(kept)}, at: Date.now()}})"
        script = f"localStorage.setItem({json.dumps(self.storage)}, {value})"
        self.client.run_javascript(f"try {{ {script} }} catch (error) {{ console.warn(error) }}")

    def leave(self) -> None:
        """The draft is kept elsewhere, and this page is left: nothing is looked at or remembered any more."""
        self._generation += 1
        self.forget()

    def forget(self) -> None:
        """Take this draft out of the browser."""
        self.client.run_javascript(f"localStorage.removeItem({json.dumps(self.storage)})")


def typed_text(value: Any) -> str:
    """What was typed into a field; a page may send anything in its place, and as much as it likes.

    >>> typed_text("Tone"), typed_text(None), typed_text({"a": 1}), len(typed_text("x" * 500_000))
    ('Tone', '', '', 200000)
    """
    return value[:LONGEST_FIELD] if isinstance(value, str) else ""


def _read(text: str) -> Data:
    if len(text) > LONGEST_DOCUMENT:
        raise RubricError([Problem(f"the document has more than {LONGEST_DOCUMENT:,} characters", line=1)])
    return from_text(text)[0]


def _check_text(document: Data, text: str | None, sample: DraftSample) -> tuple[str, DraftCheck]:
    """A draft's text, written if it is not there, and what the draft comes to."""
    text = to_text(document) if text is None else text
    try:
        placed: Document | None = from_text(text)[1] if len(text) <= LONGEST_DOCUMENT else None
    except RubricError:
        placed = None
    return text, check_draft(document, placed, sample)


def editable_document(entry: RubricEntry) -> Data:
    """A rubric as a document to be edited: as written, with its version, category and tags."""
    document = dict(entry.version.definition)
    for key in ("version", "category", "tags"):
        document = put(document, (key,), entry.document.get(key))
    return document


def keep_focus(element: ui.element, path: Path) -> None:
    """Let the cursor stay in an element when another one takes its place because the form is drawn anew."""
    element.props["data-place"] = json.dumps(path, ensure_ascii=False, separators=(",", ":"))
    if isinstance(element, ui.input | ui.number):
        # What is drawn around a text, such as a problem, is sent without it: the first keys may be on their way here.
        element._client_value = element.props[element.VALUE_PROP]


def focus(client: Client, element: ui.element) -> None:
    """Put the cursor into an element, and bring that into view, unless somebody has begun to write elsewhere."""
    client.run_javascript(f"window.rubricaCarry?.focus({json.dumps(element.html_id)})")


def text_at(document: Data, path: Path) -> str:
    """What stands at a place, as text."""
    value = at(document, path, "")
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def show_problems(element: ui.element, messages: Sequence[str]) -> None:
    """Tell at a field what is wrong with it; nothing takes it back."""
    told = " ".join(messages)
    if element.props.get("error-message", "") == told:
        return
    element.props.set_optional("error", bool(told) or None)
    element.props.set_optional("error-message", told or None)
    element.update()
