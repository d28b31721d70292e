"""Stored runs: folders, bare files and columns read back; tables and heads beneath them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica import Context, Evaluation
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.errors import RubricaError
from rubrica.packs.library import examples, load
from rubrica.runs.files.evaluation_head import content_of, head_of
from rubrica.runs.files.folder import begin, locked
from rubrica.runs.files.hash_table import HashTable
from rubrica.runs.files.manifest import Manifest, UsedRubric, read_manifest
from rubrica.runs.files.parquet_rows import read_columns, write_columns
from rubrica.runs.files.rows import row_of
from rubrica.runs.run_writer import encoded
from rubrica.runs.stored import StoredRun

PLAN = compile_rubric(load("answer-quality"))


def judged(case: str, response: str = "It is so.", repeat: int = 0, **more: object) -> Evaluation:
    found = evaluate(PLAN, Context.of({"prompt": "Why?", "response": response, **more}), case)
    return msgspec.structs.replace(found, repeat=repeat)


def lines(file: Path, *evaluations: Evaluation) -> Path:
    file.write_text("".join(one.to_json() + "\n" for one in evaluations))
    return file


def folder(path: Path, *evaluations: Evaluation) -> Path:
    path.mkdir()
    lines(path / "evaluations.jsonl", *evaluations)
    Manifest(id="1", started="2026-11-15T00:00:00+00:00", rubrics=(UsedRubric.of(PLAN.rubric),)).write(path)
    return path


def test_a_later_line_supersedes_an_earlier_one_of_the_same_case_and_repeat(tmp_path: Path) -> None:
    path = folder(tmp_path / "run", judged("a", "old"), judged("b"), judged("a", "new"), judged("a", "other", repeat=1))
    run = StoredRun.open(path)
    found = [(one.case, one.repeat, one.context.response if one.context else "") for one in run.evaluations()]
    assert found == [("b", 0, "It is so."), ("a", 0, "new"), ("a", 1, "other")]
    assert [row.key for row in run.rows()] == [("b", 0), ("a", 0), ("a", 1)]
    assert StoredRun.open(path / "evaluations.jsonl").path == path


def test_in_a_bare_file_every_line_counts_also_an_unfinished_last_one(tmp_path: Path) -> None:
    file = lines(tmp_path / "results.jsonl", judged("a"), judged("a"))
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().removesuffix(b"\n"))
    run = StoredRun.open(str(file))
    assert run.name == "results"
    assert len(list(run.evaluations())) == len(list(run.rows())) == 2
    assert run.rubrics().keys() == {"answer-quality"}


def test_rows_from_columns_are_the_rows_of_the_evaluations(tmp_path: Path) -> None:
    path = folder(tmp_path / "run", *(evaluate(compile_rubric(load(case.rubric or pack)), case.context, case.id)
                                      for pack in ("answer-quality", "voice-companion", "arena")
                                      for case in examples(pack)))  # fmt: skip
    run = StoredRun.open(path)
    made = list(run.rows())
    assert write_columns(iter(made), path / "evaluations.parquet") == len(made)
    assert list(run.rows()) == list(read_columns(path / "evaluations.parquet")) == made
    assert list(StoredRun.open(path / "evaluations.parquet").rows()) == made
    alone = tmp_path / "alone.parquet"
    alone.write_bytes((path / "evaluations.parquet").read_bytes())
    assert list(StoredRun.open(alone).rows()) == made
    with pytest.raises(RubricaError, match="figures only"):
        list(StoredRun.open(alone).evaluations())


def test_another_grouping_is_read_from_the_evaluations(tmp_path: Path) -> None:
    path = folder(tmp_path / "run", judged("a", topic="sea", group="g1"))
    write_columns(StoredRun.open(path).rows(), path / "evaluations.parquet")
    assert [row.group for row in StoredRun.open(path).rows()] == ["g1"]
    assert [row.group for row in StoredRun.open(path).rows("topic")] == ["sea"]


def test_what_holds_no_run_is_refused_with_the_way_out(tmp_path: Path) -> None:
    for path, word in ((tmp_path, "holds no run"), (tmp_path / "nowhere", "there is no")):
        with pytest.raises(RubricaError, match=word):
            StoredRun.open(path)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(RubricaError, match="does not describe a run"):
        StoredRun.open(tmp_path)
    (tmp_path / "odd.parquet").write_text("no")
    with pytest.raises(RubricaError, match="cannot be read"):
        list(StoredRun.open(tmp_path / "odd.parquet").rows())


def test_a_line_that_is_no_evaluation_is_an_error_or_told(tmp_path: Path) -> None:
    file = lines(tmp_path / "r.jsonl", judged("a"))
    file.write_text("{}\n" + file.read_text())
    with pytest.raises(RubricaError, match=r"r\.jsonl:1: not a stored evaluation"):
        list(StoredRun.open(file).evaluations())
    told: list[int] = []
    assert len(list(StoredRun.open(file, lambda line: told.append(line.line)).evaluations())) == 1
    assert told == [1]


def test_the_manifest_remembers_the_rubric_as_it_was(tmp_path: Path) -> None:
    folder(tmp_path / "run", judged("a"))
    manifest = read_manifest(tmp_path / "run")
    assert manifest is not None
    assert manifest.rubric_by_name()["answer-quality"].hash == PLAN.rubric.hash
    assert manifest.fingerprint == Manifest(id="2", started="later").fingerprint


def test_moving_a_run_aside_goes_on_where_it_was_cut_short(tmp_path: Path) -> None:
    path = folder(tmp_path / "run", judged("a"))
    place = path / "earlier" / "1"
    place.mkdir(parents=True)
    (path / "evaluations.jsonl").rename(place / "evaluations.jsonl")  # and then the power failed
    with locked(path):
        opening = begin(path, Manifest(id="2", started="now", terms={"seed": 1}))
    assert opening.earlier == place
    assert [one.case for one in StoredRun.open(place).evaluations()] == ["a"]
    assert not (path / "evaluations.jsonl").exists()


@given(
    st.text(max_size=20),
    st.dictionaries(
        st.text(min_size=1, max_size=8), st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8)
    ),
)
def test_what_was_judged_is_known_again_from_the_stored_line(response: str, metadata: dict[str, object]) -> None:
    context = Context.of({"response": response, "metadata": {f"m{name}": value for name, value in metadata.items()}})
    found = evaluate(PLAN, context, "a")
    head = head_of(found.to_json().encode())
    assert head.content == content_of(PLAN.rubric.hash, encoded(context))
    assert row_of(found).case == head.case


@given(
    st.lists(st.tuples(st.integers(0, 2**64 - 1) | st.integers(0, 40), st.integers(0, 2**64 - 1)), max_size=3_000),
    st.sampled_from([1 << 10, 1 << 16]),
)
def test_a_table_is_a_dict_of_numbers_in_memory_and_on_disk(pairs: list[tuple[int, int]], largest: int) -> None:
    table, known = HashTable(largest), {}
    for key, value in pairs:
        if key != 0:  # shares its place with 1: hashes are never that small
            table.put(key, value)
            known[key] = value
    assert len(table) == len(known)
    assert all(table.get(key) == value for key, value in known.items())
    assert table.get(2**63 + 12345) == known.get(2**63 + 12345)


def test_a_table_that_outgrew_its_memory_goes_round_its_end_on_disk() -> None:
    table = HashTable(largest=1 << 10)
    last = 2**64 - 1
    keys = [last - (number << 32) for number in range(2_000)]  # all belong at the last place
    for number, key in enumerate(keys[:50] + [number * 0x9E3779B97F4A7C15 & last for number in range(1, 2_000)]):
        table.put(key, number)
    assert [table.get(key) for key in keys[:50]] == list(range(50))
    assert [table.get(key) for key in keys[50:60]] == [None] * 10
    assert len(table) == 2_049
