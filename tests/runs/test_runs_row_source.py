"""Rows come from files as people have them: documents, sheets, other encodings, other names; bombs are refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_files import DATE, PERCENT, csv_bytes, workbook

from rubrica.engine.cases import BadLine, Case
from rubrica.errors import InputError, RubricaError
from rubrica.runs.files import xlsx_parts
from rubrica.runs.files.case_source import cases_of
from rubrica.runs.files.layout import FileLayout, UnmappedError
from rubrica.runs.files.question_cells import QuestionCells
from rubrica.runs.files.row_source import open_rows
from rubrica.runs.files.upload import check_upload

HEADER = ("Question", "Größe")
ROWS = (("What is 6 × 7?", "42"), ("Wie groß?", "drei\nZeilen"))


def rows(path: Path, records: str | None = None) -> list[dict[str, Any]]:
    with open_rows(str(path), records) as source:
        return [dict(row.data) for row in source.rows()]


def notes(path: Path) -> str:
    with open_rows(str(path)) as source:
        return "; ".join(source.notes)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_table_is_the_same_in_every_encoding_and_with_every_delimiter(
    tmp_path: Path, encoding: str, delimiter: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(csv_bytes([HEADER, *ROWS], delimiter, encoding))
    assert rows(path) == [dict(zip(HEADER, row, strict=True)) for row in ROWS]
    assert ("UTF" in notes(path)) == (not encoding.startswith("utf-8"))


def test_a_table_that_is_not_utf8_is_read_as_windows_1252_and_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(csv_bytes([HEADER, ("¿Cuánto?", "x")], ";", "cp1252"))
    assert rows(path) == [{"Question": "¿Cuánto?", "Größe": "x"}]
    assert "Windows-1252" in notes(path)


def test_json_lines_in_utf16_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes('{"response": "größer"}\n{"response": "b"}\n'.encode("utf-16"))
    with cases_of(str(path)) as source:
        assert [case.context.response for case in source.cases() if isinstance(case, Case)] == ["größer", "b"]


def test_a_line_of_names_may_hold_line_breaks_and_stand_below_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('sep=;\n\n"Correct\nAnswer";b\nx;y\n')
    assert rows(path) == [{"Correct Answer": "x", "b": "y"}]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ([{"a": 1}, {"a": 2}], ""),
        ({"status": "ok", "data": [{"a": 1}, {"a": 2}]}, "data"),
        ({"result": {"page": {"items": [{"a": 1}, {"a": 2}]}, "tags": ["x"]}}, "result.page.items"),
        ({"warnings": [{"code": 7}], "bank": [{"Item Stem": 1, "a": 1}, {"Item Stem": 2, "a": 2}]}, "bank"),
    ],
)
@pytest.mark.parametrize(("name", "indent"), [("d.json", None), ("d.json", 2), ("d.jsonl", 2), ("d.jsonl", None)])
def test_the_list_in_a_json_document_is_found_and_named(
    tmp_path: Path, data: Any, place: str, name: str, indent: int | None
) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(data, indent=indent))
    assert [row["a"] for row in rows(path)] == [1, 2]
    assert notes(path) == (f"2 records are in {place}" if place else "")


def test_which_of_several_lists_is_meant_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"x": [{"a": 1}], "y": [{"a": 2}, {"a": 3}]}))
    with pytest.raises(InputError, match=r"several lists of records: x \(1\), y \(2\).*--records x"):
        rows(path)
    assert rows(path, "y") == [{"a": 2}, {"a": 3}]
    with pytest.raises(InputError, match="no list of records called 'z'"):
        rows(path, "z")
    path.write_text("7")
    with pytest.raises(InputError, match="a list of records is wanted, or an object with one, not int"):
        rows(path)


def test_broken_lines_of_json_do_not_make_a_document(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{oops\n{"response": "a"}\n')
    with cases_of(str(path)) as source:
        assert [type(found) for found in source.cases()] == [BadLine, Case]
    (tmp_path / "d.json").write_text("{oops")
    with pytest.raises(InputError, match=r"d\.json is not JSON"):
        rows(tmp_path / "d.json")


def test_a_sheet_has_numbers_percentages_dates_and_texts_as_they_are_shown(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "t.xlsx",
        {
            "Empty": [],
            "Items": [
                ["Grade 4 bank"],
                ["Question", "Share", "When", "Count", "Right", "Gap"],
                ["6 × 7 & more?", (0.25, PERCENT), (45292, DATE), 42.0, True, None],
                [None, None, None, 2.5],
            ],
        },
    )
    first = {"Question": "6 × 7 & more?", "Share": "25%", "When": "2024-01-01", "Count": 42, "Right": True}
    assert rows(path) == [first, {"Count": 2.5}]
    assert notes(path) == "the sheet 'Items' is read (others: Empty; change with --records)"
    with pytest.raises(InputError, match="no sheet 'Other'; it has Empty, Items"):
        rows(path, "Other")


def test_workbooks_that_unfold_too_far_or_declare_entities_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook(tmp_path / "t.xlsx", {"S": [["response"], *[["word " * 500] for _ in range(50)]]})
    monkeypatch.setattr(xlsx_parts, "MOST_UNPACKED", 10_000)
    with pytest.raises(InputError, match="unfolds to more than 10,000 bytes"):
        rows(path)
    monkeypatch.undo()
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", f"{bomb}<workbook/>")
        archive.writestr("xl/_rels/workbook.xml.rels", "<Relationships/>")
    with pytest.raises(InputError, match="document type"):
        rows(tmp_path / "b.xlsx")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"response\nx\n", b"\xd0\xcf\x11\xe0" * 200])
def test_what_is_no_workbook_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as a workbook"):
        rows(path)
    with pytest.raises(InputError, match=r"save it as \.xlsx"):
        rows(path.rename(tmp_path / "t.xls"))


@given(st.data())
def test_a_damaged_workbook_is_refused_or_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = workbook(tmp_path_factory.mktemp("x") / "t.xlsx", {"S": [["response", "n"], ["Hi.", 1], ["Ho.", 2.5]]})
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        rows(path)
    except RubricaError:
        return


def test_columns_of_other_names_are_mapped_to_what_is_judged(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", {"S": [["Nr", "Input", "Output", "Pace"], ["a7", "2 + 2?", 4, 0.5]]})
    with pytest.raises(UnmappedError, match=r"it has Nr, Input, Output, Pace \(rename one, or.*--map response="):
        list(cases(path))
    mapped = {"id": "Nr", "prompt": "Input", "response": "Output", "custom_metrics.pace": "Pace"}
    (case,) = cases(path, FileLayout(mapped))
    assert isinstance(case, Case)
    assert (case.id, case.context.prompt, case.context.response) == ("a7", "2 + 2?", "4")
    assert case.context.custom_metrics == {"pace": 0.5}
    with pytest.raises(InputError, match="no column 'Out'; there are Nr, Input, Output, Pace"):
        cases(path, FileLayout({"response": "Out"}))


def test_lines_of_json_without_anything_to_judge_are_refused_with_their_names(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"item": {"stem": "2 + 2?"}, "answer": "4"}\n')
    with pytest.raises(UnmappedError, match="it has item, answer"):
        cases(path)
    (case,) = cases(path, FileLayout({"prompt": "item.stem", "response": "answer"}))
    assert isinstance(case, Case)
    assert (case.context.prompt, case.context.response) == ("2 + 2?", "4")
    path.write_text('{"custom_metrics": {"pace": 1}}\n')
    assert [type(found) for found in cases(path)] == [Case]


def test_the_parts_of_a_question_become_a_response_with_its_key_as_a_letter(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"Q": ["6 × 7?", "2 + 2?"], "O": ["36|42", "3|4"], "K": [0, 1]}).write_parquet(path)
    layout = FileLayout({"response.question": "Q", "response.options": "O", "response.answer": "K"})
    found = [json.loads(case.context.response) for case in cases(path, layout) if isinstance(case, Case)]
    assert [question["answer"] for question in found] == ["A", "B"]
    assert found[0]["options"] == {"A": "36", "B": "42"}


@pytest.mark.parametrize(
    ("keys", "base"),
    [
        *(((0, 2), 0), (("1", "3"), 1), (("B", "C"), None), (("36", "48"), None), ((36, 48), None), (([0], [1]), 0)),
        *(((36, 42, 32), None), ((36, 42, 2), None), ((36, 1, 3), 1)),
    ],
)
def test_what_keys_count_from_is_told_by_all_keys_of_a_file(keys: tuple[Any, ...], base: int | None) -> None:
    asked = [{"options": ["36", "42", "48"], "answer": key} for key in keys]
    assert QuestionCells.of(asked).base == base


def test_keys_that_leave_open_what_they_count_from_are_asked_for() -> None:
    options = {"options": ["x", "y", "z"]}
    with pytest.raises(InputError, match=r"both readings fit.*--key-base"):
        QuestionCells.of([{**options, "answer": 1}])
    with pytest.raises(InputError, match=r"no reading fits.*--key-base"):
        QuestionCells.of([{**options, "answer": 0}, {**options, "answer": 3}])
    assert QuestionCells.of([{**options, "answer": 1}], 0).question({**options, "answer": 1})["answer"] == "B"
    with pytest.raises(InputError, match="the key 3 is no option: there are 3, counted from 0"):
        QuestionCells(0).question({**options, "answer": 3})


def test_uploads_are_bounded_whatever_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubrica.runs.files.upload.MOST_ROWS", 2)
    three = [["response"], ["a"], ["b"], ["c"]]
    sheet = workbook(tmp_path / "t.xlsx", {"S": three})
    document = tmp_path / "t.json"
    document.write_text(json.dumps({"data": [{"response": row[0]} for row in three[1:]]}))
    for path in (sheet, document):
        with pytest.raises(InputError, match="rows"):
            check_upload(path, path.name)


def cases(path: Path, layout: FileLayout | None = None) -> list[Case | BadLine]:
    with cases_of(str(path), layout or FileLayout()) as source:
        return list(source.cases())
