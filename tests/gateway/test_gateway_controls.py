"""What requests may choose, and what keys let them."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pydantic import ValidationError

from rubrica.errors import DeniedError, InputError
from rubrica.gateway.controls import Allowance, Controls, read_controls

EVERYTHING = Allowance(
    controls=frozenset({"debug", "force", "type", "threshold", "grading", "cache", "tiers"}),
    models=frozenset({"openai:gpt-4o"}),
)


def read(allowance: Allowance = EVERYTHING, query: dict[str, str] | None = None, **headers: Any) -> Controls:
    return read_controls({f"x-sleipner-{name}": value for name, value in headers.items()}, query or {}, allowance)


@pytest.mark.parametrize(
    ("headers", "chosen"),
    [
        ({"debug": "full"}, {"debug": "full"}),
        ({"debug": " FLOW "}, {"debug": "flow"}),
        ({"force": "tier-1"}, {"force": "tier-1"}),
        ({"type": "factual"}, {"question_type": "FACTUAL"}),
        ({"threshold": "62.5"}, {"threshold": 62.5}),
        ({"threshold": "0"}, {"threshold": 0.0}),
        ({"grading": "off"}, {"grading": False}),
        ({"grading": "on"}, {}),
        ({"cache": "on"}, {"cache": True}),
        ({"cache": "off"}, {"cache": False}),
        ({"tier0": "openai:gpt-4o"}, {"tier0": "openai:gpt-4o"}),
        ({"tier1": "openai:gpt-4o"}, {"tier1": "openai:gpt-4o"}),
        ({"trace": "x", "question-type": "y"}, {}),  # what answers say may come back
    ],
)
def test_a_header_chooses_one_thing(headers: dict[str, Any], chosen: dict[str, Any]) -> None:
    assert read(**headers) == Controls(**chosen)


@pytest.mark.parametrize(
    ("name", "hint"), [("thresold", "did you mean x-sleipner-threshold"), ("mood", "there are debug, force")]
)
def test_a_control_that_is_none_is_refused(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        read(**cast("dict[str, Any]", {name: "x"}))


def test_debug_may_stand_in_the_query_and_the_header_wins() -> None:
    assert read(query={"debug": "timing"}).debug == "timing"
    assert read(query={"debug": "timing"}, debug="full").debug == "full"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("debug", "yes"),
        ("debug", ""),
        ("force", "tier-9"),
        ("threshold", "high"),
        ("threshold", "nan"),
        ("threshold", "-1"),
        ("threshold", "101"),
        ("threshold", "inf"),
        ("grading", "maybe"),
        ("cache", "1"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_header(name: str, value: str) -> None:
    with pytest.raises(InputError, match=f"x-sleipner-{name}"):
        read(**cast("dict[str, Any]", {name: value}))


@pytest.mark.parametrize("name", ["debug", "force", "type", "threshold", "grading", "cache", "tier0", "tier1"])
def test_a_key_that_allows_nothing_lets_nothing_through(name: str) -> None:
    with pytest.raises(DeniedError, match=f"x-sleipner-{name}"):
        read(Allowance(controls=frozenset()), **cast("dict[str, Any]", {name: "on"}))


def test_debug_in_the_query_needs_leave_too() -> None:
    with pytest.raises(DeniedError):
        read(Allowance(controls=frozenset()), query={"debug": "full"})


def test_tiers_are_not_for_everybody_and_only_those_named() -> None:
    with pytest.raises(DeniedError):
        read(Allowance(), tier1="openai:gpt-4o")
    with pytest.raises(DeniedError, match="o3"):
        read(tier1="openai:o3")


def test_an_allowance_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="extra"):
        Allowance.model_validate({"usd": 3})
    with pytest.raises(ValueError, match="usd_per_day"):
        Allowance(usd_per_day=0)


def test_what_a_key_chose_holds_where_a_request_says_nothing() -> None:
    strict = Allowance(controls=frozenset({"threshold"}), choices={"threshold": "90", "grading": "on"})
    assert read_controls({}, {}, strict).threshold == 90
    assert read_controls({"x-sleipner-threshold": "70"}, {}, strict).threshold == 70
    with pytest.raises(DeniedError):
        read_controls({"x-sleipner-grading": "off"}, {}, strict)


def test_a_choice_of_a_key_that_cannot_be_read_is_refused_when_it_is_made() -> None:
    with pytest.raises(ValidationError, match="none of on, off"):
        Allowance(choices={"grading": "sometimes"})
