"""Drafts: what a body or a file says becomes a document that works, or every reason why it does not."""

from __future__ import annotations

import time
from datetime import date
from typing import Any

import pytest

from rubrica.engine.load import rubric_from_data
from rubrica.errors import InputError, RubricError
from rubrica.packs.library import bundled_rubrics, load
from rubrica.workspace.draft import (
    LARGEST_DEFINITION,
    MOST_EXAMPLES,
    MOST_PROBLEMS,
    MOST_RULES,
    MOST_TAGS,
    read_draft,
    rubric_of,
)
from rubrica.workspace.revision import count_up, numbered_name

RULE = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}
SHORT: dict[str, Any] = {"name": "Brevity Wins", "scoring_type": "binary", "rules": [RULE]}
LONG: dict[str, Any] = {
    "name": "brevity",
    "version": "2.1.0",
    "title": "Brevity",
    "dimensions": {"brief": {"weight": 1, "formula": "1 if word_count < 9 else 0"}},
    "verdicts": [{"label": "short", "when": "score >= 0.5"}, {"label": "long"}],
}


def places(data: Any) -> set[str]:
    with pytest.raises(RubricError) as refused:
        read_draft(data)
    return {problem.where for problem in refused.value.problems}


@pytest.mark.parametrize("document", [SHORT, LONG])
def test_a_document_is_kept_as_it_was_written(document: dict[str, Any]) -> None:
    draft = read_draft({**document, "category": "style", "tags": ["a"], "is_public": True, "note": "first"})
    assert draft.definition == document
    assert list(draft.definition) == list(document)
    assert (draft.category, draft.tags, draft.is_public, draft.note) == ("style", ("a",), True, "first")


@pytest.mark.parametrize("document", [SHORT, LONG])
def test_what_a_rubric_is_shown_with_is_passed_over(document: dict[str, Any]) -> None:
    shown = {"id": "x", "slug": "y", "created_by": None, "created_at": "then", "updated_at": "now", "hash": "z"}
    more: dict[str, Any] = {
        "forked_from": None,
        "changed": {"note": ""},
        "revision": 4,
        "description": "",
        "examples": [],
    }
    draft = read_draft({**document, **shown, **more})
    assert draft.definition == document
    assert draft.revision == 4


@pytest.mark.parametrize("document", [SHORT, LONG])
def test_category_tags_and_publicity_do_not_change_the_hash(document: dict[str, Any]) -> None:
    listed = read_draft({**document, "category": "style", "tags": ["a", "b"], "is_public": True})
    assert listed.rubric.hash == read_draft(document).rubric.hash == rubric_from_data(document).hash


@pytest.mark.parametrize("change", [{"description": "New."}, {"version": "3.0"}, {"name": "brevity-two"}])
def test_what_judges_are_shown_changes_the_hash(change: dict[str, str]) -> None:
    assert read_draft({**LONG, **change}).rubric.hash != read_draft(LONG).rubric.hash


def test_what_is_not_said_is_told_from_what_is_empty() -> None:
    silent, empty = read_draft(SHORT), read_draft({**SHORT, "category": "", "tags": [], "examples": []})
    assert (silent.category, silent.tags, silent.examples, silent.is_public) == (None, None, None, None)
    assert (empty.category, empty.tags, empty.examples) == ("", (), [])


@pytest.mark.parametrize("document", [SHORT, LONG])
def test_another_label_gives_the_rubric_that_the_labelled_document_stands_for(document: dict[str, Any]) -> None:
    draft = read_draft(document).labelled("7.3")
    assert draft.definition == {**document, "version": "7.3"}
    assert draft.rubric.hash == rubric_from_data(draft.definition).hash
    assert draft.rubric.version == "7.3"


def test_a_document_without_a_version_is_not_given_the_one_it_has_anyway() -> None:
    assert read_draft(SHORT).labelled("1.0").definition == SHORT


@pytest.mark.parametrize("bundled", [rubric.name for rubric in bundled_rubrics()])
def test_reading_a_checked_document_again_gives_the_same_rubric(bundled: str) -> None:
    rubric = load(bundled)
    assert rubric_of(rubric.model_dump(mode="json", exclude_defaults=True)).hash == rubric.hash


def test_everything_wrong_is_told_at_once() -> None:
    found = places(
        {
            "name": "Bad",
            "scoring_type": "cumulative",
            "version": "first",
            "rules": [
                {"type": "pattern_detection", "patterns": [{"regex": "(?=x)y", "score": 1}]},
                {"type": "custom_expression", "expression": "__import__('os').system('true')"},
            ],
            "colour": "red",
            "tags": ["fine", 5],
            "category": ["x"],
            "is_public": "yes",
            "note": 7,
            "revision": "3",
            "examples": [{"response": "ok"}, "no", {"metadata": {"response_time": -1}}],
        }
    )
    assert found >= {"version", "rules[0].patterns[0].regex", "rules[1].expression", "colour", "tags[1]", "category"}
    assert found >= {"is_public", "note", "revision", "examples[1]", "examples[2]"}


@pytest.mark.parametrize("data", [None, [], "name: x", 7])
def test_what_is_no_object_is_no_rubric(data: Any) -> None:
    assert places(data) == {""}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "a\0b"),
        ("description", "a\0b"),
        ("name", "half \ud800"),
        ("category", "a\0b"),
        ("tags", ["a\0b"]),
        ("note", "a\0b"),
        ("max_score", float("nan")),
        ("max_score", float("inf")),
        ("max_score", 10**30),
        ("name", "  "),
        ("name", "line\nbreak"),
    ],
)
def test_what_no_database_keeps_is_refused_with_its_place(key: str, value: Any) -> None:
    assert any(place.startswith(key) for place in places({**SHORT, key: value}))


def test_judged_text_may_hold_a_nul() -> None:
    examples = [{"response": "a\0b"}]
    assert read_draft({**SHORT, "examples": examples}).examples == examples


def test_dates_become_text() -> None:
    draft = read_draft({**SHORT, "examples": [{"response": "x", "metadata": {"timestamp": date(2026, 5, 1)}}]})
    assert draft.examples == [{"response": "x", "metadata": {"timestamp": "2026-05-01"}}]


def test_a_nest_too_deep_is_refused() -> None:
    nest: Any = []
    for _ in range(5_000):
        nest = [nest]
    assert places({**SHORT, "rules": nest}) == {"rules[0][0]"}


def test_a_definition_too_large_is_refused() -> None:
    with pytest.raises(InputError, match="bytes"):
        read_draft({**SHORT, "description": "x" * LARGEST_DEFINITION})


@pytest.mark.parametrize(
    "rules",
    [
        [RULE] * (MOST_RULES + 1),
        [{"type": "penalty", "patterns": [{"keywords": ["a"], "penalty": -1}] * MOST_RULES}],
    ],
)
def test_too_many_rules_or_patterns_are_refused(rules: list[Any]) -> None:
    with pytest.raises(InputError, match="rules and patterns"):
        read_draft({**SHORT, "rules": rules})


def test_the_costliest_definition_is_read_in_seconds() -> None:
    patterns = [{"regex": f"(a{{1,11}}b{{1,11}}){{1,8}}{number}", "score": 1} for number in range(22)]  # 88 steps each
    before = time.process_time()
    read_draft({**SHORT, "scoring_type": "cumulative", "rules": [{"type": "pattern_detection", "patterns": patterns}]})
    assert time.process_time() - before < 20


def test_too_many_examples_are_refused() -> None:
    with pytest.raises(InputError, match="examples"):
        read_draft({**SHORT, "examples": [{"response": "x"}] * (MOST_EXAMPLES + 1)})
    with pytest.raises(InputError, match="examples"):
        read_draft({**SHORT, "examples": [{"response": "x" * 600_000}]})


def test_problems_without_end_are_cut_short() -> None:
    with pytest.raises(RubricError) as refused:
        read_draft({**SHORT, **{f"k{number}": 1 for number in range(5_000)}})
    assert len(refused.value.problems) == MOST_PROBLEMS + 1
    assert "4,900 more" in str(refused.value.problems[-1])


def test_tags_are_trimmed_and_said_once() -> None:
    assert read_draft({**SHORT, "tags": [" a ", "b", "a", ""]}).tags == ("a", "b")
    assert places({**SHORT, "tags": ["x"] * (MOST_TAGS + 1)}) == {"tags"}


@pytest.mark.parametrize("label", ["v1", "1.0.0-rc1", "1.2.3.4", "1" * 41])
def test_a_short_form_has_one_to_three_numbers_as_its_version(label: str) -> None:
    assert places({**SHORT, "version": label}) == {"version"}


@pytest.mark.parametrize(
    ("label", "taken", "following"),
    [
        ("1.0", {"1.0"}, "1.1"),
        ("1.9", {"1.9"}, "1.10"),
        ("1", {"1", "2", "3"}, "4"),
        ("2.0.0", {"2.0.0", "2.0.2"}, "2.0.1"),
        ("1.0.0-beta", set(), "1.0.1-beta"),
        ("1.0.0-rc9", set(), "1.0.0-rc10"),
    ],
)
def test_the_last_number_of_a_version_is_counted_up(label: str, taken: set[str], following: str) -> None:
    assert count_up(label, taken) == following


@pytest.mark.parametrize("name", ["x" * 255, "Ünïcode", "日本語", "a" * 63 + " b", "trailing - "])
def test_a_numbered_name_keeps_its_number_in_the_slug(name: str) -> None:
    draft = read_draft({**SHORT, "name": name})
    slugs = set()
    for number in (2, 3, 12):
        new, slug = numbered_name(draft, number)
        assert draft.renamed(new).rubric.name == slug
        slugs.add(slug)
    assert len(slugs) == 3
    assert draft.rubric.name not in slugs


def test_a_numbered_name_of_a_long_form_is_a_valid_name() -> None:
    draft = read_draft({**LONG, "name": "a" * 61 + "-bc"})
    assert numbered_name(draft, 12) == ("a" * 61 + "-12",) * 2
