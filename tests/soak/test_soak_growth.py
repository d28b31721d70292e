"""A soak sees what grows, and takes neither warming up nor peaks for growth."""

from __future__ import annotations

import random

import pytest
from soak_growth import ALLOWED, FEWEST, Outcomes, Sample, grown, growth

MEMORY = ALLOWED["memory"]


def series(start: float, per_sample: float, noise: float = 0.0, count: int = 60) -> list[float]:
    dice = random.Random(3)  # noqa: S311
    return [start + per_sample * number + dice.uniform(-noise, noise) for number in range(count)]


@pytest.mark.parametrize(
    "values",
    [
        series(150, 0),
        series(150, 0, noise=20),
        [*series(50, 5, count=20), *series(150, 0, count=40)],  # it warms up
        [*series(150, 0, count=50), 900, *series(150, 0, count=9)],  # a peak
        series(150, 0.5, noise=2),  # within what is allowed
        series(900, -5),
    ],
)
def test_what_stays_about_the_same_has_not_grown(values: list[float]) -> None:
    assert growth(values, MEMORY) is None


@pytest.mark.parametrize(
    "values", [series(150, 4), series(150, 4, noise=20), [*series(150, 0, count=41), *[300.0] * 19]]
)
def test_what_goes_on_growing_is_told_with_its_figures(values: list[float]) -> None:
    told = growth(values, MEMORY)
    assert told is not None
    assert "MB" in told


def test_a_few_samples_say_nothing() -> None:
    assert growth(series(150, 400, count=FEWEST - 1), MEMORY) is None
    assert growth(series(150, 400, count=FEWEST), MEMORY) is not None


def test_a_leak_of_descriptors_or_threads_is_told_by_name() -> None:
    leaking = [Sample(n, 150.0, 40 + n, 10) for n in range(200)]
    threads = [Sample(n, 150.0, 40, 10 + n // 10) for n in range(200)]
    steady = [Sample(n, 150.0 + n % 7, 40 + n % 9, 10 + n % 3) for n in range(200)]
    assert [fault.split()[0] for fault in grown(leaking)] == ["descriptors"]
    assert [fault.split()[0] for fault in grown(threads)] == ["threads"]
    assert grown(steady) == []


def test_outcomes_count_errors_and_time_since_the_last_look() -> None:
    outcomes = Outcomes()
    for status, seconds in ((200, 0.1), (404, 0.2), (503, 4.0)):
        outcomes.add(status, seconds)
    assert outcomes.window() == (3, 0.2, 4.0)
    assert outcomes.window() == (0, 0.0, 0.0)
    assert (outcomes.answered, outcomes.refused) == (3, 2)
