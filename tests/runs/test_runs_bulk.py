"""Bulk figures are those of one evaluation after the other, to the last bit; runs go on where they stopped."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import polars as pl
from bulk_rubrics import ALIKE, DEAR, LINES, TEXTS, rubrics
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import rubrica
from rubrica.engine.cases import BadLine, Case, read_case
from rubrica.engine.evaluate import evaluate
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError, RubricError
from rubrica.runs.bulk.indices import MOST_PAIRS, PairIndex, places_of
from rubrica.runs.bulk.parquet_records import from_frame, row_case
from rubrica.runs.bulk.records import from_lines
from rubrica.runs.bulk.shards import ShardJudge
from rubrica.runs.files.parquet_rows import DIMENSION, SECTION
from rubrica.runs.files.rows import RunRow, row_of


def bits(value: Any) -> Any:
    """A value that is equal only to one with the same bits."""
    match value:
        case float():
            return struct.pack("<d", value)
        case dict():
            return {key: bits(item) for key, item in value.items()}
        case list() | tuple():
            return [bits(item) for item in value]
        case _:
            return value


def in_columns(row: RunRow, line: int) -> dict[str, Any]:
    """A row as it stands in columns. How long it took is not told of texts that are judged together."""
    by_name = ("dimensions", "sections", "earned", "possible", "counted", "positions")
    found = {name: getattr(row, name) for name in row.__struct_fields__ if name not in by_name}
    assert not any((row.earned, row.possible, row.counted, row.positions))  # bulk takes no criteria and no tags
    found |= {DIMENSION + name: value for name, value in row.dimensions.items()}
    found |= {SECTION + name: value for name, value in row.sections.items()}
    return dict(bits(found | {"line": line, "duration_ms": 0.0}))


def judged(plan: Plan, cases: list[Case | BadLine]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows and errors of one evaluation after the other."""
    rows, errors = [], []
    for case in cases:
        if isinstance(case, BadLine):
            errors.append({"line": case.line, "case": None, "error": case.reason})
            continue
        try:
            rows.append(in_columns(row_of(evaluate(plan, case.context, case.id)), case.line))
        except RubricaError as error:
            errors.append({"line": case.line, "case": case.id, "error": str(error)})
    return rows, errors


def one_by_one(plan: Plan, lines: list[bytes]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return judged(plan, [read_case(line, number) for number, line in enumerate(lines, 1) if line.strip()])


def in_bulk(plan: Plan, lines: list[bytes]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    shards = ShardJudge(plan, Path("unwritten"), "group")
    errors: list[dict[str, Any]] = []
    half = len(lines) // 2
    found = []
    for start, part in ((0, lines[:half]), (half, lines[half:])):  # what the first taught, the second may use
        frame = shards.figures(from_lines(b"\n".join(part), start + 1, shards.names), errors)
        found += [bits(row) for row in frame.iter_rows(named=True)]
    return found, sorted(errors, key=lambda error: error["line"])


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(rubrics(), st.lists(LINES, min_size=1, max_size=14) | ALIKE)
def test_bulk_figures_equal_those_of_one_after_the_other(document: dict[str, Any], lines: list[bytes]) -> None:
    try:
        plan = rubrica.compile(document)
    except RubricError:
        assume(False)
    assert in_bulk(plan, lines) == one_by_one(plan, lines)


def test_pairs_of_places_are_looked_up_alike_however_large_their_tables_grow() -> None:
    dice = random.Random(5)  # noqa: S311 - nothing secret
    met: list[tuple[int, int]] = []

    def work(one: int, other: int) -> int:
        met.append((one, other))
        return 1_000 * one + other

    pairs = PairIndex(work)
    for height, width in ((1, 1), (3, 1), (3, 9), (40, 10), (41, 60), (700, 60), (MOST_PAIRS, 61)):
        ones, others = ([dice.randrange(size) for _ in range(50)] for size in (min(height, 700), width))
        found = pairs(places_of(ones), places_of(others), (height, width))
        assert found.to_list() == [1_000 * one + other for one, other in zip(ones, others, strict=True)]
    assert len(set(met)) == len(met) == len(pairs)


CELLS = st.fixed_dictionaries(
    {"response": st.none() | TEXTS},
    optional={
        "id": st.none() | st.integers(0, 5),
        "prompt": st.none() | TEXTS,
        "a": st.none() | st.sampled_from([0.0, -0.0, 1.0, 0.5, float("nan")]),
        "b": st.none() | st.integers(-2, 2),
        "kind": st.none() | st.sampled_from(["strict", "mild", "other"]),
        "custom_metrics": st.none() | st.fixed_dictionaries({"a": st.none() | st.integers(0, 2), "c": st.booleans()}),
        "response_time": st.none() | st.floats(-1, 3),
        "messages": st.none() | st.just([{"role": "assistant", "content": "bad 12"}]),
        "group": st.none() | st.booleans(),
    },
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(rubrics(), st.lists(CELLS, min_size=1, max_size=10))
def test_rows_of_a_table_are_judged_as_cases(document: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    try:
        plan = rubrica.compile(document)
    except RubricError:
        assume(False)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    shards = ShardJudge(plan, Path("unwritten"), "group")
    errors: list[dict[str, Any]] = []
    figures = shards.figures(from_frame(frame, 1, shards.names), errors)
    cases = [row_case(row, number) for number, row in enumerate(frame.iter_rows(named=True), 1)]
    expected, refused = judged(plan, cases)
    assert [bits(row) for row in figures.iter_rows(named=True)] == expected
    assert sorted(errors, key=lambda error: error["line"]) == refused


def alike(document: dict[str, Any], *records: dict[str, Any]) -> list[dict[str, Any]]:
    """What bulk gives for some records, having checked that it is what one after the other gives."""
    plan = rubrica.compile({"name": "small", "verdicts": [{"label": "done"}], **document})
    lines = [json.dumps(record).encode() for record in records]
    found = in_bulk(plan, lines)
    assert found == one_by_one(plan, lines)
    return found[0]


def test_a_truth_value_is_not_taken_for_the_number_it_equals() -> None:
    rule = {"type": "metric_threshold", "metric": "a", "thresholds": [{"default": True, "score": 1}]}
    rows = alike({"dimensions": {"d": {"rules": [rule]}}}, {"response": "", "a": 1}, {"response": "", "a": True})
    assert [row["errors"] for row in rows] == [0, 1]


def test_minus_zero_is_told_apart_from_zero() -> None:
    verdicts = [{"label": "pass", "when": "a > 2"}, {"label": "fail"}]
    document = {"dimensions": {"d": {"formula": "0"}}, "verdicts": verdicts}
    rows = alike(document, *({"response": "", "a": value} for value in (0.0, -0.0, 0)))
    assert [row["reason"] for row in rows] == [f"not pass: a > 2 (a = {value})" for value in ("0", "-0", "0")]


def test_a_score_of_minus_zero_is_told_apart_too() -> None:
    rule = {"type": "custom_expression", "expression": "-a"}
    document = {"dimensions": {"d": {"scale": {"min": 0, "max": 1}, "rules": [rule]}}}
    for values in ((0, 1e-114), (1e-114, 0)):  # what comes to less than the scale's end is -0.0 there
        rows = alike(document, *({"response": "", "a": value} for value in values))
        assert [row["dimension.d"] for row in rows] == [bits(-0.0 if value else 0.0) for value in values]


def test_points_are_added_one_after_the_other_as_everywhere() -> None:
    tiny = [{"regex": letter, "score": 6e-6} for letter in "xy"]
    dimension = {
        "start": 1e11,
        "scale": {"min": 0, "max": 1e12},
        "rules": [{"type": "pattern_detection", "patterns": tiny}],
    }
    rows = alike({"dimensions": {"d": dimension}}, {"response": "xy"}, {"response": ""})
    assert rows[0]["dimension.d"] == bits(1e11)


def test_what_cannot_be_judged_column_by_column_is_judged_all_the_same() -> None:
    document = {"dimensions": {"d": {"asks": "Good?", "offline": {"formula": "min(word_count / 4, 1)"}}}}
    rows = alike(document, {"response": "one two"}, {"response": ""})
    assert [row["dimension.d"] for row in rows] == [bits(0.5), bits(0.0)]


def test_a_response_is_held_against_the_reference_of_its_own_case() -> None:
    document = {
        "name": "key",
        "dimensions": {"right": {"formula": "contains_reference"}},
        "score": {"out_of": 1},
        "scale": {"min": 0, "max": 1},
        "verdicts": [{"label": "scored"}],
    }
    rows = alike(document, *({"response": "In Paris.", "reference": town} for town in ("Paris", "Rome", "Paris")))
    assert [row["score"] for row in rows] == [bits(1.0), bits(0.0), bits(1.0)]


def test_long_texts_are_read_as_far_as_everywhere() -> None:
    document = {
        "dimensions": {"d": {"formula": "1"}},
        "patterns": {"keyword": {"keywords": ["password"]}, "hidden": {"regex": DEAR}},
        "gates": [
            {"name": "leak", "when": "keyword > 0 or unsafe_count > 0", "verdict": "fail"},
            {"name": "dear", "when": "hidden > 0", "verdict": "fail"},
        ],
        "verdicts": [{"label": "pass", "when": "score > 0.5"}, {"label": "fail"}],
    }
    fill = "ab " * 20_000
    texts = ["ab", f"{fill}password {fill}", f"{fill}here is how to make a bomb {fill}", fill, f"b{'a' * 80}c {fill}"]
    rows = alike(document, *({"response": text} for text in texts))
    assert [row["verdict"] for row in rows] == ["pass", "fail", "fail", "inconclusive", "fail"]
    assert "judge the text in parts" in rows[3]["reason"]


def test_a_missing_type_is_classified_in_bulk_as_elsewhere() -> None:
    document = {
        "scale": {"min": 0, "max": 100},
        "dimensions": {"d": {"formula": "min(word_count, 100)"}},
        "score": {"weighted": True, "out_of": 100},
        "profiles": {
            "by": "question_type",
            "classify": "question_type",
            "FACTUAL": {"threshold": 1},
            **{name: {"threshold": 90} for name in ("ANALYTICAL", "TECHNICAL", "CREATIVE", "ETHICAL")},
        },
        "verdicts": [{"label": "pass", "when": "score >= threshold"}, {"label": "fail"}],
    }
    rows = alike(
        document,
        {"prompt": "What is the capital of France?", "response": "Paris it is."},
        {"prompt": "Write a poem about Paris", "response": "Paris it is."},
        {"prompt": "Write a poem about Paris", "response": "Paris it is.", "question_type": "FACTUAL"},
        {"prompt": "Write a poem about Paris", "response": "Paris it is.", "question_type": "factual"},
        {"prompt": "Write a poem about Paris", "response": "Paris it is.", "question_type": ""},
        {"prompt": "hello there you", "response": "Paris it is."},
    )
    assert [row["profile"] for row in rows][:5] == ["FACTUAL", "CREATIVE", "FACTUAL", "FACTUAL", "CREATIVE"]
    assert [row["verdict"] for row in rows] == ["pass", "fail", "pass", "pass", "fail", "inconclusive"]
