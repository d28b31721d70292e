"""The review queue: items come once, opinions replace each other per person, and the queue shows what is left."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from databases import Opened
from rubrica.errors import MissingError
from rubrica.store import reviews
from rubrica.store.reviews import NewReviewItem, QueueQuery, ReviewProgress, StoredOpinion
from rubrica.store.users import ensure_user

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def drawn(*names: str) -> list[NewReviewItem]:
    return [
        NewReviewItem(
            name, f"case of {name}", "tone@1.0.0", "ab" * 32, "fail, sure", [{"name": "wit"}], {"verdict": "fail"}
        )
        for name in names
    ]


def opinion(item: str, reviewer: str = "ann", wit: float | None = 7, user_id: UUID | None = None) -> StoredOpinion:
    return StoredOpinion(item, reviewer, {"wit": wit}, "dry", user_id, NOW)


def ids(database: Opened, run: str = "week 1") -> list[UUID]:
    return [item.id for item in database.read(reviews.queue, QueueQuery(run=run, state=None), 100)]


def test_an_item_is_given_back_as_it_was_drawn(database: Opened) -> None:
    assert database.write(reviews.add_items, "week 1", drawn("a"), NOW) == 1
    [item] = database.read(reviews.queue, QueueQuery(), 10)
    assert (item.run, item.item, item.case_id, item.state) == ("week 1", "a", "case of a", "open")
    assert (item.questions, item.evaluation) == ([{"name": "wit"}], {"verdict": "fail"})
    assert item.created_at == NOW
    assert database.read(reviews.get_item, item.id) == item
    assert database.read(reviews.find_item, "week 1", "a") == item
    assert database.read(reviews.find_item, "week 2", "a") is None


def test_drawing_the_same_sample_again_adds_nothing_and_loses_nothing(database: Opened) -> None:
    database.write(reviews.add_items, "week 1", drawn("a", "b"), NOW)
    [first, _] = ids(database)
    database.write(reviews.put_opinion, first, opinion("a"), NOW)
    assert database.write(reviews.add_items, "week 1", drawn("a", "b", "c"), LATER) == 1
    assert database.write(reviews.add_items, "week 2", drawn("a"), LATER) == 1
    assert database.read(reviews.progress) == [ReviewProgress("week 1", 2, 1), ReviewProgress("week 2", 1, 0)]


def test_a_second_opinion_of_the_same_person_replaces_the_first(database: Opened) -> None:
    database.write(reviews.add_items, "week 1", drawn("a"), NOW)
    [item] = ids(database)
    assert database.write(reviews.put_opinion, item, opinion("a", wit=3), NOW)
    assert not database.write(reviews.put_opinion, item, opinion("a", wit=None), LATER)
    assert database.write(reviews.put_opinion, item, opinion("a", "bob", 9), LATER)
    found = database.read(reviews.opinions, "week 1")
    assert [(one.reviewer, one.scores, one.updated_at) for one in found] == [
        ("ann", {"wit": None}, LATER),
        ("bob", {"wit": 9}, LATER),
    ]
    assert database.read(reviews.opinions, "week 2") == []


def test_the_queue_shows_a_person_what_is_theirs_or_anybodys_and_not_scored_by_them(database: Opened) -> None:
    ann = database.write(ensure_user, "ann", NOW).id
    bob = database.write(ensure_user, "bob", NOW).id
    for name in "abcd":
        database.write(reviews.add_items, "week 1", drawn(name), NOW + timedelta(seconds=ord(name)))
    a, b, c, d = ids(database)
    database.write(reviews.assign, b, bob)
    database.write(reviews.assign, c, ann)
    database.write(reviews.put_opinion, a, opinion("a", user_id=ann), NOW)

    def left(who: UUID, **wanted: object) -> list[UUID]:
        found = database.read(reviews.queue, replace(QueueQuery(state=None, reviewer=who), **wanted), 10)  # type: ignore[arg-type]
        return [item.id for item in found]

    assert left(ann) == [c, d]
    assert left(bob) == [a, b, d]
    assert left(bob, state="open") == [b, d]
    assert left(bob, after=b) == [d]
    database.write(reviews.assign, b, None)
    assert left(ann) == [b, c, d]


def test_a_person_with_an_account_is_named_as_the_account_is(database: Opened) -> None:
    ann = database.write(ensure_user, "ann", NOW).id
    database.write(reviews.add_items, "week 1", drawn("a"), NOW)
    [item] = ids(database)
    database.write(reviews.put_opinion, item, opinion("a", "Ann from a file", user_id=ann), NOW)
    [found] = database.read(reviews.opinions, "week 1")
    assert (found.reviewer, found.user_id) == ("ann", ann)


def test_what_is_not_there_cannot_be_scored_or_assigned(database: Opened) -> None:
    with pytest.raises(MissingError, match="no review item"):
        database.write(reviews.assign, uuid4(), None)
    with pytest.raises(MissingError, match="no review item"):
        database.write(reviews.put_opinion, uuid4(), opinion("a"), NOW)
