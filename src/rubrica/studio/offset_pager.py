"""A pager for lists whose pages begin at an offset."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from rubrica.report.figures import count_of


class OffsetPager:
    """Two buttons and what is between them. `show` draws the page that begins at `start`."""

    def __init__(self, size: int, show: Callable[[], Awaitable[None]], noun: str) -> None:
        self.size = size
        self.start = 0
        self._total = 0
        self._show = show
        self._noun = noun
        with ui.element("div").classes("row paging") as self._row:
            self._back = ui.button(icon="chevron_left", on_click=self._earlier).props(
                'flat round dense aria-label="Previous page"'
            )
            self._told = ui.label("").props('aria-live="polite"').classes("quiet")
            self._on = ui.button(icon="chevron_right", on_click=self._later).props(
                'flat round dense aria-label="Next page"'
            )

    def reset(self) -> None:
        self.start = 0

    def tell(self, total: int) -> None:
        """Say how much there is."""
        self._total = total
        end = min(self.start + self.size, total)
        several = total > self.size
        self._told.set_text(
            f"{self.start + 1:,}–{end:,} of {count_of(total, self._noun)}" if several else count_of(total, self._noun)
        )
        self._back.set_visibility(several)
        self._on.set_visibility(several)
        self._back.set_enabled(self.start > 0)
        self._on.set_enabled(end < total)

    async def _earlier(self) -> None:
        self.start = max(self.start - self.size, 0)
        await self._show()

    async def _later(self) -> None:
        if self.start + self.size < self._total:
            self.start += self.size
        await self._show()
