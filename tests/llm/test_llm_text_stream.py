"""Replies that are heard while they are written: both protocols, retries, faults, and servers that do not stream."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from loopback import Fault, Loopback, Said

from rubrica.llm.connect import connect
from rubrica.llm.model import ChatMessage, ModelError, Reply, Request
from rubrica.llm.settings import Settings
from rubrica.llm.text_stream import EventLines, streaming_to

ASK = Request((ChatMessage("user", "Why?"),))


class Ear:
    def __init__(self) -> None:
        self.attempts: list[list[str]] = []

    def begin(self) -> None:
        self.attempts.append([])

    def receive(self, text: str) -> None:
        self.attempts[-1].append(text)


def ask(
    protocol: str, *faults: Fault, request: Request = ASK, said: str = "Air scatters blue light.", **server: Any
) -> tuple[Reply, Ear, Loopback]:
    ear = Ear()

    async def call() -> tuple[Reply, Loopback]:
        script = Said(said, input_tokens=11, output_tokens=6)
        async with Loopback(script, faults, key=None, retry_after=0.0, **server) as loopback:
            settings = Settings(
                cache=None,
                anthropic_base_url=loopback.anthropic_url,
                openai_base_url=loopback.openai_url,
                timeout=5,
                deadline=5,
            )
            model = connect(f"{protocol}:any", settings)
            try:
                with streaming_to(ear):
                    return await model(request), loopback
            finally:
                await model.close()

    reply, loopback = asyncio.run(call())
    return reply, ear, loopback


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_a_reply_is_heard_piece_by_piece_and_is_the_same_as_a_whole_one(protocol: str) -> None:
    reply, ear, loopback = ask(protocol)
    assert ear.attempts == [["Air ", "scatters ", "blue ", "light."]]
    assert (reply.text, reply.stop) == ("Air scatters blue light.", "end")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 6)
    assert loopback.seen[0].body["stream"] is True


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
@pytest.mark.parametrize("fault", ["cut", "unfinished", "error_event", "error"])
def test_a_stream_that_breaks_is_begun_anew(protocol: str, fault: Fault) -> None:
    reply, ear, loopback = ask(protocol, fault)
    assert reply.text == "Air scatters blue light."
    assert "".join(ear.attempts[-1]) == reply.text
    assert (len(ear.attempts), loopback.requests) == (2, 2)


@pytest.mark.parametrize(("fault", "stop"), [("refusal", "refusal"), ("length", "length")])
def test_refusals_and_cut_replies_are_told_as_such(fault: Fault, stop: str) -> None:
    assert ask("openai", fault)[0].stop == stop
    assert ask("anthropic", fault)[0].stop == stop


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_a_reply_that_is_held_to_a_schema_is_heard_too(protocol: str) -> None:
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    text = '{"reason": "it holds", "score": 7}'
    reply, ear, loopback = ask(protocol, said=text, request=Request(ASK.messages, schema))
    assert loopback.seen[0].body["stream"] is True
    assert json.loads(reply.text) == json.loads("".join(ear.attempts[0])) == {"reason": "it holds", "score": 7}


def test_a_server_that_does_not_count_streamed_tokens_is_asked_without() -> None:
    reply, ear, loopback = ask("openai", refuses=("stream_options",))
    assert reply.text == "".join(ear.attempts[-1]) == "Air scatters blue light."
    assert "stream_options" not in loopback.seen[-1].body


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    lines = EventLines()
    assert list(lines.take(b"data: " + b"x" * 2_000_000)) == []
    assert list(lines.take(b'\ndata: {"a": 1}\n')) == [{"a": 1}]


def test_what_cannot_be_reached_raises_as_without_a_listener() -> None:
    with pytest.raises(ModelError, match="400"):
        ask("openai", "refused")
