"""The model of grades in the package is what the examples make, and does well on examples that were kept apart."""

from __future__ import annotations

import numpy as np
import pytest
from training.maths_grade import HELD_OUT, LEARNT, measured, rank_correlation, read_graded, train

from rubrica.text.questions.maths_grade import GradeModel, MathsGrade, estimate_grade, grade_model


@pytest.fixture(scope="module")
def trained() -> GradeModel:
    return train()


def test_training_again_gives_the_same_model(trained: GradeModel) -> None:
    kept = grade_model()
    assert kept.made_from == trained.made_from, "run `python -m training.maths_grade`"
    assert kept.weights == pytest.approx(trained.weights, abs=1e-4)
    assert (kept.intercept, kept.spread) == pytest.approx((trained.intercept, trained.spread), abs=1e-4)


def test_questions_that_were_kept_apart_lie_near_their_grade() -> None:
    found = measured(grade_model(), read_graded(HELD_OUT))
    assert found["rank correlation"] >= 0.8
    assert found["within one grade"] >= 0.8
    assert found["within the bounds"] >= 0.85


def test_nearly_every_example_has_an_estimate() -> None:
    every = [*read_graded(LEARNT), *read_graded(HELD_OUT)]
    assert sum(isinstance(estimate_grade(question.text), MathsGrade) for question in every) / len(every) >= 0.95


def test_no_question_and_no_group_is_both_learnt_and_kept_apart() -> None:
    learnt, apart = read_graded(LEARNT), read_graded(HELD_OUT)
    texts = [question.text for question in (*learnt, *apart)]
    assert len(texts) == len(set(texts))
    assert len(apart) * 2 >= len(learnt) * 0.7
    assert {(question.group, question.grade) for question in learnt}.isdisjoint(
        (question.group, question.grade) for question in apart
    )


def test_ranks_that_tie_share_their_mean() -> None:
    values = np.array([1.0, 2.0, 2.0, 3.0])
    assert rank_correlation(values, values) == pytest.approx(1)
    assert rank_correlation(values, -values) == pytest.approx(-1)
