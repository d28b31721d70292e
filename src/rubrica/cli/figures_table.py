"""Tables that lose no figure, however narrow the terminal: bars go first, then texts wrap, then rows are stacked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from .screen import safe

NARROWEST_TEXT = 8
"""Characters that a column of texts keeps; below that, rows are stacked."""
COMFORTABLE = 20
"""Characters of the widest texts below which bars are left out."""
_BARS = frozenset("█░▁▂▃▄▅▆▇ ")


class FiguresTable(Table):
    """A plain table whose columns to the right hold figures, which are never cut."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**{"box": None, "padding": (0, 2, 0, 0), "header_style": "dim", **how})

    def add_row(self, *cells: RenderableType | None, **how: Any) -> None:
        """Add a row. A text is shown as it is: brackets in somebody's words are no styles."""
        super().add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells), **how)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width
        if not self.columns or sum(self._natural(console, options)) <= room:
            yield from super().__rich_console__(console, options)
            return
        kept = list(self.columns)
        widths = self._fitting(kept, room, console, options)
        if widths is None or min(self._texts(kept, widths), default=COMFORTABLE) < COMFORTABLE:
            kept = [column for column in kept if not _is_bar(column)]
            widths = self._fitting(kept, room, console, options)
        if widths is not None:
            yield self._fitted(kept, widths)
            return
        if self.title:
            yield Text(str(self.title), self.title_style or "")
        yield from self._stacked()

    def _natural(self, console: Console, options: ConsoleOptions) -> list[int]:
        unbound = options.update_width(10_000)
        return [self._measure_column(console, unbound, column).maximum for column in self.columns]

    def _fitting(
        self, columns: list[Column], room: int, console: Console, options: ConsoleOptions
    ) -> dict[int, int] | None:
        """A width for each column: figures have what they need, texts share the rest; None where that is too little."""
        gap = 2
        widths: dict[int, int] = {}
        texts: list[tuple[int, int]] = []
        for column in columns:
            cells = max((_width(cell, console, options) for cell in column.cells), default=0)
            head = [len(word) for word in str(column.header).split()] if self.show_header else []
            if column.justify == "right" or _is_bar(column):
                widths[column._index] = max(cells, *head, 1)
            else:
                texts.append((max(cells, len(str(column.header)) if self.show_header else 0, 1), column._index))
        left = room - sum(widths.values()) - gap * len(columns)
        for place, (natural, index) in enumerate(sorted(texts)):
            share = min(natural, left // (len(texts) - place))
            if share < min(natural, NARROWEST_TEXT):
                return None
            widths[index] = share
            left -= share
        return widths if left >= 0 else None

    def _texts(self, columns: list[Column], widths: dict[int, int]) -> list[int]:
        """The widths of columns whose texts have to wrap."""
        natural = {
            column._index: max((len(_text(cell).plain) for cell in column.cells), default=0) for column in columns
        }
        return [
            widths[column._index]
            for column in columns
            if column.justify != "right" and not _is_bar(column) and natural[column._index] > widths[column._index]
        ]

    def _fitted(self, columns: list[Column], widths: dict[int, int]) -> Table:
        table = Table(
            box=None,
            padding=(0, 2, 0, 0),
            header_style=self.header_style,
            show_header=self.show_header,
            title=self.title,
            title_justify=self.title_justify,
            title_style=self.title_style,
        )
        for column in columns:
            table.add_column(
                column.header,
                justify=column.justify,
                style=column.style,
                width=widths[column._index],
                overflow="fold",
            )
        rows = zip(*(list(column.cells) for column in columns), strict=True)
        for own, cells in zip(self.rows, rows, strict=True):
            table.add_row(*cells, style=own.style, end_section=own.end_section)
        return table

    def _stacked(self) -> Iterator[Text]:
        """Each row as lines: its first cell, then what the others are called and hold."""
        columns = [column for column in self.columns if not _is_bar(column)]
        for cells in zip(*(list(column.cells) for column in columns), strict=True):
            parts = [_text(cells[0])] if _text(cells[0]).plain.strip() else []
            for column, cell in zip(columns[1:], cells[1:], strict=True):
                text = _text(cell)
                if text.plain.strip():
                    header = str(column.header) if self.show_header else ""
                    parts.append(Text.assemble((f"{header} ", "dim"), text) if header else text)
            yield Text("  ").join(parts)


def figures_table(words: Iterable[str], numbers: Iterable[str]) -> FiguresTable:
    """An empty table with columns of words to the left, which wrap, and of numbers to the right."""
    table = FiguresTable()
    for name in words:
        table.add_column(safe(name), overflow="fold")
    for name in numbers:
        table.add_column(safe(name), justify="right", no_wrap=True)
    return table


def _text(cell: object) -> Text:
    return cell if isinstance(cell, Text) else Text(str(cell))


def _width(cell: Any, console: Console, options: ConsoleOptions) -> int:
    return Measurement.get(console, options.update_width(10_000), cell).maximum


def _is_bar(column: Column) -> bool:
    """Whether a column draws what another one says in figures."""
    cells = ["".join(_text(cell).plain) for cell in column.cells]
    return column.justify != "right" and any(map(str.strip, cells)) and all(set(cell) <= _BARS for cell in cells)
