"""A Rubrica server as commands use it: requests tried again where that is safe, and errors in the server's words."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import quote, urlsplit
from uuid import uuid4

import aiohttp
import msgspec

from rubrica.engine.load import rubric_from_data
from rubrica.engine.plan import Plan
from rubrica.errors import JsonError, Problem, RubricaError, RubricError
from rubrica.jsontext import decode_json
from rubrica.llm.http import retry_after
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric
from rubrica.runs.batch import CaseWork, Judged
from rubrica.runs.concurrency import run_concurrently

KEY_VARIABLE = "RUBRICA_API_KEY"
ATTEMPTS = 5
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds
TIMEOUT = aiohttp.ClientTimeout(total=300, sock_connect=10)
PASSING = (429, 502, 503, 504)
LARGEST_ANSWER = 50_000_000
"""Bytes, unpacked."""
LONGEST_DETAIL = 2_000
MOST_PROBLEMS = 100

T = TypeVar("T")


class RemoteReply(NamedTuple):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    data: Any  # None where it is not JSON
    url: str = ""
    body: bytes = b""

    def read(self, shape: type[T]) -> T:
        """The answer in the shape it should have; a RubricaError where it has another."""
        try:
            return msgspec.convert(self.data, shape)
        except msgspec.ValidationError as error:
            said = "not JSON" if self.data is None else str(error)
            raise RubricaError(f"{self.url}: this is no answer of a Rubrica server: {said}") from None


class Provenance(msgspec.Struct, frozen=True):
    """Which rubric a bundle holds."""

    name: str
    version: str


class Export(msgspec.Struct, frozen=True):
    """A rubric as a server exports it."""

    rubric: dict[str, Any]
    provenance: Provenance


class _Executed(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9-]{1,64}\Z")]


class _Recorded(msgspec.Struct, frozen=True):
    record: dict[str, Any]


class _Tested(msgspec.Struct, frozen=True):
    evaluation: dict[str, Any]


class Remote:
    """One server, as one user."""

    def __init__(self, url: str, key: str | None, session: aiohttp.ClientSession) -> None:
        self.url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._session = session

    async def get(self, path: str, *, answers: tuple[int, ...] = ()) -> RemoteReply:
        """Read something; other statuses than those of success may be answers, too."""
        return await self._ask("GET", path, None, {}, answers)

    async def post(self, path: str, data: Any) -> RemoteReply:
        """Make something. Tried again, it is made once."""
        return await self._ask("POST", path, data, {"Idempotency-Key": str(uuid4())})

    async def patch(self, path: str, data: Any) -> RemoteReply:
        """Change parts of something, to values that may be set again."""
        return await self._ask("PATCH", path, data, {})

    async def put(self, path: str, data: Any, tag: str | None = None) -> RemoteReply:
        """Set something, to values that may be set again; what was read with an ETag only as it was."""
        return await self._ask("PUT", path, data, {} if tag is None else {"If-Match": tag})

    async def delete(self, path: str) -> RemoteReply:
        """Take something away."""
        return await self._ask("DELETE", path, None, {})

    async def _ask(
        self, method: str, path: str, data: Any, headers: Mapping[str, str], answers: tuple[int, ...] = ()
    ) -> RemoteReply:
        body = None if data is None else msgspec.json.encode(data)
        sent = {**self._headers, **headers, "Accept": "application/json", "Content-Type": "application/json"}
        pause = FIRST_PAUSE
        for attempt in range(1, ATTEMPTS + 1):
            try:
                async with self._session.request(
                    method, self.url + path, data=body, headers=sent, allow_redirects=False
                ) as response:
                    came = await self._body(response)
                    found = RemoteReply(response.status, response.headers, decoded(came), self.url, came)
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:  # ValueError: a broken header
                trouble = RubricaError(f"{self.url} cannot be reached: {error or type(error).__name__}")
            else:
                if found.status < 300 or found.status in answers:
                    return found
                trouble = self._trouble(found)
                under_way = found.status == 409 and "Retry-After" in found.headers  # an earlier try of ours
                if found.status not in PASSING and not under_way:
                    raise trouble
                pause = max(retry_after(found.headers) or 0.0, pause)
            if attempt < ATTEMPTS:
                await asyncio.sleep(min(pause, LONGEST_PAUSE))
                pause *= 2
        raise trouble

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        """All of an answer, unpacked, if that is not too much."""
        body = bytearray()
        async for piece in response.content.iter_chunked(65_536):
            body += piece
            if len(body) > LARGEST_ANSWER:
                raise RubricaError(f"{self.url}: the answer is larger than {LARGEST_ANSWER:,} bytes")
        return bytes(body)

    def _trouble(self, found: RemoteReply) -> RubricaError:
        """A problem as the server describes it."""
        if 300 <= found.status < 400:
            place = found.headers.get("Location", "")[:LONGEST_DETAIL]
            return RubricaError(
                f"{self.url}: it sends us on to {place!r}, and keys are not sent anywhere else "
                "(name that address with --server if it is the right one)"
            )
        told: dict[str, Any] = found.data if isinstance(found.data, dict) else {}
        listed = told.get("problems")
        problems = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
        if problems:
            return RubricError([_problem(item) for item in problems[:MOST_PROBLEMS]])
        said = told.get("detail") or told.get("title")
        detail = said[:LONGEST_DETAIL] if isinstance(said, str) else f"it answered with {found.status}"
        hint = f" (set {KEY_VARIABLE})" if found.status == 401 else ""
        return RubricaError(f"{self.url}: {detail}{hint}")


class RemoteJudging:
    """Judging on a server, by its rubrics and its judges."""

    def __init__(self, remote: Remote, runner: asyncio.Runner, reference: str, jobs: int, *, keep: bool) -> None:
        self._remote, self._runner, self._jobs, self._keep = remote, runner, jobs, keep
        self._path = f"/api/evaluations/{quote(reference, safe='@')}"

    def rubric(self) -> Rubric:
        """The rubric as the server has it."""
        return rubric_from_data(self._runner.run(self._definition()))

    async def _definition(self) -> dict[str, Any]:
        return (await self._remote.get(f"{self._path}/export?format=json")).read(Export).rubric

    def evaluate(self, _plan: Plan, context: Context) -> Evaluation:
        return self._runner.run(self._judged(context))

    def evaluator(self, work: Iterable[CaseWork]) -> Iterator[Judged]:
        """Evaluations as they come back, at most `jobs` under way."""
        return run_concurrently(self._runner, work, self._outcome, self._jobs)

    async def _outcome(self, work: CaseWork) -> Judged:
        try:
            return work, msgspec.structs.replace(await self._judged(work.context), case=work.case.id)
        except RubricaError as error:
            return work, error

    async def _judged(self, context: Context) -> Evaluation:
        asked = {"context": context.as_given()}
        if self._keep:
            score = (await self._remote.post(f"{self._path}/execute", asked)).read(_Executed).id
            told = (await self._remote.get(f"/api/scores/{score}")).read(_Recorded).record
        else:
            told = (await self._remote.post(f"{self._path}/test", asked)).read(_Tested).evaluation
        return msgspec.structs.replace(Evaluation.from_json(msgspec.json.encode(told)), context=context)


@contextmanager
def remote(url: str) -> Iterator[tuple[Remote, asyncio.Runner]]:
    """A server by its address, as the user whose key is in RUBRICA_API_KEY."""
    check_address(url)
    with asyncio.Runner() as runner:
        session = runner.run(_session())
        try:
            yield Remote(url, os.environ.get(KEY_VARIABLE, "").strip() or None, session), runner
        finally:
            runner.run(session.close())


def check_address(url: str) -> None:
    """Refuse what is no address of a server."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise RubricaError(f"--server: {url!r} is no address such as http://localhost:8000")


async def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(timeout=TIMEOUT, cookie_jar=aiohttp.DummyCookieJar())


def decoded(body: bytes) -> Any:
    """The data of an answer; None where it is not JSON."""
    try:
        return decode_json(body)
    except JsonError:
        return None


def _problem(item: Mapping[str, Any]) -> Problem:
    steps = item.get("path")
    path = tuple(step for step in steps if isinstance(step, str | int)) if isinstance(steps, list) else ()
    message, fix = (str(item.get(key) or "")[:LONGEST_DETAIL] for key in ("message", "fix"))
    return Problem(message, path[:MOST_PROBLEMS], fix=fix)


@contextmanager
def remote_judging(url: str, reference: str, jobs: int, *, keep: bool) -> Iterator[RemoteJudging]:
    """Judging on a server; with `keep` it stores the scores."""
    with remote(url) as (there, runner):
        yield RemoteJudging(there, runner, reference, jobs, keep=keep)
