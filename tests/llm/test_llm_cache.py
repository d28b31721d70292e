"""The reply cache on real files: what is kept, what is not, and what happens when the file is in trouble."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import time
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.llm.cache import Cached, CacheError, ReplyCache, reply_key
from rubrica.llm.model import ChatMessage, ModelError, Reply, Request, StopReason, TokenChance, Usage
from rubrica.llm.scripted import ScriptedModel, ScriptLine

ASK = Request((ChatMessage("user", "rate this"),))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "replies.sqlite"


def ask(model: Cached, request: Request = ASK, **more: Any) -> Reply:
    return asyncio.run(model.ask(request, **more))


def test_the_same_question_is_asked_once(path: Path) -> None:
    with ReplyCache(path) as cache:
        script = ScriptedModel([ScriptLine(reply="first", usage=Usage(10, 2)), "second"])
        model = Cached(script, cache)
        fresh, kept = ask(model), asyncio.run(model(ASK))
    assert (fresh.text, fresh.cached) == ("first", False)
    assert (kept.text, kept.cached, kept.usage) == ("first", True, Usage(10, 2))
    assert len(script.requests) == 1


def test_replies_outlive_the_process_with_everything_in_them(path: Path) -> None:
    reply = Reply("7 ½", "m-1", Usage(3, 2, 1), "end", 12.5, (TokenChance("7", -0.1, {"8": -2.0}),))
    with ReplyCache(path) as cache:
        assert cache.put(b"key", "m", reply)
    with ReplyCache(path) as cache:
        kept = cache.get(b"key")
    assert kept is not None
    assert kept.cached
    assert (kept.text, kept.usage, kept.chances, kept.duration_ms) == (reply.text, reply.usage, reply.chances, 12.5)


@pytest.mark.parametrize(
    "changed",
    [
        {"temperature": 0.5},
        {"seed": 1},
        {"max_tokens": 5},
        {"schema": {"type": "object"}},
        {"top_logprobs": 2},
        {"messages": (ChatMessage("system", "rate this"),)},
    ],
)
def test_every_field_of_a_request_is_part_of_the_key(changed: dict[str, Any]) -> None:
    assert reply_key("m", Request(**{"messages": ASK.messages, **changed})) != reply_key("m", ASK)


@given(st.tuples(st.text(), st.text(), st.integers(0, 3)), st.tuples(st.text(), st.text(), st.integers(0, 3)))
def test_model_salt_and_repeat_tell_keys_apart(one: tuple[str, str, int], two: tuple[str, str, int]) -> None:
    keys = [reply_key(model, ASK, salt=salt, repeat=repeat) for model, salt, repeat in (one, two)]
    assert (keys[0] == keys[1]) == (one == two)


def test_the_order_of_schema_fields_counts_and_their_container_does_not() -> None:
    one = Request(ASK.messages, schema={"reason": 1, "score": 2})
    assert reply_key("m", one) == reply_key(
        "m", Request(ASK.messages, schema=MappingProxyType({"reason": 1, "score": 2}))
    )
    assert reply_key("m", one) != reply_key("m", Request(ASK.messages, schema={"score": 2, "reason": 1}))


def test_an_image_file_counts_by_its_content(tmp_path: Path) -> None:
    image = tmp_path / "drawing.png"
    seen = Request((ChatMessage("user", "look", (str(image),)),))
    absent = reply_key("m", seen)
    image.write_bytes(b"one")
    first = reply_key("m", seen)
    image.write_bytes(b"two")
    assert len({absent, first, reply_key("m", seen)}) == 3


def test_half_a_surrogate_pair_does_not_break_the_key_or_lose_the_reply(path: Path) -> None:
    odd = Request((ChatMessage("user", "\ud800"),))
    with ReplyCache(path) as cache:
        model = Cached(ScriptedModel(["\udfff"]), cache)
        assert ask(model, odd).text == "\udfff"
        assert cache.notes
    assert reply_key("m", odd) != reply_key("m", Request((ChatMessage("user", "\ud801"),)))


def test_repeats_are_kept_apart(path: Path) -> None:
    with ReplyCache(path) as cache:
        model = Cached(ScriptedModel(["one", "two"]), cache)
        assert [ask(model, repeat=n).text for n in (0, 1, 0, 1)] == ["one", "two", "one", "two"]


@pytest.mark.parametrize("stop", ["length", "refusal", "other"])
def test_incomplete_replies_are_not_kept(path: Path, stop: StopReason) -> None:
    with ReplyCache(path) as cache:
        model = Cached(ScriptedModel([ScriptLine(reply="half", stop=stop), "whole"]), cache)
        assert [ask(model).text for _ in range(3)] == ["half", "whole", "whole"]
        assert cache.stats().entries == 1


def test_errors_are_not_kept(path: Path) -> None:
    with ReplyCache(path) as cache:
        model = Cached(ScriptedModel([ModelError("overloaded", "busy"), "fine"]), cache)
        with pytest.raises(ModelError):
            ask(model)
        assert ask(model).text == "fine"


def test_an_unreadable_reply_can_be_forgotten(path: Path) -> None:
    with ReplyCache(path) as cache:
        model = Cached(ScriptedModel(["gibberish", "7"]), cache)
        ask(model, salt="accuracy")
        model.forget(ASK, salt="accuracy")
        assert ask(model, salt="accuracy").text == "7"


def test_servers_that_share_a_model_name_do_not_share_replies(path: Path) -> None:
    with ReplyCache(path) as cache:
        here = Cached(ScriptedModel(["here"], name="openai:m"), cache, identity="openai:m at here")
        there = Cached(ScriptedModel(["there"], name="openai:m"), cache, identity="openai:m at there")
        assert (ask(here).text, ask(there).text) == ("here", "there")


def test_statistics_add_up_over_the_life_of_the_file(path: Path) -> None:
    for _ in range(2):
        with ReplyCache(path) as cache:
            model = Cached(ScriptedModel(["fine"]), cache)
            ask(model)
            ask(model)
    with ReplyCache(path) as cache:
        stats = cache.stats()
        assert (stats.entries, stats.hits, stats.misses) == (1, 3, 1)
        assert stats.bytes > 0


def test_clearing_drops_everything_and_gives_the_space_back(path: Path) -> None:
    with ReplyCache(path) as cache:
        for number in range(50):
            cache.put(b"%d" % number, "m", Reply("x" * 5000, "m", Usage()))
        full = cache.stats().bytes
        assert cache.clear() == 50
        stats = cache.stats()
    assert stats.entries == 0
    assert stats.bytes < full / 4


def _fill(path: Path, worker: int) -> int:
    with ReplyCache(path) as cache:
        reply = Reply("x" * 300, "m", Usage())
        return sum(cache.put(b"%d-%d" % (worker, number), "m", reply) for number in range(100))


@pytest.mark.slow
def test_several_processes_fill_the_same_new_file(path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.starmap(_fill, [(path, worker) for worker in range(3)]) == [100, 100, 100]
    with ReplyCache(path) as cache:
        assert cache.stats().entries == 300


def test_a_file_that_is_no_cache_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 100)
    with pytest.raises(CacheError, match=r"notes.txt.*not a database.*RUBRICA_CACHE=off"):
        ReplyCache(path)
    assert path.read_text().startswith("dear diary")


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match="cannot be used"):
        ReplyCache(tmp_path)


def test_a_locked_file_costs_a_note_and_little_time_but_no_reply(path: Path) -> None:
    with ReplyCache(path) as cache:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        replies = [str(number) for number in range(1, 42)]
        model = Cached(ScriptedModel(replies), cache)
        began = time.perf_counter()
        assert [ask(model).text for _ in range(40)] == replies[:40]
        assert time.perf_counter() - began < 8  # only the first waits for the lock, a quarter of a second
        assert len(cache.notes) == 1
        assert "locked" in cache.notes[0]
        other.execute("ROLLBACK")
        other.close()
        assert [ask(model).text for _ in range(2)] == ["41", "41"]


def test_a_full_disk_costs_a_note_but_no_reply(path: Path) -> None:
    with ReplyCache(path) as cache:
        (pages,) = cache._db.execute("PRAGMA page_count").fetchone()
        cache._db.execute(f"PRAGMA max_page_count={pages}")  # SQLite then says what it says on a full disk
        model = Cached(ScriptedModel(["x" * 50_000, "again"]), cache)
        assert len(ask(model).text) == 50_000
        assert "full" in cache.notes[0]
        assert ask(model).text == "again"


def test_a_damaged_entry_is_asked_anew(path: Path) -> None:
    with ReplyCache(path) as cache:
        model = Cached(ScriptedModel(["one", "two"]), cache)
        ask(model)
        cache._db.execute("UPDATE replies SET reply = 'nonsense'")
        assert ask(model).text == "two"
        assert ask(model).text == "two"
        assert "reading" in cache.notes[0]


def test_a_closed_cache_is_passed_by(path: Path) -> None:
    cache = ReplyCache(path)
    cache.close()
    cache.close()
    assert ask(Cached(ScriptedModel(["fine"]), cache)).text == "fine"
