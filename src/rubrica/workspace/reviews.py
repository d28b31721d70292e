"""What a reviewer does: takes an item, scores it blind, and then sees what the judge and others gave.

Reviewing needs the role player and a review that one takes part in; drawing a sample is for whoever owns the run. A
score that was given stands: whoever has seen the judge's is not blind any more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from rubrica.errors import ConflictError, DeniedError, InputError, MissingError
from rubrica.model.context import Context
from rubrica.report.figures import figure
from rubrica.runs.review.questions import about_of, asked_of
from rubrica.runs.review.queue_items import evaluation_of
from rubrica.store import review_queue, reviews
from rubrica.store.review_queue import ItemSummary, Pile, QueueCounts, QueueCursor, QueueFilter
from rubrica.store.reviews import NewReviewItem, ReviewItem, ReviewProgress, StoredOpinion
from rubrica.workspace.access import Caller, require
from rubrica.workspace.run_access import RunKey, change_run, readable_rows, reviews_seen_by

LONGEST_NOTE = 2_000
TAKEN_BACK_WITHIN = timedelta(minutes=10)
"""How long what somebody gave can be taken back: then others may have counted it."""
MOST_ITEMS = 2_000
"""Items that agreement is worked out from, the latest of each run first: each holds a whole evaluation."""
Done = dict[str, tuple[list[ReviewItem], list[StoredOpinion]]]
"""Done items and what people gave them, by run."""
MOST_BUTTONS = 11
"""Whole numbers that are offered one by one; on a longer scale a number is written."""


@dataclass(frozen=True, slots=True)
class ReviewField:
    """One question of an item, as its reviewer sees it."""

    name: str
    title: str
    asks: str
    low: float
    high: float
    anchors: Sequence[tuple[str, str]] = ()

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> ReviewField:
        low, high = plain["scale"]
        anchors = tuple((str(score), str(text)) for score, text in plain.get("anchors", ()))
        return cls(plain["name"], plain["title"], plain.get("asks", ""), float(low), float(high), anchors)

    @property
    def scale(self) -> str:
        return f"{figure(self.low)}–{figure(self.high)}"

    @property
    def choices(self) -> list[float]:
        """The scores to choose from; none where one is written.

        >>> ReviewField("tone", "Tone", "", 1, 5).choices
        [1.0, 2.0, 3.0, 4.0, 5.0]
        """
        low, high = float(self.low), float(self.high)
        if not (low.is_integer() and high.is_integer()) or high - low >= MOST_BUTTONS:
            return []
        return [low + step for step in range(int(high - low) + 1)]

    def anchor_at(self, value: float) -> int | None:
        """Which anchor a score falls under; None where it lies between two.

        >>> tone = ReviewField("tone", "Tone", "", 0, 10, [("0–3", "rude"), ("7–10", "kind")])
        >>> tone.anchor_at(2), tone.anchor_at(8), tone.anchor_at(5)
        (0, 1, None)
        """
        for place, (score, _) in enumerate(self.anchors):
            low, _, high = score.replace("−", "-").partition("–")
            try:
                if float(low) <= value <= float(high or low):
                    return place
            except ValueError:
                continue
        return None

    def checked(self, value: object) -> float:
        """A score on this question's scale."""
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            number = math.nan
        if isinstance(value, bool) or not self.low <= number <= self.high:
            raise InputError(f"{self.title}: {value} is not a number from {figure(self.low)} to {figure(self.high)}")
        return number


@dataclass(frozen=True, slots=True)
class ReviewTask:
    """An item before its reviewer has scored it: the texts and the questions, and nothing of the judge."""

    id: UUID
    run: str
    case: str
    rubric: str
    prompt: str
    response: str
    about: Mapping[str, str]
    questions: Sequence[ReviewField]


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """An item after its reviewer has scored it: with what the judge and others gave."""

    task: ReviewTask
    item: ReviewItem
    mine: StoredOpinion
    others: Sequence[StoredOpinion] = field(default_factory=tuple)


def list_items(
    conn: Connection, caller: Caller, pile: Pile, run: str | None, after: QueueCursor | None, limit: int
) -> list[ItemSummary]:
    """A page of the queue for one person."""
    looked = QueueFilter(caller.user_id, reviews_seen_by(caller), pile, run, after)
    return review_queue.item_summaries(conn, looked, limit)


def count_items(conn: Connection, caller: Caller, run: str | None = None) -> QueueCounts:
    """How many items wait for one person."""
    return review_queue.queue_counts(conn, caller.user_id, reviews_seen_by(caller), run)


def review_progress(conn: Connection, caller: Caller) -> list[ReviewProgress]:
    """How far the review of every run is that one may review."""
    return reviews.progress(conn, reviews_seen_by(caller))


def next_item(conn: Connection, caller: Caller, run: str | None = None) -> UUID | None:
    """The next item to score, of a run if there is one, else of any."""
    for wanted in dict.fromkeys((run, None)):
        for brief in list_items(conn, caller, "open", wanted, None, 1):
            return brief.id
    return None


def read_item(conn: Connection, caller: Caller, item_id: UUID) -> ReviewTask | ScoredItem:
    """An item as this person may see it."""
    item = reviews.get_item(conn, item_id, reviews_seen_by(caller))
    if item is None:
        raise MissingError(f"there is no review item {item_id}, or it is not yours to see")
    given = review_queue.opinions_of(conn, item_id)
    mine = next((one for one in given if one.user_id == caller.user_id), None)
    task = _task(item)
    return task if mine is None else ScoredItem(task, item, mine, tuple(one for one in given if one is not mine))


def submit(
    conn: Connection, caller: Caller, item_id: UUID, scores: Mapping[str, object], note: str, now: datetime
) -> ScoredItem:
    """Keep what a person gives an item, once."""
    require(caller, "player", "reviewing")
    seen = read_item(conn, caller, item_id)
    item = reviews.get_item(conn, item_id)
    if item is not None and item.assigned_to not in (None, caller.user_id) and not caller.is_admin:
        raise DeniedError("this one was given to somebody else to score; take another")
    if isinstance(seen, ScoredItem):
        raise ConflictError("you have scored this one already; what you gave it stands")
    if not isinstance(note, str) or len(note) > LONGEST_NOTE:
        raise InputError(f"a note has at most {LONGEST_NOTE:,} characters")
    asked = {question.name: question for question in seen.questions}
    if unknown := next((name for name in scores if name not in asked), None):
        raise InputError(f"nothing asks for {unknown!r}")
    given = {name: asked[name].checked(value) for name, value in scores.items() if value is not None}
    if not given:
        raise InputError("give at least one score; leave out what you cannot tell")
    opinion = StoredOpinion("", caller.name, given, note.strip(), caller.user_id, now)
    reviews.put_opinion(conn, item_id, opinion, now)
    done = read_item(conn, caller, item_id)
    assert isinstance(done, ScoredItem)  # noqa: S101 - it was kept a line above
    return done


def withdraw_opinion(conn: Connection, caller: Caller, item_id: UUID, now: datetime) -> ReviewTask:
    """Take back what one just gave an item, so that it can be scored anew."""
    require(caller, "player", "reviewing")
    seen = read_item(conn, caller, item_id)
    if isinstance(seen, ReviewTask):
        return seen
    if now - seen.mine.updated_at > TAKEN_BACK_WITHIN:
        raise ConflictError("it was given a while ago, and stands: others may have counted it")
    reviews.remove_opinion(conn, item_id, caller.user_id)
    return seen.task


def enqueue(conn: Connection, caller: Caller, run: RunKey, drawn: Sequence[NewReviewItem], now: datetime) -> int:
    """Put a sample of a run into the queue; how many of it were not there yet."""
    change_run(conn, caller, run, "drawing a sample for review")
    return reviews.add_items(conn, run.name, drawn, now)


def reviewed_runs(conn: Connection, caller: Caller, run: str | None) -> list[str]:
    """The runs, or the one that is named, that somebody has scored something of and that the caller may read.

    Agreement and labels tell what the judge gave, so they are for whoever may read the run, and not for its reviewers.
    """
    rows = readable_rows(conn, caller)
    names = [own.run for own in review_progress(conn, caller) if own.done and run in (None, own.run)]
    return names if rows is None else [name for name in names if name in {row.run for row in rows}]


def done_items(conn: Connection, caller: Caller, runs: Sequence[str]) -> Done:
    """The done items of some runs that the caller may read, and what people gave them; no more than can be held."""
    left = MOST_ITEMS
    found: Done = {}
    for name in reviewed_runs(conn, caller, None):
        if name in runs:
            items = list(review_queue.done_items(conn, name, left))
            left -= len(items)
            if items:
                found[name] = items, reviews.opinions(conn, name)
    return found


def last_opinion(conn: Connection, _caller: Caller, runs: Sequence[str]) -> tuple[int, datetime | None]:
    """How many opinions on some runs there are, and when the latest came."""
    return review_queue.last_change(conn, runs)


def _task(item: ReviewItem) -> ReviewTask:
    context = evaluation_of(item).context or Context()
    return ReviewTask(
        item.id,
        item.run,
        item.case_id,
        item.rubric,
        asked_of(context),
        context.response,
        about_of(context),
        [ReviewField.of(question) for question in item.questions],
    )
