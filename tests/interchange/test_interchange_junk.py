"""Whatever a file holds that claims to be another tool's: it is read, or refused with a reason."""

from __future__ import annotations

import contextlib
import json
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

import rubrica
from rubrica.engine.cases import BadLine
from rubrica.errors import RubricError
from rubrica.interchange import (
    ConvertedLine,
    RubricFormat,
    export_cases,
    export_rubric,
    import_cases,
    import_rubric,
)

KEYS = st.sampled_from(
    [
        "weight",
        "requirement",
        "sub_tasks",
        "id",
        "requirements",
        "type",
        "graders",
        "input",
        "criteria",
        "rubric",
        "name",
        "options",
        "label",
        "value",
        "labels",
        "passing_labels",
        "calculate_output",
        "prompt",
        "rubrics",
        "criterion",
        "points",
        "tags",
        "sections",
        "range",
        "operation",
        "reference",
        "role",
        "content",
        "completion",
        "metadata",
        "messages",
        "ideal_completions_data",
        "model",
        "sampling_params",
        "guidelines",
        "task_category",
    ]
)
WORDS = st.sampled_from(
    [
        "multi",
        "score_model",
        "label_model",
        "string_check",
        "python",
        "a",
        "a+b",
        "{{item.x}}",
        "{{sample.output_text}}",
        "user",
        "eq",
        "like",
        "Subtree",
        "yes",
    ]
)
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(), WORDS, st.text(max_size=5))
JUNK = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6))
NEARLY = st.sampled_from(
    [
        {"id": "r", "requirements": "All.", "weight": 1, "sub_tasks": [{"id": "a", "requirements": "A.", "weight": 2}]},
        {"type": "multi", "graders": {"a": {"type": "label_model"}}, "calculate_output": "a"},
        {"type": "score_model", "input": [{"role": "user", "content": "Good?"}], "range": [0, 5]},
        {"rubric": [{"weight": 1, "requirement": "A.", "options": [{"label": "x", "value": 1}]}]},
        {"prompt": [{"role": "user", "content": "Hi"}], "rubrics": [{"criterion": "A.", "points": 1, "tags": []}]},
    ]
)


@st.composite
def sources(draw: st.DrawFn) -> Any:
    """Data that is nearly right, with a piece of it replaced by junk; or junk altogether."""
    if draw(st.booleans()):
        return draw(JUNK)
    data = json.loads(json.dumps(draw(NEARLY)))
    spot = data
    while True:
        key = draw(st.sampled_from(sorted(spot))) if isinstance(spot, dict) else 0
        if not isinstance(spot[key], dict | list) or not spot[key] or draw(st.booleans()):
            spot[key] = draw(JUNK)
            return data
        spot = spot[key]


@settings(max_examples=60)
@given(sources(), st.sampled_from(get_args(RubricFormat)), st.sampled_from(get_args(RubricFormat)))
def test_a_rubric_is_read_or_refused_and_what_is_read_is_written_or_refused(
    data: Any, form: RubricFormat, other: RubricFormat
) -> None:
    with contextlib.suppress(RubricError):
        found = import_rubric(json.dumps(data), form)
        export_rubric(rubrica.load(found.data), other)


@settings(max_examples=40)
@given(sources())
def test_a_line_is_read_or_told(data: Any) -> None:
    for found in (*import_cases([json.dumps(data)]), *export_cases([json.dumps(data)])):
        assert isinstance(found, BadLine | ConvertedLine)
