"""Files of cases as they might be uploaded: JSON lines, CSV and Parquet; and contexts, judged by bundled rubrics."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from fuzz_changes import bent, changes, rubric_names
from fuzz_documents import sound
from fuzz_target import Check, Target, refused, target
from fuzz_texts import as_bytes, broken, data, json_text, json_texts, scalars, texts, words
from hypothesis import strategies as st

import rubrica
from rubrica.education.records import read_records
from rubrica.engine.cases import BadLine
from rubrica.model.context import Context
from rubrica.runs.files.case_source import cases_of, count_cases
from rubrica.runs.files.xlsx_writer import XlsxWriter
from rubrica.workspace.case_files import save_upload

CASE: dict[str, Any] = {
    "id": "1", "prompt": "What is the capital of France?", "response": "Paris. It lies on the Seine.",
    "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}],
    "metadata": {"response_time": 2.5, "token_count": 7, "round_number": 2, "question_type": "FACTUAL"},
    "round_history": [{"round_number": 1, "prompt": "p", "response": "r", "scores": {"x": 1},
                       "custom_metrics": {"pace": 0.5}, "entities_mentioned": ["Ann"]}],
    "custom_metrics": {"pace": 0.5, "word_count": 3}, "expect": {"verdict": "pass"}, "player_info": {"name": "ann"},
}  # fmt: skip
_bent_case = st.builds(bent, st.just(CASE), changes)
contexts = _bent_case | st.dictionaries(
    st.sampled_from(["prompt", "response", "messages", "metadata", "custom_metrics", "images", "round_history"])
    | words,
    data(),
    max_size=4,
)


def _judge(example: tuple[str, Any]) -> None:
    """A context is refused, or judged with values that are finite."""
    name, given = example
    if not isinstance(given, dict):
        return
    loose = {key: value for key, value in given.items() if key not in ("id", "expect", "rubric")}
    context = refused(lambda: Context.of(loose))
    if context is None:
        return
    if "nan" not in repr(loose) and "inf" not in repr(loose):  # JSON has neither, so they are stored as null
        assert Context.of(context.model_dump(mode="json", exclude_defaults=True)) == context
    result = refused(lambda: rubrica.evaluate(name, context=context))
    if result is not None:
        sound(result)


def _csv_text(rows: list[list[str]], header: list[str], delimiter: str, quotes: str, end: str) -> str:
    return end.join(delimiter.join(_cell_text(cell, quotes) for cell in cells) for cells in [header, *rows])


def _cell_text(cell: str, quotes: str) -> str:
    """A cell with quotes around it always, where it needs them, or never."""
    needed = any(odd in cell for odd in '",;\t\r\n')
    if quotes == "never" or (quotes == "needed" and not needed):
        return cell
    return '"' + cell.replace('"', '""') + '"'


_COLUMNS = ("id", "prompt", "response", "messages", "metadata", "metadata.grade", "custom_metrics.pace", "expect", "")
_header = st.lists(st.sampled_from(_COLUMNS) | words, min_size=1, max_size=5).map(lambda names: ["response", *names])
_cell = words | scalars.map(str) | data(leaves=4).map(json_text)
_csv = st.builds(
    _csv_text,
    st.lists(st.lists(_cell, max_size=7), max_size=5),
    _header,
    st.sampled_from(",;\t"),
    st.sampled_from(["always", "needed", "never"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
_csv_pieces = ('"', '""', ",", ";", "\t", "\n", "\r", "\r\n", "\x00", "\ufeff", "response", "{", "é", "\\")
_lines = st.lists(_bent_case.map(json_text) | json_texts, max_size=5).map("\n".join)


def _parquet(columns: dict[str, list[Any]], cuts: list[tuple[int, int]]) -> bytes:
    """A Parquet file, with some of its bytes changed."""
    length = max((len(cells) for cells in columns.values()), default=0)
    frame = pl.DataFrame(
        {
            name: pl.Series(name, [*cells, *[None] * (length - len(cells))], strict=False)
            for name, cells in columns.items()
        }
    )
    file = io.BytesIO()
    frame.write_parquet(file)
    content = bytearray(file.getvalue())
    for at, byte in cuts:
        content[at % len(content)] = byte
    return bytes(content)


_column = (
    st.lists(words.map(lambda text: text.encode("utf-8", "replace").decode()) | st.none(), max_size=4)
    | st.lists(st.floats() | st.none(), max_size=4)
    | st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=4)
    | st.lists(st.fixed_dictionaries({"verdict": st.sampled_from(["pass", "x"])}), max_size=4)
    | st.lists(st.dates(), max_size=3)
    | st.lists(st.binary(max_size=5), max_size=3)
)
_column_names = st.sampled_from([name for name in _COLUMNS if name])
_parquets = st.builds(
    _parquet,
    st.dictionaries(_column_names, _column, max_size=4).map(lambda found: {"response": ["Hi.", None], **found}),
    st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 255)), max_size=3) | st.just([]),
)


@contextmanager
def _uploads() -> Iterator[Check]:
    with TemporaryDirectory() as folder:
        numbers = count()

        def check(example: tuple[str, bytes]) -> None:
            """A file is refused, or its rows are cases and bad lines, each with a reason and its place."""
            suffix, content = example
            place = Path(folder) / str(next(numbers))
            place.mkdir()
            path = place / f"cases{suffix}"
            path.write_bytes(content)
            refused(lambda: count_cases(str(path)))
            refused(lambda: _read_all(path))
            refused(lambda: list(read_records(path)))
            kept = refused(lambda: save_upload(place / "runs", f"../odd name{suffix}", content))
            assert kept is None or (place / "runs" / "cases" / kept.name).read_bytes() == content
            assert {one.name for one in place.iterdir()} <= {path.name, "runs"}
            shutil.rmtree(place)

        yield check


def _read_all(path: Path) -> None:
    with cases_of(str(path)) as source:
        for found in source.cases():
            assert found.line >= 1
            if isinstance(found, BadLine):
                assert found.reason
            else:
                assert isinstance(found.id, str)


def _sheet(rows: list[list[Any]], cuts: list[tuple[int, int]]) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.xlsx"
        with XlsxWriter(path, ["response", "grade", "Question"]) as book:
            for row in rows:
                book.write(row)
        content = bytearray(path.read_bytes())
    for at, byte in cuts:
        content[at % len(content)] = byte
    return bytes(content)


_sheets = st.builds(
    _sheet,
    st.lists(st.lists(texts | scalars, max_size=4), max_size=4),
    st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 255)), max_size=3),
)


_uploaded = st.one_of(
    st.tuples(st.just(".csv"), as_bytes(_csv | broken(_csv, _csv_pieces) | texts)),
    st.tuples(st.sampled_from([".jsonl", ".json"]), as_bytes(_lines | broken(_lines))),
    st.tuples(st.just(".parquet"), _parquets | st.binary(max_size=60)),
    st.tuples(st.just(".json"), as_bytes(data().map(json_text))),
    st.tuples(st.just(".xlsx"), _sheets | st.binary(max_size=60)),
)

TARGETS: tuple[Target, ...] = (
    target("contexts", st.tuples(rubric_names, contexts), _judge, share=200),
    Target("uploads", _uploaded, _uploads, share=120),
)
