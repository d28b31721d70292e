"""Questions are read from files as teachers have them: any shape, guessed columns, options in a cell, odd grades."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rubrica.education.records import QuestionRecord, RefusedRecord, open_records, read_records
from rubrica.education.school_grades import read_grade
from rubrica.errors import InputError
from rubrica.runs.files.layout import FileLayout
from rubrica.runs.files.xlsx_writer import XlsxWriter
from rubrica.text.questions.question import read_question

ASKED = [
    ("What is 6 × 7?", ["36", "42", "48", "54"], 1),
    ("What is 8 × 4?", ["24", "28", "32", "36"], 2),
    ("Which is even?", ["3", "5", "7", "8"], 3),
]
Table = tuple[list[str], list[list[Any]]]


def lettered(options: list[str], mark: str, between: str) -> str:
    return between.join(f"{'ABCD'[place]}{mark} {text}" for place, text in enumerate(options))


def tables() -> dict[str, Table]:
    """The same questions in the shapes that spreadsheets have."""
    letters = {key: "ABCD"[key] for _, _, key in ASKED}

    def rows(*cells: Callable[[list[str], int], Any]) -> list[list[Any]]:
        return [[asked, *(cell(options, key) for cell in cells)] for asked, options, key in ASKED]

    def spread(last: Callable[[list[str], int], Any]) -> list[list[Any]]:
        return [[asked, *options, last(options, key)] for asked, options, key in ASKED]

    def cell(mark: str, between: str) -> Callable[[list[str], int], str]:
        return lambda options, _: lettered(options, mark, between)

    def letter(_: list[str], key: int) -> str:
        return letters[key]

    def text(options: list[str], key: int) -> str:
        return options[key]

    return {
        "lettered": (["Question", "Choices", "Correct Answer"], rows(cell(")", "; "), letter)),
        "dotted": (
            ["Stem", "Answer Options", "Key"],
            rows(cell(".", " | "), lambda _, key: f"{letters[key].lower()})"),
        ),
        "lines": (["question_text", "options", "answer"], rows(cell(")", "\n"), letter)),
        "list": (["Question", "Options", "Answer"], rows(lambda options, _: json.dumps(options), text)),
        "python": (["Question", "Options", "Answer"], rows(lambda options, _: str(options), text)),
        "columns": (["Item Stem", "A", "B", "C", "D", "Answer Key"], spread(letter)),
        "numbered": (["Question", *(f"Option {n}" for n in "1234"), "Correct"], spread(lambda _, key: key + 1)),
        "named": (["Question", *(f"choice_{n}" for n in "abcd"), "Right Answer"], spread(text)),
    }


def write(path: Path, table: Table) -> Path:
    names, rows = table
    if path.suffix == ".xlsx":
        with XlsxWriter(path, names) as book:
            for row in rows:
                book.write(row)
    elif path.suffix == ".parquet":
        pl.DataFrame(rows, schema=names, orient="row").write_parquet(path)
    else:
        pl.DataFrame(rows, schema=names, orient="row").write_csv(path, separator=";")
    return path


def keys(path: Path, **layout: Any) -> list[tuple[str, str | None]]:
    """Each question with the text of its keyed option, as the rubric reads it."""
    found = []
    for record in read_records(path, layout=FileLayout(**layout)):
        assert isinstance(record, QuestionRecord), record
        question = read_question(json.dumps(record.question.plain))
        assert question is not None
        found.append((question.text, question.key))
    return found


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".parquet"])
@pytest.mark.parametrize("shape", list(tables()))
def test_every_shape_of_a_table_comes_to_the_same_questions_and_keys(tmp_path: Path, shape: str, ending: str) -> None:
    path = write(tmp_path / f"t{ending}", tables()[shape])
    assert keys(path) == [(question, options[key]) for question, options, key in ASKED]


def test_the_guess_is_told_before_the_work(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", tables()["columns"])
    said = "question ← Item Stem, answer ← Answer Key, options ← A,B,C,D; change with --map"
    assert open_records(path).notes == (said,)
    numbered = open_records(write(tmp_path / "n.csv", tables()["numbered"])).notes
    assert numbered[-1] == "keys are numbers, and the first option is 1; change with --key-base"


def test_a_guess_that_is_not_safe_is_not_made(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", (["Stem", "Item Text", "Key"], [["2 + 2?", "It has four.", "4"]]))
    with pytest.raises(InputError, match=r"question may be Stem or Item Text \(say which: --map question=Stem\)"):
        open_records(path)
    (record,) = read_records(path, layout=FileLayout({"question": "Stem"}))
    assert isinstance(record, QuestionRecord)
    assert record.question.question == "2 + 2?"
    strange = write(tmp_path / "s.csv", (["Frage", "Lösung"], [["2 + 2?", "4"]]))
    with pytest.raises(InputError, match=r"no column that looks like a question; it has Frage, Lösung \(.*--map"):
        open_records(strange)
    assert keys(strange, columns={"question": "Frage", "answer": "Lösung"}) == [("2 + 2?", None)]


def test_the_titles_of_lessons_stay_where_they_are(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", (["Question", "lesson_title"], [["2 + 2?", "Sums"]]))
    (record,) = read_records(path)
    assert isinstance(record, QuestionRecord)
    assert (record.place["lesson_title"], record.request.skill) == ("Sums", "Sums")


DOCUMENT_QUESTIONS = [{"question": q, "options": o, "answer": "ABCD"[k]} for q, o, k in ASKED]


@pytest.mark.parametrize(
    "document",
    [
        DOCUMENT_QUESTIONS,
        {"data": DOCUMENT_QUESTIONS, "request_id": "1-2", "total_questions": 3, "grade": 4, "evaluation": None},
        {
            "ok": True,
            "result": {"grade": "Grade 4", "items": [{"stem": d["question"], **d} for d in DOCUMENT_QUESTIONS]},
        },
        {"request": {"grade": 4, "instructions": "Times"}, "response": {"data": DOCUMENT_QUESTIONS}},
    ],
)
@pytest.mark.parametrize("ending", [".json", ".jsonl"])
def test_documents_and_responses_of_an_api_are_read(tmp_path: Path, document: Any, ending: str) -> None:
    path = tmp_path / f"d{ending}"
    path.write_text(json.dumps(document))
    assert keys(path) == [(question, options[key]) for question, options, key in ASKED]
    found = [record.grade for record in read_records(path, 9)]
    assert found == [9 if isinstance(document, list) else 4] * 3


def test_lines_that_each_hold_a_response_give_a_record_for_each_question(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    line = {"id": "run", "request": {"grade": 3}, "response": {"data": DOCUMENT_QUESTIONS[:2]}}
    path.write_text("".join(json.dumps({**line, "id": f"run-{n}"}) + "\n" for n in range(2)))
    found = list(read_records(path))
    assert [(record.id, record.line, record.grade) for record in found] == [
        ("run-0/0", 1, 3), ("run-0/1", 1, 3), ("run-1/0", 2, 3), ("run-1/1", 2, 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "grade"),
    [
        *(("Grade 3", 3), ("3rd", 3), ("K", 0), ("third grade", 3), ("Gr. 4", 4), ("G5", 5), ("grade-6", 6), (5.0, 5)),
        *(("", None), ("n/a", None)),
    ],
)
def test_a_grade_is_understood_as_it_is_written(said: Any, grade: int | None) -> None:
    assert read_grade(said) == grade


@pytest.mark.parametrize("said", ["banana", "Year 5", "3-5", 99, -1, 3.5, True, ["3"], "３", "Grade", "9" * 50])
def test_a_strange_grade_is_one_bad_record_with_its_reason(tmp_path: Path, said: Any) -> None:
    path = tmp_path / "q.jsonl"
    rows = [{"question": "2 + 2?", "answer": "4", "grade": grade} for grade in (3, said, "4th")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, bad, last = read_records(path)
    assert (first.grade, last.grade) == (3, 4)
    assert isinstance(bad, RefusedRecord)
    assert bad.line == 2
    assert "grade" in bad.reason


def test_options_that_cannot_be_told_apart_and_keys_beyond_them_are_bad_records(tmp_path: Path) -> None:
    names = ["Question", "Choices", "Answer"]
    rows: list[list[Any]] = [
        ["a?", "x | y", 0],
        ["b?", "Yes because it is so", 1],
        ["c?", "x | y", 7],
        ["d?", "x | y", 1],
    ]
    found = list(read_records(write(tmp_path / "t.csv", (names, rows))))
    assert [type(record) for record in found] == [QuestionRecord, RefusedRecord, RefusedRecord, QuestionRecord]
    reasons = [record.reason for record in found if isinstance(record, RefusedRecord)]
    assert "cannot be told apart: 'Yes because it is so'" in reasons[0]
    assert reasons[1] == "the key 7 is no option: there are 2, counted from 0"
