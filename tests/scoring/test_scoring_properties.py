"""Properties that hold for every rubric's way from scores to verdict, checked on the bundled ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rubrica
from rubrica.model.rubric import Rubric

PACKS = ("answer-quality", "education-question", "voice-companion", "council-review", "council-review-four", "arena")
RUBRICS = {name: rubrica.load(name) for name in PACKS}


@st.composite
def scored(draw: st.DrawFn, missing: bool = False) -> tuple[Rubric, dict[str, Any]]:
    rubric = RUBRICS[draw(st.sampled_from(PACKS))]
    scores: dict[str, Any] = {}
    for name in rubric.dimensions:
        scale = rubric.scale_of(name)
        values = st.floats(scale.min, scale.max) | st.integers(int(scale.min), int(scale.max)).map(float)
        scores[name] = draw(values | st.none() if missing else values)
    return rubric, scores


@settings(max_examples=200, deadline=None)
@given(scored(missing=True))
def test_the_score_is_bounded_and_the_verdict_is_one_of_the_rubrics_own(case: tuple[Rubric, dict[str, Any]]) -> None:
    rubric, scores = case
    evaluation = rubrica.decide(rubric, scores)
    low, high = evaluation.bounds
    assert 0 <= low <= high <= rubric.score.out_of
    if evaluation.score is not None:
        assert low == high == evaluation.score
    labels = {verdict.label for verdict in rubric.verdicts} | {gate.verdict for gate in rubric.gates} | {"inconclusive"}
    assert evaluation.verdict in labels
    assert evaluation.reason


@settings(max_examples=200, deadline=None)
@given(scored(), st.data())
def test_a_better_dimension_never_lowers_the_score(case: tuple[Rubric, dict[str, Any]], data: st.DataObject) -> None:
    rubric, scores = case
    name = data.draw(st.sampled_from(sorted(scores)))
    better = data.draw(st.floats(scores[name], rubric.scale_of(name).max))
    before, after = rubrica.decide(rubric, scores), rubrica.decide(rubric, {**scores, name: better})
    assert before.score is not None
    assert after.score is not None
    assert after.score >= before.score - 1e-9


@settings(max_examples=100, deadline=None)
@given(scored(missing=True), st.randoms(use_true_random=False))
def test_the_order_of_the_scores_does_not_matter(case: tuple[Rubric, dict[str, Any]], chance: Any) -> None:
    rubric, scores = case
    shuffled = list(scores.items())
    chance.shuffle(shuffled)
    one, other = rubrica.decide(rubric, scores), rubrica.decide(rubric, dict(shuffled))
    assert (one.score, one.bounds, one.verdict, one.reason) == (other.score, other.bounds, other.verdict, other.reason)


@settings(max_examples=200, deadline=None)
@given(scored(missing=True))
def test_what_is_missing_is_bounded_by_what_it_could_be(case: tuple[Rubric, dict[str, Any]]) -> None:
    """Filling the gaps in, at either end of the scale, gives a score within the bounds that were told."""
    rubric, scores = case
    if rubric.on_unscored.policy != "inconclusive":
        return
    told = rubrica.decide(rubric, scores)
    for end in ("min", "max"):
        filled = {n: getattr(rubric.scale_of(n), end) if v is None else v for n, v in scores.items()}
        complete = rubrica.decide(rubric, filled)
        assert complete.score is not None
        assert told.bounds[0] <= complete.score <= told.bounds[1]
        if told.verdict != "inconclusive":
            assert complete.verdict == told.verdict


@pytest.mark.parametrize("name", PACKS)
def test_the_steps_of_a_full_score_add_up(name: str) -> None:
    rubric = RUBRICS[name]
    evaluation = rubrica.decide(rubric, {n: rubric.scale_of(n).max for n in rubric.dimensions})
    assert evaluation.score == rubric.score.out_of
    assert sum(step.amount for step in evaluation.steps) == pytest.approx(evaluation.score)
