"""Bundles: what is written is read back the same, and nothing in one is run or believed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rubrica.engine.load import rubric_from_data
from rubrica.errors import InputError, RubricError
from rubrica.store.rubrics import RubricListing
from rubrica.store.versions import Version
from rubrica.workspace.bundle import Format, draft_of, read_bundle, write_bundle
from rubrica.workspace.draft import Draft, read_draft
from rubrica.workspace.entry import RubricEntry

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ID = UUID(int=7)
RULE = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}
SHORT: dict[str, Any] = {"name": "Brevity Wins", "scoring_type": "binary", "rules": [RULE], "version": "1.4"}


def entry_of(draft: Draft) -> RubricEntry:
    listing = RubricListing(
        ID, draft.rubric.name, draft.name, draft.rubric.description, draft.rubric.version, 3, draft.scoring_type,
        draft.category or "", draft.tags or (), True, None, None, NOW, NOW,
    )  # fmt: skip
    examples = list(draft.examples or ())
    version = Version(ID, ID, 3, draft.rubric.version, draft.definition, examples, draft.rubric.hash, "", None, NOW)
    return RubricEntry(listing, version)


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_bundle_is_read_back_as_it_was(form: Format) -> None:
    draft = read_draft({**SHORT, "category": "style", "tags": ["a", "yes"], "examples": [{"response": "Hi."}]})
    text = write_bundle(entry_of(draft), NOW, form)
    back = read_bundle(text)
    assert (back.definition, back.examples, back.rubric.hash) == (draft.definition, draft.examples, draft.rubric.hash)
    assert (back.category, back.tags, back.is_public) == ("style", ("a", "yes"), False)
    assert back.note == "imported from a bundle that says it is brevity-wins@1.4"


@given(st.text(st.characters(codec="utf-8"), max_size=40), st.floats(-1e6, 1e6), st.text("yesno~=<&*!|>%@", max_size=5))
def test_any_example_survives_yaml(response: str, metric: float, odd: str) -> None:
    examples = [{"response": response, "custom_metrics": {"m": metric, f"k{odd}": odd}}]
    draft = read_draft({**SHORT, "examples": examples})
    assert read_bundle(write_bundle(entry_of(draft), NOW, "yaml")).examples == examples


def test_the_rubric_of_a_bundle_is_a_rubric_document() -> None:
    draft = read_draft({**SHORT, "category": "style", "tags": ["a"]})
    inside = yaml.safe_load(write_bundle(entry_of(draft), NOW, "yaml"))["rubric"]
    rubric = rubric_from_data(inside)
    assert (rubric.category, rubric.tags, rubric.version) == ("style", ("a",), "1.4")


def test_a_bare_rubric_will_do() -> None:
    draft = read_bundle("name: Bare\nscoring_type: binary\nis_public: true\nrules: [{when: word_count < 9, add: 1}]\n")
    assert (draft.rubric.name, draft.is_public) == ("bare", False)


def test_a_changed_bundle_is_told() -> None:
    text = write_bundle(entry_of(read_draft(SHORT)), NOW, "yaml").replace("word_count < 9", "word_count < 5")
    assert read_bundle(text).note.endswith("and was changed since")


@pytest.mark.parametrize(
    "provenance", [None, "x", {"name": 5}, {"name": "a\nb", "version": "1"}, {"version": "1"}, [1]]
)
def test_a_claim_that_makes_no_sense_is_left_out(provenance: Any) -> None:
    assert draft_of({"bundle": 1, "rubric": SHORT, "provenance": provenance}).note == "imported from a bundle"


def test_problems_stand_where_they_are_in_the_bundle() -> None:
    text = write_bundle(entry_of(read_draft(SHORT)), NOW, "yaml").replace("1 if word_count", "1 iff word_count")
    text = text.replace("examples: []", "examples:\n- 5")
    with pytest.raises(RubricError) as refused:
        read_bundle(text + "surprise: 1\n")
    found = {problem.where: problem.line for problem in refused.value.problems}
    assert found.keys() == {"rubric.rules[0].expression", "examples[0]", "surprise"}
    lines = text.splitlines()
    assert "1 iff" in lines[(found["rubric.rules[0].expression"] or 0) - 1]


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)),
        "rubric: !!python/object/apply:os.system ['true']",
        "bundle: 1\nrubric: [" + "[" * 5_000,
        "rubric: {name: x, name: y}",
        "bundle: 1",
        "- just\n- a list",
        "\x01",
        "",
    ],
)
def test_hostile_or_broken_text_is_refused(text: str) -> None:
    with pytest.raises(RubricError):
        read_bundle(text)


def test_a_later_format_is_not_guessed_at() -> None:
    with pytest.raises(InputError, match="later Rubrica"):
        draft_of({"bundle": 2, "rubric": SHORT})


def test_who_made_it_is_not_carried_along() -> None:
    entry = entry_of(read_draft(SHORT))
    owned = replace(entry, listing=replace(entry.listing, created_by=UUID(int=99)))
    assert str(UUID(int=99)) not in write_bundle(owned, NOW, "json")
