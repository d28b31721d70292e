"""The audit: agreement, stability, length, and reviewers' biases, found where they are and not where they are not."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from rubrica.council.audit import Audit, audit
from rubrica.council.bias import Bias
from rubrica.council.order import reviewing_orders
from rubrica.council.saved import SavedCouncil, read_council, read_councils
from rubrica.council.slope import within_groups
from rubrica.engine.cases import BadLine

NAMES = ("ann", "bo", "cy", "di")
DIMENSIONS = ("accuracy", "conciseness")
Give = Callable[[str, str, int, int, float], float]
"""From reviewer, author, place, words and quality to a score."""


def plainly(_reviewer: str, _author: str, _place: int, _words: int, quality: float) -> float:
    return quality


def dice(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - a test's dice


def session(seed: int, give: Give = plainly, noise: float = 0.3, whole: float = 0.3, **changes: Any) -> SavedCouncil:
    """One saved council: answers of random quality and length, reviewed by all with some noise."""
    chance = dice(seed)
    labels = dict(zip("ABCD", chance.sample(NAMES, 4), strict=True))
    quality = {label: chance.uniform(4, 8) for label in labels}
    words = {label: chance.randrange(20, 400) for label in labels}
    reviews = []
    for own, order in reviewing_orders("ABCD", exclude_self=changes.get("exclude_self", True)).items():
        for place, label in enumerate(order, 1):
            base = give(labels[own], labels[label], place, words[label], quality[label])
            short = 9 - math.log2(words[label] / 20)
            reviews.append(
                {
                    "reviewer": labels[own],
                    "response": f"Response {label}",
                    "position": place,
                    "own": own == label,
                    "status": "scored",
                    "score": base + chance.gauss(0, noise),
                    "scores": {
                        "accuracy": base + chance.gauss(0, noise),
                        "conciseness": short + chance.gauss(0, noise),
                    },
                    "holistic": base + chance.gauss(0, whole),
                }
            )
    saved = {
        "reviews": reviews,
        "answers": {f"Response {label}": {"model": name, "words": words[label]} for label, name in labels.items()},
        "metadata": {
            "rubric": "council-review@1.0.0",
            "scoring": changes.get("scoring", "both"),
            "pool": "mean",
            "out_of": 10,
            "tops": dict.fromkeys(DIMENSIONS, 10),
        },
    }
    return read_council(json.dumps(saved).encode())


def audited(give: Give = plainly, count: int = 24, first: int = 0, **changes: Any) -> Audit:
    return audit([session(seed, give, **changes) for seed in range(first, first + count)])


def bias(found: Audit, reviewer: str, kind: str) -> Bias:
    return next(one for one in found.biases if (one.reviewer, one.kind) == (reviewer, kind))


def test_reviewers_without_a_bias_have_none() -> None:
    alarms = 0
    for first in range(0, 400, 40):
        found = audited(first=first, exclude_self=False)
        assert len(found.biases) == 16
        alarms += any(one.corrected is None or one.corrected <= 0.05 for one in found.biases)
    assert alarms <= 2  # one in twenty is what chance gives


def test_a_reviewer_that_favours_first_places_is_found() -> None:
    def hasty(reviewer: str, _author: str, place: int, _words: int, quality: float) -> float:
        return quality - 0.8 * place if reviewer == "bo" else quality

    found = audited(hasty)
    own = bias(found, "bo", "position")
    assert own.effect == pytest.approx(-0.8, abs=0.2)
    assert own.corrected is not None
    assert own.corrected < 0.05
    assert bias(found, "cy", "position").corrected > 0.05  # type: ignore[operator]


def test_a_reviewer_that_favours_long_answers_is_found() -> None:
    def impressed(reviewer: str, _author: str, _place: int, words: int, quality: float) -> float:
        return quality + 0.5 * math.log2(words / 20) if reviewer == "cy" else quality

    found = audited(impressed)
    own = bias(found, "cy", "length")
    assert own.effect == pytest.approx(0.5, abs=0.15)
    assert own.corrected is not None
    assert own.corrected < 0.05
    beside = bias(found, "ann", "length").effect
    assert beside is not None
    assert beside < 0  # beside cy, the others favour short ones


def test_a_harsh_reviewer_is_found() -> None:
    def strict(reviewer: str, _author: str, _place: int, _words: int, quality: float) -> float:
        return quality - 1.5 if reviewer == "ann" else quality

    found = audited(strict)
    own = bias(found, "ann", "harshness")
    assert own.effect == pytest.approx(-1.5, abs=0.2)
    assert own.corrected is not None
    assert own.corrected < 0.01


def test_a_reviewer_that_prefers_its_own_answers_is_found_where_it_reviews_them() -> None:
    def proud(reviewer: str, author: str, _place: int, _words: int, quality: float) -> float:
        return quality + 2 if reviewer == author == "di" else quality

    found = audited(proud, exclude_self=False)
    own = bias(found, "di", "self-preference")
    assert own.effect == pytest.approx(2, abs=0.3)
    assert own.corrected is not None
    assert own.corrected < 0.05
    assert bias(found, "ann", "self-preference").corrected > 0.05  # type: ignore[operator]
    without = bias(audited(proud), "di", "self-preference")
    assert (without.effect, without.p) == (None, None)
    assert "too few: 0 sessions with self-reviews" in without.why


def test_rubric_scores_that_agree_more_than_holistic_ones_are_told_so() -> None:
    found = audited(noise=0.2, whole=1.5)
    assert found.agreement.rubric.value < found.agreement.holistic.value  # type: ignore[operator]
    assert found.agreement.difference == pytest.approx(1.5**2 - 0.2**2, rel=0.5)
    assert found.agreement.p is not None
    assert found.agreement.p < 0.001
    assert found.dimensions.p is not None
    assert found.stability.rubric.value > found.stability.holistic.value  # type: ignore[operator]
    assert found.stability.p is not None
    assert found.stability.p < 0.05
    assert found.variance["accuracy"].value == pytest.approx(0.04, rel=0.5)


def test_equal_ways_of_scoring_are_not_told_apart() -> None:
    found = audited(noise=0.8, whole=0.8)
    assert found.agreement.p is not None
    assert found.agreement.p > 0.05


def test_conciseness_falls_with_length_and_is_told_with_its_p() -> None:
    found = audited()
    assert found.conciseness.gain == pytest.approx(-1, abs=0.1)
    assert found.conciseness.correlation < -0.9  # type: ignore[operator]
    assert found.conciseness.p < 0.01  # type: ignore[operator]
    assert found.score.p > 0.05  # type: ignore[operator]


def test_few_sessions_give_figures_but_no_p() -> None:
    found = audited(count=3)
    assert found.agreement.p is None
    assert "too few: 3 sessions with both" in found.agreement.why
    assert found.conciseness.p is None
    assert "too few" in found.conciseness.why
    assert all(one.p is None and one.why.startswith("too few") for one in found.biases)
    assert bias(found, "ann", "harshness").effect is not None


def test_sessions_by_rubric_alone_have_nothing_to_be_compared_with() -> None:
    found = audited(scoring="rubric")
    assert found.agreement.holistic.value is None
    assert found.agreement.rubric.value is not None
    assert (found.agreement.difference, found.agreement.p) == (None, None)


def test_an_audit_is_the_same_every_time() -> None:
    assert audited(count=8) == audited(count=8)


def test_lines_that_are_no_session_are_told() -> None:
    found = list(read_councils([b'{"question": 1}\n', b"\n", b"?\n"]))
    assert [one.line for one in found if isinstance(one, BadLine)] == [1, 3]


def test_a_slope_inside_groups_ignores_what_differs_between_them() -> None:
    groups = [[(x, 10.0 * level - x) for x in (1.0, 2.0, 3.0)] for level in range(6)]
    slope = within_groups(groups, dice(1))
    assert slope is not None
    assert (slope.gain, slope.correlation) == (-1.0, -1.0)
    assert slope.p < 0.01
    assert within_groups([[(1, 2.0)], [(1, 3.0), (2, 3.0)]], dice(1)) is None


def test_the_p_of_a_slope_is_exact_where_all_arrangements_can_be_tried() -> None:
    slope = within_groups([[(1, 1.0), (2, 2.0), (3, 3.0)]], dice(1))
    assert slope is not None
    assert slope.p == pytest.approx(2 / 6)


def test_chance_alone_gives_small_ps_as_often_as_it_should() -> None:
    small = 0
    for seed in range(200):
        chance = dice(seed)
        groups = [[(float(x), chance.gauss(0, 1)) for x in range(3)] for _ in range(8)]
        slope = within_groups(groups, chance)
        assert slope is not None
        small += slope.p <= 0.05
    assert 2 <= small <= 20
