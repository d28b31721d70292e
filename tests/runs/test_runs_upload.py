"""Uploaded files of cases: what they unfold to is bounded, and told before anything is unfolded."""

from __future__ import annotations

import json
import resource
import time
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.errors import InputError, RubricaError
from rubrica.runs.files import upload
from rubrica.runs.files.parquet_size import ParquetSizeError, parquet_size
from rubrica.runs.files.parquet_source import text_sizes
from rubrica.runs.files.upload import MOST_BYTES, MOST_ROWS, check_upload
from rubrica.workspace.case_files import case_files, save_upload


def table(path: Path, **columns: object) -> Path:
    pl.DataFrame(columns).write_parquet(path)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as refused:
        check_upload(path, path.name)
    return str(refused.value)


def test_a_small_file_of_millions_of_rows_is_refused_and_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "many.parquet"
    pl.select(pl.repeat("x", 3_000_000).alias("response")).write_parquet(file, row_group_size=3_000_000)
    assert file.stat().st_size < 10_000
    start = time.process_time()
    with pytest.raises(InputError, match=f"unfolds to 3,000,000 rows .at most {MOST_ROWS:,}"):
        save_upload(tmp_path / "runs", "many.parquet", file.read_bytes())
    assert time.process_time() - start < 1
    assert case_files(tmp_path / "runs") == []


def test_a_text_that_is_written_once_counts_in_every_row(tmp_path: Path) -> None:
    long = "x" * 100_000
    file = table(tmp_path / "long.parquet", response=pl.Series([0] * 6_000).replace_strict({0: long}))
    assert file.stat().st_size < 20_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert f"unfolds to texts of more than {MOST_BYTES:,} bytes" in refusal(file)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB


def test_texts_in_lists_and_structs_count_too(tmp_path: Path) -> None:
    messages = [[{"role": "user", "content": "x" * 100}] * 3] * 20
    file = table(tmp_path / "talks.parquet", messages=messages)
    assert list(text_sizes(file, 20)) == [20 * 3 * 104]


def test_members_of_lists_count_as_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "MOST_VALUES", 1_000)
    file = table(tmp_path / "lists.parquet", response=["x"], numbers=[[0] * 5_000])
    assert "unfolds to 5,001 values (at most 1,000" in refusal(file)


def test_a_page_that_unpacks_to_a_lot_is_refused_by_its_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "MOST_BYTES", 1_000_000)
    file = table(tmp_path / "page.parquet", response=["x" * 2_000_000])
    assert file.stat().st_size < 5_000
    assert "bytes (at most 1,000,000" in refusal(file)


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "uncompressed"])
def test_an_ordinary_table_is_measured_and_accepted(tmp_path: Path, compression: str) -> None:
    file = tmp_path / "fine.parquet"
    frame = pl.DataFrame({"id": range(1_000), "response": [f"answer {n}" for n in range(1_000)]})
    frame.write_parquet(file, compression=compression, row_group_size=300)  # type: ignore[arg-type]
    size = parquet_size(file.read_bytes())
    assert (size.rows, size.values) == (1_000, 2_000)
    check_upload(file, file.name)
    assert save_upload(tmp_path / "runs", "fine.parquet", file.read_bytes()).size == file.stat().st_size


def test_a_long_line_and_too_many_lines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "LONGEST_LINE", 1_000)
    monkeypatch.setattr(upload, "MOST_ROWS", 100)
    lines, cells = tmp_path / "cases.jsonl", tmp_path / "cases.csv"
    lines.write_text(json.dumps({"response": "x" * 2_000}))
    assert "a line of 2,016 bytes (at most 1,000" in refusal(lines)
    lines.write_text('{"response": "x"}\n' * 101)
    assert "has 101 rows (at most 100" in refusal(lines)
    cells.write_text("response\n" + "x\n" * 101)
    assert "has 101 rows (at most 100" in refusal(cells)
    cells.write_text("response\n" + '"x\ny"\n' * 100)
    check_upload(cells, cells.name)


@given(st.binary(max_size=200), st.integers(0, 400), st.integers(0, 255))
def test_a_broken_parquet_file_is_told_and_never_breaks_the_reader(junk: bytes, place: int, byte: int) -> None:
    whole = bytearray(_SAMPLE)
    whole[place % len(whole)] = byte
    for data in (bytes(whole), b"PAR1" + junk + len(junk).to_bytes(4, "little") + b"PAR1", _SAMPLE[:place] + junk):
        try:
            parquet_size(data)
        except ParquetSizeError:
            continue


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "no.parquet"
    file.write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(RubricaError, match="cannot be read as Parquet"):
        save_upload(tmp_path / "runs", "no.parquet", file.read_bytes())


def _sample() -> bytes:
    file = BytesIO()
    pl.DataFrame({"id": ["a", "b"], "response": ["x", "y"]}).write_parquet(file)
    return file.getvalue()


_SAMPLE = _sample()


def test_a_file_on_which_the_reader_of_parquet_panics_is_refused() -> None:
    damaged = Path(__file__).with_name("damaged_inside.parquet")
    with pytest.raises(RubricaError, match="cannot be read as Parquet"):
        check_upload(damaged, damaged.name)
