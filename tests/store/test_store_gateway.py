"""The gateway's tables: what is kept comes back, twice is once, and sums leave out what is not known."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from sqlalchemy import Connection, func, select

from databases import Opened
from gateway_samples import DIMENSIONS, NOW, record, traffic
from rubrica.errors import MissingError
from rubrica.store import gateway
from rubrica.store.columns import new_id
from rubrica.store.gateway import ComparedRequest, GradedDimension, KeySpending, RequestRecord, TierComparison
from rubrica.store.gateway_figures import RequestSums, RequestWindow, arms, comparisons, groups, latencies, ratings
from rubrica.store.tables import gateway_feedback, gateway_requests, gateway_texts
from rubrica.store.users import ensure_user
from rubrica.workspace.access import LOCAL
from rubrica.workspace.keys import KeyRequest, issue

LATER = NOW + timedelta(days=30)
EVER = RequestWindow(NOW - timedelta(days=1), LATER)


def rows(conn: Connection) -> int:
    return conn.execute(select(func.count()).select_from(gateway_requests)).scalar_one()


def test_a_record_comes_back_as_it_was_kept(database: Opened) -> None:
    scores = {name: GradedDimension(7.5, 0.6, "openai:gpt-5-mini") for name in DIMENSIONS}
    scores["depth"] = GradedDimension(5.0, 0.0, stands_in=True)
    kept = record(
        key_id=UUID(int=9),
        conversation=2**62 + 1,
        variant="b",
        chosen="force=tier-1, threshold=60",
        stream=True,
        first_byte_ms=12.5,
        degraded="tier-1 failed",
        failed_steps="tier-1",
        dimension_scores=scores,
        prompt_digest=b"\1" * 32,
        prompt="Who? \u2028 \U0001f600",
        answer="",
    )
    database.write(gateway.add_requests, [kept])
    assert database.read(gateway.request_by_trace, kept.trace) == kept
    assert database.read(gateway.request_by_trace, new_id(NOW)) is None


def test_every_field_of_a_record_has_its_column(database: Opened) -> None:
    shadow = {name for name in gateway_requests.c.keys() if name.startswith("shadow_")}  # noqa: SIM118 - not a dict
    texts = set(gateway_texts.c.keys()) - {"trace"}
    assert set(RequestRecord.__struct_fields__) == (set(gateway_requests.c.keys()) - shadow) | texts


def test_texts_stand_apart_and_only_where_they_are_kept(database: Opened) -> None:
    database.write(gateway.add_requests, [record(), record(prompt="Who?", answer="Ann.")])
    assert database.read(lambda conn: conn.execute(select(gateway_texts.c.answer)).scalars().all()) == ["Ann."]
    assert database.read(rows) == 2


def test_what_is_written_twice_is_kept_once(database: Opened) -> None:
    batch = [record(prompt="one", answer="1"), record(), record()]
    database.write(gateway.add_requests, batch)
    database.write(gateway.add_requests, [*batch, record()])
    assert database.read(rows) == 4


def test_a_comparison_finds_the_request_of_the_same_batch(database: Opened) -> None:
    one, other = record(score=88.0), record()
    database.write(gateway.add_requests, [one, TierComparison(one.trace, 95.0, 7.0, False, "", 0.02), other])
    database.write(gateway.add_requests, [TierComparison(other.trace, failure="tier-1 failed", usd=0.0)])
    database.write(gateway.add_requests, [TierComparison(new_id(NOW), 1.0, 2.0, True)])  # its record was dropped
    found = database.read(gateway.compared_requests, NOW, LATER)
    assert found == [ComparedRequest("FACTUAL", 88.0, 7.0, False, 85.0)]
    assert database.read(gateway.compared_requests, NOW, LATER, rubric="other@1") == []
    [figures] = database.read(comparisons, EVER)
    assert (figures.count, figures.difference, figures.better, figures.uncompared) == (1, 7.0, 0, 1)
    assert (figures.usd, figures.unpriced) == (0.02, 0)


def test_feedback_replaces_what_the_same_person_gave_before(database: Opened) -> None:
    kept = record()
    database.write(gateway.add_requests, [kept])
    ann = database.write(ensure_user, "ann", NOW)
    database.write(gateway.add_feedback, gateway.Feedback(kept.trace, 2, comment="too short"), LOCAL.user_id, NOW)
    database.write(gateway.add_feedback, gateway.Feedback(kept.trace, "up"), ann.id, NOW)
    database.write(gateway.add_feedback, gateway.Feedback(kept.trace, 5, scores={"depth": 9}), LOCAL.user_id, LATER)

    def all_of_it(conn: Connection) -> list[tuple[object, ...]]:
        shown = [gateway_feedback.c[name] for name in ("rating", "liked", "scores", "comment")]
        times = (gateway_feedback.c.created_at, gateway_feedback.c.updated_at)
        return [
            tuple(row) for row in conn.execute(select(*shown, *times).order_by(gateway_feedback.c.rating.is_(None)))
        ]

    assert database.read(all_of_it) == [
        (5, True, {"depth": 9}, "", NOW, LATER),
        (None, True, None, "", NOW, NOW),
    ]


def test_a_rating_in_the_middle_is_neither_liked_nor_disliked(database: Opened) -> None:
    for given in (1, 2, 3, 4, 5, "up", "down"):
        kept = record()
        database.write(gateway.add_requests, [kept])
        database.write(gateway.add_feedback, gateway.Feedback(kept.trace, given), LOCAL.user_id, NOW)
    [found] = database.read(ratings, EVER)
    assert (found.opinions, found.rated, found.rating, found.liked, found.disliked) == (7, 5, 15, 3, 3)


def test_feedback_on_an_unknown_trace_is_refused(database: Opened) -> None:
    with pytest.raises(MissingError, match="no request"):
        database.write(gateway.add_feedback, gateway.Feedback(new_id(NOW), 5), LOCAL.user_id, NOW)


def test_spending_is_by_key_and_tells_what_has_no_price(database: Opened) -> None:
    key = UUID(int=5)
    batch = [record(key_id=key, total_usd=0.25), record(key_id=key, total_usd=None), record(total_usd=0.5)]
    yesterday = record(NOW - timedelta(days=1), key_id=key, total_usd=100.0)
    database.write(
        gateway.add_requests, [*batch, yesterday, TierComparison(batch[0].trace, 1.0, 1.0, False, "", 0.125)]
    )
    found = database.read(gateway.spent, NOW, LATER)
    assert found == {key: KeySpending(0.25, 0.125, 1), None: KeySpending(0.5, 0.0, 0)}


def test_allowances_are_kept_with_the_key(database: Opened) -> None:
    key = database.write(issue, KeyRequest(role="player", user="ann"), NOW).key
    assert database.read(gateway.allowances, key.id) is None
    database.write(gateway.set_allowances, key.id, {"usd_per_day": 2.5, "controls": ["debug"]})
    assert database.read(gateway.allowances, key.id) == {"usd_per_day": 2.5, "controls": ["debug"]}
    database.write(gateway.set_allowances, key.id, None)
    assert database.read(gateway.allowances, key.id) is None
    with pytest.raises(MissingError, match="no key"):
        database.write(gateway.set_allowances, UUID(int=3), {})


def test_groups_add_up_to_what_the_records_say(database: Opened) -> None:
    batch = list(traffic(300))
    database.write(gateway.add_requests, batch)
    for bucket in ("minute", "hour", "day"):
        found = database.read(groups, EVER, bucket)
        assert {group.at.tzinfo for group in found} == {NOW.tzinfo}
        total = RequestSums()
        for group in found:
            total.add(group.sums)
        known = [one for one in batch if one.total_usd is not None]
        assert (total.requests, total.total_priced) == (300, len(known))
        assert total.total_usd == pytest.approx(sum(one.total_usd or 0 for one in known))
        assert total.saved_usd == pytest.approx(sum(one.savings_usd or 0 for one in known))
        assert total.passed == sum(bool(one.passed) for one in batch)
        assert total.variance == pytest.approx(sum(one.variance or 0 for one in batch))
        day = [group.sums.requests for group in found if group.question_type == "ETHICAL"]
        assert sum(day) == sum(one.question_type == "ETHICAL" for one in batch)
    factual = database.read(groups, RequestWindow(EVER.since, EVER.until, "FACTUAL"), "day")
    assert {group.question_type for group in factual} == {"FACTUAL"}


def test_the_hour_of_a_request_is_that_of_utc(database: Opened) -> None:
    late = NOW.replace(hour=23, minute=59, second=59, microsecond=999_999)
    database.write(gateway.add_requests, [record(late), record(late + timedelta(microseconds=1), question_type=None)])
    found = sorted(database.read(groups, EVER, "hour"), key=lambda group: group.at)
    assert [(group.at, group.question_type) for group in found] == [
        (late.replace(minute=0, second=0, microsecond=0), "FACTUAL"),
        (late.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1), None),
    ]


def test_a_sample_of_the_times_is_an_even_one(database: Opened) -> None:
    database.write(gateway.add_requests, list(traffic(4000)))
    whole = database.read(latencies, EVER, 4000)
    part = database.read(latencies, EVER, 500_000)  # as if there were so many: a tenth is looked at
    assert len(whole["total"]) == 4000
    assert 300 < len(part["total"]) < 500
    middle = part["total"][len(part["total"]) // 2]
    assert whole["total"][1600] < middle < whole["total"][2400]
    assert whole["first_byte"] == []


def test_arms_are_counted_by_conversation(database: Opened) -> None:
    batch = [
        *(record(variant="a", conversation=1, passed=True, score=90.0) for _ in range(3)),
        record(variant="a", conversation=2, passed=False, score=60.0, total_usd=None),
        record(variant="a", passed=True, score=80.0),
        record(variant="a", passed=None, score=None),
        record(variant="b", conversation=1),
        record(),
    ]
    database.write(gateway.add_requests, batch)
    for place, given in ((0, 4), (0, 2), (3, 1)):
        user = database.write(ensure_user, f"user {place} {given}", NOW)
        database.write(gateway.add_feedback, gateway.Feedback(batch[place].trace, given), user.id, NOW)
    first, second = database.read(arms, EVER)
    assert (first.variant, first.requests, first.unpriced, second.variant, second.requests) == ("a", 6, 1, "b", 1)
    assert msgspec.to_builtins(first.passed) == {
        "groups": 3, "count": 5, "total": 4.0, "squares": 10.0, "products": 10.0, "sizes": 11.0,
    }  # fmt: skip
    assert (first.score.groups, first.score.total) == (3, 410.0)
    assert (first.rating.groups, first.rating.count, first.rating.total) == (2, 3, 7.0)
