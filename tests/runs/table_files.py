"""Files as people have them: XLSX as spreadsheets write it, and tables of other shapes."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STYLES = (
    '<styleSheet><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/></numFmts>'
    '<cellStyleXfs count="1"><xf numFmtId="14"/></cellStyleXfs>'
    '<cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="9"/><xf numFmtId="164"/></cellXfs></styleSheet>'
)
PERCENT, DATE = 1, 2


def workbook(path: Path, sheets: dict[str, Sequence[Sequence[Any]]]) -> Path:
    """A workbook with shared strings and styles. A cell is a text, a number, a truth, or (number, style)."""
    strings: list[str] = []
    names = list(sheets)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(names, 1))
        archive.writestr("xl/workbook.xml", f'<workbook xmlns:r="{_RELATIONS}"><sheets>{listed}</sheets></workbook>')
        linked = "".join(
            f'<Relationship Id="r{n}" Target="worksheets/sheet{n}.xml"/>' for n in range(1, len(names) + 1)
        )
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{linked}</Relationships>")
        for number, name in enumerate(names, 1):
            rows = "".join(_row(n, cells, strings) for n, cells in enumerate(sheets[name], 1))
            archive.writestr(
                f"xl/worksheets/sheet{number}.xml",
                f"<worksheet><sheetData>{rows}</sheetData></worksheet>",
            )
        shared = "".join(
            f"<si><r><t>{escape(text[:2])}</t></r><r><t>{escape(text[2:])}</t></r></si>" for text in strings
        )
        archive.writestr("xl/sharedStrings.xml", f"<sst>{shared}</sst>")
        archive.writestr("xl/styles.xml", _STYLES)
    return path


def _row(number: int, cells: Sequence[Any], strings: list[str]) -> str:
    written = ""
    for place, cell in enumerate(cells):
        where = f'r="{chr(ord("A") + place)}{number}"'
        match cell:
            case None:
                continue
            case bool():
                written += f'<c {where} t="b"><v>{int(cell)}</v></c>'
            case (value, style):
                written += f'<c {where} s="{style}"><v>{value}</v></c>'
            case int() | float():
                written += f"<c {where}><v>{cell}</v></c>"
            case _:
                strings.append(str(cell))
                written += f'<c {where} t="s"><v>{len(strings) - 1}</v></c>'
    return f'<row r="{number}">{written}</row>'


def csv_bytes(rows: Sequence[Sequence[Any]], delimiter: str = ",", encoding: str = "utf-8") -> bytes:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows(rows)
    return stream.getvalue().encode(encoding)
