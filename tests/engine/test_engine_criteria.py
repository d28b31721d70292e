"""Criteria that a case brings: their place in the plan, their points and tags, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

import rubrica
from rubrica.engine.cases import BadLine, read_case
from rubrica.engine.load import rubric_from_text
from rubrica.errors import ContextError, RubricError
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Evaluation, Score, Unscored
from rubrica.runs.batch import merge_context

RUBRIC: dict[str, Any] = {
    "name": "clinical",
    "dimensions": {"answer": {"title": "Expert criteria", "from": "criteria"}},
    "score": {"points": True, "out_of": 100},
    "verdicts": [{"label": "good", "when": "score >= 60"}, {"label": "poor"}],
}
CASE: dict[str, Any] = {
    "response": "Take 400 mg after a meal.",
    "criteria": [
        {"criterion": "Names a dose.", "points": 5, "tags": ["accuracy"]},
        "Says when to take it.",
        {"criterion": "Invents a dose.", "points": -8, "tags": ["accuracy", "safety"], "id": "invents"},
    ],
}


class Answers:
    """A judge that answers by the text of a criterion, and keeps what it was asked."""

    def __init__(self, *met: str, silent: tuple[str, ...] = ()) -> None:
        self.met, self.silent = met, silent
        self.asked: list[list[str]] = []

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> dict[str, Score | Unscored]:
        self.asked.append([axis.asks for axis in axes.values()])
        found: dict[str, Score | Unscored] = {}
        for name, axis in axes.items():
            if axis.asks in self.silent:
                found[name] = Unscored("no answer", "llm")
            else:
                met = axis.asks in self.met
                found[name] = Score(float(met), source="llm", label=list(axis.answers)[0 if met else 1])
        return found


def judged(judge: Answers, case: Mapping[str, Any] = CASE, **changes: Any) -> Evaluation:
    plan = rubrica.compile({**RUBRIC, **changes}, judge=judge)
    return asyncio.run(rubrica.aevaluate(plan, context=dict(case)))


def test_a_case_fills_its_dimension_and_every_criterion_is_a_step_with_its_points_and_tags() -> None:
    judge = Answers("Names a dose.", "Says when to take it.")
    found = judged(judge)
    assert judge.asked == [["Names a dose.", "Says when to take it.", "Invents a dose."]]
    assert (found.score, found.verdict) == (100, "good")
    parts = found.dimensions["answer"].parts
    assert {name: (part.label, part.points, part.earned, part.tags) for name, part in parts.items()} == {
        "c1": ("met", 5, 5, ("accuracy",)),
        "c2": ("met", 1, 1, ()),
        "invents": ("not_met", -8, 0, ("accuracy", "safety")),
    }
    assert parts["c2"].asks == "Says when to take it."
    assert [(step.kind, step.label) for step in found.steps[1:]] == [
        ("criterion", "c1"),
        ("criterion", "c2"),
        ("criterion", "invents"),
    ]
    assert found.steps[-1].total == found.score
    assert found.tags["accuracy"].share == 1
    assert (found.tags["safety"].share, found.tags["safety"].count) == (None, 1)
    assert Evaluation.from_json(found.to_json()) == found


def test_plans_are_shared_and_each_case_is_judged_by_its_own_criteria() -> None:
    judge = Answers("One.")
    plan = rubrica.compile(RUBRIC, judge=judge)

    async def both() -> list[Evaluation]:
        cases = ({"response": "x", "criteria": ["One."]}, {"response": "x", "criteria": ["Other.", "One."]})
        return [await rubrica.aevaluate(plan, context=case) for case in cases]

    assert [found.score for found in asyncio.run(both())] == [100, 50]
    assert plan.axes[0].parts == ()


def test_unclipped_points_and_other_dimensions_count_together() -> None:
    dimensions = {**RUBRIC["dimensions"], "short": {"points": 4, "formula": "1 if word_count < 20 else 0"}}
    score = {"points": True, "clip": False, "out_of": 100}
    found = judged(Answers("Invents a dose."), dimensions=dimensions, score=score)
    assert found.score == pytest.approx(100 * (4 - 8) / (4 + 6))
    assert found.steps[-1].total == found.score
    assert found.bounds == (found.score, found.score)
    clipped = judged(Answers("Invents a dose."), dimensions=dimensions)
    assert (clipped.score, clipped.steps[-1].kind) == (0, "clip")


@pytest.mark.parametrize(
    ("policy", "score", "bounds"), [("skip", 100, (100, 100)), ("inconclusive", None, (16.67, 100))]
)
def test_a_criterion_without_an_answer_follows_the_policy(
    policy: str, score: float | None, bounds: tuple[float, float]
) -> None:
    found = judged(Answers("Says when to take it.", silent=("Names a dose.",)), on_unscored=policy)
    assert found.score == score
    assert found.bounds == pytest.approx(bounds, abs=0.01)
    assert found.tags["accuracy"].unscored == 1


def test_where_no_criterion_has_an_answer_the_neutral_value_is_the_only_step() -> None:
    every = ("Names a dose.", "Says when to take it.", "Invents a dose.")
    found = judged(Answers(silent=every), on_unscored="neutral")
    assert found.score == 50
    assert [(step.kind, step.total) for step in found.steps] == [("base", 0), ("dimension", 50)]


def test_a_case_without_criteria_leaves_the_dimension_unscored() -> None:
    found = judged(Answers(), {"response": "x"})
    assert (found.dimensions["answer"].reason, found.verdict) == ("the case has no criteria", "inconclusive")
    dimensions = {"answer": {"from": "criteria", "weight": 0.5}, "short": {"weight": 0.5, "formula": "1"}}
    other = judged(Answers(), {"response": "x"}, dimensions=dimensions, score={"out_of": 100}, on_unscored="skip")
    assert other.score == 100


def test_stopping_when_decided_asks_the_heaviest_first_and_leaves_the_rest() -> None:
    criteria = [{"criterion": f"Small {n}.", "points": 1} for n in range(3)] + [{"criterion": "Large.", "points": 7}]
    judge = Answers("Large.")
    found = judged(judge, {"response": "x", "criteria": criteria}, judging={"stop": "decided"})
    assert judge.asked == [["Large."]]
    assert (found.verdict, found.stopped, found.bounds) == ("good", True, (70, 100))
    parts = found.dimensions["answer"].parts
    assert [part.status for part in parts.values()] == ["not_needed"] * 3 + ["scored"]


def test_answers_come_from_the_criterion_or_else_the_dimension() -> None:
    dimensions = {"answer": {"from": "criteria", "answers": {"ja": 1, "nein": 0}}}
    own = {"full": 1, "half": 0.5, "none": 0}
    case = {"response": "x", "criteria": [{"criterion": "A", "answers": own}, "B"]}
    parts = judged(Answers("A", "B"), case, dimensions=dimensions).dimensions["answer"].parts
    assert [part.label for part in parts.values()] == ["full", "ja"]


def test_scores_that_are_there_are_decided_and_judged_again_by_criterion() -> None:
    rubric = rubrica.load(RUBRIC)
    found = rubrica.decide(rubric, {"answer": {"c1": 1, "c2": 0, "invents": 0}}, CASE)
    assert found.score == pytest.approx(500 / 6)
    harder = rubrica.load({**RUBRIC, "verdicts": [{"label": "top", "when": "score >= 90"}, {"label": "poor"}]})
    again = rubrica.rejudge(harder, found)
    assert (again.score, again.verdict) == (found.score, "poor")
    assert again.dimensions["answer"].parts.keys() == found.dimensions["answer"].parts.keys()


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        (["a", " A "], "the criterion 'a' is given twice"),
        ([{"criterion": "a", "id": "x"}, {"criterion": "b", "id": "x"}], "two criteria are called 'x'"),
        ([{"criterion": "a", "points": -1}], "the points are all negative"),
        ([{"criterion": "a", "points": 0}], "criteria.0.points: 0 points count for nothing"),
        ([{"criterion": "a" * 2_001}], "criteria.0.criterion: has too many characters (at most 2,000)"),
        ([{"criterion": "a", "weight": 1}], "criteria.0.weight: is not a known key"),
        ([f"c{n}" for n in range(10_000)], "criteria: has too many entries (at most 5,000)"),
        ("a, b", "criteria: should be a list"),
        ([{"criterion": "a", "id": "answer"}], "'answer' is a dimension of clinical"),
        ([{"criterion": "a", "answers": {"yes": 1}}], "c1: answers has no choice"),
        ([{"criterion": "a", "examples": [{"response": "x", "answer": "no"}]}], "c1: an example has the answer 'no'"),
        ([{"criterion": "a", "answers": {"yes": 5, "no": 0}}], "c1: the answer 5 is off the scale 0–1 of answer"),
    ],
)
def test_criteria_that_cannot_be_judged_are_refused(criteria: Any, said: str) -> None:
    with pytest.raises(ContextError) as refused:
        judged(Answers(), {"response": "x", "criteria": criteria})
    assert said in str(refused.value)


def test_criteria_without_a_response_are_refused_and_nobody_is_asked() -> None:
    """Nobody's answer is not a poor one; an answer that is empty is, and stays one wherever its case goes."""
    judge = Answers("Names a dose.")
    chat = {"messages": [{"role": "user", "content": "How much?"}], "criteria": CASE["criteria"]}
    with pytest.raises(ContextError, match=r"no response to hold them against.*--map.*--responses FILE"):
        judged(judge, chat)
    assert not judge.asked
    given = {"answer": {"c1": 1, "c2": 0, "invents": 0}}
    assert rubrica.decide(RUBRIC, given, context=chat).verdict == "good"  # scores that are there need no response
    empty = merge_context({"grade": 4}, Context.of(Context.of({**chat, "response": ""}).as_given()))
    assert judged(judge, empty.as_given()).verdict == "good"
    assert rubrica.evaluate(RUBRIC, response="", context=chat).verdict == "inconclusive"
    assert judged(judge, {**chat, "images": ["https://example.org/dose.png"]}).verdict == "good"
    # Without criteria there is nothing that only a response could meet.
    assert judged(judge, {"prompt": "How much?"}).dimensions["answer"].reason == "the case has no criteria"


def test_a_chat_that_nobody_has_answered_is_refused_where_a_judge_would_be_asked() -> None:
    judged_by_tone = {"name": "kind", "dimensions": {"tone": {"asks": "Is it kind?"}}, "verdicts": [{"label": "done"}]}
    asked = [{"role": "user", "content": "How much?"}]
    thanks = [*asked, {"role": "assistant", "content": "500 mg."}, {"role": "user", "content": "Thanks."}]
    for messages in (asked, thanks):
        with pytest.raises(ContextError, match=r"ends with what the user said.*as its last message"):
            rubrica.evaluate(judged_by_tone, context={"messages": messages})
        whole = Context.of({"messages": messages, "response": ""})
        again = Context.of(whole.as_given())
        for context in (whole, again):
            assert rubrica.evaluate(judged_by_tone, context=context).verdict == "done"
    empty = Context.of({"messages": [*asked, {"role": "assistant", "content": ""}]})
    assert empty.has_response, "the assistant has said nothing, which is an answer"
    by_code = {"name": "asked", "dimensions": {"words": {"formula": "1"}}, "verdicts": [{"label": "done"}]}
    assert rubrica.evaluate(by_code, context={"messages": asked}).verdict == "done"


def test_a_key_that_looks_like_criteria_is_named() -> None:
    found = rubrica.evaluate(RUBRIC, context={"response": "x", "criterias": ["Names a dose."]})
    assert found.dimensions["answer"].reason.startswith("the case has no criteria; it has 'criterias'")
    with pytest.raises(ContextError, match=r"criterium: is not a known key \(did you mean 'criterion'\?\)"):
        Context.of({"criteria": [{"criterium": "Names a dose."}]})
    with pytest.raises(RubricError, match=r"tone.answer: is not a key of a dimension \(did you mean 'answers'\?\)"):
        rubrica.load({**RUBRIC, "dimensions": {"tone": {"asks": "Is it?", "answer": {"yes": 1, "no": 0}, "points": 1}}})


@pytest.mark.parametrize(
    ("dimensions", "said"),
    [
        (
            {"a": {"points": -1, "asks": "Guesses?"}},
            "dimensions: the points are all negative, so nothing can be earned",
        ),
        ({"a": {"from": "criterion"}}, "dimensions.a.from: should be 'criteria', not 'criterion'"),
    ],
)
def test_one_fault_is_told_once(dimensions: dict[str, Any], said: str) -> None:
    with pytest.raises(RubricError) as error:
        rubrica.compile({**RUBRIC, "dimensions": dimensions})
    assert [str(problem).startswith(said) for problem in error.value.problems] == [True]


def test_a_tree_that_is_a_part_of_itself_is_told_so() -> None:
    written = "name: n\ndimensions:\n  a: &a\n    parts:\n      b: *a\nverdicts: [{label: x}]\n"
    with pytest.raises(RubricError, match="an alias inside of what it names"):
        rubric_from_text(written)


def test_lines_of_healthbench_are_told_how_they_become_cases() -> None:
    found = read_case('{"prompt": [{"role": "user", "content": "How?"}], "rubrics": []}', 1)
    assert isinstance(found, BadLine)
    assert "rubrica import healthbench" in found.reason


def test_a_rubric_that_reads_no_criteria_refuses_a_case_that_has_them_with_the_way_out() -> None:
    with pytest.raises(ContextError, match="does not read any: give it a dimension with `from: criteria`"):
        judged(Answers(), dimensions={"a": {"formula": "1"}}, score={"out_of": 100})


@pytest.mark.parametrize(
    ("dimensions", "said"),
    [
        ({"a": {"from": "criteria", "asks": "What?"}}, "remove asks"),
        ({"a": {"from": "criteria", "points": 3}}, "remove points"),
        ({"a": {"from": "criteria", "weight": 1}}, "a.weight: has a weight, and the score is in points"),
        ({"a": {"from": "criteria"}, "b": {"from": "criteria"}}, "b.from: a is filled from the criteria of a case"),
        ({"a": {"from": "somewhere"}}, "a.from"),
    ],
)
def test_a_dimension_that_cannot_take_criteria_is_refused(dimensions: dict[str, Any], said: str) -> None:
    with pytest.raises(RubricError) as refused:
        rubrica.load({**RUBRIC, "dimensions": dimensions})
    assert said in str(refused.value)
