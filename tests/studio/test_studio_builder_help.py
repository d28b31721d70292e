"""Help while a rubric is written: formulas, problems with their places, previews, and two people's changes."""

from __future__ import annotations

import pytest

from rubrica.model.context import Context
from rubrica.studio.builder.checking import DraftSample, check_draft, payload
from rubrica.studio.builder.document import Data, put
from rubrica.studio.builder.formulas import (
    FormulaSample,
    NameSuggestion,
    completed,
    completions,
    fault_of,
    pointed,
    shown_value,
    suggestions,
    value_of,
)
from rubrica.studio.builder.merging import edit_conflict
from rubrica.studio.builder.starters import STARTERS
from rubrica.workspace.rubric_text import from_text

SAMPLE = DraftSample("Why?", "Thanks for asking. Two words more.", "pace: 3\nquestion_type: FACTUAL")


@pytest.fixture
def document() -> Data:
    return from_text(STARTERS["judged"].text)[0]


def names(document: Data, scope: str) -> set[str]:
    return {offer.name for offer in suggestions(document, scope)}  # type: ignore[arg-type]


def test_names_are_offered_where_they_have_a_value(document: Data) -> None:
    document = {**document, "settings": {"longest": 9}, "patterns": {"thanks": {"keywords": ["thanks"]}}}
    assert {"longest", "thanks", "word_count", "round_count", "clamp", "threshold"} <= names(document, "context")
    assert not {"accuracy", "score"} & names(document, "context")
    assert {"accuracy", "accuracy_share"} <= names(document, "score")
    assert "score" not in names(document, "score")
    assert "score" in names(document, "gates")
    assert "section" in names(document, "section")


def test_a_word_is_completed_where_the_caret_is(document: Data) -> None:
    found = completions("2 * accu + 1", 8, suggestions(document, "gates"))
    assert [offer.name for offer in found[:2]] == ["accuracy", "accuracy_share"]
    assert completed("2 * accu + 1", 8, found[0]) == ("2 * accuracy + 1", 12)
    assert completed("cl", 2, NameSuggestion("clamp", "", call=True)) == ("clamp(", 6)
    assert completions("2 * ", 4, suggestions(document, "gates")) == []
    assert completions("word_count", 10, [NameSuggestion("word_count", "")]) == []


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ("a > 3 && b", 7, "not part of the formula language"),
        ("word_count > ", 13, ""),
        ("score > 3", 1, "known only after scoring"),
        ("1 + clarity", 5, "known only after scoring"),
    ],
)
def test_what_is_wrong_with_a_formula_has_a_column(document: Data, text: str, column: int, told: str) -> None:
    fault = fault_of(text, document, "context")
    assert fault is not None
    assert told in fault.message
    assert abs(fault.column - column) <= 1
    line, caret = pointed(text, fault.column)
    assert len(caret) <= len(line) + 1


def test_an_unknown_name_is_wrong_only_where_names_are_declared(document: Data) -> None:
    assert fault_of("pace > 2", document, "context") is None
    fault = fault_of("pase > 2", {**document, "context": {"pace": "how fast"}}, "context")
    assert fault is not None
    assert "pace" in fault.fix


def test_a_caret_stays_in_sight_in_a_long_formula() -> None:
    text = "word_count + " * 20 + "&& 1"
    line, caret = pointed(text, text.index("&&") + 1)
    assert line[len(caret) - 1 :].startswith("&&")
    assert len(line) < 60


def test_a_formula_has_its_value_on_the_sample(document: Data) -> None:
    document = {**document, "settings": {"most": 4}, "patterns": {"thanks": {"keywords": ["thanks"]}}}
    found = check_draft(document, None, SAMPLE)
    bench = FormulaSample(found.context, found.evaluation)
    assert value_of("word_count - most + thanks", document, "context", bench) == (3.0, "")
    assert value_of("pace * 2", document, "context", bench) == (6.0, "")
    value, _ = value_of("score >= threshold", document, "gates", bench)
    assert value is not None
    assert shown_value(value, "score >= threshold") == "true"
    assert value_of("1 / (pace - 3)", document, "context", bench)[1]
    assert value_of("unheard_of + 1", document, "context", FormulaSample(Context()))[0] is None


def test_problems_carry_their_place_and_their_line(document: Data) -> None:
    wrong = put(document, ("dimensions", "accuracy", "weight"), 0.9)
    wrong = put(wrong, ("verdicts", 0, "label"), "no/such")
    text = "\n" + STARTERS["judged"].text.replace("weight: 0.6", "weight: 0.9").replace("label: pass", "label: no/such")
    _, placed = from_text(text)
    found = check_draft(wrong, placed, SAMPLE)
    assert found.evaluation is None
    assert {problem.where for problem in found.problems} == {"dimensions", "verdicts[0].label"}
    line = next(problem.line for problem in found.problems if problem.where == "verdicts[0].label")
    assert line is not None
    assert "no/such" in text.split("\n")[line - 1]


def test_a_half_read_verdict_is_not_told_twice(document: Data) -> None:
    wrong = put(document, ("verdicts", 2, "label"), "no/such")
    assert [problem.where for problem in check_draft(wrong, None, SAMPLE).problems] == ["verdicts[2].label"]
    open_end = put(document, ("verdicts", 2, "when"), "score > 1")
    assert [problem.where for problem in check_draft(open_end, None, SAMPLE).problems] == ["verdicts"]


def test_a_preview_asks_no_model_and_reads_further_values(document: Data) -> None:
    found = check_draft(document, None, SAMPLE)
    assert found.problems == ()
    assert found.evaluation is not None
    assert found.evaluation.offline
    assert found.context.lookup("question_type") == "FACTUAL"


@pytest.mark.parametrize("more", ["- a list", "pace: [", "custom_metrics: 3"])
def test_values_that_cannot_be_read_are_told_beside_the_sample(document: Data, more: str) -> None:
    found = check_draft(document, None, DraftSample("", "Fine.", more))
    assert found.sample_fault
    assert found.evaluation is not None


def test_category_and_tags_can_be_emptied(document: Data) -> None:
    assert payload(document)["tags"] == []
    assert payload({**document, "tags": ["a"]}, is_public=True)["tags"] == ["a"]


def test_changes_of_different_places_are_put_together(document: Data) -> None:
    mine = put(document, ("threshold",), 80)
    theirs = put(put(document, ("title",), "Theirs"), ("version",), "1.0.1")
    found = edit_conflict(document, mine, theirs)
    assert found.merged is not None
    assert (found.merged["threshold"], found.merged["title"], found.merged["version"]) == (80, "Theirs", "1.0.1")
    assert [change.where for change in found.theirs] == ["title"]


def test_changes_of_the_same_place_are_never_put_together(document: Data) -> None:
    mine = put(document, ("gates", 0, "cap"), 50)
    theirs = put(document, ("gates", 0, "when"), "accuracy < 3")
    found = edit_conflict(document, mine, theirs)
    assert found.merged is None
    assert found.same == (("gates",),)


def test_what_one_took_away_and_the_other_changed_is_a_clash(document: Data) -> None:
    mine = put(document, ("threshold",), None)
    assert edit_conflict(document, mine, put(document, ("threshold",), 10)).merged is None
    gone = edit_conflict(document, mine, put(document, ("title",), "x")).merged
    assert gone is not None
    assert "threshold" not in gone
