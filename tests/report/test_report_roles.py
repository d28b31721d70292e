from __future__ import annotations

from typing import Any

import pytest

from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.report.roles import role_of


def rubric(*verdicts: dict[str, str], **fields: Any) -> Rubric:
    return Rubric.model_validate({"name": "r", "dimensions": {"a": {"weight": 1}}, "verdicts": verdicts, **fields})


def test_the_verdict_of_the_best_response_is_good_and_of_the_worst_bad() -> None:
    medals = rubric(
        {"label": "gold", "when": "score >= 0.9"}, {"label": "silver", "when": "score > 0.5"}, {"label": "tin"}
    )
    assert [role_of(label, medals) for label in ("gold", "silver", "tin")] == ["good", "middle", "bad"]


def test_the_order_in_which_rules_are_tried_does_not_matter() -> None:
    risks = rubric({"label": "severe", "when": "score < 0.4"}, {"label": "mild", "when": "a < 0.7"}, {"label": "none"})
    assert [role_of(label, risks) for label in ("severe", "mild", "none")] == ["bad", "middle", "good"]


def test_a_verdict_that_only_a_gate_gives_is_bad() -> None:
    gated = rubric(
        {"label": "gold", "when": "score >= 0.9"},
        {"label": "tin"},
        gates=[{"name": "g", "when": "cheats > 0", "verdict": "out"}],
    )
    assert role_of("out", gated) == "bad"


def test_a_rubric_with_one_verdict_has_no_good_or_bad() -> None:
    assert role_of("scored", rubric({"label": "scored"})) == "neutral"


def test_an_open_verdict_is_its_own_role() -> None:
    assert role_of("inconclusive") == role_of("inconclusive", rubric({"label": "scored"})) == "inconclusive"


def test_without_a_rubric_only_plain_words_tell() -> None:
    assert [role_of(label) for label in ("pass", "reject", "revise", "ab-test", "gold")] == [
        "good", "bad", "middle", "middle", "neutral",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pack", "roles"),
    [
        ("answer-quality", {"pass": "good", "fail": "bad"}),
        ("education-question", {"accept": "good", "revise": "middle", "reject": "bad"}),
        ("voice-companion", {"deploy": "good", "ab_test": "middle", "revise": "bad"}),
        ("council-review", {"reliable": "good", "caution": "middle", "unreliable": "bad", "unsafe": "bad"}),
        ("arena", {"win": "good", "draw": "middle", "lose": "bad"}),
        ("speed-demon", {"scored": "neutral"}),
    ],
)
def test_the_verdicts_of_bundled_rubrics_have_the_role_readers_expect(pack: str, roles: dict[str, str]) -> None:
    assert {label: role_of(label, load(pack)) for label in roles} == roles
