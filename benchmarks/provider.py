"""A provider that does as little as it can: every POST gets a canned completion, after a fixed latency.

It runs in a process of its own (``python -m benchmarks.provider 0.05``), so that it takes nothing from the client it
is measured with, and knows just enough HTTP/1.1 to find where a request ends. Started, it prints its port.
"""

from __future__ import annotations

import asyncio
import json
import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle

REPLY = {"reason": "The facts are right, and one claim has no source.", "score": 7, "confidence": 0.8}
_LENGTH = b"content-length:"


def completion(prompt_tokens: int = 700, answer: str = "") -> bytes:
    """A chat completion as OpenAI's protocol has it, with a reply of a judge in it; `answer` is its label."""
    reply = {**REPLY, "answer": answer} if answer else REPLY
    message = {"role": "assistant", "content": json.dumps(reply), "refusal": None}
    body = {
        "id": "chatcmpl-canned",
        "object": "chat.completion",
        "created": 1_763_000_000,
        "model": "canned",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 30, "total_tokens": prompt_tokens + 30},
    }
    return json.dumps(body).encode()


def _response(prompt_tokens: int, answer: str) -> bytes:
    body = completion(prompt_tokens, answer)
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


class Canned(asyncio.Protocol):
    """One connection: reads requests to their end, answers each."""

    def __init__(self, responses: Iterator[bytes], latency: float) -> None:
        self._responses, self._latency = responses, latency
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (head := self._buffer.find(b"\r\n\r\n")) >= 0:
            lines = bytes(self._buffer[:head]).lower().split(b"\r\n")
            length = next(int(line[len(_LENGTH) :]) for line in lines if line.startswith(_LENGTH))
            if len(self._buffer) < head + 4 + length:
                return
            del self._buffer[: head + 4 + length]
            if self._latency:
                self._loop.call_later(self._latency, self._answer)
            else:
                self._answer()

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(next(self._responses))


async def serve(latency: float, answer: str) -> None:
    responses = cycle([_response(tokens, answer) for tokens in range(600, 1_600)])  # no two cost alike
    server = await asyncio.get_running_loop().create_server(lambda: Canned(responses, latency), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def provider(latency: float = 0.0, answer: str = "") -> Iterator[str]:
    """The base URL of a provider that runs for as long as it is used. `latency` is in seconds."""
    command = [sys.executable, "-m", "benchmarks.provider", str(latency), answer]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


if __name__ == "__main__":
    # epoll counts in milliseconds and would wake up to one late; select counts in microseconds
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(serve(float(sys.argv[1]), sys.argv[2]))
