"""Every number, text and list that a document may hold has a bound, and its JSON Schema tells it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rubrica.companion.scenarios import Suite
from rubrica.council.settings import CouncilSettings
from rubrica.engine import vocabulary
from rubrica.engine.load import rubric_from_data
from rubrica.errors import RubricError
from rubrica.gateway.settings import GatewaySettings
from rubrica.model.bounds import MOST_CALLS, MOST_REPEATS
from rubrica.model.context import Context
from rubrica.model.json_schema import rubric_schema
from rubrica.server.council_service import CouncilRequest

SCHEMAS: dict[str, Callable[[], Any]] = {
    "rubric": rubric_schema,
    "gateway": GatewaySettings.model_json_schema,
    "council": CouncilSettings.model_json_schema,
    "scenarios": Suite.model_json_schema,
    "context": Context.model_json_schema,
    "council request": CouncilRequest.model_json_schema,
}
UNBOUNDED = {  # a date has the length of its format
    ("rubric", "$defs.Calibration.properties.date"),
    ("context", "$defs.Metadata.properties.timestamp.anyOf.0"),
}


def unbounded(node: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The places of a schema where something may be as large as anybody likes."""
    if isinstance(node, list):
        for place, each in enumerate(node):
            yield from unbounded(each, (*path, str(place)))
    if not isinstance(node, dict):
        return
    kind, keys = node.get("type"), node.keys()
    chosen = {"enum", "const"} & keys
    if kind in ("number", "integer"):
        bounded = {"minimum", "exclusiveMinimum"} & keys and {"maximum", "exclusiveMaximum"} & keys
    elif kind == "array":
        bounded = {"maxItems"} & keys
    elif kind == "string":
        bounded = {"maxLength"} & keys
    elif kind == "object" and isinstance(node.get("additionalProperties"), dict):
        bounded = {"maxProperties"} & keys
    else:
        bounded = {"nothing to bound"}
    if not (chosen or bounded):
        yield ".".join(path)
    for name, each in node.items():
        if name not in ("default", "examples"):
            yield from unbounded(each, (*path, name))


@pytest.mark.parametrize("document", SCHEMAS)
def test_every_number_text_and_list_of_a_document_has_a_bound_in_its_schema(document: str) -> None:
    found = {(document, place) for place in unbounded(SCHEMAS[document]())}
    assert not found - UNBOUNDED


def test_the_walk_finds_what_has_no_bound() -> None:
    schema = {
        "properties": {"a": {"type": "integer", "minimum": 1}, "b": {"type": "array", "items": {"type": "string"}}}
    }
    assert list(unbounded(schema)) == ["properties.a", "properties.b", "properties.b.items"]


def document(**changes: Any) -> dict[str, Any]:
    return {"name": "toy", "dimensions": {"a": {"weight": 1.0}}, "verdicts": [{"label": "seen"}], **changes}


def problems(**changes: Any) -> str:
    with pytest.raises(RubricError) as refused:
        rubric_from_data(document(**changes))
    return str(refused.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"judging": {"repeats": 1_000_000}}, f"judging.repeats: should be less than or equal to {MOST_REPEATS}"),
        ({"judging": {"panel": 1_000}}, "judging.panel: should be less than or equal to 50"),
        ({"judging": {"deadline": 1e9}}, "judging.deadline: should be less than or equal to 86400"),
        ({"threshold": 1e300}, "threshold: should be less than or equal to"),
        ({"settings": {"x": -1e300}}, "settings.x"),
        ({"title": "x" * 501}, "has 501 characters (at most 500)"),
        ({"description": "x" * 20_001}, "has 20,001 characters (at most 20,000)"),
        ({"tags": ["x"] * 101}, "tags: has 101 entries (at most 100)"),
        ({"patterns": {"p": {"keywords": ["x"] * 10_001}}}, "patterns.p.keywords: has 10,001 entries (at most"),
        ({"profiles": {"by": "kind", **{f"P{n}": {"threshold": 1} for n in range(201)}}}, "201 profiles; at most 200"),
    ],
)
def test_what_is_beyond_its_bound_is_refused_with_the_bound(changes: dict[str, Any], said: str) -> None:
    assert said in problems(**changes)


def test_numbers_that_are_each_allowed_may_not_make_too_many_calls_together() -> None:
    four = {name: {"weight": 0.25} for name in "abcd"}
    told = problems(dimensions=four, judging={"repeats": 100, "panel": 20})
    assert "judging: 4 judged dimensions × 100 repeats × 20 judges make 8,000 calls for one evaluation" in told
    assert f"at most {MOST_CALLS:,}" in told
    assert rubric_from_data(document(dimensions=four, judging={"repeats": 100, "panel": 12}))
    assert rubric_from_data(document(dimensions=four, judging={"repeats": 100, "panel": 20, "mode": "together"}))


def test_points_that_add_up_beyond_every_scale_are_refused_in_the_short_form() -> None:
    rule = {"type": "pattern_detection", "patterns": [{"keywords": ["x"], "score": 1e12}] * 2}
    with pytest.raises(RubricError, match="the most points possible cannot be told"):
        rubric_from_data({"name": "many", "scoring_type": "cumulative", "rules": [rule]})


def test_formulas_have_a_bound_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "LONGEST_TOGETHER", 1_000)
    checks = [{"name": f"c{n}", "that": " or ".join([f"word_count == {n}"] * 10)} for n in range(20)]
    told = problems(dimensions={"a": {"weight": 1.0, "checks": checks}})
    assert "the formulas up to here have more than 1,000 characters together" in told
    assert told.count("\n") == 0  # told once


def test_looking_for_verdicts_out_of_reach_ends_in_time() -> None:
    def either(start: int) -> str:
        return " or ".join(f"a == {start + n / 1000}" for n in range(120))[:1990].rsplit(" or ", 1)[0]

    verdicts = [{"label": f"v{n}", "when": either(n)} for n in range(12)]
    start = time.process_time()
    assert rubric_from_data(document(scale={"min": 0, "max": 1000}, verdicts=[*verdicts, {"label": "z"}]))
    assert time.process_time() - start < 5
