"""A gateway for tests: scripted models behind it, the real application in front, on a loopback port.

with stage(database_url, tier0=Scripted("tier-0", "Paris."), tier1=Scripted("tier-1", "Paris, on the Seine.")) as on:
    reply = on.ask("What is the capital of France?", **{"x-sleipner-debug": "full"})
    assert reply.headers["x-sleipner-tier"] == "tier-0"
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import aiohttp
import msgspec
import openai
from loopback import Loopback

from gateway_samples import trusting_file
from rubrica.gateway.gateway import Gateway
from rubrica.gateway.parts import GatewayModels, GatewayParts
from rubrica.gateway.settings import GatewaySettings
from rubrica.gateway.upstream import Completion
from rubrica.llm.model import ModelError, Usage
from rubrica.llm.settings import Settings
from rubrica.server.connection import Connection, serving_config
from rubrica.server.connection_limits import ConnectionLimits
from rubrica.server.gateway.app import create_app
from rubrica.server.listening import listen
from rubrica.server.service import utc_now
from rubrica.store.database import Database
from rubrica.store.gateway import RequestRecord, request_by_trace
from rubrica.store.upgrade import upgrade
from rubrica.workspace.keys import KeyRequest, issue
from servers import Prompt

T = TypeVar("T")
PATIENCE = 60.0
GOOD = "The capital of France is Paris."
"""Passes an offline grader that is trusted as an answer to CAPITAL."""

CAPITAL = "What is the capital of France?"
POOR = "I don't know."
Said = str | bytes | ModelError | dict[str, Any]
"""A text, a whole body, a trouble, or the message of a choice."""


def completion(said: Said, model: str = "scripted-1", usage: tuple[int, int] = (20, 8)) -> bytes:
    """A chat completion as a provider writes it."""
    if isinstance(said, bytes):
        return said
    message = said if isinstance(said, dict) else {"role": "assistant", "content": said, "refusal": None}
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    body = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1_763_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)},
        "system_fingerprint": "fp_1",
    }
    return json.dumps(body).encode()


@dataclass
class Scripted:
    """A model that says what it is told to, one thing after the other, the last again and again."""

    name: str = "openai:gpt-4o-mini"  # a name with a price
    script: Said | Sequence[Said] | Callable[[Mapping[str, Any]], Said] = GOOD
    delay: float = 0.0  # seconds before an answer, and between the events of a stream
    breaks_after: int | None = None  # events after which a stream breaks
    asked: list[dict[str, Any]] = field(default_factory=list)
    cancelled: int = 0
    closed: bool = False

    async def complete(self, body: Mapping[str, Any]) -> Completion:
        said = self._next(body)
        await self._wait()
        if isinstance(said, ModelError):
            raise said
        raw = completion(said)
        message = json.loads(raw)["choices"][0]
        text = message["message"].get("content") or ""
        calls = bool(message["message"].get("tool_calls"))
        return Completion(raw, text, "scripted-1", Usage(20, 8), message["finish_reason"], calls, 1.0)

    async def open_stream(self, body: Mapping[str, Any]) -> ScriptedStream:
        said = self._next(body)
        await self._wait()
        if isinstance(said, ModelError):
            raise said
        if self.breaks_after == 0:
            raise ModelError("unreachable", "the connection broke")
        assert isinstance(said, str)
        return ScriptedStream(self, said, bool((body.get("stream_options") or {}).get("include_usage")))

    async def close(self) -> None:
        self.closed = True

    async def _wait(self) -> None:
        try:
            await asyncio.sleep(self.delay)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    def _next(self, body: Mapping[str, Any]) -> Said:
        self.asked.append(dict(body))
        if callable(self.script):
            return self.script(body)
        if isinstance(self.script, str | bytes | dict | ModelError):
            return self.script
        return self.script[min(len(self.asked), len(self.script)) - 1]


class ScriptedStream:
    """What a scripted model says, a word at a time."""

    def __init__(self, model: Scripted, text: str, usage: bool) -> None:
        self._model, self._said, self._wants_usage = model, text, usage
        self.model, self.text, self.usage = "scripted-1", "", Usage()
        self.finish: str | None = None
        self._ended = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        events = [_chunk({"role": "assistant", "content": ""})]
        events += [_chunk({"content": f"{word} "}) for word in self._said.split()]
        for number, event in enumerate(events):
            if number == self._model.breaks_after:
                raise ModelError("unreachable", "the connection broke")
            yield event
            await asyncio.sleep(self._model.delay)
        self.text, self.finish, self.usage = self._said, "stop", Usage(20, 8)
        yield _chunk({}, "stop")
        if self._wants_usage:
            yield _chunk(None, usage={"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28})
        self._ended = True
        yield b"data: [DONE]\n\n"

    async def aclose(self) -> None:
        if not self._ended:
            self._ended = True
            self._model.cancelled += 1


def _chunk(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    body = {"id": "chatcmpl-live", "object": "chat.completion.chunk", "created": 1, "model": "scripted-1"}
    return b"data: " + json.dumps({**body, "choices": choices, **more}).encode() + b"\n\n"


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]  # of any case
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def text(self) -> str:
        """The content of the answer."""
        return str(self.json["choices"][0]["message"]["content"])

    @property
    def debug(self) -> Any:
        return self.json["sleipner"]["debug"]

    @property
    def events(self) -> list[Any]:
        """The data of every event of a stream but the last, which must be [DONE]."""
        blocks = [block for block in self.body.decode().split("\n\n") if block and not block.startswith(":")]
        assert blocks[-1] == "data: [DONE]", blocks[-1]
        return [json.loads(block.removeprefix("data: ")) for block in blocks[:-1]]


@dataclass
class Staged:
    """A gateway in a thread of its own."""

    url: str
    gateway: Gateway
    loop: asyncio.AbstractEventLoop
    session: aiohttp.ClientSession

    def ask(
        self, question: str | dict[str, Any] = CAPITAL, path: str = "/v1/chat/completions", **headers: str
    ) -> Reply:
        """Ask a question, or send a whole body."""
        return self.together([question], path, **headers)[0]

    def together(
        self, questions: Sequence[str | dict[str, Any]], path: str = "/v1/chat/completions", **headers: str
    ) -> list[Reply]:
        """Ask several at the same time."""

        async def all_of_them() -> list[Reply]:
            return await asyncio.gather(*(self.send("POST", path, body_of(one), headers) for one in questions))

        return self.run(all_of_them())

    def get(self, path: str, **headers: str) -> Reply:
        return self.run(self.send("GET", path, None, headers))

    def post(self, path: str, body: Any, **headers: str) -> Reply:
        return self.run(self.send("POST", path, body, headers))

    async def send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Reply:
        data = body if isinstance(body, bytes) else None if body is None else msgspec.json.encode(body)
        sent = {"Content-Type": "application/json", **{key.replace("_", "-"): value for key, value in headers.items()}}
        large = io.BytesIO(data) if data is not None and len(data) > 500_000 else data
        async with self.session.request(method, self.url + path, data=large, headers=sent) as reply:
            return Reply(reply.status, reply.headers, await reply.read())

    @contextlib.contextmanager
    def client(self, **options: Any) -> Iterator[openai.OpenAI]:
        """The official client."""
        with openai.OpenAI(
            **{"base_url": f"{self.url}/v1", "api_key": "anything", "max_retries": 0, **options}
        ) as client:
            yield client

    def record(self, reply: Reply | str) -> RequestRecord:
        """What was kept of a request."""
        trace = UUID(reply if isinstance(reply, str) else reply.headers["x-sleipner-trace"])
        assert self.run(self.gateway.written(PATIENCE))
        found = self.run(self.gateway.database.read(request_by_trace, trace))
        assert found is not None
        return found

    def key(self, **wish: Any) -> str:
        """A new key; once there is one, every request needs one."""
        return self.run(self.gateway.database.write(issue, KeyRequest(**{"role": "player", **wish}), utc_now())).secret

    def run(self, work: Awaitable[T]) -> T:
        """Wait for something on the gateway's event loop."""

        async def waited() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(waited(), self.loop).result(PATIENCE)


async def until(true: Callable[[], object]) -> None:
    """Wait for something that other tasks do."""
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.005)


async def hang_up(asking: Coroutine[Any, Any, object], reached: Callable[[], object]) -> None:
    """Ask, and go away once it has come that far."""
    task = asyncio.create_task(asking)
    await until(lambda: task.done() or reached())
    assert not task.done(), "it was answered before anybody could leave"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def body_of(question: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(question, dict):
        return question
    return {"model": "gpt-4", "messages": [{"role": "user", "content": question}]}


@contextlib.contextmanager
def stage(
    place: Path | str,
    *models: Scripted,
    http: type[Connection] = Connection,
    limits: ConnectionLimits | None = None,
    **settings: Any,
) -> Iterator[Staged]:
    """A gateway over scripted models: the first is tier-0, the second tier-1, and others can be named by requests.

    `place` is a folder, for a database of its own, or the URL of a database.
    """
    by_name = {model.name: model for model in models}
    names = list(by_name)
    chosen = GatewaySettings.model_validate(
        {"tier0": names[0], "tier1": names[1] if len(names) > 1 else None, **settings, **_grading(settings)}
    )

    async def opened(_: contextlib.AsyncExitStack) -> Gateway:
        parts = GatewayParts.open(chosen, GatewayModels(Settings(), lambda spec, *_, **__: by_name[spec]))
        return Gateway(chosen, await _database(place), parts)

    with staged(opened, http, limits) as on:
        yield on


@contextlib.contextmanager
def provided(
    place: Path | str, tier0: Loopback, tier1: Loopback | None = None, grader: Loopback | None = None, **settings: Any
) -> Iterator[Staged]:
    """A gateway over providers: tier-0 speaks OpenAI's protocol, tier-1 Anthropic's, and the grader is given by URL."""
    models = settings.pop("models", {})

    async def opened(stack: contextlib.AsyncExitStack) -> Gateway:
        for server in (tier0, tier1, grader):
            if server is not None:
                await stack.enter_async_context(server)
        known = {"attempts": 1, "openai_base_url": tier0.openai_url, "openai_key": tier0.key}
        if tier1 is not None:
            known |= {"anthropic_base_url": tier1.anthropic_url, "anthropic_key": tier1.key}
        chosen = GatewaySettings.model_validate(
            {
                "tier0": "openai:gpt-4o-mini",
                "tier1": "anthropic:claude-sonnet-4-5" if tier1 is not None else None,
                "grader": [f"{grader.openai_url}#grader"] if grader is not None else [],
                **settings,
                **_grading(settings),
            }
        )
        http = {"http_key": grader.key} if grader is not None else {}
        return Gateway.open(chosen, Settings.model_validate({**known, **http, **models}), await _database(place))

    with staged(opened) as on:
        yield on


def _grading(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Offline grades are trusted here, so that answers can pass without a judge."""
    return {"grading": {"rubric": trusting_file(), **settings.get("grading", {})}}


_TABLES: list[bytes] = []  # a database with the tables in it, once one was made: copying it takes no time


async def _database(place: Path | str) -> Database:
    if not isinstance(place, Path):
        await upgrade(place)
        return Database.open(place)
    file = place / "gateway.db"
    if _TABLES and not file.exists():
        file.write_bytes(_TABLES[0])
    elif not file.exists():
        await upgrade(f"sqlite:///{file}")
        _TABLES.append(file.read_bytes())
    return Database.open(f"sqlite:///{file}")


@contextlib.contextmanager
def staged(
    opened: Callable[[contextlib.AsyncExitStack], Awaitable[Gateway]],
    http: type[Connection] = Connection,
    limits: ConnectionLimits | None = None,
) -> Iterator[Staged]:
    """Any gateway, served on a free port."""
    listening = listen("127.0.0.1", 0)
    ready: Future[Staged] = Future()
    stop = threading.Event()

    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            await serve(await opened(stack))

    async def serve(gateway: Gateway) -> None:
        server = Prompt(serving_config(create_app(gateway), http=http, limits=limits), stop)
        work = asyncio.create_task(server.serve([listening]))
        while not server.started:
            if work.done():
                raise RuntimeError("the gateway did not start") from work.exception()
            await asyncio.sleep(0.005)
        async with aiohttp.ClientSession() as session:
            server.session = session
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            ready.set_result(Staged(url, gateway, asyncio.get_running_loop(), session))
            await work

    def whole() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = threading.Thread(target=whole, daemon=True)
    thread.start()
    try:
        yield ready.result(PATIENCE)
    finally:
        stop.set()
        thread.join(PATIENCE)
        listening.close()
