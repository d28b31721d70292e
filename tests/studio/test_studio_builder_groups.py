"""What the builder's further forms do to a document: sections, bands, notes, and how players are compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.errors import RubricError
from rubrica.model.judge_options import Normalisation
from rubrica.studio.builder import bands, notes
from rubrica.studio.builder.bands import USUAL, Band, bands_of, coverage, rows_of
from rubrica.studio.builder.checking import DraftSample, check_draft, check_payload, payload
from rubrica.studio.builder.dimensions import remove_dimension, rename_dimension
from rubrica.studio.builder.document import Data, at, put
from rubrica.studio.builder.normalisation import WAYS, example_of, method_of
from rubrica.studio.builder.sections import by_formula, members_of, with_member, with_section
from rubrica.studio.builder.starters import STARTERS
from rubrica.workspace.draft import read_draft
from rubrica.workspace.rubric_text import from_text


@pytest.fixture
def document() -> Data:
    return from_text(STARTERS["judged"].text)[0]


def told(document: Data) -> list[tuple[str, str]]:
    """Where something is wrong, and what."""
    return [(problem.where, problem.message) for problem in check_draft(document, None, DraftSample()).problems]


# --- sections ---------------------------------------------------------------------------------------------


def test_a_section_begins_with_what_no_other_has_and_can_be_saved_at_once(document: Data) -> None:
    document, first = with_section(document)
    assert members_of(document, first) == ["accuracy", "clarity"]
    document = with_member(document, first, "clarity", inside=False)
    document, second = with_section(document)
    assert members_of(document, second) == ["clarity"]
    assert list(read_draft(document).rubric.sections) == [first, second]


def test_the_members_of_a_section_keep_the_order_of_the_dimensions(document: Data) -> None:
    document = put(document, ("sections", "all"), {"dimensions": ["clarity"]})
    document = with_member(document, "all", "accuracy", inside=True)
    assert members_of(document, "all") == ["accuracy", "clarity"]
    assert with_member(document, "all", "accuracy", inside=True) == document


def test_a_section_without_dimensions_is_told_in_plain_words(document: Data) -> None:
    document = put(document, ("sections", "all"), {"dimensions": ["clarity"]})
    document = with_member(document, "all", "clarity", inside=False)
    assert told(document) == [("sections.all.dimensions", "the section has no dimension")]


def test_a_formula_of_a_section_begins_as_its_mean_and_follows_a_renamed_dimension(document: Data) -> None:
    document, name = with_section(document)
    mean = read_draft(document).rubric
    document = by_formula(document, name, formula=True)
    assert at(document, ("sections", name, "formula")) == "mean(accuracy, clarity)"
    fewer = with_member(document, name, "clarity", inside=False)
    assert at(fewer, ("sections", name, "formula")) == "mean(accuracy)"  # until somebody writes another one
    own = put(document, ("sections", name, "formula"), "min(accuracy, clarity)")
    assert (
        at(with_member(own, name, "clarity", inside=False), ("sections", name, "formula")) == "min(accuracy, clarity)"
    )
    document = rename_dimension(document, ("dimensions", "accuracy"), "truth")
    assert at(document, ("sections", name, "formula")) == "mean(truth, clarity)"
    assert told(document) == []
    back = rename_dimension(by_formula(document, name, formula=False), ("dimensions", "truth"), "accuracy")
    assert read_draft(back).rubric.hash == mean.hash
    assert told(remove_dimension(by_formula(document, name, formula=False), ("dimensions", "clarity"))) == []


# --- bands ------------------------------------------------------------------------------------------------


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=4), st.integers(0, 10_000), max_size=6))
def test_bands_are_kept_best_first_and_come_back_as_they_were(shares: dict[str, int]) -> None:
    rows = [Band(name, share / 100) for name, share in shares.items()]
    kept = bands_of(rows)
    assert list(kept.values()) == sorted(kept.values(), reverse=True)
    assert kept == {name: share / 10_000 for name, share in shares.items()}
    assert sorted((row.name, row.start) for row in rows_of(kept)) == sorted((row.name, row.start) for row in rows)
    if rows:
        assert sum(piece.width for piece in coverage(rows).stretches) == pytest.approx(100)


def test_what_no_band_covers_and_what_two_do_is_shown() -> None:
    found = coverage([Band("good", 70), Band("fine", 70), Band("fair", 20), Band("later")])
    assert [(piece.kind, piece.label) for piece in found.stretches] == [
        ("gap", "no band"), ("anchor", "fair"), ("overlap", "good / fine"),
    ]  # fmt: skip


def test_further_bands_fill_the_bottom_first_and_then_the_top() -> None:
    rows: list[Band] = []
    for name in ("poor", "good", "best"):
        rows.append(Band(name, bands.new_band(rows).start))
    assert [(row.name, row.start) for row in bands.sort_bands(rows)] == [("best", 75), ("good", 50), ("poor", 0)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([Band("good", 70)], "no band starts at 0, so that low scores would have none"),
        ([Band("good", 120), Band("poor", 0)], "the band good has to begin somewhere from 0 to 100 percent"),
        ([Band("good"), Band("poor", 0)], "the band good has to begin somewhere from 0 to 100 percent"),
        ([Band("", 50), Band("poor", 0)], "a band has no name"),
        ([Band("poor", 50), Band(" poor", 0)], "two bands are called poor"),
        ([Band("good", 0), Band("poor", 0)], "two bands start at the same share"),
    ],
)
def test_bands_that_cannot_be_meant_are_told_and_never_saved(document: Data, rows: list[Band], message: str) -> None:
    document = put(document, ("bands",), bands_of(rows))
    assert message in [said for _, said in told(document)]
    with pytest.raises(RubricError):
        check_payload(payload(document))


def test_the_usual_bands_can_be_saved_as_they_are(document: Data) -> None:
    document = put(document, ("bands",), bands_of(USUAL))
    assert told(document) == []
    assert check_payload(payload(document)).rubric.bands["acceptable"] == 0.5


# --- notes ------------------------------------------------------------------------------------------------


def test_a_note_is_written_widened_and_called_otherwise(document: Data) -> None:
    document, name = notes.with_note(document)
    assert told(document) == [(f"notes.{name}.text", "the note says nothing yet")]
    document = notes.rename_note(document, name, "computer science")
    document = notes.write_note(document, "computer science", "Run it in your head.", ["coding"])
    found = read_draft(document).rubric.notes
    assert found is not None
    assert (found.by, found.find("Coding")) == ("subject", ("computer science", found.named["computer science"]))
    document = notes.write_note(document, "computer science", notes.text_of(document, "computer science"), [])
    assert document["notes"] == {"by": "subject", "computer science": "Run it in your head."}
    assert notes.also_of(document, "computer science") == []


def test_the_last_note_takes_everything_along(document: Data) -> None:
    document, first = notes.with_note(document)
    document, second = notes.with_note(document)
    assert (first, second, notes.note_names(document)) == ("value", "value_2", ["value", "value_2"])
    assert "notes" not in notes.remove_note(notes.remove_note(document, first), second)


def test_notes_that_nothing_chooses_are_told(document: Data) -> None:
    document = put(document, ("notes",), {"maths": "Work it out."})
    assert told(document) == [("notes.by", "nothing says which note is for which case")]
    closed = put(put(document, ("notes", "by"), "subject"), ("context", "pace"), "how fast")
    assert [where for where, _ in told(closed)] == ["notes.by"]  # subject is not declared


# --- comparing players ------------------------------------------------------------------------------------


def test_every_way_to_compare_players_has_plain_words_and_an_example(document: Data) -> None:
    methods = Normalisation.model_json_schema()["properties"]["method"]["enum"]
    assert set(WAYS) == set(methods)
    assert example_of("none") == "10, 15 and 40 points stay 10, 15 and 40."
    assert example_of("z_score") != example_of("z_score", apply_log=True)
    assert example_of("log") == example_of("min_max", apply_log=True)
    for method in methods:
        said = put(document, ("normalization", "method"), method)
        assert (method_of(said, "normalization"), read_draft(said).rubric.normalization.method) == (method, method)
    assert method_of({"normalization": {"method": "guess"}}, "normalization") == "none"
