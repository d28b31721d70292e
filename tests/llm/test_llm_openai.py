"""The chat completions protocol, and what both protocols share, against a real server on loopback."""

from __future__ import annotations

import asyncio
import base64
import gc
import math
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import FAULTS_WORTH_RETRYING, Fault, Loopback, Said, Seen

from rubrica.llm.http import HttpAnswer, HttpSession, read_error_body, retry_after, trouble_in
from rubrica.llm.model import ChatMessage, ModelError, Reply, Request, Trouble, Usage
from rubrica.llm.openai import OpenAIModel

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number"}},
    "required": ["score"],
    "additionalProperties": False,
}
ASKED = Request((ChatMessage("system", "You judge."), ChatMessage("user", "How good is this?")))
STRUCTURED = Request(ASKED.messages, schema=SCHEMA, schema_name="accuracy")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


def model_of(server: Loopback, session: HttpSession, **options: Any) -> OpenAIModel:
    settings = {"base_url": server.openai_url, "key": server.key} | options
    return OpenAIModel("openai:judge", "judge", session=session, **settings)


def ask(server: Loopback, request: Request = ASKED, **options: Any) -> Reply:
    async def run() -> Reply:
        async with server, HttpSession() as session:
            return await model_of(server, session, **options)(request)

    return asyncio.run(run())


def trouble(server: Loopback, request: Request = ASKED, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(server, request, **options)
    return caught.value


def test_a_reply_carries_its_text_model_usage_and_duration() -> None:
    server = Loopback(Said("Score: 7", input_tokens=20, output_tokens=4), latency=0.02)
    reply = ask(server)
    assert reply.text == "Score: 7"
    assert reply.model == "loopback-2026-11-15"
    assert reply.usage == Usage(20, 4, 0)
    assert reply.stop == "end"
    assert 20 <= reply.duration_ms < 5000
    assert reply.chances == ()


def test_the_request_says_what_was_asked_and_nothing_more() -> None:
    server = Loopback()
    ask(server, Request(ASKED.messages, temperature=0.3, max_tokens=77, seed=5))
    (seen,) = server.seen
    assert seen.headers["authorization"] == f"Bearer {server.key}"
    assert seen.body == {
        "model": "judge",
        "messages": [
            {"role": "system", "content": "You judge."},
            {"role": "user", "content": "How good is this?"},
        ],
        "max_tokens": 77,
        "temperature": 0.3,
        "seed": 5,
    }


def test_a_schema_is_enforced_strictly() -> None:
    server = Loopback('{"score": 7}')
    assert ask(server, STRUCTURED).text == '{"score": 7}'
    json_schema = {"name": "accuracy", "strict": True, "schema": SCHEMA}
    assert server.seen[0].body["response_format"] == {"type": "json_schema", "json_schema": json_schema}


def test_a_schema_may_be_any_mapping_and_have_any_name() -> None:
    server = Loopback('{"score": 7}')
    request = Request(ASKED.messages, schema=MappingProxyType(SCHEMA), schema_name="answer quality: depth")
    assert ask(server, request).text == '{"score": 7}'
    assert server.seen[0].body["response_format"]["json_schema"]["name"] == "answer_quality__depth"


def test_a_server_without_structured_output_is_asked_once_more_and_then_never_with_it() -> None:
    server = Loopback("Score: 7", refuses={"response_format"})

    async def run() -> OpenAIModel:
        async with server, HttpSession() as session:
            model = model_of(server, session)
            for _ in range(3):
                assert (await model(STRUCTURED)).text == "Score: 7"
            return model

    model = asyncio.run(run())
    assert server.requests == 4
    assert model.left_out == {"response_format"}
    assert all("response_format" not in seen.body for seen in server.seen)


def test_calls_under_way_together_all_get_past_a_refused_field() -> None:
    server = Loopback("Score: 7", refuses={"response_format", "temperature"}, latency=0.02)

    async def run() -> list[Reply]:
        async with server, HttpSession() as session:
            model = model_of(server, session)
            return await asyncio.gather(*(model(STRUCTURED) for _ in range(8)))

    assert [reply.text for reply in asyncio.run(run())] == ["Score: 7"] * 8


def test_a_reasoning_model_gets_what_it_takes() -> None:
    server = Loopback("7", refuses={"max_tokens", "temperature", "logprobs", "seed"})
    request = Request(ASKED.messages, max_tokens=9, seed=1, top_logprobs=3)
    assert ask(server, request).text == "7"
    assert server.seen[-1].body.keys() == {"model", "messages", "max_completion_tokens"}
    assert server.seen[-1].body["max_completion_tokens"] == 9


@pytest.mark.parametrize("known", [True, False])
def test_an_effort_is_sent_where_it_is_taken(known: bool) -> None:
    server = Loopback(knows={"reasoning_effort"} if known else ())
    assert ask(server, Request(ASKED.messages, effort="high")).text == "ok"
    assert server.seen[-1].body.get("reasoning_effort") == ("high" if known else None)


def test_a_value_out_of_range_is_an_error_and_not_left_out() -> None:
    server = Loopback()
    error = trouble(server, Request(ASKED.messages, temperature=3.0))
    assert (error.trouble, error.status, server.requests) == ("rejected", 400, 1)
    assert "temperature must be between 0 and 2" in str(error)


def test_a_refusal_is_a_reply_with_its_text() -> None:
    reply = ask(Loopback(faults=("refusal",)))
    assert (reply.stop, reply.text) == ("refusal", "I can't help with that.")
    assert reply.usage.input_tokens == 10


def test_a_cut_reply_says_so() -> None:
    reply = ask(Loopback('{"score": 7}', faults=("length",)))
    assert (reply.stop, reply.text) == ("length", '{"scor')


def test_cached_tokens_are_part_of_the_input() -> None:
    reply = ask(Loopback(Said(input_tokens=100, cached_tokens=900, output_tokens=3)))
    assert reply.usage == Usage(input_tokens=1000, output_tokens=3, cached_input_tokens=900)


def test_tokens_written_to_the_cache_are_part_of_the_input() -> None:
    reply = ask(Loopback(Said(input_tokens=100, cached_tokens=900, cache_written=50, output_tokens=3)))
    assert reply.usage == Usage(1050, 3, cached_input_tokens=900, cache_write_tokens=50)


SHARED = Request((ChatMessage("system", "s" * 3_000), ChatMessage("user", "m" * 2_000 + "How good?", (), 2_000)))


def test_what_requests_share_is_sent_as_it_is_to_servers_that_keep_it_by_themselves() -> None:
    server = Loopback()
    ask(server, SHARED)
    assert [message["content"] for message in server.seen[0].body["messages"]] == [
        "s" * 3_000,
        "m" * 2_000 + "How good?",
    ]


def test_models_that_charge_for_keeping_are_told_where_the_shared_part_ends() -> None:
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    server = Loopback(knows={"prompt_cache_options"})

    async def run(*requests: Request) -> None:
        async with server, HttpSession() as session:
            model = OpenAIModel("x", "gpt-5.6-mini", session=session, base_url=server.openai_url, key=server.key)
            for request in requests:
                await model(request)

    long = ChatMessage("system", "s" * 5_000)
    turns = (ChatMessage("user", "Hello."), ChatMessage("assistant", "Yes?"), ASKED.messages[1])
    asyncio.run(run(SHARED, Request((long, ASKED.messages[1])), ASKED, Request((long, *turns))))
    shared, instructed, short, talk = (seen.body for seen in server.seen)
    assert shared["prompt_cache_options"] == instructed["prompt_cache_options"] == {"mode": "explicit"}
    assert shared["messages"][0]["content"] == "s" * 3_000  # by itself too short to be kept
    assert shared["messages"][1]["content"] == [
        {"type": "text", "text": "m" * 2_000, **mark},
        {"type": "text", "text": "How good?"},
    ]
    assert instructed["messages"][0]["content"] == [{"type": "text", "text": "s" * 5_000, **mark}]
    assert instructed["messages"][1]["content"] == "How good is this?"
    assert "prompt_cache_options" not in short.keys() | talk.keys()  # a talk is kept whole, as it grows


def test_a_server_that_does_not_know_the_mark_is_asked_without_it() -> None:
    server = Loopback()

    async def run() -> Reply:
        async with server, HttpSession() as session:
            model = OpenAIModel("x", "gpt-6", session=session, base_url=server.openai_url, key=server.key)
            await model(SHARED)
            return await model(SHARED)

    assert asyncio.run(run()).text == "ok"
    assert server.requests == 3
    assert all(isinstance(message["content"], str) for message in server.seen[-1].body["messages"])


def test_shared_pictures_come_before_what_differs(tmp_path: Path) -> None:
    server, picture = Loopback(), tmp_path / "a.png"
    picture.write_bytes(PNG)
    ask(server, Request((ChatMessage("user", "Shown. Asked.", (str(picture),), 6),)))
    (message,) = server.seen[0].body["messages"]
    assert [part.get("text", "picture") for part in message["content"]] == ["picture", "Shown.", " Asked."]


def test_logprobs_become_chances() -> None:
    server = Loopback(Said("Yes", logprobs=[("Yes", -0.1, {"Yes": -0.1, " No": -2.4})]))
    reply = ask(server, Request(ASKED.messages, top_logprobs=2))
    (chance,) = reply.chances
    assert (chance.token, chance.logprob) == ("Yes", -0.1)
    assert chance.alternatives == {"Yes": -0.1, " No": -2.4}
    assert server.seen[0].body["logprobs"] is True
    assert server.seen[0].body["top_logprobs"] == 2


def test_images_go_as_urls_and_files_as_data(tmp_path: Path) -> None:
    file = tmp_path / "chart.dat"  # told by content, not by name
    file.write_bytes(PNG)
    given = ("https://example.test/a.png", "data:image/gif;base64,R0lGODlh", str(file))
    server = Loopback()
    ask(server, Request((ChatMessage("user", "Look.", given),)))
    content = server.seen[0].body["messages"][0]["content"]
    assert content[0] == {"type": "text", "text": "Look."}
    assert [part["image_url"]["url"] for part in content[1:]] == [
        "https://example.test/a.png",
        "data:image/gif;base64,R0lGODlh",
        "data:image/png;base64," + base64.b64encode(PNG).decode(),
    ]


def test_an_image_of_several_megabytes_goes_out_whole(tmp_path: Path) -> None:
    file = tmp_path / "large.png"
    file.write_bytes(PNG + bytes(3_000_000))
    server = Loopback()
    ask(server, Request((ChatMessage("user", "Look.", (str(file),)),)))
    url = server.seen[0].body["messages"][0]["content"][1]["image_url"]["url"]
    assert base64.b64decode(url.partition(",")[2]) == file.read_bytes()


@pytest.mark.parametrize(
    ("image", "says"),
    [
        ("secrets.txt", "secrets.txt is not PNG, JPEG, GIF or WebP"),
        ("missing.png", "missing.png cannot be read: No such file"),
        ("data:text/plain,hello", "must start with data:image/"),
    ],
)
def test_what_is_no_image_never_leaves(image: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "secrets.txt").write_text("password")
    path = image if image.startswith("data:") else str(tmp_path / image)
    server = Loopback()
    error = trouble(server, Request((ChatMessage("user", "Look.", (path,)),)))
    assert error.trouble == "rejected"
    assert says in str(error)
    assert server.requests == 0


@pytest.mark.parametrize(
    ("fault", "expected", "status", "says"),
    [
        ("rate_limited", "rate_limited", 429, "exceed your rate limit"),
        ("out_of_credit", "rejected", 429, "out of credit"),
        ("error", "overloaded", 500, "Internal server error"),
        ("unavailable", "overloaded", 503, "the provider failed"),
        ("overloaded", "overloaded", 529, "overloaded"),
        ("refused", "rejected", 400, "too long: 300000 tokens"),
        ("redirect", "rejected", 307, "base URL"),
        ("drop", "unreachable", None, "broke before the answer was complete"),
        ("truncated", "garbled", None, "not what the protocol says"),
        ("garbled", "garbled", None, "not what the protocol says"),
        ("misencoded", "garbled", None, "decompressed"),
        ("wrong_shape", "garbled", None, "not what the protocol says"),
        ("error_in_200", "garbled", None, "upstream provider failed"),
    ],
)
def test_each_trouble_is_named(fault: Fault, expected: Trouble, status: int | None, says: str) -> None:
    error = trouble(server := Loopback(faults=(fault,)))
    assert (error.trouble, error.status) == (expected, status)
    assert says in str(error)
    assert server.requests == 1  # nothing is tried again here


def test_a_wrong_content_type_does_not_spoil_a_good_body() -> None:
    assert ask(Loopback("fine", faults=("wrong_type",))).text == "fine"


def test_a_body_past_the_limit_is_no_answer() -> None:
    async def run() -> None:
        async with Loopback(faults=("huge",)) as server, HttpSession(largest_answer=1_000_000) as session:
            await model_of(server, session)(ASKED)

    with pytest.raises(ModelError, match=r"longer than 1,000,000 bytes") as caught:
        asyncio.run(run())
    assert caught.value.trouble == "garbled"
    assert ask(Loopback("fine", faults=("huge",))).text == "fine"


def test_a_hanging_provider_runs_into_the_time_limit() -> None:
    started = time.perf_counter()
    error = trouble(Loopback(faults=("hang",)), timeout=0.1)
    assert error.trouble == "timeout"
    assert "no answer within 0.1 s" in str(error)
    assert time.perf_counter() - started < 30


def test_no_server_is_unreachable() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        error = trouble(Loopback(), base_url=f"http://127.0.0.1:{held.getsockname()[1]}/v1")
    assert error.trouble == "unreachable"
    assert "127.0.0.1" in str(error)


def test_what_is_not_http_is_garbled() -> None:
    async def run() -> None:
        async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        async with server, HttpSession() as session:
            await OpenAIModel("openai:judge", "judge", base_url=url, key="sk-hidden-away", session=session)(ASKED)

    with pytest.raises(ModelError) as caught:
        asyncio.run(run())
    assert caught.value.trouble == "garbled"
    assert caught.value.__context__ is None  # aiohttp's own error holds the request's headers


@pytest.mark.parametrize(
    ("fault", "seconds"), [("rate_limited", 2.5), ("rate_limited_until", 30.0), ("rate_limited_ms", 0.125)]
)
def test_the_wait_a_provider_asks_for_is_kept(fault: Fault, seconds: float) -> None:
    error = trouble(Loopback(faults=(fault,), retry_after=seconds))
    assert error.retry_after == pytest.approx(seconds, abs=2.0 if fault == "rate_limited_until" else 1e-9)
    assert error.worth_retrying


@given(st.text() | st.floats().map(str), st.text())
def test_any_retry_header_gives_a_sane_wait_or_none(text: str, date: str) -> None:
    seconds = retry_after({"retry-after": text, "date": date})
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


@given(st.integers(100, 999), st.binary(max_size=40))
def test_every_status_and_body_has_a_trouble(status: int, body: bytes) -> None:
    kind, words = trouble_in(HttpAnswer(status, {}, body), read_error_body(body).codes)
    assert words
    assert (kind == "unauthorised") == (status in (401, 403))
    assert (kind == "overloaded") == (status in (408, 409) or status >= 500)
    assert (kind == "rate_limited") == (status == 429)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": "response_format.type must be text"}', "response_format.type must be text"),
        (b'{"object": "error", "message": "no such model", "code": 404}', "no such model"),
        (b'{"detail": [{"msg": "field required"}]}', '[{"msg":"field required"}]'),
        (b"[" * 100_000, ""),
        (b"[1]", ""),
        (b"\xff", ""),
    ],
)
def test_complaints_of_other_servers_are_read(body: bytes, message: str) -> None:
    assert read_error_body(body).message == message


def test_the_provider_can_say_that_trying_again_is_no_use() -> None:
    assert trouble_in(HttpAnswer(500, {"x-should-retry": "false"}, b""))[0] == "rejected"


@pytest.mark.parametrize("key", ["sk-wrong-1234567890", None])
def test_a_missing_or_wrong_key_names_the_variable_and_hides_the_key(key: str | None) -> None:
    error = trouble(Loopback(), key=key, key_variable="MY_KEY")
    assert (error.trouble, error.status) == ("unauthorised", 401)
    assert "MY_KEY" in str(error)
    assert "sk-" not in str(error)
    assert not error.worth_retrying


def test_the_key_shows_nowhere() -> None:
    secret = "local-Zm9vYmFyYmF6"  # noqa: S105 - not one
    faults: tuple[Fault, ...] = ("error", "refused", "drop", "garbled", "misencoded", "wrong_shape", "hang")

    async def run() -> list[str]:
        async with Loopback(faults=faults, key=None) as server, HttpSession() as session:
            model = model_of(server, session, key=secret, extra_headers={"api-key": secret[::-1]}, timeout=0.2)
            shown = [repr(model), repr(vars(model)), repr(session)]
            for _ in faults:
                with pytest.raises(ModelError) as caught:
                    await model(ASKED)
                shown += [str(caught.value), repr(caught.value), repr(caught.value.__context__)]
        return shown

    for text in asyncio.run(run()):
        assert secret not in text
        assert secret[::-1] not in text


def test_a_complaint_that_repeats_the_key_is_cleaned() -> None:
    secret = "plainwordkey42"  # noqa: S105 - not one

    async def run() -> None:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"}")
            body = b'{"error": {"message": "key plainwordkey42 and sk-abc123 and gsk_a***z are unknown"}}'
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, HttpSession() as session:
            await OpenAIModel("openai:judge", "judge", base_url=url, key=secret, session=session)(ASKED)

    with pytest.raises(ModelError, match=r"key \[key\] and \[key\] and \[key\] are unknown") as caught:
        asyncio.run(run())
    assert caught.value.trouble == "unauthorised"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"base_url": "api.example.test/v1"}, "must start with http"),
        ({"base_url": "ftp://example.test"}, "must start with http"),
        ({"base_url": "http://[::1"}, "must start with http"),
        ({"base_url": "https://user:pass@example.test"}, "out of the base URL"),
        ({"key": "sk-one\nsk-two"}, "set OPENAI_API_KEY to the key alone"),
    ],
)
def test_an_unusable_address_or_key_is_told_at_once(options: dict[str, str], says: str) -> None:
    settings: dict[str, Any] = {"key": "k", "session": HttpSession()} | options
    with pytest.raises(ModelError, match=says) as caught:
        OpenAIModel("openai:judge", "judge", **settings)
    assert "pass@" not in str(caught.value)
    assert "sk-" not in str(caught.value)


def test_a_key_read_with_its_line_end_still_works() -> None:
    server = Loopback()
    assert ask(server, key=f"{server.key}\n").text == "ok"


def test_extra_headers_are_sent() -> None:
    server = Loopback()
    ask(server, extra_headers={"OpenAI-Project": "proj_1"})
    assert server.seen[0].headers["openai-project"] == "proj_1"


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came about")


def test_cancelling_leaves_no_connection_and_no_task() -> None:
    async def run() -> None:
        async with Loopback(faults=("hang",) * 5) as server, HttpSession() as session:
            model = model_of(server, session)
            tasks = [asyncio.create_task(model(ASKED)) for _ in range(5)]
            await until(lambda: len(server.seen) == 5)
            for task in tasks:
                task.cancel()
            assert all(
                isinstance(e, asyncio.CancelledError) for e in await asyncio.gather(*tasks, return_exceptions=True)
            )
            await until(lambda: server.connections == 0)
            await until(lambda: asyncio.all_tasks() <= {asyncio.current_task()})
            assert (await model(ASKED)).text == "ok"  # and the session is as good as before

    asyncio.run(run())
    gc.collect()  # an unclosed session or connection would warn here, and warnings are errors


def test_a_timeout_leaves_no_connection() -> None:
    async def run() -> None:
        async with Loopback(faults=("hang",)) as server, HttpSession() as session:
            with pytest.raises(ModelError):
                await model_of(server, session, timeout=0.05)(ASKED)
            await until(lambda: server.connections == 0)

    asyncio.run(run())


def test_connections_are_kept_and_closed_with_the_session() -> None:
    async def run() -> None:
        async with Loopback() as server:
            async with HttpSession() as session:
                model = model_of(server, session)
                for _ in range(5):
                    await model(ASKED)
                assert server.connections == 1
                await model.close()
                await model(ASKED)  # the session is not the model's to close
            await until(lambda: server.connections == 0)

    asyncio.run(run())


def test_a_session_waits_for_a_free_connection() -> None:
    async def run() -> int:
        most = 0

        def note(_: Seen) -> str:
            nonlocal most
            most = max(most, server.connections)
            return "ok"

        async with Loopback(note, latency=0.01) as server, HttpSession(connections=3) as session:
            await asyncio.gather(*(model_of(server, session)(ASKED) for _ in range(12)))
        return most

    assert asyncio.run(run()) == 3


def test_a_session_serves_another_loop_once_closed_and_says_so_before() -> None:
    session = HttpSession()
    server = Loopback()

    async def once(after: Callable[[], Awaitable[None]]) -> None:
        async with server:
            await model_of(server, session)(ASKED)
            await after()

    for _ in range(2):
        asyncio.run(once(session.close))

    async def from_another_loop() -> None:
        async with server:
            await model_of(server, session)(ASKED)
            with pytest.raises(RuntimeError, match="another event loop"):
                await asyncio.to_thread(asyncio.run, model_of(server, session)(ASKED))
            await session.close()

    asyncio.run(from_another_loop())


def test_under_faults_every_call_ends_in_a_reply_or_a_named_trouble() -> None:
    server = Loopback(faults=FAULTS_WORTH_RETRYING, fault_rate=0.3, seed=7)

    async def run() -> list[Reply | BaseException]:
        async with server, HttpSession() as session:
            model = model_of(server, session)
            return await asyncio.gather(*(model(ASKED) for _ in range(300)), return_exceptions=True)

    outcomes = asyncio.run(run())
    errors = [outcome for outcome in outcomes if not isinstance(outcome, Reply)]
    assert all(isinstance(error, ModelError) and error.worth_retrying for error in errors)
    assert server.requests == 300
    assert 0 < len(errors) == server.failed < 150
