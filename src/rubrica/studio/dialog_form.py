"""A dialog with a form in it: Enter sends it, Escape closes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from nicegui import ui


@contextmanager
def dialog_form(send: Callable[[], Awaitable[None]]) -> Iterator[ui.dialog]:
    """A closed dialog; what is made inside is its form."""
    with (
        ui.dialog() as dialog,
        ui.element("div").classes("card dialog"),
        ui.element("form").on("submit.prevent", send),
    ):
        yield dialog
