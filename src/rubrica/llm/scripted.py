"""Models that answer from a file: written by hand (`scripted:FILE`) or recorded from a real one (`replay:FILE`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import re2

from rubrica.errors import RubricaError
from rubrica.files import make_private_file
from rubrica.jsontext import UNREADABLE
from rubrica.llm.cache import reply_key
from rubrica.llm.model import Model, ModelError, Reply, Request, StopReason, Trouble, Usage

T = TypeVar("T", bound=msgspec.Struct)
_QUIET = re2.Options()
_QUIET.log_errors = False


class ScriptLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a script: a reply or an error, for every request or for those whose last message fits."""

    reply: Any = None  # a text, or a JSON value that is sent as text
    error: Trouble | None = None
    message: str = ""  # the error's words
    retry_after: float | None = None
    match: str | None = None  # occurs in the last message
    pattern: str | None = None  # a linear-time regular expression that is found in the last message
    stop: StopReason = "end"
    usage: Usage = Usage()


class _Step:
    """A line ready to be asked whether it fits."""

    __slots__ = ("line", "pattern", "text")

    def __init__(self, line: ScriptLine) -> None:
        if (line.reply is None) == (line.error is None):
            raise RubricaError('a script line has either a "reply" or an "error"')
        self.line = line
        self.text = line.reply if isinstance(line.reply, str) else json.dumps(line.reply, ensure_ascii=False)
        try:
            self.pattern = None if line.pattern is None else re2.compile(line.pattern, _QUIET)
        except re2.error as error:
            raise RubricaError(f"the pattern {line.pattern!r} cannot be used: {error}") from error

    def fits(self, prompt: str) -> bool:
        if self.line.match is not None and self.line.match not in prompt:
            return False
        return self.pattern is None or self.pattern.search(prompt) is not None


Script = Sequence[Any] | Mapping[str, Any] | Callable[[Request], Any]


class ScriptedModel:
    """Answers from a script, for tests, demos and dry runs of a pipeline.

    Each request takes the first line that fits its last message and has not been used. When all that fit have been
    used, the last of them answers again. A request that no line fits is rejected.

    A script is a list of texts, JSON objects, `ScriptLine`s and `ModelError`s; or a mapping from a stretch of text to
    its reply; or a function of the request that returns one of these. `requests` holds what was asked.

    >>> import asyncio
    >>> from rubrica.llm.model import ChatMessage
    >>> model = ScriptedModel([ScriptLine(reply="hello", match="hi"), ScriptLine(reply={"score": 7})])
    >>> [asyncio.run(model(Request((ChatMessage("user", text),)))).text for text in ("rate it", "hi", "hi")]
    ['{"score": 7}', 'hello', '{"score": 7}']
    """

    def __init__(self, script: Script, *, name: str = "scripted:") -> None:
        self.name = name
        self.requests: list[Request] = []
        self._function = script if callable(script) else None
        self._steps = [] if callable(script) else [_Step(line) for line in _lines(script)]
        self._unused = list(self._steps)

    @classmethod
    def from_file(cls, path: Path | str) -> ScriptedModel:
        """A script with one JSON object per line; empty lines and lines that start with ``#`` are skipped."""
        lines = [_decoded(path, number, text, ScriptLine) for number, text in _numbered_lines(path)]
        if not lines:
            raise RubricaError(f'{path}: the script is empty (write lines such as {{"reply": "…"}})')
        try:
            return cls(lines, name=f"scripted:{path}")
        except RubricaError as error:
            raise RubricaError(f"{path}: {error}") from error

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        if self._function is not None:
            return self._answer(_Step(_line(self._function(request))))
        prompt = request.messages[-1].content if request.messages else ""
        for index, step in enumerate(self._unused):
            if step.fits(prompt):
                del self._unused[index]
                return self._answer(step)
        for step in reversed(self._steps):
            if step.fits(prompt):
                return self._answer(step)
        raise ModelError("rejected", f"{self.name}: no line fits a request that ends with {prompt[-80:]!r}")

    async def close(self) -> None:
        """Nothing is open."""

    def _answer(self, step: _Step) -> Reply:
        line = step.line
        if line.error is not None:
            words = line.message or f"{self.name} says {line.error}"
            raise ModelError(line.error, words, retry_after=line.retry_after)
        return Reply(step.text, self.name, line.usage, line.stop)


def _lines(script: Sequence[Any] | Mapping[str, Any]) -> list[ScriptLine]:
    if isinstance(script, Mapping):
        return [msgspec.structs.replace(_line(value), match=text) for text, value in script.items()]
    return [_line(value) for value in script]


def _line(value: Any) -> ScriptLine:
    if isinstance(value, ScriptLine):
        return value
    if isinstance(value, ModelError):
        return ScriptLine(error=value.trouble, message=str(value), retry_after=value.retry_after)
    if isinstance(value, Reply):
        return ScriptLine(reply=value.text, stop=value.stop, usage=value.usage)
    return ScriptLine(reply=value)


class _Recorded(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a recording."""

    request: str  # the hash of the request, in hexadecimal digits
    model: str = ""
    reply: Reply | None = None
    trouble: Trouble | None = None
    message: str = ""


class ReplayModel:
    """Answers what a recording answered. A request asked several times gets its replies in the recorded order,
    then the last one again. A request that was not recorded is rejected: nothing is made up.
    """

    def __init__(self, path: Path | str) -> None:
        self.name = f"replay:{path}"
        self._answers: dict[str, list[_Recorded]] = {}
        self._asked: dict[str, int] = {}
        for number, text in _numbered_lines(path):
            line = _decoded(path, number, text, _Recorded)
            self._answers.setdefault(line.request, []).append(line)

    async def __call__(self, request: Request) -> Reply:
        key = reply_key("", request).hex()
        answers = self._answers.get(key)
        if answers is None:
            raise ModelError(
                "rejected",
                f"{self.name}: this request is not in the recording; the prompt, the rubric or the judged text differ "
                "from what was recorded (record it again)",
            )
        turn = self._asked.get(key, 0)
        self._asked[key] = turn + 1
        answer = answers[min(turn, len(answers) - 1)]
        if answer.reply is None:
            raise ModelError(answer.trouble or "garbled", answer.message or f"{self.name}: recorded without a reply")
        return answer.reply

    async def close(self) -> None:
        """Nothing is open."""


class Recorder:
    """A Model that writes what it is asked and answers to a file that `ReplayModel` reads; the file is written anew."""

    def __init__(self, model: Model, path: Path | str) -> None:
        self._model = model
        try:
            make_private_file(Path(path))
            self._file = Path(path).open("w", encoding="utf-8")  # noqa: SIM115 - closed with the model
        except OSError as error:
            raise RubricaError(f"{path}: cannot be written: {error.strerror}") from error

    @property
    def name(self) -> str:
        return self._model.name

    async def __call__(self, request: Request) -> Reply:
        try:
            reply = await self._model(request)
        except ModelError as error:
            self._write(request, trouble=error.trouble, message=str(error))
            raise
        self._write(request, reply=reply)
        return reply

    async def close(self) -> None:
        self._file.close()
        await self._model.close()

    def _write(self, request: Request, **ending: Any) -> None:
        line = _Recorded(reply_key("", request).hex(), self.name, **ending)
        self._file.write(msgspec.json.encode(line).decode() + "\n")
        self._file.flush()


def _numbered_lines(path: Path | str) -> list[tuple[int, str]]:
    """The lines of a JSONL file that say something, with their numbers."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RubricaError(f"{path}: cannot be read: {error}") from error
    numbered = enumerate(text.split("\n"), start=1)
    return [(number, line) for number, line in numbered if line.strip() and not line.lstrip().startswith("#")]


def _decoded(path: Path | str, number: int, text: str, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except UNREADABLE as error:
        keys = ", ".join(kind.__struct_fields__)
        raise RubricaError(f"{path}:{number}: {error} (a line is a JSON object with some of {keys})") from error
