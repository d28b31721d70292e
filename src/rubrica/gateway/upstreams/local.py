"""Models in this process: llama.cpp speaks OpenAI's protocol, in a thread of its own.

Fields of OpenAI's protocol and of sampling pass through as they are; others, which reach into llama.cpp's own works,
are left out. A length limit is set where there is none. Pictures are refused.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from rubrica.gateway.upstream import Completion
from rubrica.llm.local import LocalModel, Receive
from rubrica.llm.model import ModelError

from .assembly import assemble
from .errors import stream_error, unsupported_field
from .openai import PassThroughStream, wants_counts
from .relay import Relay

DEFAULT_MAX_TOKENS = 1024
"""Of an answer, where the request does not say: a small model may go on until its context is full."""

MOST_WAITING = 256
"""Chunks that wait for a slow client; then the model waits, too."""

_LIMITS = ("max_tokens", "max_completion_tokens")
PASSED_ON = frozenset(
    {
        *("messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "stop", "n", *_LIMITS),
        *("temperature", "top_p", "top_k", "min_p", "seed", "presence_penalty", "frequency_penalty"),
        *("repeat_penalty", "logit_bias", "logprobs", "top_logprobs", "reasoning_effort"),
    }
)
"""Fields of a request that the model gets to see."""

_encode = msgspec.json.Encoder().encode


class LocalRequest(msgspec.Struct, frozen=True):
    """A request as llama.cpp gets it."""

    body: dict[str, Any]
    hides_counts: bool


class LocalWire:
    """One file of weights."""

    def __init__(self, model: LocalModel, *, patience: float) -> None:
        self._model = model
        self._patience = patience  # seconds that a client may take no chunk

    @property
    def name(self) -> str:
        return self._model.name

    def write(self, body: Mapping[str, Any], *, stream: bool) -> LocalRequest:
        _check(body["messages"])
        asked = {key: value for key, value in body.items() if key in PASSED_ON and value is not None}
        limit = {} if any(key in asked for key in _LIMITS) else {"max_tokens": DEFAULT_MAX_TOKENS}
        ours = {
            "stream": True,  # of whole answers, too: they can be ended before they are complete
            "stream_options": {"include_usage": True},
        }
        return LocalRequest({**asked, **limit, **ours}, stream and not wants_counts(body))

    async def complete(self, request: LocalRequest) -> Completion:
        started = time.perf_counter()
        chunks: list[dict[str, Any]] = []
        stop = threading.Event()

        def receive(chunk: dict[str, Any]) -> bool:
            chunks.append(chunk)
            return stop.is_set()

        job = self._model.generate(request.body, receive)
        try:
            await job
        finally:
            stop.set()  # where this is cancelled, the thread gives up at its next token
        if not chunks:
            raise ModelError("garbled", f"{self.name} gave no answer")
        if "error" in chunks[-1]:
            raise stream_error(self.name, _encode(chunks[-1]))
        whole = assemble(chunks, self._model.path.stem)
        return msgspec.structs.replace(whole, duration_ms=(time.perf_counter() - started) * 1000)

    async def begin(self, request: LocalRequest) -> Relay:
        source = ThreadSource(partial(self._model.generate, request.body), self._patience)
        stream = PassThroughStream(self.name, self._model.path.stem, source, hides_counts=request.hides_counts)
        return await stream.begin()


class ThreadSource:
    """Events from the model's thread. It waits while too many of them wait for the client."""

    def __init__(self, generate: Callable[[Receive], asyncio.Future[None]], patience: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._patience = patience
        self._room = threading.Semaphore(MOST_WAITING)
        self._stop = threading.Event()
        self._late = False
        self._waiting: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._job = generate(self._receive)
        self._job.add_done_callback(self._finished)

    async def block(self) -> bytes:
        while not self._waiting:
            if self._job.done():
                return self._rest()
            self._news.clear()
            await self._news.wait()
        taken = len(self._waiting)
        block = b"".join(self._waiting)
        self._waiting.clear()
        self._room.release(taken)
        return block

    async def drain(self) -> None:
        self.close()

    def close(self) -> None:
        self._stop.set()
        self._room.release()  # the thread may wait for room
        self._job.cancel()  # it may not have begun

    def _rest(self) -> bytes:
        if self._late:
            raise ModelError("timeout", f"the client took nothing for {self._patience:g} s")
        if not self._job.cancelled():
            self._job.result()  # raises what went wrong
        return b""

    def _receive(self, chunk: dict[str, Any]) -> bool:
        """In the model's thread."""
        if self._stop.is_set():
            return True
        if not self._room.acquire(timeout=self._patience):
            self._late = True
            return True
        try:
            self._loop.call_soon_threadsafe(self._arrived, b"data: " + _encode(chunk) + b"\n\n")
        except RuntimeError:  # the event loop has ended, and with it whoever was waiting
            return True
        return self._stop.is_set()

    def _arrived(self, event: bytes) -> None:
        self._waiting.append(event)
        self._news.set()

    def _finished(self, job: asyncio.Future[None]) -> None:
        if not job.cancelled():
            job.exception()  # told by `block`, or to nobody if that is closed
        self._news.set()


def _check(messages: list[Mapping[str, Any]]) -> None:
    for place, message in enumerate(messages):
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, dict) or part.get("type") != "text":
                raise unsupported_field(f"messages[{place}].content", "this model reads text only")
