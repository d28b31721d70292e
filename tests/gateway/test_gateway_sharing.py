"""Two gateways on one database: what one of them finds out is known to the other, and no request depends on it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from gateway_stage import CAPITAL, GOOD, PATIENCE, Scripted, Staged, stage, staged
from loopback import Loopback
from sqlalchemy import func, select

from databases import Opened
from gateway_samples import NOW, Speaker, chat
from rubrica.errors import RubricError, StoreError
from rubrica.gateway.deployed_model import PROBED, Deployment
from rubrica.gateway.gateway import Gateway
from rubrica.gateway.retention import PrunedRecords, RetentionPeriods, prunable, prune
from rubrica.gateway.settings import GatewaySettings, settings_from_text
from rubrica.gateway.shared_answers import CALM, SharedAnswers, StoredAnswer
from rubrica.gateway.upstream import Completion
from rubrica.llm.model import Usage
from rubrica.llm.settings import Settings
from rubrica.llm.shared_breakers import BreakerNews
from rubrica.store.database import Database
from rubrica.store.gateway_sharing import SharedAnswerRow, add_answers, find_answer
from rubrica.store.sharing_tables import gateway_answers

MINI = "openai:gpt-4o-mini"
KEPT: dict[str, Any] = {"records": {"prompts": "keep"}}


@contextlib.contextmanager
def two(place: str, first: Scripted, second: Scripted, **settings: Any) -> Iterator[tuple[Staged, Staged]]:
    with stage(place, first, **settings) as one, stage(place, second, **settings) as other:
        yield one, other


def repeatable(question: str = CAPITAL) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": question}], "temperature": 0}


def written(on: Staged) -> None:
    """Wait until what is to be shared is in the database."""
    shared = on.gateway._shared_answers
    assert shared is not None
    on.run(shared.write())


def rows(on: Staged) -> int:
    query = select(func.count()).select_from(gateway_answers)
    return on.run(on.gateway.database.read(lambda conn: int(conn.execute(query).scalar_one())))


def waited(true: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


# --- breakers ---------------------------------------------------------------------------------------------


def test_a_model_that_is_down_for_one_gateway_is_left_alone_by_the_other(database_url: str) -> None:
    server = Loopback(GOOD, faults=["overloaded"] * 10)

    def gateway() -> Gateway:
        known = {"attempts": 1, "openai_base_url": server.openai_url, "openai_key": server.key}
        settings = GatewaySettings.model_validate({"tier0": MINI})
        return Gateway.open(settings, Settings.model_validate(known), Database.open(database_url))

    async def first(stack: contextlib.AsyncExitStack) -> Gateway:
        await stack.enter_async_context(server)
        return gateway()

    async def second(_: contextlib.AsyncExitStack) -> Gateway:
        return gateway()

    with staged(first) as one, staged(second) as other:
        (own,), (told,) = one.gateway.parts.models.breakers, other.gateway.parts.models.breakers
        one.together([CAPITAL] * 10)
        assert own.state == "open"
        waited(lambda: told.state == "open")
        reply = other.ask()
        assert (reply.status, server.requests) == (503, 10)
        assert other.get("/readyz").json["breakers"] == {MINI: "open"}
        own.pause = 0.0  # the first tries once more, and is answered
        assert one.ask().status == 200
        waited(lambda: told.state == "closed")
        assert other.ask().status == 200


def test_a_deployment_that_rests_in_one_process_rests_in_the_others() -> None:
    now = [100.0]
    one = Deployment("east", Speaker(MINI), clock=lambda: now[0])
    assert one.adopt(BreakerNews("", "east", rest=30, age=10))
    assert one.resting_until == 100 + 20 + PROBED + 1  # whoever found out asks first
    assert one.adopt(BreakerNews("", "east", age=0))
    assert one.resting_until == 0
    one.answered()
    assert not one.adopt(BreakerNews("", "east", rest=30, age=10))  # it has answered here since
    assert not one.adopt(BreakerNews("", "east", rest=5, age=10))
    now[0] = 200.0
    heard: list[BreakerNews] = []
    one.tell = heard.append
    one.rest(30, "timeout")
    one.answered()
    assert [news.rest for news in heard] == [30, 0]


# --- answers ----------------------------------------------------------------------------------------------


def test_an_answer_of_one_gateway_is_given_again_by_the_other(database_url: str) -> None:
    first, second = Scripted(MINI), Scripted(MINI)
    with two(database_url, first, second, cache={"semantic": True}, **KEPT) as (one, other):
        asked = one.ask(repeatable())
        written(one)
        again = other.ask(repeatable(), **{"x-sleipner-debug": "full"})
        assert (again.text, again.headers["x-sleipner-cache"], again.headers["x-sleipner-cost"]) == (GOOD, "exact", "0")
        for name in ("x-sleipner-tier", "x-sleipner-model", "x-sleipner-score", "x-sleipner-question-type"):
            assert again.headers[name] == asked.headers[name]
        assert "by another process" in str(again.debug["flow_steps"])
        alike = other.ask(repeatable("Hello! what's the capital of france?"))
        assert alike.headers["x-sleipner-cache"] == "semantic"
        assert other.ask(repeatable("What is the capital of Spain?")).headers.get("x-sleipner-cache") is None
        assert len(second.asked) == 1


def test_what_records_would_not_keep_is_not_shared(database_url: str) -> None:
    """Neither where no texts are kept, nor what has something to be masked in it."""
    with two(database_url, Scripted(MINI), other_model := Scripted(MINI), **KEPT) as (one, other):
        one.ask(repeatable("Is jane.roe@example.org the address of the capital?"))
        written(one)
        assert rows(one) == 0
        other.ask(repeatable("Is jane.roe@example.org the address of the capital?"))
        assert len(other_model.asked) == 1
    with two(database_url, Scripted(MINI), other_model := Scripted(MINI)) as (one, other):
        one.ask(repeatable())
        assert one.gateway._shared_answers is None
        assert rows(one) == 0
        assert "x-sleipner-cache" not in other.ask(repeatable()).headers


def test_gateways_that_grade_otherwise_or_serve_another_key_share_nothing(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI), **KEPT) as one:
        one.ask(repeatable())
        written(one)
        assert rows(one) == 1
    with stage(tmp_path, Scripted(MINI), **KEPT, grading={"thresholds": {"FACTUAL": 60}}) as other:
        assert "x-sleipner-cache" not in other.ask(repeatable()).headers
    with stage(tmp_path, Scripted(MINI), **KEPT) as one:
        assert "x-sleipner-cache" not in one.ask(repeatable(), authorization=f"Bearer {one.key()}").headers


def test_asking_for_shared_answers_without_texts_is_a_fault_of_the_settings() -> None:
    with pytest.raises(RubricError, match=r"set records\.prompts to keep"):
        settings_from_text("cache: {database: true}")
    assert not settings_from_text("cache: {database: false}\nrecords: {prompts: keep}").shares_answers
    assert settings_from_text("records: {prompts: keep}").shares_answers


# --- a database that fails --------------------------------------------------------------------------------


def test_requests_are_answered_where_nothing_can_be_shared(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    model = Scripted(MINI)
    with stage(database_url, model, **KEPT) as on:

        def drop(conn: Any) -> None:
            for table in ("gateway_answers", "gateway_breakers"):
                conn.exec_driver_sql(f"DROP TABLE {table}")

        on.run(on.gateway.database.write(drop))
        for question in (CAPITAL, "Why?"):
            assert on.ask(repeatable(question)).status == 200
        written(on)
        assert on.ask(repeatable()).headers["x-sleipner-cache"] == "exact"  # its own
        waited(lambda: "breakers are not shared" in caplog.text)
    assert "shared answers cannot be looked for" in caplog.text


class Slow:
    """A database that takes its time, and then is not there."""

    def __init__(self) -> None:
        self.asked = 0

    async def read(self, query: Any) -> Any:
        self.asked += 1
        await asyncio.sleep(30)

    async def write(self, query: Any) -> Any:
        raise StoreError("away")

    lookup = read

    async def close(self) -> None:
        pass


def test_a_slow_database_costs_a_moment_once_in_a_while() -> None:
    ticks = [0.0]
    stored = StoredAnswer("tier-0", Completion(b"{}", "Paris.", "m", Usage(1, 1)), None)

    async def scenario() -> None:
        backend = Slow()
        shared = SharedAnswers(Database(backend), 60, lambda: NOW, lambda: ticks[0])
        started = time.perf_counter()
        assert [await shared.find(b"a", None) for _ in range(5)] == [None] * 5
        assert (backend.asked, time.perf_counter() - started < 5) == (1, True)
        ticks[0] = CALM + 1
        await shared.find(b"a", None)
        assert backend.asked == 2
        shared.put(b"a", None, chat("Why?"), stored)
        await shared.write()  # tells nobody but the log

    asyncio.run(scenario())


# --- retention --------------------------------------------------------------------------------------------


def test_shared_answers_expire_and_are_pruned(database: Opened) -> None:
    def row(number: int, age: timedelta, form: bytes | None = None) -> SharedAnswerRow:
        return SharedAnswerRow(bytes([number]), form, b"said", NOW - age, NOW - age + timedelta(hours=1))

    minute, day = timedelta(minutes=1), timedelta(days=1)
    kept = [row(1, minute, b"f"), row(2, 2 * minute, b"f"), row(3, 2 * day, b"f")]

    async def story(store: Database) -> None:
        await store.write(add_answers, kept)
        await store.write(add_answers, kept[:1])  # once more is no matter
        assert await store.read(find_answer, bytes([2]), b"f", NOW) == kept[1]
        assert await store.read(find_answer, b"?", b"f", NOW) == kept[0]
        assert await store.read(find_answer, bytes([3]), None, NOW) is None
        week = RetentionPeriods.of_days(7, None)
        assert await prunable(store, week, NOW) == PrunedRecords(0, 0, 1)
        assert await prune(store, week, NOW) == PrunedRecords(0, 0, 1)
        texts = RetentionPeriods(None, timedelta(seconds=90))
        assert (await prune(store, texts, NOW)).answers == 1
        assert await store.read(find_answer, bytes([1]), None, NOW) == kept[0]

    database.runner.run(story(database.database))
