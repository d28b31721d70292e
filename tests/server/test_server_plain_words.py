"""What is wrong with a document, a request or settings is said without the words of developers, wherever it is said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import PydanticKnownError
from pydantic_core._pydantic_core import list_all_errors

from rubrica.council.settings import load_council
from rubrica.engine.load import rubric_from_data
from rubrica.errors import RubricaError
from rubrica.gateway.settings import settings_from_text
from rubrica.llm.settings import load_settings
from rubrica.model.context import Context
from rubrica.phrases import fault_words
from servers import serving

DEVELOPERS = re.compile(
    r"Input should|Field required|Extra inputs|Value error|String should|Unable to|"
    r"\b(a valid|instance of|tuple|dict|dictionary|NoneType|mapping|boolean|integer|iterable|frozenset|discriminator|"
    r"datetime|timedelta|unicode|regex|pydantic|traceback)\b",
    re.IGNORECASE,
)
RUBRIC: dict[str, Any] = {
    "rubrica": 1,
    "name": "plain",
    "version": "1.0.0",
    "dimensions": {"tone": {"score": {"formula": "1"}}},
}
DOCUMENTS: list[dict[str, Any]] = [
    {"dimensions": []},
    {"dimensions": {}},
    {"dimensions": {"tone": 3}},
    {"dimensions": {"tone": {"weight": "much"}}},
    {"dimensions": {"tone": {"score": {"rules": "none"}}}},
    {"dimensions": {"tone": {"score": {"rules": [{"type": "magic"}]}}}},
    {"dimensions": {"tone": {"score": {"rules": [{"points": 3}]}}}},
    {"name": 7},
    {"name": "Not a name!"},
    {"verdicts": {"label": "pass"}},
    {"verdicts": []},
    {"threshold": [1]},
    {"threshold": float("nan")},
    {"tags": "one"},
    {"profiles": 4},
    {"rules": []},
]
WRONG: list[Any] = [[], [None], {"x": 1}, 7.5, True, "x", "", None]
"""Values that are wrong for most fields of a request."""
COUNCIL = ["tier: slow", "models: 3", "quorum: many", "safety_gate: perhaps", "reviewer_weights: [1]", "access: [3]"]
GATEWAY = [
    "tier0: []",
    "tier0: 3",
    "tier0: 'local:'\nthresholds: 3",
    "tier0: 'local:'\ncache: {exact: perhaps}",
    "tier0: 'local:'\nbudget: {usd_per_day: lots}",
    "tier0: 'local:'\nbudget: {usd_per_day: .inf}",
    "tier0: 'local:'\nteams: [1]",
    "tiers: ['local:', [{model: 'local:', weight: heavy}]]",
]


def _faults() -> list[str]:
    """The faults that a value out of JSON, YAML or a form can have, by pydantic's names."""
    inside = r"argument|attribute|instance|frozen_field|frozen_inst|python|factory|iteration|recursion|complex|fraction"
    inside += r"|sentinel|ellipsis|callable|subclass|hashable|named_tuple|ordered|counter|deque|time_delta|time_type"
    inside += r"|time_pars|json_|bytes_inv|assertion|_inexact|object_invalid|naive|offset|frozen_dict|decimal|datacl"
    return [one["type"] for one in list_all_errors() if not re.search(inside, one["type"])]


@pytest.mark.parametrize("kind", _faults())
def test_every_fault_that_a_value_can_have_has_plain_words(kind: str) -> None:
    (known,) = [one for one in list_all_errors() if one["type"] == kind]
    limits = {**(known["example_context"] or {})}
    shown = PydanticKnownError(kind, limits or None)  # type: ignore[arg-type]
    said = fault_words({"type": kind, "msg": shown.message(), "ctx": limits})
    assert said
    assert not DEVELOPERS.search(said), said


@pytest.mark.parametrize("part", DOCUMENTS, ids=str)
def test_a_document(part: dict[str, Any]) -> None:
    with pytest.raises(RubricaError) as told:
        rubric_from_data({**RUBRIC, **part})
    assert not DEVELOPERS.search(str(told.value)), str(told.value)


def _bodies(paths: dict[str, Any], schemas: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """For each way to send something: its fields, all with the same wrong value."""
    for path, ways in paths.items():
        for method, way in ways.items():
            body = way.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            fields = schemas.get(body.get("$ref", "").rpartition("/")[2], {}).get("properties", {})
            for value in WRONG if body else ():
                yield method.upper(), re.sub(r"{\w+}", "x", path), dict.fromkeys(fields, value) if fields else value
            for asked in way.get("parameters", []):
                if asked["in"] == "query" and method == "get":
                    yield "GET", re.sub(r"{\w+}", "x", path) + f"?{asked['name']}=%20soon", None


def test_requests(tmp_path: Path) -> None:
    with serving(str(tmp_path / "rubrica.db"), keyless=True) as running:
        api = running.anyone.get("/openapi.json").json
        refused = 0
        for method, path, body in _bodies(api["paths"], api["components"]["schemas"]):
            reply = running.anyone.ask(method, path, body)
            assert reply.status != 500, (method, path, body, reply.text)
            if reply.status == 422:
                refused += 1
                assert not DEVELOPERS.search(reply.json["detail"]), (method, path, body, reply.text)
        assert refused > 100
        for path, body, told in (
            ("/api/games", {"name": "x", "statuss": "open"}, "statuss: is not a known key (did you mean 'status'?)"),
            (
                "/v1/council/run",
                {"question": "Why?", "hystory": []},
                "hystory: is not a known key (did you mean 'history'?)",
            ),
            (
                "/v1/council/run",
                {"question": "Why?", "history": [{"role": "user", "contents": "x"}]},
                "(did you mean 'content'?)",
            ),
            ("/api/games", {"name": "x", "zzz": 1}, "zzz: is not a known key"),
        ):
            reply = running.anyone.ask("POST", path, body)
            assert reply.status == 422
            assert told in reply.json["detail"], reply.text


@pytest.mark.parametrize("text", COUNCIL)
def test_settings_of_a_council(tmp_path: Path, text: str) -> None:
    file = tmp_path / "council.yaml"
    file.write_text(text)
    with pytest.raises(RubricaError) as told:
        load_council(file, environ={})
    assert not DEVELOPERS.search(str(told.value)), str(told.value)


@pytest.mark.parametrize("text", GATEWAY)
def test_settings_of_a_gateway(text: str) -> None:
    with pytest.raises(RubricaError) as told:
        settings_from_text(text, "gateway.yaml")
    assert not DEVELOPERS.search(str(told.value)), str(told.value)


@pytest.mark.parametrize(("name", "value"), [("TIMEOUT", "soon"), ("CONCURRENCY", "1.5"), ("TIMEOUT", "-1")])
def test_settings_of_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(f"RUBRICA_{name}", value)
    with pytest.raises(RubricaError) as told:
        load_settings()
    assert not DEVELOPERS.search(str(told.value)), str(told.value)


def test_a_case() -> None:
    for case in ({"prompt": 3}, {"response": "a", "images": [1]}, {"response": "a", "messages": 3}):
        with pytest.raises(RubricaError) as told:
            Context.of(case)
        assert not DEVELOPERS.search(str(told.value)), str(told.value)
