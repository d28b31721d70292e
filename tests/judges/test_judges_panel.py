"""A panel of judges: asked at once, pooled axis by axis, its votes kept."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.errors import ContextError, RubricaError
from rubrica.judges.panel import Panel, Pooling, axis_agreement, verdicts
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Cost, Score, Unscored, Vote
from rubrica.model.judge import Judge
from rubrica.model.scale import Scale
from rubrica.scoring.agreement import NO_PAIRS
from rubrica.scoring.pooling import Pool

SCALE = Scale(min=1, max=10)
AXES = {"tone": Axis()}
SCALES = {"tone": SCALE, "facts": SCALE}


def judge(**outcomes: Score | Unscored | float) -> Judge:
    """A judge that gives every axis what it was told to; an axis it was told nothing about gets no answer."""

    async def answer(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        made = {n: o if isinstance(o, Score | Unscored) else Score(o, source="llm") for n, o in outcomes.items()}
        return {name: made[name] for name in axes if name in made}

    return answer


def ask(panel: Panel, axes: Mapping[str, Axis] = AXES) -> Any:
    return asyncio.run(panel(axes, Context()))


def panel_of(*values: Score | Unscored | float, **how: Any) -> Panel:
    return Panel({name: [judge(tone=value)] for name, value in zip("abcdefgh", values, strict=False)}, SCALES, **how)


def test_the_reason_tells_every_judges_value_and_the_spread() -> None:
    polled = ask(panel_of(7, 8, 4))["tone"]
    assert polled.value == 7
    assert polled.reason == "a 7, b 8, c 4: median 7, spread 4"
    assert polled.source == "llm"
    assert polled.votes == (Vote("a", 7), Vote("b", 8), Vote("c", 4))


def test_the_panel_is_a_judge_itself() -> None:
    outcomes = asyncio.run(panel_of(7, 8, 4)(AXES, Context()))
    assert outcomes["tone"] == ask(panel_of(7, 8, 4))["tone"]


def test_the_words_of_the_judge_nearest_to_the_pooled_value_are_kept() -> None:
    polled = ask(panel_of(Score(7, "misses a fact"), Score(9, "fine"), Score(3, "bad")))["tone"]
    assert polled.reason.endswith("spread 6; a: misses a fact")


@given(st.lists(st.floats(1, 10), min_size=2, max_size=6), st.sampled_from(["mean", "median", "trimmed"]))
def test_a_pooled_score_lies_within_the_votes_and_ignores_the_judges_order(values: list[float], how: Pool) -> None:
    forwards = ask(panel_of(*values, pooling=Pooling(how)))["tone"]
    backwards = ask(panel_of(*values[::-1], pooling=Pooling(how)))["tone"]
    assert min(values) <= forwards.value <= max(values)
    assert forwards.value == backwards.value
    assert 0 <= forwards.confidence <= 1


def test_confidence_is_the_judges_own_times_their_agreement() -> None:
    agreed = ask(panel_of(Score(7, confidence=0.8), Score(7, confidence=0.6)))["tone"]
    assert agreed.confidence == pytest.approx(0.7)
    split = ask(panel_of(Score(4, confidence=0.8), Score(7, confidence=0.6)))["tone"]
    assert split.confidence == pytest.approx(0.7 * (1 - 1.5 / 4.5))
    opposed = ask(panel_of(1, 10))["tone"]
    assert opposed.confidence == 0


def test_cost_is_summed_with_failed_votes_and_unknown_where_one_price_is() -> None:
    paid = Score(7, cost=Cost(0.02, 100, 10), duration_ms=5)
    failed = Unscored("refused", "llm", cost=Cost(0.01, 90, 1), duration_ms=9)
    outcome = ask(panel_of(paid, failed))["tone"]
    assert outcome.cost == Cost(pytest.approx(0.03), 190, 11)  # type: ignore[arg-type]  # approx stands for a float
    assert outcome.duration_ms == 9
    unknown = ask(panel_of(paid, Score(6, cost=Cost(None, 50, 5))))["tone"]
    assert unknown.cost == Cost(None, 150, 15)


def test_a_failed_judge_is_told_and_the_others_still_count() -> None:
    polled = ask(panel_of(7, Unscored("no answer in 30 s", "llm"), 9))["tone"]
    assert polled.value == 8
    assert polled.reason == "a 7, b none (no answer in 30 s), c 9: median 8, spread 2"
    assert polled.votes[1] == Vote("b", None, "no answer in 30 s", 0.0)


def test_fewer_than_the_quorum_is_unscored_with_every_judges_reason() -> None:
    outcome = ask(panel_of(7, Unscored("timed out"), Unscored("refused"), quorum=2))["tone"]
    assert isinstance(outcome, Unscored)
    assert outcome.reason == "1 of 3 judges gave a value, 2 must: a 7; b none (timed out); c none (refused)"
    assert [vote.value for vote in outcome.votes] == [7, None, None]


def test_a_value_off_the_scale_is_no_vote() -> None:
    outcome = ask(panel_of(7, 70, float("nan")))["tone"]
    assert outcome.value == 7
    assert "b none (70 is off the scale 1–10)" in outcome.reason
    assert "c none (nan is off the scale 1–10)" in outcome.reason


def test_a_judge_that_raises_or_forgets_an_axis_does_not_lose_the_rest() -> None:
    async def broken(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        raise RubricaError("the key is wrong")

    panel = Panel({"a": [judge(tone=7)], "b": [broken], "c": [judge(tone=5, facts=4)]}, SCALES)
    polled = ask(panel, {"tone": Axis(), "facts": Axis()})
    assert polled["tone"].value == 6
    assert polled["facts"].value == 4
    assert polled["facts"].reason.startswith("a none (the judge gave no answer for it), b none (the key is wrong), c 4")


def test_one_judge_asked_once_passes_through_unchanged() -> None:
    score = Score(6, "plain", 0.9, "llm", cost=Cost(0.1))
    assert ask(panel_of(score))["tone"] == score


def test_repeats_of_a_judge_count_as_one_judge() -> None:
    panel = Panel({"a": [judge(tone=2), judge(tone=4)], "b": [judge(tone=9), judge(tone=9)]}, SCALES, Pooling("mean"))
    polled = ask(panel)["tone"]
    assert polled.value == 6
    assert polled.reason.startswith("a 2 4, b 9 9: mean 6, spread 7")
    half = Panel({"a": [judge(tone=2), judge(tone=Unscored("x"))], "b": panel.judges["b"]}, SCALES, Pooling("mean"))
    assert ask(half)["tone"].value == 5.5
    assert [vote.repeat for vote in polled.votes] == [0, 1, 0, 1]


def test_weights_are_by_axis_and_a_judge_without_one_counts_1() -> None:
    pooling = Pooling("weighted", {"tone": {"a": 3.0, "c": 0.0}})
    assert ask(panel_of(8, 4, 1, pooling=pooling))["tone"].value == 7
    panel = Panel({"a": [judge(facts=8)], "b": [judge(facts=4)]}, SCALES, pooling)
    outcome = ask(panel, {"facts": Axis()})["facts"]
    assert outcome.reason == "a 8, b 4: mean (no weights for it) 6, spread 4"
    silent = ask(panel_of(Unscored("x"), Unscored("y"), 5, pooling=pooling))["tone"]
    assert isinstance(silent, Unscored)
    assert "have no weight" in silent.reason


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Panel({}, SCALES), "at least one judge"),
        (lambda: Panel({"a": []}, SCALES), "at least one repeat"),
        (lambda: panel_of(7, 8, quorum=3), "quorum is 3"),
        (lambda: panel_of(7, 8, pooling=Pooling("weighted")), "needs judge weights"),
        (lambda: Pooling("weighted", {"tone": {"a": -1.0}}), "judge weights of tone"),
        (lambda: ask(panel_of(7), {"other": Axis()}), "scale of other"),
    ],
)
def test_a_panel_that_cannot_work_is_refused(make: Any, says: str) -> None:
    with pytest.raises(ContextError, match=says):
        make()


def test_judges_are_asked_at_once() -> None:
    async def run() -> Any:
        everyone = asyncio.Barrier(3)  # passes only when all three are inside together

        async def waits(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
            await everyone.wait()
            return {"tone": Score(5)}

        panel = Panel({"a": [waits, waits], "b": [waits]}, SCALES)
        return await asyncio.wait_for(panel(AXES, Context()), 5)

    assert asyncio.run(run())["tone"].value == 5


def test_a_cancelled_panel_leaves_no_judge_running() -> None:
    async def run() -> int:
        async def hangs(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
            await asyncio.Event().wait()
            return {}

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(Panel({"a": [hangs], "b": [hangs]}, SCALES)(AXES, Context()), 0.01)
        return len(asyncio.all_tasks())

    assert asyncio.run(run()) == 1


def straddles(*votes: Any, **how: Any) -> bool:
    return len(set(verdicts(*votes, **how).values())) > 1


def _passes_at_6(scores: Mapping[str, float]) -> str:
    return "pass" if sum(scores.values()) / len(scores) >= 6 else "fail"


def test_repeats_that_fall_on_both_sides_of_the_threshold_straddle_it() -> None:
    calm = {"tone": [Vote("a", 7), Vote("a", 8, repeat=1)]}
    torn = {"tone": [Vote("a", 7), Vote("a", 5, repeat=1)]}
    assert not straddles(calm, _passes_at_6)
    assert straddles(torn, _passes_at_6)
    assert verdicts(torn, _passes_at_6) == {0: "pass", 1: "fail"}


def test_judges_can_be_asked_for_their_own_verdicts() -> None:
    votes = {"tone": [Vote("a", 7), Vote("b", 5)], "facts": [Vote("a", 8), Vote("b", None, "timed out")]}
    assert not straddles(votes, _passes_at_6)  # one repeat cannot differ from itself
    assert verdicts(votes, _passes_at_6, by="judge") == {"a": "pass", "b": "pass"}  # b's facts: the panel's 8
    assert straddles({"tone": votes["tone"]}, _passes_at_6, by="judge")


def test_an_axis_without_a_vote_is_left_to_the_decision() -> None:
    seen = []

    def decide(scores: Mapping[str, float]) -> str:
        seen.append(dict(scores))
        return "pass"

    votes = {"tone": [Vote("a", 7), Vote("a", 5, repeat=1)], "facts": [Vote("a", None, "refused")]}
    assert not straddles(votes, decide)
    assert seen == [{"tone": 7}, {"tone": 5}]


def test_agreement_over_a_run_is_per_axis_between_judges() -> None:
    runs = [
        {"tone": [Vote("a", 3), Vote("b", 3)], "facts": [Vote("a", 1), Vote("b", 9)]},
        {"tone": [Vote("a", 8), Vote("b", 8)], "facts": [Vote("a", 9), Vote("b", 1)]},
    ]
    found = axis_agreement(runs)
    assert found["tone"].alpha.value == pytest.approx(1)
    assert found["tone"].spread == 0
    assert found["facts"].alpha.value == pytest.approx(-0.5)
    assert found["facts"].spread == 8


def test_agreement_of_one_judge_is_with_itself_over_its_repeats() -> None:
    runs = [{"tone": [Vote("a", v), Vote("a", v, repeat=1)]} for v in (3.0, 8.0)]
    assert axis_agreement(runs)["tone"].alpha.value == pytest.approx(1)
    once = axis_agreement([{"tone": [Vote("a", 3)]}, {"tone": [Vote("a", None)]}])["tone"]
    assert (once.alpha.value, once.alpha.why, once.spread) == (None, NO_PAIRS, None)
