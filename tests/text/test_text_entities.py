"""Named things and years."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.text.entities import entity_mentions, recurring_mentions, year_mentions


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("We met Gerald in New York.", ("gerald", "new york")),
        ("Gerald ran.", ()),  # every sentence starts with a capital
        ("Gerald ran. I saw Gerald.", ("gerald",)),
        ("Gerald Fitzwilliam ran.", ("gerald fitzwilliam",)),
        ("Yesterday Gerald ran.", ("gerald",)),
        ("Moth men flew. The moth and Old Bill.", ("old bill",)),
        ("It was Dr. Who, and Mrs. Dalloway's dog.", ("who", "dalloway")),
        ("at the Bank of England, not the Louvre", ("bank of england", "louvre")),
        ("so NASA and the BBC said OK", ("nasa", "bbc")),
        ("why ARE YOU SHOUTING at us", ()),
        ("on Monday in May I rested", ()),
        ("then I met Émile Zola", ("émile zola",)),
        ("he told Ed. Ed laughed at Ed", ("ed",)),
        ("", ()),
        ("no names here at all", ()),
    ],
)
def test_names_are_found_by_their_capitals(text: str, names: tuple[str, ...]) -> None:
    assert entity_mentions(text) == names


def test_a_known_name_counts_at_the_start_of_a_sentence() -> None:
    assert entity_mentions("Gerald ran.", known=["gerald"]) == ("gerald",)


def test_a_part_of_a_name_recalls_the_whole() -> None:
    earlier = entity_mentions("I knew Gerald Fitzwilliam and New Jersey.")
    assert recurring_mentions(earlier, entity_mentions("so Gerald moved to New York")) == ("gerald",)
    assert recurring_mentions([], ["gerald"]) == ()


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("In 1974 and the 1980s, 1974's moth", (1974, 1980)),
        ("1975-06-01 to 2010", (1975, 2010)),
        ("$1974, 1,974, 3.1974, 1500%, 12345, A1974, 1974B, 2100, 999", ()),
        ("1066.", (1066,)),
    ],
)
def test_years_are_numbers_that_can_be_years(text: str, years: tuple[int, ...]) -> None:
    assert year_mentions(text) == years


@given(st.text())
def test_any_text_has_distinct_names_and_years_in_range(text: str) -> None:
    names = entity_mentions(text)
    assert len(set(names)) == len(names)
    assert all(name and name == name.lower() for name in names)
    assert all(1000 <= year <= 2099 for year in year_mentions(text))
