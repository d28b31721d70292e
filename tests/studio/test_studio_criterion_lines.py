"""Criteria as lines: points in front, tags behind, cells of a table, and what a list cannot say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.studio.criterion_lines import CriterionLine, criterion_lines, read_criterion_lines


@pytest.mark.parametrize(
    ("line", "points", "said"),
    [
        ("+5 names the dose", 5, "names the dose"),
        ("-3 invents a dose", -3, "invents a dose"),
        ("\u22122,5: invents a dose", -2.5, "invents a dose"),
        ("- names the dose", 1, "names the dose"),
        ("\u2022 +4 names the dose", 4, "names the dose"),
        ("2) [3 points] names the dose", 3, "names the dose"),
        ("(-1) invents a dose", -1, "invents a dose"),
        ("5 tablets are named", 1, "5 tablets are named"),  # no sign: it is part of what is asked
        ("- 5 tablets are named", 1, "5 tablets are named"),  # nor is what follows the mark of a list
        ("names the dose\t4", 4, "names the dose"),
        ("-4\tinvents a dose", -4, "invents a dose"),
    ],
)
def test_points_stand_in_front_of_a_criterion(line: str, points: float, said: str) -> None:
    assert read_criterion_lines(line) == [CriterionLine(said, points)]


def test_tags_follow_a_number_sign_or_stand_in_a_cell() -> None:
    text = "+1 Names it. #accuracy #dose\nIs item #3 named?\nIs kind.\t2\ttone, style\n \n#"
    assert [(one.criterion, one.tags) for one in read_criterion_lines(text)] == [
        ("Names it.", ("accuracy", "dose")),
        ("Is item #3 named?", ()),
        ("Is kind.", ("tone", "style")),
        ("#", ()),
    ]


WORDS = st.text("ab+-#5. ", min_size=1, max_size=12)


@given(st.lists(st.tuples(WORDS, st.integers(-9, 9).filter(bool), st.lists(WORDS, max_size=2)), max_size=3))
def test_a_list_says_all_that_the_criteria_say_or_nothing(rows: list[tuple[str, int, list[str]]]) -> None:
    criteria = [{"criterion": said, "points": points, "tags": tags} for said, points, tags in rows]
    text = criterion_lines(criteria)
    assert text is None or [{"tags": [], **one.plain} for one in read_criterion_lines(text)] == criteria
