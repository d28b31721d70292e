"""Any number of files of cases, here and in an object store."""

from __future__ import annotations

import json
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from object_server import BUCKET, FailingProxy, put_objects, use_objects
from rubrica.engine.compile import compile_rubric
from rubrica.engine.load import rubric_from_data
from rubrica.errors import RubricaError
from rubrica.runs.bulk.progress import BulkProgress
from rubrica.runs.bulk.run import BulkOptions, bulk_rows, explain
from rubrica.runs.events import LineBroken, RunEvent
from rubrica.runs.execute import execute_run
from rubrica.runs.files.parquet_rows import read_columns
from rubrica.runs.files.source_files import find_files, open_cases
from rubrica.runs.request import CaseChoice, RunRequest
from rubrica.runs.selection import Selection, filter_of
from rubrica.runs.stored import StoredRun

RUBRIC = rubric_from_data(
    {
        "name": "words",
        "scale": {"min": 0, "max": 10},
        "dimensions": {"length": {"formula": "min(10, word_count)", "weight": 1}},
        "score": {"weighted": True, "out_of": 10},
        "verdicts": [{"label": "pass", "when": "score >= 3"}, {"label": "fail"}],
    }
)


def row(number: int, **more: Any) -> dict[str, Any]:
    return {"response": "word " * (number % 12 + 1), **more}


def write_lines(path: Path, rows: list[dict[str, Any]], more: str = "") -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows) + more, encoding="utf-8")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Three files of lines, rows and cells: with a broken line, empty lines, and an id that comes twice."""
    folder = tmp_path / "cases"
    folder.mkdir()
    write_lines(folder / "a.jsonl", [row(1), row(2, id="x")], "\n{oops\n" + json.dumps(row(3)) + "\n\n")
    pl.DataFrame({"id": ["p", None, "x"], "response": ["one", "one two", "one two three"]}).write_parquet(
        folder / "b.parquet"
    )
    (folder / "c.csv").write_text('id,response\n,"two\nlines"\nlast,one two three four five six\n', encoding="utf-8")
    return folder


@pytest.fixture
def bucket(object_server: tuple[Path, int]) -> int:
    return object_server[1]


def judged(folder: Path, *sources: str, heard: list[RunEvent] | None = None, **how: Any) -> dict[str, float | None]:
    request = RunRequest(CaseChoice(sources[0], others=sources[1:], **how), folder, RUBRIC)
    execute_run(request, (heard if heard is not None else []).append)
    return {row.case: row.score for row in StoredRun.open(folder).rows()}


def test_files_are_read_one_after_the_other_and_numbered_as_one(files: Path, tmp_path: Path) -> None:
    heard: list[RunEvent] = []
    found = judged(tmp_path / "run", str(files / "*.[jp]*"), str(files / "c.csv"), heard=heard)
    assert list(found) == ["1", "x", "5", "p", "8", "x#2", "10", "last"]
    broken = [event.line for event in heard if isinstance(event, LineBroken)]
    assert [(line.line, line.place) for line in broken] == [(4, "a.jsonl, line 4")]
    errors = (tmp_path / "run" / "errors.jsonl").read_text()
    assert json.loads(errors)["place"] == "a.jsonl, line 4"
    manifest = StoredRun.open(tmp_path / "run").manifest
    assert manifest is not None
    assert manifest.source == f"{files}/*.[jp]*, {files}/c.csv"
    again: list[RunEvent] = []
    assert judged(tmp_path / "run", str(files / "*.[jp]*"), str(files / "c.csv"), heard=again) == found
    assert (tmp_path / "run" / "evaluations.jsonl").read_bytes().count(b"\n") == len(found)


def test_a_line_in_a_later_file_is_told_by_its_own_number(files: Path) -> None:
    (files / "d.jsonl").write_text("{oops\n", encoding="utf-8")
    with open_cases(find_files([str(files / "*")])) as source:
        last = list(source.cases())[-1]
        assert (last.line, source.read) == (14, source.size)
        assert source.place(last.line) == "d.jsonl, line 1"  # type: ignore[attr-defined]


def test_what_is_chosen_is_chosen_over_all_files(files: Path, tmp_path: Path) -> None:
    both = str(files / "a.jsonl"), str(files / "b.parquet")
    assert list(judged(tmp_path / "one", *both, selection=Selection(limit=4))) == ["1", "x", "5", "p"]
    chosen = Selection((filter_of("id=x*"),))
    assert list(judged(tmp_path / "two", *both, selection=chosen)) == ["x", "x#2"]


def test_sources_that_name_nothing_are_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    for source, said in (
        ("none.jsonl", "cannot be read"),
        ("none*.jsonl", "no file is called"),
        ("https://example.org/*.jsonl", "lists no files"),
        ("https://me:secret@example.org/a.jsonl", "password"),
        ("s3://", "no address"),
    ):
        with pytest.raises(RubricaError, match=said) as refused:
            judged(tmp_path / "run", source if "://" in source else str(tmp_path / source))
        assert "secret" not in str(refused.value)
    with pytest.raises(RubricaError, match="alone"):
        find_files(["-", "a.jsonl"])
    assert not (tmp_path / "run").exists()


def test_files_in_a_bucket_are_judged_as_those_on_disk(
    files: Path, bucket: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_objects(monkeypatch, bucket)
    put_objects(bucket, "cases", files.iterdir())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    straight = judged(tmp_path / "disk", str(files / "*"))
    heard: list[RunEvent] = []
    assert judged(tmp_path / "bucket", f"s3://{BUCKET}/cases/*", heard=heard) == straight
    assert [event.line.place for event in heard if isinstance(event, LineBroken)] == ["a.jsonl, line 4"]
    assert not list(tmp_path.glob("rubrica-*"))
    manifest = StoredRun.open(tmp_path / "bucket").manifest
    assert manifest is not None
    assert manifest.source == f"s3://{BUCKET}/cases/*"
    assert list(judged(tmp_path / "one", f"s3://{BUCKET}/cases/b.parquet")) == ["p", "2", "x"]
    for source, said in ((f"s3://{BUCKET}/cases", "end it with"), (f"s3://{BUCKET}/none/*", "no object")):
        with pytest.raises(RubricaError, match=said):
            find_files([source])
    with pytest.raises(RubricaError, match="cannot be reached: there is no s3://no-such-bucket "):
        find_files(["s3://no-such-bucket/*.jsonl"])


def test_a_file_of_a_web_server_is_judged(files: Path, tmp_path: Path) -> None:
    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(files))

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}"
        assert list(judged(tmp_path / "run", f"{place}/b.parquet")) == ["p", "2", "x"]
        with pytest.raises(RubricaError, match="there is no"):
            find_files([f"{place}/none.jsonl"])
        server.shutdown()


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Files of lines and rows that are cut into several pieces: with an empty one, broken lines, and equal ids."""
    folder = tmp_path / "large"
    folder.mkdir()
    write_lines(folder / "a.jsonl", [row(n, id=f"a{n % 390}") for n in range(400)], "\n{oops\n")
    write_lines(folder / "b.jsonl", [])
    pl.DataFrame([row(n) for n in range(300)]).write_parquet(folder / "c.parquet")
    write_lines(folder / "d.jsonl", [row(n) for n in range(200)], "[]\n")
    return folder


def in_bulk(folder: Path, source: str, processes: int = 1, piece_bytes: int = 8_000) -> dict[str, float | None]:
    pieces = BulkOptions(processes=processes, piece_bytes=piece_bytes)
    bulk_rows(compile_rubric(RUBRIC), find_files([source]), folder, pieces)
    return {row.case: row.score for row in read_columns(folder / "evaluations.parquet")}


def test_several_files_in_bulk_give_what_one_case_after_the_other_gives(large: Path, tmp_path: Path) -> None:
    one_by_one = judged(tmp_path / "run", str(large / "*"))
    assert len(one_by_one) == 900
    assert in_bulk(tmp_path / "bulk", str(large / "*")) == one_by_one
    errors = [json.loads(line)["place"] for line in (tmp_path / "bulk" / "errors.jsonl").read_bytes().splitlines()]
    assert errors == ["a.jsonl, line 402", "d.jsonl, line 201"]
    shown = explain(compile_rubric(RUBRIC), tmp_path / "bulk", "705")
    assert shown.context is not None
    assert shown.context.response == row(2)["response"]
    (large / "d.jsonl").write_text("{}\n")
    with pytest.raises(RubricaError, match=r"d.jsonl changed since"):
        explain(compile_rubric(RUBRIC), tmp_path / "bulk", "705")
    assert explain(compile_rubric(RUBRIC), tmp_path / "bulk", "a7").case == "a7"


def test_files_of_a_bucket_in_bulk_are_fetched_in_their_turn_and_once(
    large: Path, bucket: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_objects(bucket, "large", large.iterdir())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    straight = in_bulk(tmp_path / "disk", str(large / "*"))
    proxy = FailingProxy(bucket, every=10)
    with proxy.serving() as before:
        use_objects(monkeypatch, before)
        assert in_bulk(tmp_path / "bulk", f"s3://{BUCKET}/large/*", 2) == straight
        assert proxy.fetched == [f"/{BUCKET}/large/{path.name}" for path in sorted(large.iterdir())]
        assert not list(tmp_path.glob("rubrica-*"))
        shown = explain(compile_rubric(RUBRIC), tmp_path / "bulk", "705")
        assert shown.case == "705"
        assert proxy.fetched[4:] == [f"/{BUCKET}/large/d.jsonl"]


def test_lines_of_a_large_file_in_a_bucket_are_fetched_as_they_are_read(
    large: Path, bucket: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = "".join(f'c{n},"word\nword {n}"\n' for n in range(300))
    (large / "e.csv").write_text(f"id,response\n{cells}", encoding="utf-8")
    (large / "f.jsonl").write_text(json.dumps([row(n) for n in range(300)], indent=1), encoding="utf-8")
    names = ("a.jsonl", "e.csv", "f.jsonl")
    put_objects(bucket, "ranges", [large / name for name in names])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    proxy = FailingProxy(bucket, every=10)
    with proxy.serving() as before:
        use_objects(monkeypatch, before)
        for name in names:
            with find_files([str(large / name)])[0].cases() as local:
                straight = list(local.cases())
            file = find_files([f"s3://{BUCKET}/ranges/{name}"])[0]
            assert file.size is not None
            proxy.fetched.clear()
            with file.cases(range_bytes=3_000) as source:
                found = source.cases()
                assert next(found) == straight[0]
                fetched = len(proxy.fetched)
                assert [straight[0], *found] == straight
            # a document has to be there whole; of lines, one range is there before the first of them is judged
            assert fetched == (2 if name == "f.jsonl" else 1)
            assert len(proxy.fetched) == (2 if name == "f.jsonl" else -(-file.size // 3_000))
        assert not list(tmp_path.glob("rubrica-*"))
        with find_files([f"s3://{BUCKET}/ranges/a.jsonl"])[0].cases(range_bytes=3_000) as source:
            found = source.cases()
            next(found)
            (large / "a.jsonl").write_bytes((large / "a.jsonl").read_bytes() * 2)
            put_objects(bucket, "ranges", [large / "a.jsonl"])
            with pytest.raises(RubricaError, match="changed while it was judged"):
                list(found)
    use_objects(monkeypatch, bucket)  # which gives no ranges
    with find_files([f"s3://{BUCKET}/ranges/a.jsonl"])[0].cases(range_bytes=3_000) as source:
        assert sum(1 for _ in source.cases()) == 802


def test_a_bulk_run_that_stopped_fetches_only_the_files_that_are_missing(
    large: Path, bucket: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = large / "d.jsonl"
    put_objects(bucket, "twice", (path for path in large.iterdir() if path != last))
    put_objects(bucket, "later", [last])
    straight = in_bulk(tmp_path / "disk", str(large / "*"))
    proxy, source = FailingProxy(bucket, every=10), f"s3://{BUCKET}/twice/*"
    with proxy.serving() as before:
        use_objects(monkeypatch, before)
        later = find_files([f"s3://{BUCKET}/later/*"])[0]
        listed = (*find_files([source]), replace(later, address=later.address.replace("later", "twice")))
        pieces = BulkOptions(processes=1, piece_bytes=8_000)
        with pytest.raises(RubricaError, match="there is no"):
            bulk_rows(compile_rubric(RUBRIC), listed, tmp_path / "bulk", pieces)
        put_objects(bucket, "twice", [last])
        proxy.fetched.clear()
        assert in_bulk(tmp_path / "bulk", source) == straight
        assert proxy.fetched == [f"/{BUCKET}/twice/d.jsonl"]


@pytest.fixture
def cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files that are fetched in ranges, of lines and of rows in several groups."""
    monkeypatch.setattr("rubrica.runs.bulk.pieces.PIECE_ROWS", (400, 400))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / "cut"
    folder.mkdir()
    write_lines(folder / "a.jsonl", [row(n, prompt=f"{n} " * 40) for n in range(1_500)], "{oops\n")
    rows = pl.DataFrame([row(n, id=f"r{n}", prompt=f"{n} " * 40) for n in range(1_500)])
    rows.write_parquet(folder / "b.parquet", compression="uncompressed", row_group_size=250)
    return folder


def taken(folder: Path) -> int:
    """Bytes on the disk of whatever is being judged."""
    found = (path for place in folder.glob("rubrica-*") for path in place.rglob("*"))
    return sum(path.stat().st_blocks * 512 for path in found if path.is_file())


def test_large_files_of_a_bucket_are_judged_in_bulk_while_little_of_them_is_here(
    cut: Path, bucket: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_objects(bucket, "cut", cut.iterdir())
    straight = in_bulk(tmp_path / "disk", str(cut / "*"), piece_bytes=200_000)
    plan, sizes = compile_rubric(RUBRIC), [path.stat().st_size for path in cut.iterdir()]
    proxy, most = FailingProxy(bucket, every=10), list[int]()
    with proxy.serving() as before:
        use_objects(monkeypatch, before)
        files = find_files([f"s3://{BUCKET}/cut/*"])
        how = BulkOptions(processes=1, piece_bytes=60_000, range_bytes=30_000)
        done = bulk_rows(plan, files, tmp_path / "bulk", how, lambda _: most.append(taken(tmp_path)))
        assert proxy.sent < sum(sizes) + 150_000  # each byte once, but for the ends of tables, which are looked for
        assert max(most) < min(sizes) / 2
        assert not list(tmp_path.glob("rubrica-*"))
        assert done.rows == 3_000
        assert {own.case: own.score for own in read_columns(tmp_path / "bulk" / "evaluations.parquet")} == straight
        errors = (tmp_path / "bulk" / "errors.jsonl").read_bytes()
        assert errors == (tmp_path / "disk" / "errors.jsonl").read_bytes()
        for case in ("1400", "r1400"):
            shown = explain(plan, tmp_path / "bulk", case)
            assert shown.context == explain(plan, tmp_path / "disk", case).context
        (cut / "b.parquet").write_bytes((cut / "b.parquet").read_bytes() + b" ")
        put_objects(bucket, "cut", [cut / "b.parquet"])
        with pytest.raises(RubricaError, match="changed while it was judged"):
            bulk_rows(plan, files, tmp_path / "changed", how)
    use_objects(monkeypatch, bucket)  # which gives no ranges
    again = bulk_rows(plan, find_files([f"s3://{BUCKET}/cut/a*"]), tmp_path / "whole", how)
    assert (again.rows, again.errors) == (1_500, 1)


@pytest.mark.parametrize("name", ["a.jsonl", "b.parquet"])
def test_a_bulk_run_that_stopped_within_a_file_fetches_what_is_missing_of_it(
    cut: Path, bucket: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    put_objects(bucket, "within", [cut / name])
    straight = in_bulk(tmp_path / "disk", str(cut / name), piece_bytes=200_000)
    proxy, plan = FailingProxy(bucket, every=10), compile_rubric(RUBRIC)
    how = BulkOptions(processes=1, piece_bytes=50_000 if name == "a.jsonl" else 120_000, range_bytes=30_000)

    def stop(progress: BulkProgress) -> None:
        if progress.pieces == 4:
            raise RubricaError("enough")

    with proxy.serving() as before:
        use_objects(monkeypatch, before)
        files = find_files([f"s3://{BUCKET}/within/{name}"])
        with pytest.raises(RubricaError, match="enough"):
            bulk_rows(plan, files, tmp_path / "bulk", how, stop)
        proxy.sent = 0
        done = bulk_rows(plan, files, tmp_path / "bulk", how)
        assert done.resumed == 4
        assert proxy.sent < 0.7 * (cut / name).stat().st_size
    assert {own.case: own.score for own in read_columns(tmp_path / "bulk" / "evaluations.parquet")} == straight


def test_rows_of_a_large_table_in_a_bucket_are_fetched_as_they_are_read(
    cut: Path, bucket: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rubrica.runs.files.parquet_source.BATCH", 100)
    put_objects(bucket, "rows", [cut / "b.parquet"])
    with find_files([str(cut / "b.parquet")])[0].cases() as local:
        straight = list(local.cases())
    proxy = FailingProxy(bucket, every=10)
    with proxy.serving() as before:
        use_objects(monkeypatch, before)
        file = find_files([f"s3://{BUCKET}/rows/b.parquet"])[0]
        assert file.size is not None
        with file.cases(range_bytes=10_000) as source:
            found = source.cases()
            assert next(found) == straight[0]
            assert proxy.sent < file.size / 2
            assert [straight[0], *found] == straight
            assert source.lines == 1_500
            assert taken(tmp_path) < file.size / 2
        assert proxy.sent < file.size + 70_000
        assert not list(tmp_path.glob("rubrica-*"))


def test_without_the_extra_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(RubricaError, match=r"obstore is missing \(pip install 'rubrica\[cloud\]'\)"):
        find_files(["s3://bucket/cases.jsonl"])
