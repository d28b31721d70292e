"""The builder's own arithmetic: weights, anchors, places in a document, sentences, patterns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.engine.evaluate import evaluate
from rubrica.engine.scale_ends import unreached_ends
from rubrica.errors import InputError, RubricError
from rubrica.model.context import Context
from rubrica.model.scale import Scale
from rubrica.scorers.rule_table import rule_types
from rubrica.studio.builder.anchors import AnchorRow, anchors_of, coverage, rows_of, spread
from rubrica.studio.builder.checking import DraftSample, check_draft
from rubrica.studio.builder.dimensions import (
    add_dimension,
    first_recipe,
    kind_of,
    profile_weights,
    remove_dimension,
    rename_dimension,
    weights_of,
    with_profile,
    with_scoring,
)
from rubrica.studio.builder.document import Data, Path, append, at, move, put, remove, rename
from rubrica.studio.builder.matches import find_matches, mark_matches
from rubrica.studio.builder.rules import new_rule
from rubrica.studio.builder.sentences import gate_sentence, read_gate, read_verdict, verdict_sentence
from rubrica.studio.builder.starters import STARTERS
from rubrica.studio.builder.weights import add_weight, normalise_weights, rebalance, remove_weight
from rubrica.workspace.draft import read_draft
from rubrica.workspace.rubric_text import from_text, to_text

NAMES = st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=6, unique=True)


@st.composite
def weighed(draw: st.DrawFn) -> dict[str, float]:
    names = draw(NAMES)
    return normalise_weights({name: draw(st.integers(0, 40)) / 40 for name in names})


@given(weighed(), st.floats(0, 1), st.data())
def test_weights_keep_their_sum_whatever_is_moved_or_locked(
    weights: dict[str, float], to: float, data: st.DataObject
) -> None:
    moved = data.draw(st.sampled_from(sorted(weights)))
    locked = data.draw(st.sets(st.sampled_from(sorted(weights))))
    after = rebalance(weights, moved, to, locked)
    assert sum(after.values()) == pytest.approx(1)
    assert all(weight >= 0 for weight in after.values())
    for name in locked - {moved}:
        assert after[name] == pytest.approx(weights[name])


@given(weighed())
def test_a_weight_that_comes_and_goes_leaves_a_sum_of_one(weights: dict[str, float]) -> None:
    more = add_weight(weights, "z")
    assert sum(more.values()) == pytest.approx(1)
    assert more["z"] == pytest.approx(1 / len(more), abs=0.006)
    assert sum(remove_weight(more, "z").values()) == pytest.approx(1)


def test_the_others_give_way_in_proportion() -> None:
    after = rebalance({"a": 0.2, "b": 0.4, "c": 0.4}, "a", 0.6)
    assert after == {"a": 0.6, "b": 0.2, "c": 0.2}


def test_the_last_unlocked_weight_cannot_move() -> None:
    assert rebalance({"a": 0.5, "b": 0.5}, "a", 0.9, locked={"b"}) == {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        ([AnchorRow(0, 4), AnchorRow(5, 10)], ["anchor", "anchor"]),
        ([AnchorRow(0, 4), AnchorRow(7, 10)], ["anchor", "gap", "anchor"]),
        ([AnchorRow(0, 6), AnchorRow(5, 10)], ["anchor", "overlap", "anchor"]),
        ([AnchorRow(2, 10)], ["gap", "anchor"]),
        ([AnchorRow(0, 5), AnchorRow(None, 10)], ["anchor", "gap"]),
    ],
)
def test_coverage_shows_gaps_and_overlaps_over_the_whole_scale(rows: list[AnchorRow], kinds: list[str]) -> None:
    found = coverage(rows, Scale(min=0, max=10))
    assert [stretch.kind for stretch in found.stretches] == kinds
    assert sum(stretch.width for stretch in found.stretches) == pytest.approx(100, abs=0.01)
    assert bool(found.problems) == (kinds != ["anchor", "anchor"])


def test_ranges_of_fractions_touch() -> None:
    assert coverage([AnchorRow(0, 0.5), AnchorRow(0.5, 1)], Scale()).problems == ()


@given(st.integers(-5, 5), st.integers(4, 30), st.integers(2, 5))
def test_even_ranges_cover_the_scale(low: int, width: int, count: int) -> None:
    scale = Scale(min=low, max=low + width)
    assert coverage(spread(scale, count), scale).problems == ()


def test_anchors_that_say_the_same_range_keep_both_texts() -> None:
    rows = [AnchorRow(5, 6, "one"), AnchorRow(5, 6, "two"), AnchorRow(None, 3, "half")]
    kept = anchors_of(rows)
    assert sorted(kept.values()) == ["half", "one", "two"]
    assert sorted(row.text for row in rows_of(kept)) == ["half", "one", "two"]


def test_operations_leave_the_old_document_as_it_was() -> None:
    before: Data = {"name": "x", "gates": [{"name": "a"}, {"name": "b"}]}
    assert at(move(before, ("gates", 1), -1), ("gates", 0, "name")) == "b"
    assert "gates" not in remove(remove(before, ("gates", 0)), ("gates", 0))
    assert len(append(before, ("gates",), {"name": "c"})["gates"]) == 3
    assert list(put(before, ("title",), "T")) == ["name", "title", "gates"]
    assert before == {"name": "x", "gates": [{"name": "a"}, {"name": "b"}]}


def test_a_name_that_is_taken_renames_nothing() -> None:
    document: Data = {"settings": {"a": 1, "b": 2}}
    assert rename(document, ("settings", "a"), "b") == document


@pytest.mark.parametrize("name", STARTERS)
def test_a_document_survives_its_text(name: str) -> None:
    document, _ = from_text(STARTERS[name].text)
    assert from_text(to_text(document))[0] == document


@pytest.mark.parametrize("name", sorted(STARTERS.keys() - {"nothing"}))
def test_starters_can_be_saved_as_they_are(name: str) -> None:
    assert read_draft(from_text(STARTERS[name].text)[0]).rubric.dimensions


def test_only_dimensions_lack_when_starting_from_nothing() -> None:
    document, _ = from_text(STARTERS["nothing"].text)
    with pytest.raises(RubricError) as caught:
        read_draft(document)
    assert {problem.path[0] for problem in caught.value.problems} == {"dimensions"}
    document, name = add_dimension(document, ("dimensions",), "accuracy")
    assert name == "accuracy"
    assert read_draft(document).rubric.dimensions["accuracy"].weight == 1


def two_dimensions() -> Data:
    document, _ = from_text(STARTERS["judged"].text)
    return document


def test_a_dimension_takes_its_weight_and_its_places_along() -> None:
    document = with_profile(two_dimensions(), "question_type", "FACTUAL")
    document["sections"] = {"all": {"dimensions": ["accuracy", "clarity"]}}
    document = rename_dimension(document, ("dimensions", "accuracy"), "truth")
    assert at(document, ("gates", 0, "when")) == "truth < 4"
    assert at(document, ("sections", "all", "dimensions")) == ["truth", "clarity"]
    assert profile_weights(document, "FACTUAL") == {"truth": 0.6, "clarity": 0.4}
    document, _ = add_dimension(document, ("dimensions",), "depth")
    assert sum(weights_of(document, ("dimensions",)).values()) == pytest.approx(1)
    assert profile_weights(document, "FACTUAL")["depth"] == 0
    document = remove_dimension(document, ("dimensions", "clarity"))
    assert sum(weights_of(document, ("dimensions",)).values()) == pytest.approx(1)
    assert profile_weights(document, "FACTUAL") == {"truth": 1.0, "depth": 0.0}
    assert at(document, ("sections", "all", "dimensions")) == ["truth"]


def test_a_dimension_of_a_rubric_in_points_comes_and_goes_without_a_weight() -> None:
    document: Data = {"dimensions": {"first": {"points": 5, "asks": "?"}}, "score": {"points": True}}
    added, name = add_dimension(document, ("dimensions",), "second")
    assert added["dimensions"][name] == {"asks": "", "points": 1, "scorer": "judge"}
    assert remove_dimension(added, ("dimensions", name)) == document


def test_scoring_without_a_judge_drops_what_says_when_a_judge_is_asked() -> None:
    offline = {"formula": "word_count", "uncertain": "word_count > 5"}
    document = put(
        two_dimensions(), ("dimensions", "tone"), {"scorer": "judge", "judge": "uncertain", "offline": offline}
    )
    scored = with_scoring(document, ("dimensions", "tone"), "formula")
    assert at(scored, ("dimensions", "tone")) == {"formula": "word_count"}


def test_a_recipe_is_kept_when_a_judge_takes_over_and_when_it_leaves() -> None:
    document, _ = from_text(STARTERS["counted"].text)
    rules = at(document, ("dimensions", "tone", "rules"))
    judged = with_scoring(document, ("dimensions", "tone"), "judge")
    assert kind_of(at(judged, ("dimensions", "tone"))) == "judge"
    assert at(judged, ("dimensions", "tone", "offline", "rules")) == rules
    back = with_scoring(judged, ("dimensions", "tone"), "rules")
    assert at(back, ("dimensions", "tone")) == at(document, ("dimensions", "tone"))
    for draft in (judged, back):
        assert read_draft(draft).rubric.name == "counted-reply"


@pytest.mark.parametrize("kind", ["judge", "rules", "formula", "check", "parts"])
def test_every_way_of_scoring_begins_with_something_that_works(kind: str) -> None:
    document = with_scoring(two_dimensions(), ("dimensions", "clarity"), kind)  # type: ignore[arg-type]
    assert read_draft(document).rubric.dimensions["clarity"].kind == kind


@pytest.mark.parametrize("scale", [{"min": 0, "max": 10}, {"min": 1, "max": 5}, {"min": -2, "max": 2}, {}])
def test_formulas_and_rules_to_begin_with_reach_the_top_of_their_scale(scale: dict[str, float]) -> None:
    document = put(two_dimensions(), ("dimensions", "clarity", "scale"), scale or None)
    path: Path = ("dimensions", "clarity")
    for block in ("formula", "rules"):
        begun = put(document, path, {"weight": 0.4, **({"scale": scale} if scale else {})})
        begun = put(begun, path, {**at(begun, path), **first_recipe(begun, path, block)})
        rubric = read_draft(begun).rubric
        assert unreached_ends(rubric) == []
        found = evaluate(read_draft(begun).compiled(), Context(response="word " * 60)).dimensions["clarity"]
        assert found.value == rubric.scale_of("clarity").max


def test_a_formula_that_cannot_reach_its_scale_is_told_and_can_be_saved() -> None:
    own = {"weight": 0.4, "scale": {"min": 0, "max": 10}, "formula": "min(word_count / 50, 1)"}
    document = put(two_dimensions(), ("dimensions", "clarity"), own)
    found = check_draft(document, None, DraftSample(response="Hi."))
    assert found.problems == ()
    assert [(one.where, one.message.partition(",")[0]) for one in found.warnings] == [
        ("dimensions.clarity.formula", "the formula can never give more than 1")
    ]


def test_what_lint_finds_in_the_wording_is_told_beside_the_form() -> None:
    asks = "Names the author and gives the year."
    document = {"name": "x", "dimensions": {"poem": {"asks": asks}}, "verdicts": [{"label": "done"}]}
    found = check_draft(document, None, DraftSample())
    (warning,) = found.warnings
    assert found.problems == ()
    assert (warning.where, warning.fix) == ("dimensions.poem.asks", "rather: Names the author. | Gives the year.")


@pytest.mark.parametrize("kind", sorted(rule_types().keys() - {"pattern_detection", "penalty"}))
def test_a_new_rule_works_at_once(kind: str) -> None:
    document = put(two_dimensions(), ("dimensions", "clarity"), {"weight": 0.4, "rules": [new_rule(kind)]})
    assert read_draft(document).rubric.dimensions["clarity"].rules[0].type == kind


@pytest.mark.parametrize(
    "gate",
    [
        {"name": "g", "when": "accuracy < 5", "cap": 40},
        {"name": "g", "when": "a if b else c", "floor": "threshold - 0.1", "because": "it is late"},
        {"name": "g", "when": "is_empty > 0", "verdict": "fail", "before": True},
    ],
)
def test_a_gate_comes_back_from_its_sentence(gate: Data) -> None:
    assert read_gate(gate_sentence(gate), "g") == gate


def test_a_verdict_comes_back_from_its_sentence() -> None:
    for verdict in ({"label": "pass", "when": "score >= 70", "because": "good"}, {"label": "not yet"}):
        assert read_verdict(verdict_sentence(verdict, last="when" not in verdict)) == verdict


@pytest.mark.parametrize("text", ["", "accuracy < 5", "if then", "if a > 1 then maybe 4"])
def test_what_is_no_gate_is_told_how_one_is_written(text: str) -> None:
    with pytest.raises(InputError, match="if accuracy < 5 then at most 40"):
        read_gate(text, "g")


def test_matches_are_marked_and_everything_else_is_escaped() -> None:
    text = "<b>moth</b> & moth"
    found = find_matches({"keywords": ["moth"]}, text)
    assert str(mark_matches(text, [(found.spans, "tone-plus"), ([(0, 7)], "tone-minus")])) == (
        '<mark class="tone-minus">&lt;b&gt;moth</mark>&lt;/b&gt; &amp; <mark class="tone-plus">moth</mark>'
    )


@pytest.mark.parametrize("pattern", [{"regex": "(?=x)"}, {"regex": ""}, {"keywords": []}, {}])
def test_a_pattern_that_cannot_be_used_says_why(pattern: Data) -> None:
    assert find_matches(pattern, "x").error
