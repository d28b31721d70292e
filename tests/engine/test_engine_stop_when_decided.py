"""Stop when decided: the verdict of an evaluation that stops early is the verdict of scoring everything."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import rubrica
from rubrica import Context, Score, Unscored
from rubrica.model.dimensions import Axis

NAMES = ("accuracy", "clarity", "depth", "tone", "care")


class ScriptedJudge:
    """Answers from a script and remembers what it was asked."""

    def __init__(self, script: Mapping[str, Score | Unscored]) -> None:
        self.script = script
        self.asked: list[str] = []

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        self.asked += axes
        return {name: self.script[name] for name in axes}


def _weights(draw: st.DrawFn, count: int) -> list[float]:
    cuts = sorted(draw(st.lists(st.integers(0, 20), min_size=count - 1, max_size=count - 1)))
    return [(b - a) / 20 for a, b in zip([0, *cuts], [*cuts, 20], strict=True)]


@st.composite
def conditions(draw: st.DrawFn, names: tuple[str, ...]) -> str:
    name = draw(st.sampled_from([*names, "score", f"min({', '.join(names)})", f"mean({names[0]}, {names[-1]})"]))
    top = 100 if name == "score" else 10
    bound = draw(st.integers(1, top - 1))
    operator = draw(st.sampled_from(["<", "<=", ">", ">="]))
    text = f"{name} {operator} {bound}"
    if draw(st.booleans()):
        other = draw(st.sampled_from(names))
        text += f" {draw(st.sampled_from(['and', 'or']))} {other} < {draw(st.integers(2, 9))}"
    return text


@st.composite
def rubrics(draw: st.DrawFn) -> dict[str, Any]:
    names = NAMES[: draw(st.integers(2, 5))]
    weights = _weights(draw, len(names))
    score: dict[str, Any] = {"weighted": True, "out_of": 100}
    if draw(st.booleans()):
        score = {"formula": f"0.5 * mean({', '.join(names)}) + 0.5 * min({', '.join(names)})", "out_of": 100}
    effect: dict[str, Any] = draw(
        st.sampled_from([{"cap": 40}, {"floor": 60}, {"verdict": "bad"}, {"cap": f"{names[0]} * 5"}])
    )
    gates = [{"name": "g", "when": draw(conditions(names)), **effect}] if draw(st.booleans()) else []
    rules = [{"label": label, "when": draw(conditions(names))} for label in ("good", "fair")]
    return {
        "name": "random",
        "scale": {"min": 1, "max": 10},
        "dimensions": {n: {"weight": w} for n, w in zip(names, weights, strict=True)},
        "score": score,
        "gates": gates,
        "verdicts": [*rules, {"label": "bad"}],
        "on_unscored": draw(st.sampled_from(["skip", "inconclusive", {"neutral": 5}])),
    }


outcomes = st.one_of(
    st.integers(1, 10).map(lambda v: Score(float(v), "scripted", 1.0, "llm")),
    st.floats(1, 10).map(lambda v: Score(v, "scripted", 1.0, "llm")),
    st.just(Unscored("the judge failed", "llm")),
)


@settings(max_examples=150, deadline=None)
@given(document=rubrics(), replies=st.lists(outcomes, min_size=5, max_size=5))
def test_stopping_early_gives_the_verdict_of_scoring_everything(
    document: dict[str, Any], replies: list[Score | Unscored]
) -> None:
    script = dict(zip(NAMES, replies, strict=True))
    try:
        full = rubrica.load(document)
    except rubrica.RubricError as error:
        assert all("never" in problem.message for problem in error.problems), error  # noqa: PT017
        return
    early = rubrica.load({**document, "judging": {"stop": "decided"}})
    everything, stopping = ScriptedJudge(script), ScriptedJudge(script)
    complete = asyncio.run(rubrica.aevaluate(full, judge=everything))
    stopped = asyncio.run(rubrica.aevaluate(early, judge=stopping))
    assert stopped.verdict == complete.verdict
    assert set(stopping.asked) <= set(everything.asked)
    if complete.score is not None:
        assert stopped.bounds[0] <= complete.score <= stopped.bounds[1]


def test_a_decided_verdict_saves_the_remaining_judges() -> None:
    rubric = {
        "name": "two",
        "scale": {"min": 1, "max": 10},
        "dimensions": {"accuracy": {"weight": 0.8}, "tone": {"weight": 0.2}},
        "score": {"out_of": 100},
        "verdicts": [{"label": "pass", "when": "score >= 70"}, {"label": "fail"}],
        "judging": {"stop": "decided"},
    }
    judge = ScriptedJudge({"accuracy": Score(2.0), "tone": Score(10.0)})
    evaluation = asyncio.run(rubrica.aevaluate(rubric, judge=judge))
    assert judge.asked == ["accuracy"]
    assert evaluation.verdict == "fail"
    assert evaluation.stopped
    assert evaluation.score is None
    assert evaluation.bounds == (18.0, 36.0)
    assert evaluation.dimensions["tone"].status == "not_needed"


def _tree(draw: st.DrawFn, names: tuple[str, ...], depth: int) -> dict[str, Any]:
    """Parts over some names: in points or by weights, some of them nodes of their own."""
    groups: list[tuple[str, ...]] = [(name,) for name in names]
    if depth < 3 and len(names) > 2 and draw(st.booleans()):
        cut = draw(st.integers(1, len(names) - 1))
        groups = [names[:cut], names[cut:]]
    worth = draw(st.lists(st.sampled_from([-4, -1, 1, 2, 5]), min_size=len(groups) - 1, max_size=len(groups) - 1))
    counts: list[dict[str, Any]] = [{"points": each} for each in (3, *worth)]
    if draw(st.booleans()):
        counts = [{"weight": weight} for weight in _weights(draw, len(groups))]
    found: dict[str, Any] = {}
    for group, own in zip(groups, counts, strict=True):
        if len(group) > 1:
            found["_".join(("node", *group))] = {**own, "parts": _tree(draw, group, depth + 1)}
        else:
            found[group[0]] = own
    return found


@st.composite
def trees(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A rubric of trees or of a case's criteria, in points or by weights, and the case."""
    policy = draw(st.sampled_from(["skip", "inconclusive", "neutral"]))
    rule = {"label": "good", "when": f"score >= {draw(st.integers(1, 99))}"}
    document = {"name": "random", "verdicts": [rule, {"label": "bad"}], "on_unscored": policy}
    clip = {"clip": False} if draw(st.booleans()) else {}
    match draw(st.sampled_from(["tree", "criteria", "both"])):
        case "tree":
            parts = _tree(draw, NAMES, 1)
            return {**document, "dimensions": {"whole": {"parts": parts}}, "score": {"out_of": 100}}, {}
        case "criteria":
            dimensions: dict[str, Any] = {"answer": {"from": "criteria"}}
        case _:
            dimensions = {"answer": {"from": "criteria"}, "care": {"points": draw(st.sampled_from([-2, 4]))}}
    worth = [6, *draw(st.lists(st.sampled_from([-4, -1, 1, 2, 5]), min_size=3, max_size=3))]
    criteria = [{"criterion": name, "id": name, "points": n} for name, n in zip(NAMES[:4], worth, strict=True)]
    return {**document, "dimensions": dimensions, "score": {"points": True, "out_of": 100, **clip}}, {
        "response": "An answer.",
        "criteria": criteria,
    }


@settings(max_examples=100, deadline=None)
@given(found=trees(), replies=st.lists(st.sampled_from([0.0, 0.3, 1.0, None]), min_size=5, max_size=5))
def test_parts_and_criteria_that_are_left_out_would_not_have_changed_the_verdict(
    found: tuple[dict[str, Any], dict[str, Any]], replies: list[float | None]
) -> None:
    document, case = found
    script: dict[str, Score | Unscored] = {
        name: Unscored("the judge failed", "llm") if value is None else Score(value, "scripted", 1.0, "llm")
        for name, value in zip(NAMES, replies, strict=True)
    }
    everything, stopping = ScriptedJudge(script), ScriptedJudge(script)
    complete = asyncio.run(rubrica.aevaluate(document, judge=everything, context=case))
    early = {**document, "judging": {"stop": "decided"}}
    stopped = asyncio.run(rubrica.aevaluate(early, judge=stopping, context=case))
    assert stopped.verdict == complete.verdict
    assert set(stopping.asked) <= set(everything.asked)
    if complete.score is not None:
        assert stopped.bounds[0] <= complete.score <= stopped.bounds[1]
        assert not complete.steps or complete.steps[-1].total == complete.score
    assert rubrica.Evaluation.from_json(stopped.to_json()) == stopped
    assert rubrica.rejudge(document, complete).verdict == complete.verdict
