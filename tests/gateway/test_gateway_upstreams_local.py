"""The embedded model behind the gateway, for real."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import pytest
from gateway_stage import until
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from upstream_samples import ASK, chunks, events, said, trouble

from rubrica.errors import RubricaError
from rubrica.gateway.upstream import Upstream
from rubrica.gateway.upstreams.assembly import assemble
from rubrica.gateway.upstreams.connect import connect_upstream
from rubrica.llm.connect import connect
from rubrica.llm.http import HttpSession
from rubrica.llm.model import ChatMessage, Request
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.settings import Settings

if importlib.util.find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed: pip install 'rubrica[local]'", allow_module_level=True)

from rubrica.gateway.upstreams.local import MOST_WAITING, ThreadSource
from rubrica.llm.local import Receive


@asynccontextmanager
async def embedded(gates: ProviderLimits | None = None, **more: Any) -> AsyncIterator[Upstream]:
    async with HttpSession() as session:
        try:
            yield connect_upstream("local:", Settings(**more), session=session, gates=gates or ProviderLimits())
        except RubricaError as error:
            if "not installed" in str(error):
                pytest.skip(str(error))
            raise


@pytest.mark.slow
def test_the_embedded_model_answers_whole_and_as_a_stream() -> None:
    async def run() -> None:
        gates = ProviderLimits()
        async with embedded(gates) as model:
            body = {**ASK, "max_tokens": 12, "temperature": 0, "seed": 1, "id_slot": 99}
            answer = await model.complete(body)
            whole = ChatCompletion.model_validate_json(answer.raw)
            assert whole.choices[0].message.content == answer.text
            assert whole.model == answer.model == "SmolLM2-135M-Instruct.Q4_1"
            assert answer.usage.input_tokens > 10
            assert 1 <= answer.usage.output_tokens <= 12
            assert answer.finish in ("stop", "length")

            stream = await model.open_stream({**body, "stream": True})
            found = await events(stream)
            read = [ChatCompletionChunk.model_validate_json(event.removeprefix(b"data: ")) for event in found[:-1]]
            assert said(chunks(found)) == stream.text == answer.text
            assert all(chunk.choices for chunk in read)  # the counts that nobody asked for are not among them
            assert stream.usage.output_tokens == answer.usage.output_tokens
            assert len(read) > 3

            judge = connect("local:", Settings(), gates=gates)
            reply = await judge(Request((ChatMessage("user", "What is 2 + 2?"),), max_tokens=4))
            assert reply.text  # the same weights serve both

            error = await trouble(model.complete({**body, "temperature": "hot"}))
            assert error.trouble == "rejected"
            assert "/" not in str(error)
            assert (await trouble(model.open_stream({**body, "n": 3, "stream": True}))).trouble == "rejected"

    asyncio.run(run())


@pytest.mark.slow
def test_ending_early_frees_the_embedded_model_for_others() -> None:
    async def run() -> None:
        async with embedded() as model:
            long = {**ASK, "messages": [{"role": "user", "content": "Tell me a very long story."}], "max_tokens": 3000}
            began = time.process_time()
            stream = await model.open_stream({**long, "stream": True})
            reading = aiter(stream)
            for _ in range(3):
                await anext(reading)
            await stream.aclose()
            task = asyncio.create_task(model.complete(long))
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await model.complete({**ASK, "max_tokens": 1})
            assert time.process_time() - began < 15  # either story would take most of a minute

    asyncio.run(run())


def in_thread(pool: ThreadPoolExecutor, made: list[int], most: int) -> Callable[[Receive], asyncio.Future[None]]:
    """A model that writes numbers as fast as they are taken."""

    def generate(receive: Receive) -> None:
        for number in range(most):
            made.append(number)
            if receive({"number": number}):
                return

    return lambda receive: asyncio.get_running_loop().run_in_executor(pool, generate, receive)


async def drained(source: ThreadSource) -> bytes:
    blocks = b""
    while block := await source.block():
        blocks += block
    return blocks


def test_the_models_thread_waits_for_a_slow_client_but_not_forever() -> None:
    async def run() -> None:
        made: list[int] = []
        with ThreadPoolExecutor(1) as pool:
            source = ThreadSource(in_thread(pool, made, 10_000), 0.5)
            await until(lambda: len(made) > MOST_WAITING)
            assert len(made) == MOST_WAITING + 1  # the last of them waits
            first = await source.block()
            assert first.startswith(b'data: {"number":0}\n\ndata: {"number":1}\n\n')
            await until(lambda: len(made) > MOST_WAITING + 1)
            await asyncio.sleep(0.7)
            assert "took nothing for 0.5 s" in str(await trouble(drained(source)))
            assert len(made) < 10_000

    asyncio.run(run())


def test_closing_a_source_frees_a_thread_that_waits() -> None:
    async def run() -> None:
        made: list[int] = []
        with ThreadPoolExecutor(1) as pool:
            source = ThreadSource(in_thread(pool, made, 10_000), 60)
            await until(lambda: len(made) > MOST_WAITING)
            began = time.perf_counter()
            source.close()
            await asyncio.get_running_loop().run_in_executor(pool, made.clear)  # its turn comes when the other ends
            assert time.perf_counter() - began < 30

            whole = ThreadSource(in_thread(pool, made, 1000), 5)
            assert (await drained(whole)).count(b"\n\n") == 1000

    asyncio.run(run())


def test_pictures_are_refused_before_the_model_is_loaded() -> None:
    async def run() -> None:
        async with embedded() as model:
            picture = {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}
            error = await trouble(model.complete({"messages": [{"role": "user", "content": [picture]}]}))
            assert error.trouble == "rejected"
            assert str(error).startswith("`messages[0].content`")

    asyncio.run(run())


def test_chunks_are_put_together_with_calls_thoughts_and_chances() -> None:
    def chunk(delta: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"id": "c", "created": 1, "model": "m", "choices": [{"index": 0, "delta": delta, **more}]}

    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a":'}}
    answer = assemble(
        [
            chunk({"role": "assistant", "content": None}),
            chunk({"reasoning_content": "Hm."}),
            chunk({"content": "Well"}, logprobs={"content": [{"token": "Well", "logprob": -0.1}]}),
            chunk({"tool_calls": [first]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": " 2}"}}]}),
            chunk({}, finish_reason="tool_calls"),
            {
                "id": "c",
                "created": 1,
                "model": "m",
                "choices": [],
                "usage": {"prompt_tokens": 3, "completion_tokens": 4},
            },
        ],
        "m",
    )
    message = json.loads(answer.raw)["choices"][0]["message"]
    assert message["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
    ]
    assert (message["content"], message["reasoning_content"]) == ("Well", "Hm.")
    assert (answer.finish, answer.calls_tools, answer.usage.output_tokens) == ("tool_calls", True, 4)
    assert json.loads(answer.raw)["choices"][0]["logprobs"]["content"][0]["logprob"] == -0.1
