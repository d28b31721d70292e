"""Rows of an XLSX sheet, one at a time: numbers as numbers, percentages and dates as they are shown."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from rubrica.errors import InputError

from .table_rows import TableRow
from .xlsx_parts import Attributes, XlsxWorkbook, new_parser, open_workbook, reading_xlsx

MOST_CELLS = 20_000_000
MOST_COLUMNS = 16_384
_DATES = {*range(14, 23), *range(45, 48)}  # built-in formats
_PERCENTS = {9, 10}
_DATE_LETTERS = re.compile(r"[ymdhs]", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_REFERENCE = re.compile(r"([A-Z]{1,3})\d+")
_SHARED, _STYLES = "xl/sharedStrings.xml", "xl/styles.xml"


def sheet_rows(path: Path, wanted: str | None = None) -> Iterator[TableRow]:
    """The rows of a sheet under its line of names; of the first sheet that has any, where none is named."""
    for names, number, cells in _named_rows(path, wanted):
        data = {names[place]: value for place, value in cells.items() if place in names}
        if data:  # else it is a remark beside the table
            yield TableRow(number, data)


def sheet_columns(path: Path, wanted: str | None = None) -> list[str]:
    """The names of its columns."""
    for names, _, _ in _named_rows(path, wanted):
        return list(names.values())
    return []


def _named_rows(path: Path, wanted: str | None) -> Iterator[tuple[dict[int, str], int, dict[int, Any]]]:
    """The names, then what each row has under them. A single cell above a row of several is a title."""
    names: dict[int, str] = {}
    told = False  # whether a row was given out under them
    with open_workbook(path) as book:
        part = book.sheets[chosen_sheet(book, wanted)]
        for number, cells in _Sheet(book, part, _shared_strings(book), _formats(book)).rows():
            filled = {place: value for place, value in cells.items() if value not in (None, "")}
            if not filled:
                continue
            if not names or (len(names) == 1 and len(filled) > 1 and not told):
                names = _names(filled, path.name)
                continue
            told = True
            yield names, number, filled
    if names and not told:
        yield names, 0, {}


def sheet_note(path: Path, wanted: str | None = None) -> str:
    """Which sheet is read, where there are several."""
    with open_workbook(path) as book:
        name = chosen_sheet(book, wanted)
        others = [other for other in book.sheets if other != name]
    if not others or wanted:
        return ""
    said = ", ".join(others[:5]) + (", …" if len(others) > 5 else "")
    return f"the sheet {name!r} is read (others: {said}; change with --records)"


def chosen_sheet(book: XlsxWorkbook, wanted: str | None) -> str:
    if wanted is not None:
        if wanted not in book.sheets:
            raise InputError(f"{book.name} has no sheet {wanted!r}; it has {', '.join(book.sheets)}")
        return wanted
    for name, part in book.sheets.items():
        if any(cells for _, cells in _Sheet(book, part, [], {}).rows()):
            return name
    raise InputError(f"{book.name} has no sheet with rows")


def _names(filled: dict[int, Any], file: str) -> dict[int, str]:
    names = {place: " ".join(str(value).split()) for place, value in filled.items()}
    twice = next((name for name in names.values() if list(names.values()).count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{file} has two columns called {twice!r}; rename one")
    return names


class _Cell(msgspec.Struct):
    """A cell that is being read."""

    place: int
    kind: str
    style: int
    text: list[str]


class _Sheet:
    """Reads the XML of one sheet, a row at a time."""

    def __init__(self, book: XlsxWorkbook, part: str, strings: list[str], formats: dict[int, str]) -> None:
        self._book, self._part = book, part
        self._strings, self._formats = strings, formats
        self._done: deque[tuple[int, dict[int, Any]]] = deque()
        self._row: dict[int, Any] = {}
        self._number = 0
        self._cell: _Cell | None = None
        self._inside = ""
        self._seen = 0

    def rows(self) -> Iterator[tuple[int, dict[int, Any]]]:
        parser = new_parser()
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        with reading_xlsx(self._book.name):
            for chunk in self._book.chunks(self._part):
                parser.Parse(chunk, False)
                while self._done:
                    yield self._done.popleft()
            parser.Parse(b"", True)
        yield from self._done

    def _start(self, tag: str, attributes: Attributes) -> None:
        match tag.rpartition(":")[2]:
            case "row":
                said = attributes.get("r", "")
                self._number = int(said) if said.isdigit() and len(said) < 9 else self._number + 1
                self._row = {}
            case "c":
                self._seen += 1
                if self._seen > MOST_CELLS:
                    raise InputError(f"{self._book.name} has more than {MOST_CELLS:,} cells (split it)")
                place = _column(attributes.get("r", "")) or max(self._row, default=0) + 1
                style = attributes.get("s", "0")
                self._cell = _Cell(place, attributes.get("t", "n"), int(style) if style.isdigit() else 0, [])
            case "v" | "t" as name:
                self._inside = name
            case "rPh":
                self._inside = "rPh"

    def _end(self, tag: str) -> None:
        match tag.rpartition(":")[2]:
            case "v" | "t" | "rPh":
                self._inside = ""
            case "c":
                if self._cell is not None and self._cell.place <= MOST_COLUMNS:
                    self._row[self._cell.place] = self._value(self._cell)
                self._cell = None
            case "row":
                self._done.append((self._number, self._row))

    def _text(self, text: str) -> None:
        if self._cell is not None and self._inside in ("v", "t"):
            self._cell.text.append(text)

    def _value(self, cell: _Cell) -> Any:
        text = "".join(cell.text)
        match cell.kind:
            case "s":
                place = int(text) if text.strip().isdigit() else -1
                return self._strings[place] if 0 <= place < len(self._strings) else None
            case "b":
                return text.strip() == "1"
            case "e":
                return None  # such as #REF!
            case "n":
                return _number(text, self._formats.get(cell.style, ""))
        return text


def _number(text: str, shown: str) -> Any:
    """A number as JSON has it; a percentage or a date as it is shown.

    >>> _number("42.0", ""), _number("0.25", "percent"), _number("45292", "date")
    (42, '25%', '2024-01-01')
    """
    try:
        value = float(text)
    except ValueError:
        return text or None
    if value != value or value in (float("inf"), float("-inf")):
        return text
    if shown == "percent":
        return f"{round(value * 100, 10):g}%"
    if shown == "date" and 0 <= value < 2_958_466:
        when = datetime(1899, 12, 30) + timedelta(days=value)  # noqa: DTZ001 -- a sheet knows no time zone
        return when.date().isoformat() if value.is_integer() else when.isoformat(" ", "seconds")
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _shared_strings(book: XlsxWorkbook) -> list[str]:
    """Texts that cells refer to by number; readings in small print above them are left out."""
    if not book.has(_SHARED):
        return []
    found: list[str] = []
    parts: list[str] = []
    inside = {"t": False, "rPh": False}

    def start(tag: str, _: Attributes) -> None:
        name = tag.rpartition(":")[2]
        if name == "si":
            parts.clear()
        elif name in inside:
            inside[name] = True

    def end(tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name == "si":
            found.append("".join(parts))
        elif name in inside:
            inside[name] = False

    def text(read: str) -> None:
        if inside["t"] and not inside["rPh"]:
            parts.append(read)

    parser = new_parser()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    with reading_xlsx(book.name):
        for chunk in book.chunks(_SHARED):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    return found


def _formats(book: XlsxWorkbook) -> dict[int, str]:
    """Which styles of cells show a date or a percentage."""
    if not book.has(_STYLES):
        return {}
    own: dict[int, str] = {}
    found: dict[int, str] = {}
    level = {"cellXfs": False, "count": 0}

    def start(tag: str, attributes: Attributes) -> None:
        code = attributes.get("numFmtId", "0")
        number = int(code) if code.isdigit() and len(code) < 9 else 0
        if tag == "numFmt":
            own[number] = _kind(attributes.get("formatCode", ""))
        elif tag in ("cellXfs", "cellStyleXfs", "cellStyles", "dxfs"):
            level["cellXfs"] = tag == "cellXfs"
        elif tag == "xf" and level["cellXfs"]:
            shown = "date" if number in _DATES else "percent" if number in _PERCENTS else own.get(number, "")
            if shown:
                found[level["count"]] = shown
            level["count"] += 1

    book.walk(_STYLES, start)
    return found


def _kind(code: str) -> str:
    plain = _QUOTED.sub("", code).partition(";")[0]
    return "percent" if "%" in plain else "date" if _DATE_LETTERS.search(plain) else ""


def _column(reference: str) -> int:
    """The number of a cell's column.

    >>> _column("A1"), _column("AB12"), _column("")
    (1, 28, 0)
    """
    match = _REFERENCE.fullmatch(reference)
    found = 0
    for letter in match[1] if match else "":
        found = found * 26 + ord(letter) - 64
    return found
