"""Points in place of weights: what is earned and lost, refused documents, bounds while a score is missing."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import rubrica
from rubrica.errors import RubricError
from rubrica.model.evaluation import Evaluation

YES = {"answers": {"yes": 1, "no": 0}}
CRITERIA: dict[str, Any] = {
    "names_dose": {"points": 5, "asks": "States the usual dose.", "tags": ["dose"], **YES},
    "says_when": {"points": 3, "asks": "Says when to take it.", **YES},
    "invents_dose": {"points": -8, "asks": "States a dose that is not in the leaflet.", "tags": ["dose"], **YES},
}


def document(dimensions: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    return {
        "name": "leaflet",
        "dimensions": CRITERIA if dimensions is None else dimensions,
        "score": {"points": True, "out_of": 100},
        "verdicts": [{"label": "good", "when": "score >= 60"}, {"label": "poor"}],
        **changes,
    }


def decided(scores: dict[str, float | None], **changes: Any) -> Evaluation:
    return rubrica.decide(rubrica.load(document(**changes)), scores)


def steps(found: Evaluation) -> list[tuple[str, str, float, float]]:
    return [(step.kind, step.label, step.amount, step.total) for step in found.steps]


def test_a_score_in_points_is_what_was_earned_over_what_can_be_with_a_step_for_each_criterion() -> None:
    found = decided({"names_dose": 1, "says_when": 0, "invents_dose": 0})
    assert (found.score, found.verdict) == (62.5, "good")
    assert steps(found) == [
        ("base", "no points", 0, 0),
        ("dimension", "names_dose", 62.5, 62.5),
        ("dimension", "says_when", 0, 62.5),
        ("dimension", "invents_dose", 0, 62.5),
    ]
    assert {name: (each.points, each.earned) for name, each in found.dimensions.items()} == {
        "names_dose": (5, 5),
        "says_when": (3, 0),
        "invents_dose": (-8, 0),
    }
    dose = found.tags["dose"]
    assert (dose.earned, dose.possible, dose.share, dose.count, dose.met) == (5, 5, 1, 2, 1)


def test_what_is_lost_below_zero_is_clipped_in_a_step_of_its_own_unless_the_rubric_lets_it_stand() -> None:
    scores: dict[str, float | None] = {"names_dose": 0, "says_when": 1, "invents_dose": 1}
    clipped = decided(scores)
    assert clipped.score == 0
    assert steps(clipped)[-2:] == [("dimension", "invents_dose", -100, -62.5), ("clip", "no less than 0", 62.5, 0)]
    standing = decided(scores, score={"points": True, "clip": False, "out_of": 100})
    assert (standing.score, standing.bounds) == (-62.5, (-62.5, -62.5))
    assert Evaluation.from_json(standing.to_json()) == standing


@pytest.mark.parametrize(
    ("policy", "score", "bounds", "verdict"),
    [
        ("inconclusive", None, (0, 62.5), "inconclusive"),
        ("skip", 62.5, (62.5, 62.5), "good"),
        ("neutral", 12.5, (12.5, 12.5), "poor"),
    ],
)
def test_a_criterion_without_a_score_follows_the_policy(
    policy: str, score: float | None, bounds: tuple[float, float], verdict: str
) -> None:
    found = decided({"names_dose": 1, "says_when": 0, "invents_dose": None}, on_unscored=policy)
    assert (found.score, found.bounds, found.verdict) == (score, bounds, verdict)


def test_skipping_the_only_points_that_can_be_earned_leaves_no_score() -> None:
    found = decided({"names_dose": None, "says_when": None, "invents_dose": 0}, on_unscored="skip")
    assert found.score is None
    assert "nothing with points above zero" in found.errors[0]


def test_gates_and_formulas_read_criteria_and_the_score_in_points() -> None:
    gates = [{"name": "made up", "when": "invents_dose_is_yes == 1", "verdict": "poor"}]
    found = decided({"names_dose": 1, "says_when": 1, "invents_dose": 1}, gates=gates)
    assert (found.verdict, found.score) == ("poor", 0)
    verdicts = [{"label": "low", "when": "score < -40"}, {"label": "fine"}]
    score = {"points": True, "clip": False, "out_of": 100}
    assert (
        decided({"names_dose": 0, "says_when": 1, "invents_dose": 1}, verdicts=verdicts, score=score).verdict == "low"
    )
    assert (
        decided({"names_dose": 1, "says_when": 1, "invents_dose": 1}, verdicts=verdicts, score=score).verdict == "fine"
    )


def test_parts_in_points_are_clipped_to_their_dimension() -> None:
    parts = {
        "first": {"points": 2, "asks": "First?"},
        "second": {"points": 1, "asks": "Second?"},
        "wrong": {"points": -4, "asks": "Wrong?"},
    }
    dimensions = {"content": {"weight": 0.5, "parts": parts}, "form": {"weight": 0.5, "asks": "Form?"}}
    rubric = rubrica.load(document(dimensions, score={"out_of": 100}))
    found = rubrica.decide(rubric, {"content": {"first": 1, "second": 0.5, "wrong": 0.25}, "form": 1})
    assert found.dimensions["content"].value == pytest.approx(0.5)
    assert found.dimensions["content"].reason == "1.5 of 3 points"
    lost = rubrica.decide(rubric, {"content": {"first": 1, "second": 1, "wrong": 1}, "form": 1})
    assert (lost.dimensions["content"].value, lost.score) == (0, 50)
    open_ = rubrica.decide(rubric, {"content": {"first": 1, "second": None, "wrong": 0}, "form": 1})
    assert open_.dimensions["content"].between == pytest.approx((2 / 3, 1))
    assert open_.verdict == "good"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dimensions": {"a": {"points": -1}, "b": {"points": -2}}}, "dimensions: the points are all negative"),
        ({"dimensions": {"a": {"points": 0}, "b": {"points": 2}}}, "dimensions.a.points: 0 points count for nothing"),
        ({"dimensions": {"a": {"points": 2}, "b": {"weight": 1}}}, "b.weight: has a weight, and others have points"),
        ({"dimensions": {"a": {"points": 2}, "b": {}}}, "dimensions: no points for b"),
        ({"score": {"out_of": 100}}, "names_dose.points: has points, which the score does not count"),
        ({"score": {"points": True, "weighted": True}}, "score is one of weighted: true, points: true and a formula"),
        ({"score": {"clip": False}}, "clip goes with points: true"),
        (
            {"dimensions": {"a": {"points": 2e6}, "b": {"points": 2}}},
            "a.points: should be less than or equal to 1000000",
        ),
        ({"dimensions": {"a": {"points": float("inf")}}}, "a.points"),
        (
            {"dimensions": {"a": {"points": 1, "parts": {"x": {"points": -1}, "y": {"points": -3}}}}},
            "dimensions.a.parts: the points are all negative",
        ),
        (
            {"dimensions": {"a": {"points": 1, "parts": {"x": {"points": 1}, "y": {"weight": 1}}}}},
            "parts.y.weight: has a weight, and others have points",
        ),
        (
            {"dimensions": {"a": {"weight": -0.5}, "b": {"weight": 1}}, "score": {}},
            "in place of a weight, with `score: {points: true}`",
        ),
        ({"profiles": {"by": "kind", "x": {"weights": {"names_dose": 1}}}}, "has weights, but the score is in points"),
    ],
)
def test_points_that_cannot_count_are_refused_with_the_way_out(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(RubricError) as refused:
        rubrica.load(document(**changes))
    assert any(said in str(problem) for problem in refused.value.problems), refused.value.problems


@pytest.mark.parametrize("counted", [{"points": 2}, {"weight": 1 / 200}])
def test_as_many_dimensions_as_a_rubric_may_have_are_weighed(counted: dict[str, float]) -> None:
    names = [f"criterion_with_quite_a_long_name_and_the_number_{number}" for number in range(200)]
    dimensions = {name: {"asks": "Is it met?", "answers": {"yes": 1, "no": 0}, **counted} for name in names}
    score = {"out_of": 100, **({"points": True} if "points" in counted else {})}
    plan = pickle.loads(pickle.dumps(rubrica.compile(document(dimensions, score=score))))  # noqa: S301 - our own
    assert rubrica.decide(plan, {name: int(number % 4 == 0) for number, name in enumerate(names)}).score == 25
