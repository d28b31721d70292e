"""What the pages of rubrics work out: one page of a long list, verdicts on a scale, differences in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from databases import Opened
from rubrica import api
from rubrica.engine.load import rubric_from_data
from rubrica.errors import DeniedError, MissingError, StaleError
from rubrica.packs.library import load
from rubrica.report.rubric_page import rubric_blocks
from rubrica.store.users import ensure_user
from rubrica.studio.rubrics.drawing import Zone, anchor_band, dimensions, gates, profiles, validity, verdicts, zones
from rubrica.studio.rubrics.prose import documentation
from rubrica.studio.rubrics.versions_page import change_list
from rubrica.workspace import catalogue, marketplace
from rubrica.workspace.access import Caller, Role
from rubrica.workspace.definition_diff import difference
from rubrica.workspace.draft import read_draft
from rubrica.workspace.editing import may_change, set_public
from rubrica.workspace.entry import RubricEntry, SeenRevision
from rubrica.workspace.rubric_search import RubricSearch, search_rubrics

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
RULE = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}
HOSTILE = "<img src=x onerror=alert(1)>"


def person(database: Opened, name: str, role: Role = "author") -> Caller:
    return Caller(database.write(ensure_user, name, NOW).id, name, role)


def made(database: Opened, owner: Caller, name: str, **listed: Any) -> RubricEntry:
    given = {"name": name, "scoring_type": "binary", "rules": [RULE]} | listed
    return database.write(catalogue.create, owner, read_draft(given), NOW)


@pytest.mark.parametrize("view", ["all", "mine", "public"])
@pytest.mark.parametrize("order", ["newest", "name"])
def test_every_view_is_paged_without_gaps_or_repeats(database: Opened, view: Any, order: Any) -> None:
    ann, bob = person(database, "ann"), person(database, "bob")
    for number in range(7):
        made(database, ann, f"Open {number}", is_public=True, tags=["odd"] if number % 2 else [])
        made(database, bob, f"Shut {number}")
    seen: list[str] = []
    after = None
    while True:
        page = database.read(search_rubrics, ann, RubricSearch(view=view, order=order), after, 3)
        seen += [listing.name for listing in page.rows]
        after = page.after
        if after is None:
            break
    assert sorted(seen) == [f"Open {number}" for number in range(7)]
    odd = database.read(search_rubrics, ann, RubricSearch("open", view, tags=("odd",), order=order), None, 10)
    assert sorted(listing.name for listing in odd.rows) == ["Open 1", "Open 3", "Open 5"]


def test_publishing_lists_a_rubric_and_changes_no_word_of_it(database: Opened) -> None:
    ann, bob = person(database, "ann"), person(database, "bob")
    entry = made(database, ann, "Brevity", tags=["short"])
    assert may_change(ann, entry)
    assert not may_change(bob, entry)
    with pytest.raises(MissingError):
        database.write(set_public, bob, entry, True, NOW)
    public = database.write(set_public, ann, entry, True, NOW)
    assert (public.listing.revision, public.listing.tags, public.version) == (1, ("short",), entry.version)
    assert database.read(marketplace.detail, bob, "brevity").listing.id == entry.listing.id
    with pytest.raises(DeniedError):
        database.write(set_public, bob, public, False, NOW)
    changed = read_draft({"name": "Brevity", "scoring_type": "binary", "rules": [RULE, {**RULE, "name": "again"}]})
    database.write(catalogue.update, ann, str(entry.listing.id), changed, public_seen(public), NOW)
    with pytest.raises(StaleError):
        database.write(set_public, ann, public, False, NOW)


def public_seen(entry: RubricEntry) -> Any:
    return SeenRevision(revision=entry.listing.revision)


def test_verdicts_are_laid_out_where_the_score_alone_decides() -> None:
    assert zones(api.compile("council-review").rubric) == ()  # accuracy decides
    rubric = rubric_from_data(
        {
            "name": "laid-out", "score": {"weighted": True, "out_of": 100}, "settings": {"good_at": 72.5},
            "dimensions": {"a": {"formula": "0.5"}},
            "verdicts": [
                {"label": "pass", "when": "score >= good_at"}, {"label": "revise", "when": "40 <= score < good_at"},
                {"label": "fail"},
            ],
        }
    )  # fmt: skip
    assert zones(rubric) == (Zone("fail", 0.0, 40.0), Zone("revise", 40.0, 72.5), Zone("pass", 72.5, 100))
    assert "72.5" in verdicts(rubric)


def test_a_rubric_is_drawn_with_its_weights_anchors_gates_and_profiles() -> None:
    rubric = api.compile("answer-quality").rubric
    accuracy = rubric.dimensions["accuracy"]
    band = anchor_band(accuracy, rubric.scale_of("accuracy"))
    assert [f">{label}<" in band for label in ("1–4", "5–6", "7–8", "9–10")] == [True] * 4
    assert "score at most <code>threshold - 0.1</code>" in gates(rubric)
    assert "under the profile ANALYTICAL" in verdicts(rubric)
    assert profiles(rubric).count("<tr>") == 1 + len(rubric.profiles.named if rubric.profiles else ())
    weighed = api.compile("council-review").rubric
    assert '<i style="width:35.0%"></i>' in dimensions(weighed)
    assert "35%" in dimensions(weighed)


def test_a_tree_is_drawn_to_its_leaves_and_criteria_with_their_points() -> None:
    tree = {"weight": 1, "parts": {"inner": {"weight": 1, "parts": {"deepest": {"weight": 1, "asks": HOSTILE}}}}}
    seen = {"verdicts": [{"label": "seen"}]}
    drawn = dimensions(rubric_from_data({"name": "tree", "dimensions": {"root": tree}, **seen}))
    assert "<summary>1 criterion</summary>" in drawn
    assert "Deepest" in drawn
    assert HOSTILE not in drawn
    listed = {
        "name": "listed",
        **seen,
        "score": {"points": True},
        "dimensions": {"dose": {"asks": "Names the dose?", "answers": {"yes": 1, "no": 0}, "points": -3}}
        | {"rest": {"asks": "Advises rest?", "answers": {"yes": 1, "no": 0}, "points": 1}},
    }
    told = dimensions(rubric_from_data(listed))
    assert "−3 points" in told
    assert "+1 point<" in told


def test_what_an_author_wrote_is_never_markup() -> None:
    rubric = rubric_from_data(
        {
            "name": "hostile", "title": HOSTILE, "description": HOSTILE, "score": {"weighted": True, "out_of": 10},
            "scale": {"min": 0, "max": 10},
            "dimensions": {
                "a": {"title": HOSTILE, "asks": HOSTILE, "anchors": {"0-5": HOSTILE, "6-10": HOSTILE}, "weight": 1}
            },
            "gates": [{"name": HOSTILE, "when": "a < 1", "cap": 4, "because": HOSTILE}],
            "verdicts": [{"label": "pass", "when": "score >= 5", "because": HOSTILE}, {"label": "fail"}],
        }
    )  # fmt: skip
    drawn = dimensions(rubric) + gates(rubric) + verdicts(rubric) + documentation(rubric_blocks(rubric))
    assert "<img" not in drawn
    assert drawn.count("&lt;img") >= 6


def test_a_difference_names_what_changed_and_marks_old_and_new() -> None:
    old = {"name": "x", "gates": [{"name": "first", "cap": 1}, {"name": "ceiling", "cap": 40}], "title": "Old"}
    new = {"name": "x", "gates": [{"name": "ceiling", "cap": 50}], "title": HOSTILE, "tags": ["fresh"]}
    told = change_list(difference(old, new), old, new)
    assert "<b>ceiling › cap</b> <del>40</del>" in told
    assert "<ins>50</ins>" in told
    assert "<b>first</b> <del>name: first" in told
    assert "<ins>fresh</ins>" in told
    assert "<img" not in told


def test_a_bundled_rubric_is_drawn_with_what_its_scores_are_worth_and_where_they_fail() -> None:
    drawn = validity(load("answer-quality"))
    assert "“The capital of Australia is Sydney.” A false statement in good order has no sign of error." in drawn
    assert all(f"<h3>{title}</h3>" in drawn for title in ("Accuracy", "Safety", "Score"))
    own = {**load("answer-quality").model_dump(mode="json", exclude_defaults=True), "title": "Mine"}
    assert not validity(rubric_from_data(own))


def test_profiles_say_what_is_done_without_a_type() -> None:
    told = profiles(load("answer-quality"))
    assert "Without it, or with another value, it is found from the prompt." in told
    assert "Where there is no prompt, ANALYTICAL is used." in told
