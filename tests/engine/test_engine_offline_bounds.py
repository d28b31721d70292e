"""Offline scores that are known within bounds: what they count, and when the verdict stands all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rubrica
from rubrica import Context, Evaluation, Score, Unscored
from rubrica.engine.rejudge import rejudge
from rubrica.errors import RubricError
from rubrica.model.dimensions import Axis

SHORT = {"kind": "a few words", "when": "word_count < 4", "below": 2, "above": 1, "texts": 40, "right": {"pass": 0.8}}
CERTAIN = {"kind": "nothing to read", "when": "is_empty > 0", "below": 0, "above": 0}


def rubric(offline: str | None = "bounds", kinds: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    stand_in = {"formula": "min(10, 4 + word_count)", "reliability": [CERTAIN, SHORT] if kinds is None else kinds}
    return {
        "name": "short",
        "scale": {"min": 0, "max": 10},
        "dimensions": {"brevity": {"asks": "Is it short?", "offline": stand_in}},
        "score": {"weighted": True, "out_of": 100},
        "verdicts": [{"label": "pass", "when": "score >= 50"}, {"label": "fail"}],
        **({} if offline is None else {"judging": {"offline": offline}}),
        **more,
    }


def judged(document: Mapping[str, Any], response: str) -> Evaluation:
    return rubrica.evaluate(rubrica.load(document), response=response)


def test_a_measured_spread_bounds_the_score_around_its_estimate() -> None:
    found = judged(rubric(), "one two three")
    assert (found.score, found.bounds, found.verdict) == (70.0, (50.0, 80.0), "pass")
    brevity = found.dimensions["brevity"]
    assert (brevity.value, brevity.bounds, brevity.kind) == (7.0, (5.0, 8.0), "a few words")
    assert "known within 5 to 8 (a few words)" in brevity.why


def test_a_verdict_that_a_reader_could_change_is_inconclusive_and_says_what_helps() -> None:
    found = judged(rubric(), "one two")
    assert (found.score, found.bounds, found.verdict) == (60.0, (40.0, 70.0), "inconclusive")
    assert "brevity 4 to 7" in found.reason
    assert "pass or fail" in found.reason
    assert found.reason.endswith("a judge can tell")
    assert "--judge" not in found.reason  # an option of the command line, which other surfaces do not have


def test_a_gate_that_fired_rules_verdicts_out_while_one_before_it_is_open() -> None:
    gates = [
        {"name": "much-too-long", "when": "brevity < 3", "verdict": "reject", "because": "nobody reads on"},
        {"name": "no-verb", "when": "word_count > 5", "verdict": "revise", "because": "it says nothing"},
    ]
    verdicts = [{"label": "accept", "when": "score >= 50"}, {"label": "revise", "when": "score >= 20"}]
    document = rubric(gates=gates, verdicts=[*verdicts, {"label": "reject"}])
    found = judged(document, "one two three four five six")
    assert found.verdict == "inconclusive"
    assert found.reason.startswith(
        "the verdict could be revise or reject, not accept (gate no-verb: it says nothing): "
    )
    assert "brevity 0 to 10" in found.reason
    open_to_all = judged(document, "one two three four")
    assert open_to_all.reason.startswith("the verdict could be accept, revise or reject: ")


def test_a_text_of_no_measured_kind_could_be_worth_anything() -> None:
    found = judged(rubric(), "one two three four five six")
    assert (found.score, found.bounds, found.verdict) == (100.0, (0.0, 100.0), "inconclusive")
    assert (found.dimensions["brevity"].kind, found.dimensions["brevity"].bounds) == ("", (0.0, 10.0))


def test_what_is_so_by_definition_needs_no_measuring() -> None:
    found = judged(rubric(), "")
    assert (found.score, found.bounds, found.verdict) == (40.0, (40.0, 40.0), "fail")


def test_the_offline_value_itself_can_tell_kinds_apart() -> None:
    kinds = [{"kind": "full marks", "when": "offline_value >= 10", "low": 8}, {"kind": "the rest", "high": 4.5}]
    assert judged(rubric(kinds=kinds), "a b c d e f g").verdict == "pass"
    low = judged(rubric(kinds=kinds), "")
    assert (low.verdict, low.bounds) == ("fail", (0.0, 45.0))


def test_bounds_never_leave_the_value_out() -> None:
    kinds = [{"kind": "any", "low": 1, "high": 5}]
    assert judged(rubric(kinds=kinds), "one two three").dimensions["brevity"].bounds == (1.0, 7.0)


def test_points_decide_alone_where_the_rubric_does_not_ask_for_bounds() -> None:
    for offline in (None, "point"):
        found = judged(rubric(offline), "one")
        assert (found.score, found.bounds, found.verdict) == (50.0, (50.0, 50.0), "pass")
        assert any("people agreed on 80%" in note for note in found.notes)
        unlike = judged(rubric(offline), "one two three four five")
        assert any("not measured on texts like this" in note for note in unlike.notes)


def test_a_rubric_that_was_never_measured_is_judged_as_before() -> None:
    found = judged(rubric(None, kinds=[]), "one")
    assert (found.verdict, found.notes, found.dimensions["brevity"].bounds) == ("pass", (), None)


def test_scores_of_a_judge_have_no_bounds() -> None:
    async def judge(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        return {name: Score(6.0, source="llm") for name in axes}

    plan = rubrica.compile(rubrica.load(rubric()), judge=judge)
    found = asyncio.run(rubrica.aevaluate(plan, response="one two"))
    assert (found.score, found.bounds, found.verdict) == (60.0, (60.0, 60.0), "pass")


def test_stored_scores_take_the_bounds_of_the_rubric_they_are_judged_under() -> None:
    by_bounds, by_point = (rubrica.compile(rubrica.load(rubric(offline))) for offline in ("bounds", "point"))
    first = rubrica.evaluate(by_bounds, response="one two")
    assert rejudge(by_point, first).verdict == "pass"
    again = rejudge(by_bounds, rejudge(by_point, first))
    assert (again.verdict, again.bounds) == (first.verdict, first.bounds)


def test_an_evaluation_with_bounds_is_stored_and_read_back() -> None:
    found = judged(rubric(), "one two")
    assert Evaluation.from_json(found.to_json()) == found


def test_parts_bring_their_bounds_into_the_dimension() -> None:
    stand_in = {"formula": "8", "reliability": [{"kind": "any", "below": 4}]}
    parts = {
        "open": {"weight": 0.5, "asks": "?", "offline": stand_in},
        "counted": {"weight": 0.5, "formula": "min(10, word_count)"},
    }
    found = judged(rubric(dimensions={"whole": {"parts": parts}}), "one two three four")
    assert found.dimensions["whole"].bounds == (4.0, 7.0)
    assert (found.score, found.bounds) == (60.0, (40.0, 70.0))


def test_a_gate_that_may_fire_leaves_the_verdict_open_and_one_that_must_decides_it() -> None:
    gates = [{"name": "floor", "when": "brevity < 5", "verdict": "fail", "because": "too short"}]
    assert judged(rubric(gates=gates), "one two three").verdict == "pass"
    maybe = judged(rubric(gates=gates, verdicts=[{"label": "pass"}, {"label": "fail"}][:1]), "one two")
    assert (maybe.verdict, [gate.fired for gate in maybe.gates]) == ("inconclusive", [None])
    assert judged(rubric(gates=gates), "").reason == "gate floor: too short"


def test_a_section_keeps_its_estimate_and_leaves_its_verdict_open() -> None:
    section = {"dimensions": ["brevity"], "verdicts": [{"label": "fine", "when": "section >= 50"}, {"label": "poor"}]}
    found = judged(rubric(sections={"form": section}), "one two").sections["form"]
    assert (found.score, found.verdict, found.reason) == (60.0, None, "between 40 and 70")
    assert judged(rubric(sections={"form": section}), "one two three").sections["form"].verdict == "fine"


def test_a_band_is_told_only_where_the_bounds_lie_within_one() -> None:
    bands = {"high": 0.5, "low": 0}
    assert judged(rubric(bands=bands), "one two three").band == "high"
    assert judged(rubric(bands=bands), "one two").band == ""


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ({"kind": "x", "when": "score > 3"}, "'score' has no value here"),
        ({"kind": "x", "when": "brevity > 3"}, "cannot be read before scoring"),
        ({"kind": "x", "low": 5, "high": 3}, "above high"),
        ({"kind": "x", "below": -1}, "greater than or equal to 0"),
    ],
)
def test_a_reliability_that_cannot_be_is_refused(kind: dict[str, Any], said: str) -> None:
    with pytest.raises(RubricError, match=said):
        rubrica.load(rubric(kinds=[kind]))


def test_the_offline_value_has_a_meaning_under_reliability_alone() -> None:
    with pytest.raises(RubricError, match="offline_value"):
        rubrica.load(rubric(gates=[{"name": "g", "when": "offline_value > 3", "cap": 10}]))


ENDS = st.tuples(st.integers(0, 10), st.integers(0, 10)).map(sorted)


@given(ends=st.lists(ENDS, min_size=2, max_size=2), floor=st.integers(1, 9), mark=st.integers(10, 90))
@settings(deadline=None)
def test_a_verdict_within_bounds_is_that_of_every_score_within_them(
    ends: list[list[int]], floor: int, mark: int
) -> None:
    """What is decided by bounds is decided so by any exact scores that they allow; the estimate lies between."""
    document = rubric(
        dimensions={
            name: {
                "asks": "?",
                "weight": 0.5,
                "offline": {"formula": str((low + high) / 2), "reliability": [{"kind": "k", "low": low, "high": high}]},
            }
            for name, (low, high) in zip("ab", ends, strict=True)
        },
        gates=[{"name": "g", "when": f"a < {floor}", "cap": "10 * b"}],
        verdicts=[{"label": "pass", "when": f"score >= {mark}"}, {"label": "fail"}],
    )
    plan = rubrica.compile(rubrica.load(document))
    found = rubrica.evaluate(plan, response="x")
    assert found.score is not None
    assert found.bounds[0] <= found.score <= found.bounds[1]
    exact = [rubrica.decide(plan, {"a": a, "b": b}) for a, b in product(*(range(lo, hi + 1) for lo, hi in ends))]
    for one in exact:
        assert one.score is not None
        assert found.bounds[0] <= one.score <= found.bounds[1]
        assert found.verdict in ("inconclusive", one.verdict)
