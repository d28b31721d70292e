"""Cases from JSON lines, CSV and Parquet: the same cases, whatever the file; odd files are told."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.engine.cases import BadLine, Case
from rubrica.errors import RubricaError
from rubrica.runs.files.case_source import cases_of, count_cases


def read(file: Path) -> list[Case | BadLine]:
    with cases_of(str(file)) as source:
        return list(source.cases())


def table(file: Path, text: str | bytes) -> Path:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), min_size=1, max_size=30)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
def test_texts_come_through_a_csv_file_as_they_are(tmp_path_factory: pytest.TempPathFactory, given: Any) -> None:
    file = tmp_path_factory.mktemp("csv") / "c.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("prompt", "response"), *given])
    found = read(file)
    assert [(one.context.prompt, one.context.response) for one in found if isinstance(one, Case)] == given
    assert count_cases(str(file)) == len(given)


def test_cells_that_are_json_are_read_as_json_except_texts(tmp_path: Path) -> None:
    cells = {
        "id": "007", "response": "12", "response_time": "1.5", "custom_metrics.pace": "0.5", "label": "x, y",
        "round_history": json.dumps([{"response": "earlier"}]), "metadata": '{"grade": 4}', "metadata.unit": "2",
        "expect": "pass", "blank": "",
    }  # fmt: skip
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(cells))
    writer.writeheader()
    writer.writerow(cells)
    (case,) = read(table(tmp_path / "c.csv", "\ufeff" + stream.getvalue()))
    assert isinstance(case, Case)
    assert (case.id, case.context.response, case.expect) == ("007", "12", {"verdict": "pass"})
    assert case.context.metadata.response_time == 1.5
    assert case.context.custom_metrics == {"pace": 0.5}
    assert case.context.history == ("earlier",)
    assert [case.context.lookup(name) for name in ("grade", "unit", "label", "blank")] == [4, 2, "x, y", None]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_are_seen_from_the_names(tmp_path: Path, delimiter: str) -> None:
    (case,) = read(table(tmp_path / "c.csv", f"id{delimiter}response\n1{delimiter}a, b\n"))
    assert isinstance(case, Case)
    assert case.context.response == "a, b"


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ('id,response\n1,fine\n2,"never closed\n3,x\n', 3, "never closed"),
        ("id,response\n1,fine\n2,b,c\n", 3, "3 cells under 2 names"),
        ("id,response\n1,Größe\n".encode() + b"2,caf\xe9\n", 3, "not UTF-8"),
        ('id,response\n1,fine\n2,"a"b\n4,good\n', 3, "not CSV"),
    ],
)
def test_a_broken_row_is_told_with_its_line(tmp_path: Path, text: str | bytes, line: int, word: str) -> None:
    first, broken, *_ = read(table(tmp_path / "c.csv", text))
    assert isinstance(first, Case)
    assert isinstance(broken, BadLine)
    assert broken.line == line
    assert word in broken.reason


@pytest.mark.parametrize(
    ("text", "word"),
    [("", "no line of names"), ("a,b\n1,2\n", "no column `response`"), ("response,response\n1,2\n", "two columns")],
)
def test_a_csv_file_without_usable_names_is_refused(tmp_path: Path, text: str, word: str) -> None:
    with pytest.raises(RubricaError, match=word):
        read(table(tmp_path / "c.csv", text))


def test_parquet_rows_are_the_cases_json_lines_give(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "response": "{not json", "grade": 3, "messages": None, "custom_metrics": {"pace": 0.5}},
        {"id": "b", "response": "[1]", "grade": None, "messages": [{"role": "user", "content": "Hi"}],
         "custom_metrics": {"pace": None}},
    ]  # fmt: skip
    pl.DataFrame(rows, strict=False).write_parquet(tmp_path / "c.parquet")
    first, second = read(tmp_path / "c.parquet")
    assert isinstance(first, Case)
    assert isinstance(second, Case)
    assert (first.id, first.context.response, first.context.lookup("grade")) == ("a", "{not json", 3)
    assert first.context.custom_metrics == {"pace": 0.5}
    assert (second.context.prompt, second.context.response, second.context.lookup("grade")) == ("Hi", "[1]", None)
    assert count_cases(str(tmp_path / "c.parquet")) == 2


@pytest.mark.parametrize("at", [5, 12, 33])
def test_a_parquet_file_that_is_damaged_inside_is_refused(tmp_path: Path, at: int) -> None:
    path = tmp_path / "c.parquet"
    pl.DataFrame({"response": ["Hi.", None]}).write_parquet(path)
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(RubricaError, match="cannot be read as Parquet"):
        read(path)


def test_a_csv_file_whose_line_of_names_is_no_csv_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RubricaError, match="line of names of the CSV file cannot be read"):
        read(table(tmp_path / "c.csv", "response,i\x00d\r1\n"))


def test_a_file_that_is_no_parquet_or_has_no_responses_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RubricaError, match="cannot be read as Parquet"):
        read(table(tmp_path / "c.parquet", "response\n"))
    pl.DataFrame({"text": ["a"]}).write_parquet(tmp_path / "d.parquet")
    with pytest.raises(RubricaError, match="no column `response`"):
        read(tmp_path / "d.parquet")


def test_empty_lines_are_not_counted(tmp_path: Path) -> None:
    file = table(tmp_path / "c.jsonl", '{"response": "a"}\n\n   \n{"response": "b"}')
    assert count_cases(str(file)) == len(read(file)) == 2


def test_memory_does_not_grow_with_the_number_of_rows(tmp_path: Path) -> None:
    for count in (2_000, 20_000):
        rows = [{"id": str(n), "response": "word " * 40} for n in range(count)]
        pl.DataFrame(rows).write_parquet(tmp_path / f"{count}.parquet", row_group_size=1_000)
        (tmp_path / f"{count}.csv").write_text(pl.DataFrame(rows).write_csv())
    for kind in ("csv", "parquet"):
        peaks = []
        for count in (2_000, 20_000):
            tracemalloc.start()
            with cases_of(str(tmp_path / f"{count}.{kind}")) as source:
                assert sum(1 for _ in source.cases()) == count
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert peaks[1] < 2 * peaks[0]
