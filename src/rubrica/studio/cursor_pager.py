"""A pager for lists whose pages begin after a cursor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui


class CursorPager:
    """The way on and back. `show` draws the page that begins at `start`, then calls `tell`."""

    def __init__(self, size: int, show: Callable[[], Awaitable[None]]) -> None:
        self.size = size
        self._show = show
        self._starts: list[Any] = [None]
        self._after: Any = None
        with ui.element("nav").classes("row pager").props('aria-label="Pages"') as self._row:
            self._back = ui.button("Previous", icon="chevron_left", on_click=self._earlier).props("flat")
            self._told = ui.label("").classes("quiet").props('aria-live="polite"')
            self._on = ui.button("Next", on_click=self._later).props("flat icon-right=chevron_right")
        self._row.set_visibility(False)

    @property
    def start(self) -> Any:
        """Where the page begins: what the one before gave as `after`; None for the first."""
        return self._starts[-1]

    @property
    def first(self) -> bool:
        """Whether this is the first page."""
        return len(self._starts) == 1

    def reset(self) -> None:
        """Go back to the first page, without drawing it."""
        self._starts = [None]

    def tell(self, shown: int, after: Any) -> None:
        """Say how much is shown, and where the following page starts; None: there is none."""
        self._after = after
        before = (len(self._starts) - 1) * self.size
        self._told.set_text(f"{before + 1:,}–{before + shown:,}" if shown else "nothing further")
        self._back.set_enabled(not self.first)
        self._on.set_enabled(after is not None)
        self._row.set_visibility(not self.first or after is not None)

    async def _earlier(self) -> None:
        if not self.first:
            self._starts.pop()
            await self._show()

    async def _later(self) -> None:
        if self._after is not None:
            self._starts.append(self._after)
            self._after = None  # a second click before the page is there leads no further
            await self._show()
            ui.run_javascript("window.scrollTo(0, 0)")
