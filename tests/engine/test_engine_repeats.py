"""Judges asked several times: where their repeats fall on both sides of the threshold, the verdict is inconclusive."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rubrica
from rubrica import Context, Evaluation, Rubric, Score, Unscored
from rubrica.judges.judge import ModelJudge
from rubrica.judges.panel import Panel, Pooling
from rubrica.llm.model import ModelError, Request
from rubrica.llm.scripted import ScriptedModel
from rubrica.model.dimensions import Axis
from rubrica.model.judge import Judge
from rubrica.packs.library import examples, load

DOCUMENT: dict[str, Any] = {
    "name": "two",
    "scale": {"min": 1, "max": 10},
    "dimensions": {"accuracy": {"weight": 0.8}, "tone": {"weight": 0.2}},
    "score": {"out_of": 100},
    "verdicts": [{"label": "pass", "when": "score >= 70"}, {"label": "fail"}],
    "on_unscored": "skip",
}
_AXIS = re.compile(r" for (\w+) alone")


class Steady:
    """A judge that always gives the same; None: no score."""

    def __init__(self, **values: float | None) -> None:
        self.values = values
        self.asked: list[str] = []

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        self.asked += axes
        return {name: self._outcome(self.values[name]) for name in axes}

    def _outcome(self, value: float | None) -> Score | Unscored:
        return Unscored("it hung", "llm") if value is None else Score(float(value), "so", 0.9, "llm")


def panel(rubric: Rubric, judges: Mapping[str, Sequence[Judge]]) -> Panel:
    scales = {name: rubric.scale_of(name) for name in rubric.dimensions}
    scales |= {part: scales[name] for name, spec in rubric.dimensions.items() for part in spec.parts}
    return Panel(judges, scales, Pooling(rubric.judging.pool))


def judged(document: Mapping[str, Any], *repeats: Judge) -> Evaluation:
    """One judge, asked once per given repeat."""
    rubric = load(document)
    return asyncio.run(rubrica.aevaluate(rubric, judge=panel(rubric, {"judge": repeats}), response="Hello."))


# --- repeats and the verdict ---


def test_repeats_on_both_sides_of_the_threshold_are_inconclusive_and_each_verdict_is_told() -> None:
    evaluation = judged(DOCUMENT, Steady(accuracy=8, tone=8), Steady(accuracy=6, tone=8), Steady(accuracy=8, tone=8))
    assert evaluation.verdict == "inconclusive"
    assert evaluation.reason == ("the judges do not agree with themselves: repeat 1 pass, repeat 2 fail, repeat 3 pass")
    assert evaluation.score == 80  # of the pooled votes: it is told all the same
    assert [vote.value for vote in evaluation.dimensions["accuracy"].votes] == [8, 6, 8]


def test_repeats_that_differ_on_one_side_of_the_threshold_are_conclusive() -> None:
    evaluation = judged(DOCUMENT, Steady(accuracy=10, tone=4), Steady(accuracy=8, tone=9), Steady(accuracy=7, tone=9))
    assert evaluation.verdict == "pass"
    assert "do not agree" not in evaluation.reason


def test_differences_that_outweigh_each_other_are_conclusive() -> None:
    evaluation = judged(DOCUMENT, Steady(accuracy=7, tone=10), Steady(accuracy=8, tone=6))
    assert evaluation.verdict == "pass"  # 76 and 76


def test_a_gate_that_fires_for_one_repeat_only_is_inconclusive() -> None:
    gate = {"name": "rude", "when": "tone < 3", "verdict": "fail"}
    evaluation = judged(
        {**DOCUMENT, "gates": [gate]},
        Steady(accuracy=10, tone=2),
        Steady(accuracy=10, tone=4),
        Steady(accuracy=10, tone=4),
    )
    assert evaluation.verdict == "inconclusive"
    assert "repeat 1 fail, repeat 2 pass, repeat 3 pass" in evaluation.reason


def test_a_repeat_that_failed_takes_the_pooled_value_and_splits_nothing() -> None:
    evaluation = judged(DOCUMENT, Steady(accuracy=8, tone=8), Steady(accuracy=None, tone=8), Steady(accuracy=8, tone=7))
    assert evaluation.verdict == "pass"
    assert "it hung" in evaluation.dimensions["accuracy"].reason


def test_repeats_of_a_dimension_that_nobody_scored_leave_it_to_the_policy() -> None:
    evaluation = judged(DOCUMENT, Steady(accuracy=8, tone=None), Steady(accuracy=9, tone=None))
    assert (evaluation.verdict, evaluation.dimensions["tone"].status) == ("pass", "unscored")
    split = judged(DOCUMENT, Steady(accuracy=8, tone=None), Steady(accuracy=5, tone=None))
    assert split.verdict == "inconclusive"


def test_parts_of_a_dimension_are_repeated_like_dimensions() -> None:
    parts = {"facts": {"asks": "Right?", "weight": 0.9}, "proof": {"asks": "Backed?", "weight": 0.1}}
    document = {**DOCUMENT, "dimensions": {"accuracy": {"weight": 0.8, "parts": parts}, "tone": {"weight": 0.2}}}
    split = judged(document, Steady(facts=9, proof=5, tone=8), Steady(facts=5, proof=9, tone=8))
    assert split.verdict == "inconclusive"
    assert "repeat 1 pass, repeat 2 fail" in split.reason
    # The small part alone moves nothing across the threshold.
    agreed = judged(document, Steady(facts=9, proof=2, tone=8), Steady(facts=9, proof=10, tone=8))
    assert agreed.verdict == "pass"
    assert [vote.value for vote in agreed.dimensions["accuracy"].parts["proof"].votes] == [2, 10]


def test_judges_that_differ_are_no_repeats() -> None:
    """That two models disagree is what a panel is for: their pooled score decides."""
    rubric = load(DOCUMENT)
    judges = {"a": [Steady(accuracy=9, tone=8)], "b": [Steady(accuracy=6, tone=8)]}
    evaluation = asyncio.run(rubrica.aevaluate(rubric, judge=panel(rubric, judges), response="Hello."))
    assert evaluation.verdict == "pass"


def test_a_repeat_of_a_panel_is_its_judges_pooled() -> None:
    rubric = load(DOCUMENT)
    high, low = Steady(accuracy=10, tone=8), Steady(accuracy=6, tone=8)
    crossed = {"a": [high, low], "b": [low, high]}  # each repeat pools to 8
    same = asyncio.run(rubrica.aevaluate(rubric, judge=panel(rubric, crossed), response="Hello."))
    assert same.verdict == "pass"
    moody = {"a": [high, low], "b": [high, low]}
    split = asyncio.run(rubrica.aevaluate(rubric, judge=panel(rubric, moody), response="Hello."))
    assert split.verdict == "inconclusive"


def test_a_repeat_of_a_weighted_panel_is_pooled_by_the_same_weights() -> None:
    figures = {"mae": 1.0, "rmse": 1.0, "bias": 0.0}
    correction = {"scale": {"min": 1, "max": 10}, "knots": [(1, 1), (10, 10)], "labels": 40}
    learned = {
        **correction,
        "before": figures,
        "after": figures,
        "judges": {"a": {"weight": 3.0}, "b": {"weight": 1.0}},
    }
    calibration = {"version": 1, "date": "2026-11-02", "dimensions": {"accuracy": learned}}
    rubric = load({**DOCUMENT, "judging": {"pool": "weighted"}, "calibration": calibration})
    sure, moody = Steady(accuracy=8, tone=8), [Steady(accuracy=4, tone=8), Steady(accuracy=7, tone=8)]
    scales = {name: rubric.scale_of(name) for name in rubric.dimensions}
    weights = rubric.calibration.weights if rubric.calibration is not None else {}
    weighted = Panel({"a": [sure, sure], "b": moody}, scales, Pooling("weighted", weights))
    evaluation = asyncio.run(rubrica.aevaluate(rubric, judge=weighted, response="Hello."))
    assert evaluation.verdict == "pass"  # accuracy is 7 in one repeat and 7.75 in the other


def test_a_rubric_without_repeats_is_unaffected() -> None:
    rubric = load(DOCUMENT)
    alone = asyncio.run(rubrica.aevaluate(rubric, judge=Steady(accuracy=6, tone=8), response="Hello."))
    once = judged(DOCUMENT, Steady(accuracy=6, tone=8))
    assert (alone.verdict, alone.score, alone.reason) == (once.verdict, once.score, once.reason)
    assert alone.verdict == "fail"
    assert once.dimensions["accuracy"].votes == ()
    offline = rubrica.decide(DOCUMENT, {"accuracy": 8, "tone": 8})
    assert offline.verdict == "pass"


votes = st.lists(st.tuples(st.integers(1, 10), st.integers(1, 10)), min_size=1, max_size=4)


@given(votes)
def test_the_verdict_is_inconclusive_exactly_where_single_repeats_would_differ(given_by: list[tuple[int, int]]) -> None:
    alone = {rubrica.decide(DOCUMENT, {"accuracy": a, "tone": t}).verdict for a, t in given_by}
    evaluation = judged(DOCUMENT, *(Steady(accuracy=a, tone=t) for a, t in given_by))
    assert (evaluation.verdict == "inconclusive") == (len(alone) > 1)


# --- stop: decided, with repeats ---


@given(votes, st.sampled_from(["skip", "inconclusive", {"neutral": 5}]))
@example([(1, 1), (7, 1)], "skip")
def test_stopping_early_gives_the_verdict_of_scoring_everything_with_repeats_too(
    given_by: list[tuple[int, int]], policy: Any
) -> None:
    document = {**DOCUMENT, "on_unscored": policy}
    repeats = [Steady(accuracy=a, tone=t) for a, t in given_by]
    complete = judged(document, *repeats)
    stopped = judged({**document, "judging": {"stop": "decided"}}, *repeats)
    assert stopped.verdict == complete.verdict


# --- stop: decided, over the packs' examples ---


def _modelled(offline: Evaluation) -> ScriptedModel:
    """A model that says what the offline scorers say, dimension by dimension."""
    results = dict(offline.dimensions)
    for result in offline.dimensions.values():
        results |= result.parts

    def answer(request: Request) -> Any:
        found = _AXIS.search(request.messages[-1].content)
        assert found is not None
        result = results[found[1]]
        if result.status != "scored":
            return ModelError("overloaded", "busy")
        return {"reason": "as offline", "score": result.value, "confidence": 0.9}

    return ScriptedModel(answer)


def _asked(rubric: Rubric, context: Context, offline: Evaluation) -> tuple[Evaluation, int]:
    model = _modelled(offline)
    evaluation = asyncio.run(rubrica.aevaluate(rubric, judge=ModelJudge(model, rubric), context=context))
    return evaluation, len(model.requests)


@pytest.mark.parametrize("pack", ["answer-quality", "education-question", "council-review"])
def test_stop_decided_keeps_every_verdict_of_a_packs_examples_and_asks_less(pack: str) -> None:
    document = load(pack).model_dump(mode="json", exclude_defaults=True)
    never, decided = (load({**document, "judging": {"mode": "each", "stop": stop}}) for stop in ("never", "decided"))
    everything = stopping = 0
    for case in examples(pack):
        offline = rubrica.evaluate(pack, context=case.context)
        complete, all_calls = _asked(never, case.context, offline)
        stopped, calls = _asked(decided, case.context, offline)
        assert stopped.verdict == complete.verdict, case.id
        assert calls <= all_calls
        if complete.score is not None:
            assert stopped.bounds[0] <= complete.score <= stopped.bounds[1]
        not_needed = [name for name, result in stopped.dimensions.items() if result.status == "not_needed"]
        assert stopped.stopped == bool(not_needed)
        everything, stopping = everything + all_calls, stopping + calls
    assert everything > 30
    assert stopping < 0.9 * everything, (stopping, everything)
