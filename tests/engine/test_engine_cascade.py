"""A judge that is asked only where code is uncertain."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from msgspec.structs import replace
from pydantic import ValidationError

import rubrica
from rubrica.engine.evaluate import aevaluate, evaluate
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Evaluation, Score, Unscored
from rubrica.model.rubric import Rubric

DOCUMENT: dict[str, object] = {
    "name": "cascade",
    "version": "1.0.0",
    "scale": {"min": 0, "max": 10},
    "dimensions": {
        "safety": {
            "asks": "Is the response safe?",
            "weight": 1,
            "judge": "uncertain",
            "offline": {"formula": "0 if word_count > 20 else 10", "uncertain": "5 <= word_count <= 20"},
        }
    },
    "verdicts": [{"label": "safe", "when": "safety >= 5"}, {"label": "unsafe"}],
}


class CountingJudge:
    """Finds everything unsafe, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        self.asked.append(list(axes))
        return {name: Score(1.0, "unsafe", 1.0, "llm") for name in axes}


def judged(words: int, judge: CountingJudge, document: Mapping[str, object] = DOCUMENT) -> Evaluation:
    plan = replace(rubrica.compile(Rubric.model_validate(document)), judge=judge)
    return asyncio.run(aevaluate(plan, Context(prompt="Hello", response="word " * words)))


@pytest.mark.parametrize(("words", "verdict"), [(3, "safe"), (30, "unsafe")])
def test_where_code_is_certain_no_judge_is_asked_and_the_score_says_so(words: int, verdict: str) -> None:
    judge = CountingJudge()
    found = judged(words, judge)
    assert (found.verdict, judge.asked) == (verdict, [])
    assert found.dimensions["safety"].offline


def test_where_code_is_uncertain_the_judge_decides() -> None:
    judge = CountingJudge()
    found = judged(10, judge)
    assert (found.verdict, judge.asked) == ("unsafe", [["safety"]])
    assert not found.dimensions["safety"].offline


@pytest.mark.parametrize(("words", "verdict"), [(3, "safe"), (10, "inconclusive"), (30, "unsafe")])
def test_without_a_judge_code_decides_where_it_is_certain(words: int, verdict: str) -> None:
    plan = rubrica.compile(Rubric.model_validate(DOCUMENT))
    found = evaluate(plan, Context(prompt="Hello", response="word " * words))
    assert found.verdict == verdict
    assert ("a judge can tell" in found.reason) == (verdict == "inconclusive")
    pointed = rubrica.compile(Rubric.model_validate({**DOCUMENT, "judging": {"offline": "point"}}))
    alone = evaluate(pointed, Context(prompt="Hello", response="word " * words))
    assert alone.verdict == ("unsafe" if words == 30 else "safe")


@pytest.mark.parametrize(("words", "verdict"), [(3, "safe"), (10, "inconclusive"), (30, "unsafe")])
def test_where_offline_scores_have_bounds_only_uncertain_ones_do(words: int, verdict: str) -> None:
    rubric = Rubric.model_validate({**DOCUMENT, "judging": {"offline": "bounds"}})
    plan = rubrica.compile(rubric)
    assert evaluate(plan, Context(prompt="Hello", response="word " * words)).verdict == verdict


def test_where_the_judge_fails_code_does_not_decide() -> None:
    class Silent:
        async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
            return {name: Unscored("down", "llm") for name in axes}

    plan = replace(rubrica.compile(Rubric.model_validate(DOCUMENT)), judge=Silent())
    found = [asyncio.run(aevaluate(plan, Context(prompt="Hello", response="word " * n))).verdict for n in (3, 10, 30)]
    assert found == ["safe", "inconclusive", "unsafe"]


def test_other_dimensions_are_asked_about_all_the_same() -> None:
    dimensions = {
        **DOCUMENT["dimensions"],  # type: ignore[dict-item]
        "clarity": {"asks": "Is it clear?", "weight": 0.5},
    }
    dimensions["safety"] = {**dimensions["safety"], "weight": 0.5}
    judge = CountingJudge()
    judged(3, judge, {**DOCUMENT, "dimensions": dimensions})
    assert judge.asked == [["clarity"]]


def test_where_it_cannot_be_told_the_judge_is_asked() -> None:
    safety = {**DOCUMENT["dimensions"]["safety"], "offline": {"formula": "10", "uncertain": "1 / word_count < 0"}}  # type: ignore[index]
    judge = CountingJudge()
    judged(0, judge, {**DOCUMENT, "dimensions": {"safety": safety}})
    assert judge.asked == [["safety"]]


@pytest.mark.parametrize(
    "change", [{"judge": "always"}, {"offline": {"formula": "10"}}, {"offline": None}, {"judge": "sometimes"}]
)
def test_the_two_keys_go_together(change: Mapping[str, object]) -> None:
    safety = {**DOCUMENT["dimensions"]["safety"], **change}  # type: ignore[index]
    with pytest.raises(ValidationError, match=r"go together|'always' or 'uncertain'"):
        Rubric.model_validate({**DOCUMENT, "dimensions": {"safety": safety}})
