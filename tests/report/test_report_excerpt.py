from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rubrica.report.excerpt import LONGEST, Highlight, excerpt, visible

places_of = st.lists(st.tuples(st.integers(0, 40_000), st.integers(1, 3_000)), max_size=30)
marks_of = st.lists(st.builds(Highlight, st.integers(-5, 60), st.integers(-5, 60), st.sampled_from("abc")), max_size=8)


def test_overlapping_marks_share_a_piece_that_names_both() -> None:
    pieces = excerpt("one two three", [Highlight(0, 7, "first", "plus"), Highlight(4, 13, "second", "minus")])
    assert [(piece.text, piece.title, piece.tone) for piece in pieces] == [
        ("one ", "first", "plus"),
        ("two", "first; second", "minus"),
        (" three", "second", "minus"),
    ]


def test_a_mark_inside_another_splits_it() -> None:
    pieces = excerpt("abcdef", [Highlight(0, 6, "outer"), Highlight(2, 4, "inner")])
    assert [(piece.text, piece.title) for piece in pieces] == [("ab", "outer"), ("cd", "outer; inner"), ("ef", "outer")]


def test_marks_off_the_text_are_cut_to_it_or_dropped() -> None:
    pieces = excerpt(
        "abc",
        [Highlight(-4, 1, "early"), Highlight(2, 99, "late"), Highlight(50, 60, "gone"), Highlight(2, 2, "empty")],
    )
    assert [(piece.text, piece.title) for piece in pieces] == [("a", "early"), ("b", ""), ("c", "late")]


@given(st.text(max_size=50), marks_of)
def test_the_pieces_of_a_short_text_are_the_text(text: str, marks: list[Highlight]) -> None:
    pieces = excerpt(text, marks)
    assert "".join(piece.text for piece in pieces) == text
    covered = {place for mark in marks for place in range(max(mark.start, 0), min(mark.end, len(text)))}
    place = 0
    for piece in pieces:
        assert all((index in covered) == (piece.kind == "mark") for index in range(place, place + len(piece.text)))
        place += len(piece.text)


@given(
    st.integers(LONGEST + 1, 40_000), st.lists(st.tuples(st.integers(0, 40_000), st.integers(1, 3_000)), max_size=30)
)
def test_a_long_text_is_shortened_and_accounts_for_every_character(length: int, places: list[tuple[int, int]]) -> None:
    text = "".join(chr(97 + index % 26) for index in range(length))
    pieces = excerpt(text, [Highlight(start, start + size, "found") for start, size in places])
    shown = sum(len(piece.text) for piece in pieces if piece.kind != "gap")
    left_out = sum(int(piece.text.split()[0].replace(",", "")) for piece in pieces if piece.kind == "gap")
    assert shown + left_out == length
    assert shown <= LONGEST + 1_500


def test_a_long_text_keeps_what_stands_around_a_mark() -> None:
    text = "x" * 10_000 + "needle" + "y" * 10_000
    pieces = excerpt(text, [Highlight(10_000, 10_006, "found")])
    assert [piece.kind for piece in pieces] == ["plain", "gap", "plain", "mark", "plain", "gap", "plain"]
    assert pieces[3].text == "needle"
    assert pieces[1].text == "9,240 characters left out"


def test_marks_that_find_no_room_are_counted() -> None:
    marks = [Highlight(start, start + 10, "found") for start in range(1_000, 100_000, 1_000)]
    pieces = excerpt("z" * 200_000, marks)
    shown = sum(piece.kind == "mark" for piece in pieces)
    told = sum(int(piece.text.rpartition("with ")[2].split()[0]) for piece in pieces if "marked" in piece.text)
    assert shown + told == len(marks)


def test_control_characters_become_visible_one_for_one() -> None:
    assert visible("a\x00b\x1b[0m\tc\n\x7f\ud800") == "a␀b␛[0m\tc\n␡\ufffd"
