"""Criteria in a draft without a page: a tree moved about, weights and points told from each other, lint taken over."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica import api
from rubrica.errors import InputError, RubricError
from rubrica.model.rubric import Rubric
from rubrica.studio.builder.advice import take_advice
from rubrica.studio.builder.answer_forms import WAYS, answer_way, balance_of, with_answer_way
from rubrica.studio.builder.checking import DraftSample, check_draft, check_payload, payload
from rubrica.studio.builder.criterion_forms import summary_of
from rubrica.studio.builder.criterion_tree import (
    DIMENSIONS,
    add_below,
    add_inside,
    add_last,
    indent,
    leaves_of,
    outdent,
    remove_row,
    tree_rows,
)
from rubrica.studio.builder.document import Data, Path, at, put
from rubrica.studio.builder.score_ways import with_case_criteria, with_criteria, with_score_way
from rubrica.studio.builder.starters import STARTERS
from rubrica.studio.criterion_lines import read_criterion_lines
from rubrica.workspace.rubric_text import from_text

LIST = "+5 States the usual dose.\n+3 Says when to see a doctor.\n-4 Recommends a second medicine."
VERDICTS = {"verdicts": [{"label": "good", "when": "score >= 0.6"}, {"label": "poor"}]}


def in_points() -> Data:
    empty: Data = {"name": "leaflet", "score": {"points": True}, **VERDICTS}
    return with_criteria(empty, DIMENSIONS, read_criterion_lines(LIST))


def in_weights() -> Data:
    parts = {"first": {"asks": "One?", "weight": 0.5}, "second": {"asks": "Two?", "weight": 0.5}}
    return {"name": "paper", "dimensions": {"code": {"weight": 1.0, "parts": parts}}, **VERDICTS}


def rubric_of(document: Data) -> Rubric:
    return check_payload(payload(document)).rubric


def outline(document: Data) -> list[str]:
    return [f"{row.number} {row.path[-1]}" for row in tree_rows(document, DIMENSIONS, lambda _: True)]


def test_a_pasted_list_is_a_rubric_in_points() -> None:
    rubric = rubric_of(in_points())
    assert {name: spec.points for name, spec in rubric.dimensions.items()} == {
        "states_the_usual_dose": 5,
        "says_when_to_see_a": 3,
        "recommends_a_second_medicine": -4,
    }
    assert api.decide(rubric, dict(zip(rubric.dimensions, (1, 0, 0), strict=True))).score == 0.625
    assert summary_of(in_points(), DIMENSIONS) == "3 criteria: 8 points to earn, 4 to lose"


def test_a_name_is_never_taken_twice_and_never_a_word_of_formulas() -> None:
    lines = read_criterion_lines("Score\nIs kind.\nIs kind!\n5.\n速度")
    document = with_criteria(in_points(), DIMENSIONS, lines)
    assert [*document["dimensions"]][3:] == ["score_2", "is_kind", "is_kind_2", "c_5", "c"]


def test_a_criterion_becomes_a_heading_and_a_criterion_again() -> None:
    document, path = indent(in_points(), ("dimensions", "says_when_to_see_a"))
    assert outline(document) == ["1 states_the_usual_dose", "1.1 says_when_to_see_a", "2 recommends_a_second_medicine"]
    assert document["dimensions"]["states_the_usual_dose"]["title"] == "States the usual dose."
    assert [row.share for row in tree_rows(document, DIMENSIONS, lambda _: True)] == [1, 1, -0.8]
    rubric_of(document)
    document, path = outdent(document, path)
    assert path == ("dimensions", "says_when_to_see_a")
    assert document == in_points()


def test_what_comes_into_a_weighted_tree_makes_room_and_what_goes_gives_it_back() -> None:
    document, path = add_inside(in_weights(), ("dimensions", "code", "parts", "first"))
    document = put(document, (*path, "asks"), "Is it there?")
    document, below = add_below(document, path)
    document = put(document, (*below, "asks"), "Does it run?")
    assert summary_of(document, ("dimensions", "code", "parts")) == "3 criteria are judged, on 2 levels"
    rows = tree_rows(document, ("dimensions", "code", "parts"), lambda _: True)
    assert [(row.number, row.share) for row in rows] == [("1", 0.5), ("1.1", 0.25), ("1.2", 0.25), ("2", 0.5)]
    rubric_of(document)
    document = remove_row(document, below)
    assert at(document, (*path, "weight")) == 1
    rubric_of(document)


def test_a_tree_has_twelve_levels_and_no_more() -> None:
    document, path = add_last({"name": "deep", "score": {"points": True}, **VERDICTS}, DIMENSIONS)
    for _ in range(11):
        document, path = add_inside(document, path)
    rubric_of(put(document, (*path, "asks"), "Is it deep?"))
    with pytest.raises(InputError, match="12 levels"):
        add_inside(document, path)
    document, path = add_below(document, path[:2])
    document, path = add_below(document, path)
    with pytest.raises(InputError, match="12 levels"):
        indent(*indent_above(document, path))


def indent_above(document: Data, path: Path) -> tuple[Data, Path]:
    """The deep branch below the last row of all: it does not fit there."""
    first = ("dimensions", next(iter(document["dimensions"])))
    last = {key: value for key, value in document["dimensions"].items() if key != first[1]}
    return put(document, DIMENSIONS, {**last, first[1]: at(document, first)}), first


STEPS: dict[str, Callable[[Data, Path], Data]] = {
    "in": lambda document, path: indent(document, path)[0],
    "out": lambda document, path: outdent(document, path)[0],
    "below": lambda document, path: add_below(document, path)[0],
    "inside": lambda document, path: add_inside(document, path)[0],
    "remove": remove_row,
}


@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 99)), max_size=8), st.booleans())
def test_whatever_is_moved_the_draft_can_be_read(steps: list[tuple[str, int]], weighed: bool) -> None:
    document = with_score_way(in_points(), "weighted")[0] if weighed else in_points()
    for step, where in steps:
        rows = tree_rows(document, DIMENSIONS, lambda _: True)
        if len(rows) < 2:
            return
        try:
            document = STEPS[step](document, rows[where % len(rows)].path)
        except InputError:
            continue
    for path in leaves_of(document, DIMENSIONS):
        document = put(document, (*path, "asks"), "Is it so?")
    told = check_draft(document, None, DraftSample()).problems
    assert {one.message for one in told} <= {
        "the points are all negative, so nothing can be earned",
        "there is none yet",
    }


@pytest.mark.parametrize("scores", [(1, 0), (0.25, 0.75), (0, 1)])
def test_every_case_scores_the_same_in_points_as_in_weights(scores: tuple[float, float]) -> None:
    document, _ = from_text(STARTERS["judged"].text)
    changed, told = with_score_way({**document, "gates": []}, "points")
    assert "scored before" in told[0]
    names = dict(zip(document["dimensions"], (1 + 9 * share for share in scores), strict=True))
    one, other = (api.decide(rubric_of(found), names).score for found in ({**document, "gates": []}, changed))
    assert one == other
    assert with_score_way(changed, "weighted")[0]["dimensions"] == document["dimensions"]


def test_points_become_weights_exactly_and_come_back() -> None:
    """In whole percents, 13 of 19 points would pass 68.4 of 100 and not 68."""
    points = {f"c{n}": own for n, own in enumerate((5, 7, 1, 6))}
    axes = {name: {"asks": "Is it so?", "answers": {"yes": 1, "no": 0}, "points": own} for name, own in points.items()}
    document = {**in_points(), "dimensions": axes}
    weighed, told = with_score_way(document, "weighted")
    assert "scores what it scored before" in told[0]
    for met in ({"c0"}, {"c1", "c3"}, {"c0", "c2", "c3"}, set(points)):
        scores = {name: float(name in met) for name in points}
        one, other = (api.decide(rubric_of(found), scores).score for found in (document, weighed))
        assert one == pytest.approx(other, abs=1e-9)
    back = with_score_way(weighed, "points")[0]["dimensions"]
    assert {name: axis["points"] for name, axis in back.items()} == points


def test_what_cannot_be_kept_in_another_way_to_score_is_told() -> None:
    weighed, told = with_score_way(in_points(), "weighted")
    assert "recommends_a_second_medicine counts for nothing" in told[-1]
    assert [spec.weight for spec in rubric_of(weighed).dimensions.values()] == [5 / 8, 3 / 8, 0]
    document, _ = from_text(STARTERS["nothing"].text)
    empty, _ = with_score_way(document, "points")
    assert rubric_of(with_criteria(empty, DIMENSIONS, read_criterion_lines(LIST))).scale.max == 1


def test_a_dimension_that_cases_fill_reads_their_criteria() -> None:
    document = with_case_criteria(
        put(in_points(), DIMENSIONS, {"answer": {"title": "By experts"}}), (*DIMENSIONS, "answer")
    )
    found = check_draft(document, None, DraftSample(response="Two a day.", criteria=LIST))
    assert found.problems == ()
    assert found.evaluation is not None
    assert [*found.evaluation.dimensions["answer"].parts] == ["c1", "c2", "c3"]
    other = check_draft(in_points(), None, DraftSample(response="Two a day.", criteria=LIST))
    assert (other.problems, other.sample_fault) == ((), "")  # criteria that were typed for another draft


def test_a_criterion_that_says_nothing_is_told_and_never_saved() -> None:
    document, path = add_last(in_points(), DIMENSIONS)
    (problem,) = check_draft(document, None, DraftSample()).problems
    assert (problem.path, problem.message) == ((*path, "asks"), "the criterion says nothing yet")
    with pytest.raises(RubricError):
        check_payload(payload(document))


@pytest.mark.parametrize("way", sorted(WAYS))
def test_every_way_of_answering_can_be_saved(way: str) -> None:
    path: Path = ("dimensions", "says_when_to_see_a")
    scaled: Data = {"name": "scaled", "scale": {"min": 1, "max": 5}, "score": {"points": True}, **VERDICTS}
    document = with_criteria(scaled, DIMENSIONS, read_criterion_lines(LIST))
    for before in WAYS:  # whatever it was answered with
        changed = with_answer_way(with_answer_way(document, path, before), path, way)
        rubric_of(changed)
        assert answer_way(changed, path) == way


@pytest.mark.parametrize(
    ("asks", "kind", "becomes"),
    [
        ("States the usual dose and warns about alcohol.", "split", ["States the usual dose.", "Warns about alcohol."]),
        ("The answer may mention side effects.", "reword", ["The answer has to mention side effects."]),
        ("Does not say when to see a doctor.", "remove", []),
    ],
)
def test_what_lint_proposes_is_taken_over(asks: str, kind: str, becomes: list[str]) -> None:
    path: Path = ("dimensions", "recommends_a_second_medicine")
    document = put(put(in_points(), (*path, "asks"), asks), (*path, "points"), 4)
    (advice,) = check_draft(document, None, DraftSample()).advice[path]
    assert (advice.kind, bool(advice.action)) == (kind, True)
    found = take_advice(document, advice)["dimensions"]
    assert [axis["asks"] for axis in found.values()][2:] == becomes
    assert sum(axis["points"] for axis in found.values()) == (12 if becomes else 8)


def test_examples_tell_their_balance() -> None:
    path: Path = ("dimensions", "a")
    axis = {"answers": {"yes": 1, "no": 0}, "examples": [{"answer": "yes"}, {"answer": "no"}]}
    assert balance_of({"dimensions": {"a": axis}}, path) == "1 of yes, 1 of no. As many of each: all are shown."
    more = {**axis, "examples": [*axis["examples"], *({"answer": "yes"},) * 3]}
    assert balance_of({"dimensions": {"a": more}}, path).endswith("Of each answer, 2 are shown at most.")
