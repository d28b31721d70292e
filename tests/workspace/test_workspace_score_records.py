"""What is kept and told of an evaluation: points, shares, and where every point came from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

import rubrica
from rubrica.engine.plan import Plan
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Evaluation, Score
from rubrica.workspace import score_records
from rubrica.workspace.score_records import judge, judge_all, outcome, record, snapshot

STORY = {
    "response": "In 1974 Gerald called my doctor a joke.",
    "round_history": [{"round_number": 1, "response": "My moth, Gerald, came in."}],
}


def test_every_point_of_a_short_form_is_traced_to_its_rule() -> None:
    told = outcome(rubrica.evaluate("norm-macdonald-classic", context=STORY), short=True)
    points = {line.rule: line.points for line in told.rule_breakdown}
    assert points == {
        "year_mention_1970s": 10,
        "medical_reference": 15,
        "entity_mentions: callback": 25,
        "entity_mentions: consistency": 20,
        "funny, humor, joke, comedy": -50,
    }
    assert (told.raw_score, told.normalized_score, told.bounds) == (20, 0.2, (0.2, 0.2))
    assert sum(points.values()) == told.raw_score
    year = told.rule_breakdown[0]
    assert (year.dimension, year.category, year.count, year.spans[0].text) == (
        "points",
        "temporal_specificity",
        1,
        "1974",
    )


def test_a_rule_that_could_not_be_applied_says_so() -> None:
    told = outcome(rubrica.evaluate("scientific-rigor-pro", response="A method."), short=True)
    error = [line for line in told.rule_breakdown if line.error is not msgspec.UNSET]
    assert [line.rule for line in error] == ["assumption_ratio"]
    plain = msgspec.to_builtins(told)
    assert ["error" in line for line in plain["rule_breakdown"]] == [False, True]
    assert told.errors


def test_a_short_form_counts_points_and_a_long_one_its_score() -> None:
    fast = rubrica.evaluate("speed-demon", context={"metadata": {"response_time": 20}})
    assert (outcome(fast, short=True).raw_score, outcome(fast, short=True).normalized_score) == (50, 0.5)
    judged = rubrica.decide(
        "answer-quality",
        {"accuracy": 9, "completeness": 9, "clarity": 9, "depth": 8, "safety": 10},
        context={"question_type": "FACTUAL"},
    )
    told = outcome(judged, short=False)
    assert (told.raw_score, told.normalized_score) == (90, 0.9)
    assert told.dimension_scores["accuracy"].value == 9


def test_an_open_score_has_bounds_and_no_number() -> None:
    strict = {
        "name": "strict",
        "on_unscored": "inconclusive",
        "dimensions": {
            "brief": {"weight": 0.25, "formula": "1 if word_count < 9 else 0"},
            "wise": {"weight": 0.75, "asks": "Is it wise?", "scorer": "judge"},
        },
        "verdicts": [{"label": "pass", "when": "score >= 0.5"}, {"label": "fail"}],
    }
    told = outcome(rubrica.evaluate(strict, response="Hm."), short=False)
    assert (told.raw_score, told.normalized_score, told.verdict) == (None, None, "inconclusive")
    assert told.bounds == (0.25, 1.0)
    assert told.dimension_scores["wise"].status == "unscored"


def test_points_of_parts_are_told_too() -> None:
    parted = {
        "name": "parted",
        "dimensions": {
            "form": {
                "weight": 1,
                "parts": {
                    "length": {"weight": 0.5, "rules": [{"when": "word_count < 9", "add": 1, "because": "short"}]},
                    "manners": {"weight": 0.5, "rules": [{"when": "word_count > 0", "add": 1, "because": "it speaks"}]},
                },
            }
        },
        "verdicts": [{"label": "done"}],
    }
    told = outcome(rubrica.evaluate(parted, response="Hello there."), short=False)
    assert {(line.dimension, line.reason) for line in told.rule_breakdown} == {
        ("length", "short"),
        ("manners", "it speaks"),
    }
    parts = told.dimension_scores["form"].parts
    assert isinstance(parts, dict)
    assert parts["length"].value == 1


def test_what_is_kept_can_be_read_back() -> None:
    found = rubrica.evaluate("norm-macdonald-classic", context=STORY)
    back = Evaluation.from_json(msgspec.json.encode(record(found)))
    assert back.context is None
    assert (back.score, back.dimensions) == (found.score, found.dimensions)
    context = Context.of(STORY)
    assert Context.of(json.loads(json.dumps(snapshot(context)))) == context


class Counting(ThreadPoolExecutor):
    """Counts what threads are given to do."""

    jobs = 0

    def submit(self, *args: Any, **options: Any) -> Any:
        self.jobs += 1
        return super().submit(*args, **options)


class Kind:
    """A judge that gives 9 to everything."""

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score]:
        return {name: Score(9.0, "good", source="llm") for name in axes}


def with_patterns(count: int) -> Plan:
    patterns = [{"name": f"p{number}", "regex": f"x{number}y", "score": 1} for number in range(count)]
    rules = [{"type": "pattern_detection", "patterns": patterns}]
    return rubrica.compile(
        {"name": "Many", "scoring_type": "cumulative", "max_score": 10, "rules": rules}, judge=Kind()
    )


@pytest.mark.parametrize(
    ("patterns", "length", "threads"), [(1, 10, 0), (1, 4_000, 0), (1, 6_000, 1), (900, 200, 0), (900, 400, 1)]
)
def test_what_takes_long_is_judged_in_a_thread_also_where_there_is_a_judge(
    patterns: int, length: int, threads: int
) -> None:
    plan, context, executor = with_patterns(patterns), Context.of({"response": "x0y " + "x" * length}), Counting(1)

    async def judged() -> list[Evaluation]:
        asyncio.get_running_loop().set_default_executor(executor)
        return [await judge(plan, context), *await judge_all([plan], context)]

    assert [found.score for found in asyncio.run(judged())] == [0.1, 0.1]
    assert executor.jobs == 2 * threads


def test_several_plans_judge_in_their_own_order_some_with_a_judge() -> None:
    judged: Plan = rubrica.compile("answer-quality", judge=Kind())
    coded = rubrica.compile("norm-macdonald-classic")
    for response in ("In 1974.", "In 1974. " * 1_000):
        context = Context.of({"prompt": "Why?", "response": response, "question_type": "FACTUAL"})
        found = asyncio.run(judge_all([coded, judged, coded], context))
        assert [each.rubric for each in found] == ["norm-macdonald-classic", "answer-quality", "norm-macdonald-classic"]
        assert [found[0].score, found[2].score] == [0.1, 0.1]
        assert found[1].dimensions["clarity"].source == "llm"


def test_a_judge_is_asked_where_the_plan_has_one() -> None:
    plan: Plan = rubrica.compile("answer-quality", judge=Kind())
    found = asyncio.run(judge(plan, Context.of({"prompt": "Why?", "response": "So.", "question_type": "FACTUAL"})))
    assert outcome(found, short=False).normalized_score == pytest.approx(0.89, abs=0.02)
    assert not outcome(found, short=False).offline


def test_the_short_form_is_told_by_its_scoring_type() -> None:
    assert score_records.is_short({"scoring_type": "binary"})
    assert not score_records.is_short({"dimensions": {}})
