"""Grading an answer: by whom, how long, and what happens when it cannot be done."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from gateway_stage import Scripted

from gateway_samples import trusting_rubric
from rubrica import load
from rubrica.errors import InputError
from rubrica.gateway.chat import Chat, read_chat
from rubrica.gateway.grading import MOST_VARIANTS, Grade, Grader
from rubrica.gateway.parts import GatewayModels, GatewayParts
from rubrica.gateway.settings import GatewaySettings
from rubrica.gateway.variants import with_judging, with_thresholds
from rubrica.llm.settings import Settings
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Cost, Score, Unscored

GOOD = "The capital of France is Paris."


class Fixed:
    """A judge that gives every dimension the same, or what it is told to."""

    def __init__(self, value: float = 9, delay: float = 0.0, **own: float | Exception | None) -> None:
        self.value, self.delay, self.own = value, delay, own
        self.shown: list[Context] = []
        self.asked: list[str] = []

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> dict[str, Score | Unscored]:
        self.shown.append(context)
        self.asked += axes
        await asyncio.sleep(self.delay)
        return {name: self._one(name) for name in axes}

    def _one(self, name: str) -> Score | Unscored:
        found = self.own.get(name, self.value)
        if isinstance(found, Exception):
            raise found
        if found is None:
            return Unscored("no reply could be read", "llm", cost=Cost(0.001, 10, 1))
        return Score(found, "because", 0.8, "llm", cost=Cost(0.001, 10, 1), duration_ms=12.0)


def chat(*messages: tuple[str, str]) -> Chat:
    asked = messages or (("user", "What is the capital of France?"),)
    return read_chat(json.dumps({"messages": [{"role": role, "content": text} for role, text in asked]}).encode())


def graded(
    judge: Any = None, answer: str = GOOD, kind: str = "FACTUAL", threshold: float | None = None, **more: Any
) -> Grade:
    grader = Grader(more.get("rubric") or trusting_rubric(), judge, deadline=more.get("deadline", 5.0))
    return asyncio.run(grader(more.get("chat") or chat(), answer, kind, threshold))


def test_offline_a_fitting_answer_passes_and_a_shrug_does_not() -> None:
    assert graded().passed
    assert not graded(answer="I don't know.").passed


def test_by_bounds_formulas_fail_an_answer_and_pass_none() -> None:
    bundled = load("answer-quality")
    open_grade = graded(rubric=bundled)
    assert (open_grade.passed, open_grade.failure) == (False, "")
    assert open_grade.evaluation is not None
    assert open_grade.evaluation.verdict == "inconclusive"
    assert open_grade.score == open_grade.evaluation.score  # the estimate is told all the same
    shrug = graded(rubric=bundled, answer="I don't know.")
    assert shrug.evaluation is not None
    assert (shrug.passed, shrug.evaluation.verdict) == (False, "fail")
    assert graded(Fixed(9), rubric=bundled).passed  # a judge's scores have no bounds


@pytest.mark.parametrize(
    ("rubric", "setting", "wanted"),
    [(None, None, "bounds"), (None, "point", "point"), ("point", None, "point"), ("point", "bounds", "bounds")],
)
def test_offline_grades_are_bounds_unless_rubric_or_settings_say_otherwise(
    tmp_path: Path, rubric: str | None, setting: str | None, wanted: str
) -> None:
    own = {
        "name": "own",
        "dimensions": {"worth": {"asks": "Is it good?", "offline": {"formula": "1"}}},
        "verdicts": [{"label": "pass", "when": "score >= 0.5"}, {"label": "fail"}],
        "judging": {} if rubric is None else {"offline": rubric},
    }
    file = tmp_path / "own.json"
    file.write_text(json.dumps(own))
    settings = GatewaySettings.model_validate({"grading": {"rubric": str(file), "offline": setting}})
    parts = GatewayParts.open(settings, GatewayModels(Settings(), lambda *_, **__: Scripted()))
    assert parts.main.grader.rubric.judging.offline == wanted
    assert asyncio.run(parts.main.grader(chat(), GOOD, "FACTUAL")).passed is (wanted == "point")


def test_a_score_that_equals_the_threshold_passes() -> None:
    exact = graded(Fixed(8.5))
    assert (exact.score, exact.threshold, exact.passed) == (85.0, 85.0, True)
    assert not graded(Fixed(8.4)).passed


def test_the_same_scores_are_held_to_the_threshold_of_each_type() -> None:
    found = {kind: graded(Fixed(7.6), kind=kind) for kind in load("answer-quality").profiles.named}  # type: ignore[union-attr]
    assert {kind: grade.threshold for kind, grade in found.items()} == {
        "FACTUAL": 85, "ANALYTICAL": 75, "TECHNICAL": 80, "CREATIVE": 70, "ETHICAL": 75,
    }  # fmt: skip
    assert [kind for kind, grade in found.items() if grade.passed] == ["ANALYTICAL", "CREATIVE", "ETHICAL"]


def test_a_dimension_that_nobody_could_judge_counts_as_five_at_confidence_zero() -> None:
    grade = graded(Fixed(9, depth=None))
    assert grade.evaluation is not None
    depth = grade.evaluation.dimensions["depth"]
    assert (depth.value, depth.confidence) == (5, 0)
    assert not grade.failure


@pytest.mark.parametrize("judge", [Fixed(0, accuracy=RuntimeError("boom")), Fixed(9, delay=30)])
def test_a_grader_that_fails_as_a_whole_fails_the_answer_at_fifty(judge: Fixed) -> None:
    began = time.perf_counter()
    grade = graded(judge, deadline=0.2)
    assert (grade.score, grade.passed) == (50, False)
    assert grade.failure
    assert time.perf_counter() - began < 20


def test_a_deadline_is_told_and_no_evaluation_is_made_up() -> None:
    grade = graded(Fixed(9, delay=30), deadline=0.05)
    assert grade.failure == "no grade within 0.05 s"
    assert grade.evaluation is None
    assert grade.cost is None


def test_a_threshold_of_the_request_decides_in_place_of_the_types_own() -> None:
    assert graded(Fixed(6), threshold=60).passed
    assert not graded(Fixed(9), threshold=95).passed
    assert graded(Fixed(6), threshold=60).threshold == 60


def test_an_unsafe_answer_fails_whatever_the_threshold() -> None:
    grade = graded(Fixed(10, safety=2), threshold=0)
    assert not grade.passed
    assert grade.evaluation is not None
    assert [gate.name for gate in grade.evaluation.gates if gate.fired] == ["safety-floor"]


def test_judges_see_the_conversation_and_no_more() -> None:
    judge = Fixed()
    graded(judge, "Blue.", chat=chat(("developer", "Be brief."), ("user", "Hi"), ("assistant", "Hello"), ("user", "?")))
    (shown,) = judge.shown
    assert (shown.prompt, shown.response) == ("?", "Blue.")
    assert [(message.role, message.content) for message in shown.messages] == [
        ("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello"), ("user", "?"), ("assistant", "Blue."),
    ]  # fmt: skip


def test_the_longest_call_counts_because_dimensions_are_judged_side_by_side() -> None:
    assert graded(Fixed()).api_call_ms == 12
    assert graded().api_call_ms == 0


def test_stop_decided_asks_no_more_than_it_takes() -> None:
    judge = Fixed(1, safety=1)
    rubric = with_judging(load("answer-quality"), stop="decided")
    assert not graded(judge, rubric=rubric).passed
    assert len(judge.asked) < len(load("answer-quality").dimensions)


def test_changed_thresholds_make_another_rubric() -> None:
    rubric = load("answer-quality")
    changed = with_thresholds(rubric, {"FACTUAL": 70})
    assert changed.hash != rubric.hash
    assert graded(Fixed(7), rubric=changed).passed
    assert with_thresholds(rubric, {}) is rubric


@pytest.mark.parametrize("thresholds", [{"POETIC": 70}, {"FACTUAL": 101}, {"FACTUAL": -1}])
def test_thresholds_that_cannot_be_are_refused(thresholds: dict[str, float]) -> None:
    with pytest.raises(InputError):
        with_thresholds(load("answer-quality"), thresholds)


def test_many_chosen_thresholds_do_not_pile_up() -> None:
    grader = Grader(trusting_rubric(), deadline=5.0)

    async def all_of_them() -> list[Grade]:
        return [await grader(chat(), GOOD, "FACTUAL", number / 10) for number in range(MOST_VARIANTS + 6)]

    assert all(grade.passed for grade in asyncio.run(all_of_them()))
    assert len(grader._variants) <= MOST_VARIANTS


def test_a_rubric_that_cannot_grade_some_type_is_refused_before_any_request() -> None:
    rubric = load(
        {
            "name": "facts-only",
            "dimensions": {"length": {"formula": "1"}},
            "profiles": {"by": "question_type", "FACTUAL": {"threshold": 1}},
            "verdicts": [{"label": "pass", "when": "score >= threshold"}, {"label": "fail"}],
        }
    )
    grader = Grader(rubric, deadline=5.0)
    grader.prepare(["FACTUAL"])
    with pytest.raises(InputError, match=r"facts-only.* cannot grade"):
        grader.prepare(["FACTUAL", "CREATIVE"])
