"""Writes a table as an XLSX workbook with one sheet, a row at a time: texts as texts, never as formulas."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, cast
from xml.sax.saxutils import escape, quoteattr

from rubrica.errors import InputError

MOST_ROWS = 1_048_575
"""Under the line of names: what spreadsheets open."""
MOST_COLUMNS = 16_384
LONGEST_TEXT = 32_767
"""Characters of one cell."""
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_DECLARED = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"

_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/></cellXfs></styleSheet>',
}
_HEAD = (
    f'<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>'
)
_FOOT = "</sheetData></worksheet>"


class XlsxWriter:
    """A workbook that is being written. Use it in ``with``."""

    def __init__(self, path: Path, names: Sequence[str], sheet: str = "results") -> None:
        if len(names) > MOST_COLUMNS:
            raise InputError(f"a sheet holds {MOST_COLUMNS:,} columns, not {len(names):,} (write .csv or .parquet)")
        self._archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        for part, content in _PARTS.items():
            self._archive.writestr(part, _DECLARED + content)
        book = f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        book += f'<sheet name={quoteattr(sheet[:31])} sheetId="1" r:id="rId1"/></sheets></workbook>'
        self._archive.writestr("xl/workbook.xml", _DECLARED + book)
        self._sheet = cast("BinaryIO", self._archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True))
        self._sheet.write((_DECLARED + _HEAD).encode())
        self.rows = -1
        self._write(names, style=' s="1"')

    def write(self, cells: Sequence[Any]) -> None:
        """A row under the names."""
        self._write(cells)

    def _write(self, cells: Sequence[Any], style: str = "") -> None:
        self.rows += 1
        if self.rows > MOST_ROWS:
            raise InputError(f"a sheet holds {MOST_ROWS:,} rows (write .csv or .parquet)")
        number = self.rows + 1
        written = (_cell(value, f"{column_letters(place)}{number}", style) for place, value in enumerate(cells, 1))
        self._sheet.write(f'<row r="{number}">{"".join(written)}</row>'.encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._sheet.write(_FOOT.encode())
        self._sheet.close()
        self._archive.close()


def _cell(value: Any, reference: str, style: str) -> str:
    match value:
        case None | "":
            return ""
        case bool():
            return f'<c r="{reference}"{style} t="b"><v>{int(value)}</v></c>'
        case int() | float() if value == value and abs(value) != float("inf"):
            return f'<c r="{reference}"{style}><v>{value!r}</v></c>'
    text = _ILLEGAL.sub("\ufffd", str(value))
    text = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
    return f'<c r="{reference}"{style} t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'


def column_letters(number: int) -> str:
    """A column as spreadsheets name it.

    >>> column_letters(1), column_letters(26), column_letters(28)
    ('A', 'Z', 'AB')
    """
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
