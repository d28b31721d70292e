"""Elements that several pages share: headings, cards, error messages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from markupsafe import Markup, escape
from nicegui import events, ui

from rubrica.errors import RubricaError, RubricError, StoreError
from rubrica.model.rubric import Rubric
from rubrica.report.roles import SIGNS, Role, role_of

LOG = logging.getLogger("rubrica.studio")
UNFORESEEN = "Something went wrong that should not. The server's log says what; reload the page and try again."


@contextmanager
def heading(title: str, *, back: tuple[str, str] | None = None) -> Iterator[None]:
    """A page's title; what is made inside stands to its right. `back` is a link's text and target above it."""
    if back is not None:
        ui.link(f"‹ {back[0]}", back[1]).classes("quiet")
    with ui.element("div").classes("heading"):
        with ui.element("h1"):
            ui.label(title)
        ui.element("span").classes("grow")
        yield


@contextmanager
def card(title: str = "", note: str = "") -> Iterator[None]:
    """A white box with a title."""
    with ui.element("section").classes("card"):
        if title:
            with ui.element("div").classes("row"):
                with ui.element("h2"):
                    ui.label(title)
                if note:
                    ui.label(note).classes("quiet")
        yield


def drawing(svg: Markup) -> ui.html:
    """One of the report's drawings. They are made from numbers, and all words in them are escaped."""
    return ui.html(str(svg), sanitize=False)


def verdict(label: str, rubric: Rubric | None = None) -> None:
    """A verdict in the colour of what it means, and with its sign."""
    role: Role = role_of(label, rubric)
    sign = Markup('<span class="badge is-{}"><span aria-hidden="true">{}</span> {}</span>').format(
        role, SIGNS[role], label.replace("_", " ")
    )
    ui.html(str(sign), sanitize=False)


def chip(text: str) -> None:
    ui.label(text).classes("chip")


def empty(text: str, action: str = "", then: Callable[[], object] | None = None) -> None:
    """What stands where there is nothing yet, with the way to the first thing."""
    with ui.element("div").classes("empty"):
        ui.label(text)
        if action and then is not None:
            ui.button(action, on_click=then).props("unelevated")


def error_label(error: RubricaError) -> None:
    """An error where it belongs on the page, every problem on a line of its own."""
    ui.label(error_text(error)).classes("fault").props('role="alert"')


def show_error(holder: ui.element, error: RubricaError) -> None:
    """An error in place of what could not be drawn."""
    holder.clear()
    with holder:
        error_label(error)


def error_text(error: RubricaError) -> str:
    """An error in the words that a person is told."""
    if isinstance(error, StoreError):
        LOG.error("%s", error)
        return "The database cannot be used just now; nothing was half-written. Try again."
    if isinstance(error, RubricError):
        return "\n".join(str(problem) for problem in error.problems)
    return str(error)


class Choice(ui.select):
    """One of a list that may be another list by the time a click in it arrives: what counts is what was clicked."""

    def _event_args_to_value(self, e: events.GenericEventArguments) -> Any:
        if self.multiple or not isinstance(e.args, dict):
            return super()._event_args_to_value(e)
        for value, label in zip(self._values, self._labels, strict=True):
            if label == e.args.get("label"):
                return value
        self.update()  # it is not offered any more: show that nothing is chosen
        return None


@contextmanager
def notifying_errors() -> Iterator[None]:
    """Tell an error of what is done inside as a message on the page, instead of losing it."""
    try:
        yield
    except RubricaError as error:
        ui.notify(error_text(error), type="negative", multi_line=True, timeout=8000, close_button="Close")


def escaped_lines(text: str) -> Markup:
    """Text of others, escaped, with its line breaks."""
    return Markup("<br>").join(escape(line) for line in text.split("\n"))
