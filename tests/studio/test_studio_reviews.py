"""The review queue in the studio: blind until scored, by those who may, and what the judge is worth beside people."""

from __future__ import annotations

import json
import subprocess
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from studio_runs import NOW, TONE, cases, conducted, rubric, script

from databases import Opened
from rubrica.engine.load import rubric_from_text
from rubrica.errors import ConflictError, DeniedError, InputError, MissingError
from rubrica.runs.review.queue_items import evaluation_of, new_items
from rubrica.runs.review.sampling import draw
from rubrica.runs.stored import StoredRun
from rubrica.store import review_queue, reviews
from rubrica.store.review_queue import QueueFilter
from rubrica.store.users import ensure_user
from rubrica.studio.reviews.calibration import changes, curves
from rubrica.workspace import catalogue
from rubrica.workspace.access import Caller, Role
from rubrica.workspace.calibration import calibrated, save_calibrated, text_of, ways_to_save
from rubrica.workspace.draft import read_draft
from rubrica.workspace.review_agreement import LabelledReviews, agreement_report, differences, own_verdict
from rubrica.workspace.reviews import (
    TAKEN_BACK_WITHIN,
    ReviewField,
    ReviewTask,
    ScoredItem,
    count_items,
    done_items,
    enqueue,
    list_items,
    next_item,
    read_item,
    review_progress,
    reviewed_runs,
    submit,
    withdraw_opinion,
)
from rubrica.workspace.run_access import RunKey, claim_run, open_review, share_run
from rubrica.workspace.run_jobs import RunJob
from warm_start import rubrica_command


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """Twelve cases that two judges scored; case n got n from the first, and from case 5 on they are apart."""
    folder = tmp_path_factory.mktemp("reviews")
    ann, bob = script(folder / "ann.jsonl", 12), folder / "bob.jsonl"
    lines = [json.loads(line) for line in (folder / "ann.jsonl").read_text().splitlines()]
    for place, line in enumerate(lines):
        line["reply"]["score"] = max(line["reply"]["score"] - (4 if place >= 10 else 0), 0)
    bob.write_text("".join(json.dumps(line) + "\n" for line in lines))
    course = conducted(RunJob(folder / "run", rubric(TONE), cases(folder, 12), (ann, f"scripted:{bob}")))
    assert course.state == "finished"
    return StoredRun.open(folder / "run")


def person(database: Opened, name: str, role: Role = "player") -> Caller:
    return Caller(database.write(ensure_user, name, NOW).id, name, role)


def queued(database: Opened, run: StoredRun, name: str = "week 1", share: float = 1.0) -> list[UUID]:
    """A sample in the queue; its items, the disputed first."""
    author = person(database, "author", "author")
    items = new_items(draw(run.evaluations, share), run.rubrics())
    key = RunKey(name, f"id of {name}")
    database.write(claim_run, author, key, NOW)
    database.write(open_review, author, key, "shared", [], NOW)
    assert database.write(enqueue, author, key, items, NOW) == len(items)
    return [brief.id for brief in database.read(list_items, author, "open", name, None, 100)]


# --- blind ------------------------------------------------------------------------------------------------


def test_an_item_tells_nothing_of_the_judge_until_it_is_scored(database: Opened, run: StoredRun) -> None:
    ann = person(database, "ann")
    [item, *_] = queued(database, run)
    task = database.read(read_item, ann, item)
    assert isinstance(task, ReviewTask)
    assert {field.name for field in fields(task)}.isdisjoint({"item", "evaluation", "stratum", "verdict", "score"})
    assert [(question.name, question.scale) for question in task.questions] == [("kind", "0–10"), ("help", "0–10")]
    assert task.prompt.startswith("Say ")
    done = database.write(submit, ann, item, {"kind": 7, "help": None}, " fine ", NOW)
    assert (done.mine.scores, done.mine.note) == ({"kind": 7.0}, "fine")
    assert isinstance(database.read(read_item, person(database, "bob"), item), ReviewTask)  # bob is blind still


def test_a_score_that_was_given_stands(database: Opened, run: StoredRun) -> None:
    ann = person(database, "ann")
    [item, *_] = queued(database, run)
    database.write(submit, ann, item, {"kind": 7}, "", NOW)
    with pytest.raises(ConflictError, match="stands"):
        database.write(submit, ann, item, {"kind": 2}, "", NOW)
    seen = database.read(read_item, ann, item)
    assert isinstance(seen, ScoredItem)
    assert seen.mine.scores == {"kind": 7.0}


def test_the_last_answer_can_be_taken_back_for_a_while(database: Opened, run: StoredRun) -> None:
    ann, bob = person(database, "ann"), person(database, "bob")
    [item, *_] = queued(database, run)
    waiting = database.read(count_items, ann).open
    database.write(submit, ann, item, {"kind": 7}, "", NOW)
    assert isinstance(database.write(withdraw_opinion, ann, item, NOW), ReviewTask)
    assert database.read(count_items, ann).open == waiting
    database.write(submit, ann, item, {"kind": 2}, "", NOW)
    database.write(submit, bob, item, {"kind": 3}, "", NOW)
    assert isinstance(database.write(withdraw_opinion, ann, item, NOW), ReviewTask)
    seen = database.read(read_item, bob, item)
    assert isinstance(seen, ScoredItem)  # what bob gave it stays
    with pytest.raises(ConflictError, match="stands"):
        database.write(withdraw_opinion, bob, item, NOW + 2 * TAKEN_BACK_WITHIN)


@pytest.mark.parametrize(
    "scores", [{}, {"kind": None}, {"kind": 11}, {"kind": -1}, {"kind": "x"}, {"kind": True}, {"wit": 3}]
)
def test_what_is_no_score_on_the_scale_is_refused(database: Opened, run: StoredRun, scores: dict[str, object]) -> None:
    ann = person(database, "ann")
    [item, *_] = queued(database, run)
    with pytest.raises(InputError):
        database.write(submit, ann, item, scores, "", NOW)
    assert isinstance(database.read(read_item, ann, item), ReviewTask)


def test_reviewing_needs_a_player_and_drawing_an_author(database: Opened, run: StoredRun) -> None:
    [item, *_] = queued(database, run)
    with pytest.raises(DeniedError, match="player"):
        database.write(submit, person(database, "eve", "viewer"), item, {"kind": 7}, "", NOW)
    with pytest.raises(DeniedError, match="author"):
        database.write(enqueue, person(database, "author", "player"), RunKey("week 1", "id of week 1"), [], NOW)
    with pytest.raises(MissingError):
        database.read(read_item, person(database, "ann"), UUID(int=7))


def test_a_review_is_there_for_its_owner_and_those_who_are_named_only(database: Opened, run: StoredRun) -> None:
    author, rea, bob = person(database, "author", "author"), person(database, "rea"), person(database, "bob", "author")
    items, key = queued(database, run), RunKey("week 1", "id of week 1")
    database.write(open_review, author, key, "private", ["rea"], NOW)
    for sees, caller in ((True, author), (True, rea), (True, person(database, "root", "admin")), (False, bob)):
        assert (database.read(count_items, caller).all, len(database.read(review_progress, caller))) == (
            (12, 1) if sees else (0, 0)
        )
        assert database.read(next_item, caller) == (items[0] if sees else None)
        assert bool(database.read(list_items, caller, "all", "week 1", None, 100)) == sees
    for what in (items[0], UUID(int=7)):
        with pytest.raises(MissingError, match=f"there is no review item {what}, or it is not yours to see"):
            database.read(read_item, bob, what)
        with pytest.raises(MissingError):
            database.write(submit, bob, what, {"kind": 7}, "", NOW)
    database.write(submit, rea, items[0], {"kind": 7}, "", NOW)
    database.write(open_review, author, key, "private", [], NOW)
    with pytest.raises(MissingError):
        database.read(read_item, rea, items[0])
    with pytest.raises(MissingError, match="no run"):
        database.write(enqueue, bob, key, [], NOW)


def test_what_the_judge_gave_is_told_to_readers_of_the_run_and_not_to_its_reviewers(
    database: Opened, run: StoredRun
) -> None:
    author, rea = person(database, "author", "author"), person(database, "rea")
    [item, *_] = queued(database, run)
    database.write(submit, rea, item, {"kind": 7}, "", NOW)
    assert database.read(reviewed_runs, author, None) == ["week 1"]
    assert database.read(reviewed_runs, rea, None) == database.read(reviewed_runs, rea, "week 1") == []
    assert database.read(done_items, rea, ["week 1"]) == {}
    assert [len(items) for items, _ in database.read(done_items, author, ["week 1"]).values()] == [1]
    database.write(share_run, author, RunKey("week 1", "id of week 1"), "shared", [], NOW)
    assert database.read(reviewed_runs, rea, None) == ["week 1"]


def test_an_item_that_is_given_to_somebody_is_scored_by_them(database: Opened, run: StoredRun) -> None:
    rea, bob = person(database, "rea"), person(database, "bob")
    [item, *_] = queued(database, run)
    database.write(
        open_review, person(database, "author", "author"), RunKey("week 1", "id of week 1"), "private", [], NOW
    )
    database.write(reviews.assign, item, rea.user_id)
    assert database.read(count_items, rea).all == 1
    database.write(
        open_review, person(database, "author", "author"), RunKey("week 1", "id of week 1"), "shared", [], NOW
    )
    with pytest.raises(DeniedError, match="given to somebody else"):
        database.write(submit, bob, item, {"kind": 7}, "", NOW)
    assert database.write(submit, rea, item, {"kind": 7}, "", NOW).mine.reviewer == "rea"


# --- the queue --------------------------------------------------------------------------------------------


def test_disputed_items_come_first_and_every_page_goes_on_after_the_last(database: Opened, run: StoredRun) -> None:
    queued(database, run)
    ann = person(database, "ann")
    pages, after = [], None
    while page := database.read(list_items, ann, "open", None, after, 5):
        pages.append(page)
        after = page[-1].spot
    briefs = [brief for page in pages for brief in page]
    assert len({brief.id for brief in briefs}) == len(briefs) == 12
    assert [brief.rank for brief in briefs] == sorted(brief.rank for brief in briefs)
    disputed = {brief.case_id for brief in briefs if brief.rank == 0}
    assert disputed == {f"case-{n}" for n in range(5, 12) if n != 11}  # case 11 got 0 from both
    assert database.read(count_items, ann).disputed == len(disputed)


def test_everybody_has_piles_of_their_own(database: Opened, run: StoredRun) -> None:
    items = queued(database, run)
    ann, bob = person(database, "ann"), person(database, "bob")
    database.write(submit, ann, items[0], {"kind": 5}, "", NOW)
    mine, theirs = database.read(count_items, ann), database.read(count_items, bob)
    assert (mine.open, mine.mine, mine.second, mine.all) == (11, 1, 0, 12)
    assert (theirs.open, theirs.mine, theirs.second, theirs.all) == (11, 0, 1, 12)
    [second] = database.read(list_items, bob, "second", None, None, 10)
    assert (second.id, second.opinions, second.mine) == (items[0], 1, False)
    assert database.read(next_item, bob) == items[1]
    assert database.read(next_item, bob, "another run") == items[1]
    database.write(reviews.assign, items[1], ann.user_id)
    assert database.read(next_item, bob) == items[2]
    assert database.read(review_queue.item_summaries, QueueFilter(bob.user_id, None, "open", "another run"), 10) == []


def test_a_sample_that_is_drawn_again_adds_nothing(database: Opened, run: StoredRun) -> None:
    queued(database, run)
    author = person(database, "author", "author")
    items = new_items(draw(run.evaluations, 1.0), run.rubrics())
    assert database.write(enqueue, author, RunKey("week 1", "id of week 1"), items, NOW) == 0


# --- what the judge is worth ------------------------------------------------------------------------------


def test_agreement_is_told_by_dimension_and_labels_feed_calibration(database: Opened, run: StoredRun) -> None:
    ann = person(database, "ann")
    for item in queued(database, run):
        task = database.read(read_item, ann, item)
        assert isinstance(task, ReviewTask)
        number = int(task.case.partition("-")[2])
        database.write(submit, ann, item, {"kind": number % 11, "help": max(number % 11 - 2, 0)}, "", NOW)
    done = {"week 1": (list(database.read(_done, "week 1")), database.read(reviews.opinions, "week 1"))}
    found = agreement_report(done, lambda _: run.rubrics())
    assert (found.items, found.people, found.notes) == (12, ["ann"], [])
    kind, helps = found.questions
    assert (kind.question.name, kind.count, helps.count) == ("kind", 12, 12)
    assert helps.difference is not None
    assert kind.difference is not None
    assert helps.difference > kind.difference  # ann thinks that the judges are too kind there
    [labelled] = found.labels
    assert (labelled.rubric, len(labelled.lines)) == ("tone@1.0.0", 24)  # two judges gave each
    assert labelled.command == "rubrica calibrate labels.tone.jsonl -r tone.yaml -o tone-calibrated.yaml"
    assert labelled.lacking == "8 more labels of each judge needed to calibrate by"


def labelled(lines: int, judges: dict[str, float], data: dict[str, Any] = TONE) -> LabelledReviews:
    """Labels of judges that are off by so much on kindness, and by nothing on help; people spread over the scale."""
    found = [
        {"id": f"case-{n}", "judge": judge, "scores": {"kind": min(n % 9 + off, 10), "help": n % 9},
         "human": {"kind": n % 9, "help": n % 9}}
        for n in range(lines) for judge, off in judges.items()
    ]  # fmt: skip
    return LabelledReviews("tone@1.0.0", [json.dumps(line) for line in found], rubric(data))


def test_calibration_tells_what_it_would_change_and_writes_what_the_command_writes(tmp_path: Path) -> None:
    labels = labelled(30, {"ann": 2, "bob": 2})
    made = calibrated(labels, NOW.date())
    kind, helps = changes(made.fit)
    assert (kind.title, kind.labels, kind.corrected, kind.error) == ("Kind", 30, True, "2 → 0")
    assert (helps.title, helps.corrected, helps.order) == ("Help", False, "1 → 1")
    [curve] = curves(made.fit)
    assert (curve.title, curve.judges, curve.scores[7], curve.become[7]) == ("Kind", "", 7, 5)
    (tmp_path / "tone.yaml").write_text(text_of(labels.document))
    (tmp_path / labels.file).write_text("".join(line + "\n" for line in labels.lines))
    words = ["calibrate", labels.file, "-r", "tone.yaml", "-o", made.file]
    done = subprocess.run(rubrica_command(*words), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert made.text is not None
    theirs, mine = (rubric_from_text(text) for text in ((tmp_path / made.file).read_text(), made.text))
    assert theirs.calibration is not None
    assert mine.calibration is not None
    assert mine.calibration.dimensions == theirs.calibration.dimensions
    assert (mine.version, theirs.version) == ("1.0.1", "1.0.1")


def test_judges_that_are_wrong_in_different_ways_are_corrected_apart() -> None:
    made = calibrated(labelled(30, {"ann": 0, "bob": 2}), NOW.date())
    ann, bob = curves(made.fit)
    assert (ann.judges, bob.judges) == ("ann", "bob")
    assert ann.become[6] > bob.become[6]


def test_too_few_labels_correct_nothing_and_say_so() -> None:
    made = calibrated(labelled(5, {"ann": 2}), NOW.date())
    assert made.text is None
    assert curves(made.fit) == []
    assert [own.error for own in changes(made.fit)] == ["—", "—"]
    assert "20 are the fewest" in made.fit.found.refused["kind"].reason


def test_a_corrected_rubric_is_kept_as_a_version_a_fork_or_a_new_one(database: Opened) -> None:
    ann, bob = person(database, "ann", "author"), person(database, "bob", "author")
    made = calibrated(labelled(30, {"ann": 2}), NOW.date())
    assert database.read(ways_to_save, ann, made.fit.rubric) == ("new", None)
    listed = {**TONE, "category": "letters", "tags": ["tone"], "is_public": True}
    own = database.write(catalogue.create, ann, read_draft(listed), NOW)
    assert database.read(ways_to_save, ann, made.fit.rubric)[0] == "version"
    with pytest.raises(DeniedError, match="author"):
        database.write(save_calibrated, person(database, "eve", "viewer"), made, NOW)
    fork = database.write(save_calibrated, bob, made, NOW)
    assert (fork.listing.is_public, fork.version.version) == (False, "1.0.1")
    kept = database.write(save_calibrated, ann, made, NOW)
    assert (kept.listing.id, kept.version.version, kept.listing.category) == (own.listing.id, "1.0.1", "letters")
    assert (kept.listing.is_public, kept.listing.tags) == (True, ("tone",))
    assert "calibration 1 of 2026-05-04" in kept.version.note
    assert rubric(kept.document).calibration == made.fit.found.calibration
    assert database.read(ways_to_save, ann, made.fit.rubric)[0] == "changed"
    with pytest.raises(ConflictError, match="has changed since"):
        database.write(save_calibrated, ann, made, NOW)


def test_the_same_case_in_two_runs_counts_twice_and_a_run_that_is_gone_is_told(
    database: Opened, run: StoredRun
) -> None:
    ann = person(database, "ann")
    for name in ("week 1", "week 2"):
        for item in queued(database, run, name, share=0.1)[:2]:
            database.write(submit, ann, item, {"kind": 5, "help": 5}, "", NOW + timedelta(hours=1))
    done = {
        name: (list(database.read(_done, name)), database.read(reviews.opinions, name)) for name in ("week 1", "week 2")
    }
    both = agreement_report(done, lambda _: run.rubrics())
    assert both.items == 4
    one = agreement_report(done, lambda name: run.rubrics() if name == "week 1" else {})
    assert one.items == 2
    assert one.notes == ["week 2: 2 items left out, for the run's rubric is not there any more"]


def test_a_persons_scores_stand_beside_the_judges(database: Opened, run: StoredRun) -> None:
    ann, bob = person(database, "ann"), person(database, "bob")
    item = next(one for one in queued(database, run) if _case(database, bob, one) == "case-10")
    database.write(submit, bob, item, {"kind": 9}, "", NOW)
    done = database.write(submit, ann, item, {"kind": 2, "help": 1}, "", NOW)
    evaluation = evaluation_of(done.item)
    rows = differences(
        evaluation,
        done.mine.scores,
        [one.scores for one in done.others],
        [(one.name, one.title, one.low, one.high) for one in done.task.questions],
    )
    assert [(row.title, row.mine, row.judge, row.gap, list(row.others)) for row in rows] == [
        ("Kind", 2.0, 8.0, 6.0, [9.0]),
        ("Help", 1.0, 8.0, 7.0, []),
    ]
    assert evaluation.verdict == "pass"
    assert own_verdict(evaluation, done.mine.scores, run.rubrics()) == "fail"
    assert own_verdict(evaluation, {"kind": 9.0}, run.rubrics()) is None  # something was left out
    assert own_verdict(evaluation, done.mine.scores, {}) is None


def test_a_score_falls_under_its_anchor() -> None:
    asked = ReviewField("kind", "Kind", "", 0, 10, [("5–10", "warm"), ("0–4", "cold"), ("n/a", "nothing")])
    assert [asked.anchor_at(value) for value in (7, 5, 0, 4.5)] == [0, 0, 1, None]
    assert len(asked.choices) == 11
    assert (
        ReviewField("share", "Share", "", 0, 0.5).choices == ReviewField("points", "Points", "", 0, 100).choices == []
    )


def _done(conn: object, name: str) -> list[reviews.ReviewItem]:
    return list(review_queue.done_items(conn, name, 100))  # type: ignore[arg-type]


def _case(database: Opened, caller: Caller, item: UUID) -> str:
    seen = database.read(read_item, caller, item)
    return seen.case if isinstance(seen, ReviewTask) else seen.task.case


def test_it_is_known_whether_anybody_scored_something_since(database: Opened, run: StoredRun) -> None:
    [first, second, *_] = queued(database, run)
    ann = person(database, "ann")
    before = database.read(review_queue.last_change, ["week 1"])
    database.write(submit, ann, first, {"kind": 5}, "", NOW)
    after = database.read(review_queue.last_change, ["week 1", "another"])
    assert (before, after) == ((0, None), (1, NOW))
    database.write(submit, ann, second, {"kind": 5}, "", NOW)
    assert database.read(review_queue.last_change, ["week 1"]) == (2, NOW)
    assert database.read(review_queue.last_change, ["week 2"]) == (0, None)
