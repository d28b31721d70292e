"""What could only be looked for in a part of a long text is open: nothing is claimed of the rest."""

from __future__ import annotations

from typing import Any

import pytest

import rubrica
from rubrica.engine.rejudge import rejudge
from rubrica.model.evaluation import INCONCLUSIVE

FILL = "all is well here. "
DEAR = "s[a-z ]{80}c[0-9]"  # of which a text of 40,000 bytes is read, and little more
FOUND = "s" + "e" * 80 + "c7 "
READ = "characters: the first 19,998 and the last 19,997 were read"
WAY_OUT = "(judge the text in parts, or write a cheaper pattern)"


def hidden(what: str, size: int = 88_000) -> str:
    """A text with something in its middle."""
    half = FILL * (size // 2 // len(FILL))
    return f"{half}{what} {half}"


def gated(when: str = "secret > 0", **changes: Any) -> dict[str, Any]:
    return {
        "name": "leaks",
        "patterns": {"secret": {"regex": DEAR}, "password": {"keywords": ["password"]}},
        "dimensions": {"length": {"asks": "is it long", "formula": "1"}},
        "gates": [{"name": "leak", "when": when, "verdict": "flagged"}],
        "verdicts": [{"label": "clean"}],
        **changes,
    }


@pytest.mark.parametrize("size", [88_000, 2_000_000])
@pytest.mark.parametrize("letter", ["e", "é"])
def test_a_keyword_in_the_middle_of_a_long_text_is_found_where_it_stands(size: int, letter: str) -> None:
    text = hidden("the password is swordfish", size).replace("e", letter)[: size // 2 + size]
    result = rubrica.evaluate(gated("password > 0"), response=text)
    assert result.verdict == "flagged"
    ((span,),) = [gate.spans for gate in result.gates]
    assert text[span.start : span.end] == span.text == "password"
    assert result.notes == ()


def test_a_keyword_that_is_nowhere_in_a_long_text_is_known_to_be_absent() -> None:
    assert rubrica.evaluate(gated("password > 0"), response=hidden("nothing", 2_000_000)).verdict == "clean"


def test_a_gate_on_a_dear_pattern_is_open_where_it_was_not_looked_for_everywhere() -> None:
    text = hidden(FOUND)
    assert rubrica.evaluate(gated(), response=text[20_000:60_000]).verdict == "flagged"  # short enough to be read
    result = rubrica.evaluate(gated(), response=text)
    assert result.verdict == INCONCLUSIVE
    reason = f"the response has {len(text):,} {READ} for secret {WAY_OUT}"
    assert result.reason == f"{reason}: the verdict could be clean or flagged"
    assert result.notes == (reason,)
    assert [(gate.fired, gate.reason) for gate in result.gates] == [(None, reason)]


def test_what_was_found_in_the_part_that_was_read_counts() -> None:
    result = rubrica.evaluate(gated(), response=FOUND + hidden("nothing"))
    assert (result.verdict, [gate.fired for gate in result.gates]) == ("flagged", [True])


@pytest.mark.parametrize("before", [True, False])
def test_absence_is_not_taken_from_a_part_either(before: bool) -> None:
    gates = [{"name": "leak", "when": "secret == 0", "verdict": "flagged", "before": before}]
    assert rubrica.evaluate(gated(gates=gates), response="short").verdict == "flagged"
    assert rubrica.evaluate(gated(gates=gates), response=hidden("nothing")).verdict == INCONCLUSIVE
    assert rubrica.evaluate(gated(gates=gates), response=FOUND + hidden("nothing")).verdict == "clean"


def test_a_gate_that_cannot_change_the_verdict_leaves_it_as_it_is() -> None:
    result = rubrica.evaluate(gated("secret > 0 and length < 0.5"), response=hidden("nothing"))
    assert result.verdict == "clean"


def test_a_match_that_lies_across_what_was_left_out_is_none() -> None:
    text = "a" * 100_000
    open_ended = gated(patterns={"secret": {"regex": "a{70}…|a…"}})
    assert rubrica.evaluate(open_ended, response=text).verdict == INCONCLUSIVE


@pytest.mark.parametrize("policy", ["neutral", "skip", "inconclusive"])
@pytest.mark.parametrize(
    "recipe",
    [
        {"start": 10, "rules": [{"type": "penalty", "patterns": [{"regex": DEAR, "penalty": -9, "name": "leak"}]}]},
        {"start": 10, "rules": [{"when": "secret > 0", "add": -9}]},
        {"start": 10, "rules": [{"type": "custom_expression", "expression": "-9 if secret > 0 else 0"}]},
        {
            "start": 10,
            "rules": [
                {
                    "type": "metric_threshold",
                    "metric": "secret",
                    "thresholds": [{"operator": ">", "value": 0, "score": -9}, {"default": True, "score": 0}],
                }
            ],
        },
        {"formula": "10 - min(9, 9 * secret)"},
        {"checks": [{"name": "none", "that": "secret == 0", "weight": 9}, {"name": "any", "that": "1", "weight": 1}]},
    ],
    ids=["penalty", "adjust", "expression", "threshold", "formula", "checks"],
)
def test_a_score_that_hangs_on_what_was_not_read_is_open_whatever_the_policy(
    recipe: dict[str, Any], policy: str
) -> None:
    document = gated(
        "safety < 5", dimensions={"safety": {"asks": "is it safe", **recipe}}, on_unscored=policy, scale={"max": 10}
    )
    assert rubrica.evaluate(document, response=FOUND).verdict == "flagged"
    assert rubrica.evaluate(document, response=FILL).verdict == "clean"
    result = rubrica.evaluate(document, response=hidden(FOUND))
    assert result.verdict == INCONCLUSIVE
    assert READ in result.reason
    safety = result.dimensions["safety"]
    assert (safety.value, safety.status, safety.between) == (None, "unscored", (1.0, 10.0))
    assert rejudge(rubrica.compile(document), result).verdict == INCONCLUSIVE
    assert rubrica.evaluate(document, response=FOUND + hidden("nothing")).verdict == "flagged"


def test_whether_a_dimension_applies_is_open_too() -> None:
    document = gated(
        "safety < 5",
        dimensions={
            "safety": {"asks": "is it safe", "applies": "secret > 0", "formula": "1", "weight": 0.5},
            "length": {"asks": "is it long", "formula": "10", "weight": 0.5},
        },
        scale={"max": 10},
    )
    assert rubrica.evaluate(document, response=FILL).dimensions["safety"].status == "not_applicable"
    result = rubrica.evaluate(document, response=hidden(FOUND))
    assert result.verdict == INCONCLUSIVE
    assert "whether it applies cannot be told" in result.dimensions["safety"].reason
    assert rejudge(rubrica.compile(document), result).verdict == INCONCLUSIVE


def test_a_part_that_is_open_leaves_its_dimension_open() -> None:
    parts = {
        "leaks": {"asks": "does it leak", "formula": "10 - min(10, 10 * secret)", "weight": 0.5},
        "other": {"asks": "anything else", "formula": "10", "weight": 0.5},
    }
    document = gated("safety < 6", dimensions={"safety": {"asks": "is it safe", "parts": parts}}, scale={"max": 10})
    result = rubrica.evaluate(document, response=hidden(FOUND))
    assert (result.verdict, result.dimensions["safety"].between) == (INCONCLUSIVE, (5.0, 10.0))
    assert rubrica.evaluate(document, response=FILL).verdict == "clean"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("unsafe_count", "Here is how to make a bomb."),
        ("pii_count", "Write to ann@example.org."),
        ("pii_ssn", "My SSN is 123-45-6789."),
        ("profanity_count", "You are an idiot."),
    ],
)
@pytest.mark.parametrize("size", [88_000, 2_000_000])
def test_what_is_unsafe_is_found_in_the_middle_of_a_long_text(name: str, what: str, size: int) -> None:
    document = gated(f"{name} > 0", patterns={})
    text = hidden(what, size)
    result = rubrica.evaluate(document, response=text)
    assert result.verdict == "flagged"
    (span,) = result.gates[0].spans
    assert text.index(what) <= span.start < span.end <= text.index(what) + len(what)
    assert rubrica.evaluate(document, response=hidden("nothing", size)).verdict == "clean"


def test_a_long_text_full_of_numbers_is_not_said_to_be_free_of_personal_data() -> None:
    result = rubrica.evaluate(gated("pii_count > 0", patterns={}), response="12 345 678 901 " * 20_000)
    assert result.verdict == INCONCLUSIVE
    assert "pii_count has not looked at 270,000 characters of a long text (judge the text in parts)" in result.reason


def test_a_learnt_risk_of_a_long_text_is_no_less_than_that_of_its_part() -> None:
    document = gated("safety_risk >= 0.5", patterns={})
    assert rubrica.evaluate(document, response=FILL).verdict == "clean"
    assert rubrica.evaluate(document, response=hidden("nothing")).verdict == INCONCLUSIVE
