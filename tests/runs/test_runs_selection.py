"""Choosing cases: filters, samples that stay, limits, ids that occur twice."""

from __future__ import annotations

import pytest

from rubrica.engine.cases import BadLine, Case, case_from
from rubrica.errors import RubricaError
from rubrica.runs.selection import Selection, distinct, filter_of, sample_of


def case(id_: str = "algebra-7", **data: object) -> Case:
    found = case_from({"id": id_, "response": "x is 3", **data}, 1)
    assert isinstance(found, Case)
    return found


def ids(found: object) -> list[str]:
    return [item.id for item in found if isinstance(item, Case)]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("subject=math", True),
        ("subject = math", True),
        ("subject!=math", False),
        ("subject=ma*", True),
        ("subject=art", False),
        ("grade=4", True),
        ("grade=4.0", False),
        ("hard=true", True),
        ("nosuch=null", True),
        ("nosuch!=x", True),
        ("id=algebra-*", True),
        ("expect=pass", True),
        ("rubric=tiny", True),
        ("pace > 0.4 and grade >= 4", True),
        ("grade == 4", True),
        ("word_count == 3", True),
        ("nosuch > 1", False),
        ("Algebra", True),
        ("geometry", False),
    ],
)
def test_a_filter_fits(text: str, fits: bool) -> None:
    one = case(subject="math", grade=4, hard=True, custom_metrics={"pace": 0.5}, expect="pass", rubric="tiny")
    assert filter_of(text).fits(one) is fits


@pytest.mark.parametrize("text", ["grade >", "", "a b c", "import os; x"])
def test_a_filter_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(RubricaError, match="--filter"):
        filter_of(text)


def test_a_sample_is_exact_and_mostly_stays_when_the_file_grows() -> None:
    few, many = ([case(f"c{n}") for n in range(count)] for count in (1_000, 1_100))
    wanted = Selection(sample=sample_of("100", seed=1))
    before, after = (set(ids(wanted.settled(cases).of(cases))) for cases in (few, many))
    assert len(before) == len(after) == 100
    assert len(before & after) >= 80
    assert before != set(ids(Selection(sample=sample_of("100", seed=2)).settled(few).of(few)))


def test_a_share_needs_no_second_look_and_is_about_that_share() -> None:
    chosen = Selection(sample=sample_of("10%", seed=0))
    assert not chosen.needs_two_passes
    assert 150 < len(ids(chosen.of(case(f"c{n}") for n in range(2_000)))) < 250


@pytest.mark.parametrize("text", ["0", "-3", "0%", "101%", "all", "nan%", "1.5"])
def test_a_sample_of_nothing_sensible_is_refused(text: str) -> None:
    with pytest.raises(RubricaError, match="--sample"):
        sample_of(text, seed=0)


def test_the_limit_counts_cases_that_fit_and_nothing_after_them_is_read() -> None:
    def source() -> object:
        yield from [case("a1"), case("b1"), BadLine(3, "odd"), case("a2")]
        raise AssertionError("read too far")

    found = list(Selection((filter_of("a"),), limit=2).of(source()))  # type: ignore[arg-type]
    assert ids(found) == ["a1", "a2"]
    assert any(isinstance(item, BadLine) for item in found)


def test_ids_that_occur_again_are_numbered_and_told_once() -> None:
    told: list[str] = []
    found = distinct([case("x"), case("x#2"), case("x"), case("x"), case("y"), case("y")], lambda c: told.append(c.id))
    assert ids(found) == ["x", "x#2", "x#3", "x#4", "y", "y#2"]
    assert told == ["x"]
