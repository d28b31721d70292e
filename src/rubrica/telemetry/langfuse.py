"""A small client of Langfuse's public API: prompts from it; traces, scores and datasets to it.

The variables are those of its own clients: LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY, and LANGFUSE_BASE_URL (or the
older LANGFUSE_HOST). Traces go by OTLP as JSON. Whatever has an id keeps it when it is sent again, so sending twice
changes nothing.
"""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, Self, assert_never
from urllib.parse import quote, urlsplit
from uuid import NAMESPACE_URL, uuid5

import aiohttp
import msgspec

from rubrica.errors import JsonError, RubricaError
from rubrica.jsontext import decode_json
from rubrica.llm.http import retry_after

CLOUD = "https://cloud.langfuse.com"
ATTEMPTS = 4
SECONDS = 30.0
AT_ONCE = 100
"""Scores or spans in one request; the server takes at most a mebibyte."""
LONGEST_WAIT = 30.0


class LangfuseError(RubricaError):
    """Langfuse could not be reached, or refused. `status` is what it answered with; 0 where it did not answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


ScoreForm = Literal["list", "single", "events"]
"""How scores are sent: several at once, one by one, or as a batch of events. Which of them a server takes depends on
its version, and it says so itself."""
_FORMS: tuple[ScoreForm, ...] = ("list", "single", "events")
_OTHER_FORM = frozenset({400, 404, 405, 415, 422, 501})
"""What a server answers that does not know a form."""
_SCORES, _EVENTS = "/api/public/scores", "/api/public/ingestion"
MOST_FAULTS = 3
"""Faults told of one batch."""


@dataclass(frozen=True, slots=True, repr=False)
class Account:
    """Where a project lives and what opens it."""

    public_key: str
    secret_key: str
    base_url: str = CLOUD

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> Account:
        """The account that the environment names."""
        missing = [name for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY") if not environment.get(name)]
        if missing:
            raise LangfuseError(f"Langfuse: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set")
        address = environment.get("LANGFUSE_BASE_URL") or environment.get("LANGFUSE_HOST") or CLOUD
        return cls(environment["LANGFUSE_PUBLIC_KEY"], environment["LANGFUSE_SECRET_KEY"], _check_address(address))

    def hidden(self, text: str) -> str:
        """A text in which a server may have sent the keys back, without them."""
        return text.replace(self.secret_key, "***").replace(self.public_key, "***")

    @property
    def authorization(self) -> str:
        return "Basic " + base64.b64encode(f"{self.public_key}:{self.secret_key}".encode()).decode()


@dataclass(frozen=True, slots=True)
class StoredPrompt:
    """A prompt as it is kept there. The messages of a chat prompt are joined, the system's first."""

    name: str
    version: int
    text: str
    labels: tuple[str, ...] = ()


class Langfuse:
    """The API of one project. Use it in ``async with``."""

    def __init__(
        self,
        account: Account,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._account = account
        self._sleep, self._clock = sleep, clock
        self._client: aiohttp.ClientSession | None = None
        self._form: ScoreForm | None = None  # the one that was taken

    async def __aenter__(self) -> Self:
        self._client = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=SECONDS),
            headers={"Authorization": self._account.authorization, "User-Agent": "rubrica"},
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.close()

    async def prompt(self, name: str, *, label: str | None = None, version: int | None = None) -> StoredPrompt:
        """A prompt by name: one version, the one with a label, or the one in production."""
        wanted = {"version": str(version)} if version is not None else {"label": label} if label else {}
        data = await self._call("GET", f"/api/public/v2/prompts/{quote(name, safe='')}", wanted=wanted)
        try:
            return StoredPrompt(str(data["name"]), int(data["version"]), _text(data["prompt"]), tuple(data["labels"]))
        except (KeyError, TypeError, ValueError):
            raise LangfuseError(f"Langfuse: the prompt {name!r} came in a form that cannot be read") from None

    async def dataset(self, name: str, description: str = "") -> str:
        """Make a dataset, or change the one of that name; its id."""
        data = await self._call("POST", "/api/public/v2/datasets", {"name": name, "description": description})
        return str(data.get("id", "")) if isinstance(data, dict) else ""

    async def dataset_item(self, dataset: str, id: str, given: Any, metadata: Mapping[str, Any]) -> None:
        """Put an item into a dataset, in place of the one with the same id."""
        body = {"datasetName": dataset, "id": id, "input": given, "metadata": metadata}
        await self._call("POST", "/api/public/dataset-items", body)

    async def spans(self, spans: Sequence[Mapping[str, Any]]) -> None:
        """Send spans, each in OTLP's JSON form."""
        for start in range(0, len(spans), AT_ONCE):
            scope = {"scope": {"name": "rubrica"}, "spans": list(spans[start : start + AT_ONCE])}
            service = {"key": "service.name", "value": {"stringValue": "rubrica"}}
            body = {"resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [scope]}]}
            await self._call("POST", "/api/public/otel/v1/traces", body)

    async def scores(self, scores: Sequence[Mapping[str, Any]]) -> None:
        """Send scores, in the form that the server takes; an error where it did not take all of them."""
        for start in range(0, len(scores), AT_ONCE):
            await self._some_scores(list(scores[start : start + AT_ONCE]))

    async def _some_scores(self, scores: list[Mapping[str, Any]]) -> None:
        """Try one form after the other, and stay with the one that was taken. An id that comes twice counts once."""
        first: LangfuseError | None = None
        for form in _FORMS if self._form is None else (self._form,):
            try:
                await self._send_scores(form, scores)
            except LangfuseError as error:
                if self._form is not None or error.status not in _OTHER_FORM:
                    raise
                first = first or error
            else:
                self._form = form
                return
        assert first is not None  # noqa: S101 -- there is at least one form
        raise first

    async def _send_scores(self, form: ScoreForm, scores: list[Mapping[str, Any]]) -> None:
        match form:
            case "list":
                self._refuse_faults(await self._call("POST", _SCORES, scores))
            case "single":
                for score in scores:
                    await self._call("POST", _SCORES, score)
            case "events":
                now = self._clock().isoformat().replace("+00:00", "Z")
                events = [
                    {"id": _event_id(score), "type": "score-create", "timestamp": now, "body": score}
                    for score in scores
                ]
                self._refuse_faults(await self._call("POST", _EVENTS, {"batch": events}))
            case _:
                assert_never(form)

    def _refuse_faults(self, data: Any) -> None:
        """Several things sent at once may be taken in part (207): what was not is an error."""
        if not isinstance(data, dict):
            return
        faults = [fault for fault in data.get("errors") or () if isinstance(fault, dict)]
        count = data.get("rejected") or len(faults)
        if count:
            told = [str(fault.get("message") or fault.get("error") or "") for fault in faults[:MOST_FAULTS]]
            said = self._account.hidden("; ".join(text for text in told if text)) or "it does not say why"
            raise LangfuseError(f"Langfuse refused {count} of its scores: {said}", 207)

    async def _call(self, method: str, path: str, body: Any = None, wanted: Mapping[str, str] | None = None) -> Any:
        """One request, tried again where that may help. Everything sent here can be sent twice."""
        assert self._client is not None, "use it in `async with`"  # noqa: S101
        url = self._account.base_url + path
        data = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": "application/json", "x-langfuse-ingestion-version": "4"}
        trouble, status = "", 0
        for attempt in range(ATTEMPTS):
            wait = 0.5 * 2**attempt
            try:
                async with self._client.request(
                    method, url, data=data, params=wanted, headers=headers, allow_redirects=False
                ) as reply:
                    content, status = await reply.read(), reply.status
                    if reply.status < 300:
                        return decode_json(content) if content.strip() else {}
                    trouble = f"{reply.status} {self._account.hidden(_error_message(content))}".strip()
                    if reply.status not in (408, 425, 429) and reply.status < 500:
                        break
                    wait = min(retry_after(reply.headers) or wait, LONGEST_WAIT)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                trouble, status = str(error) or type(error).__name__, 0
            except JsonError as error:
                trouble = f"the answer is no JSON that can be read: {error}"
            if attempt < ATTEMPTS - 1:
                await self._sleep(wait)
        said = f"Langfuse at {self._account.base_url}: {method} {path}: {trouble}{_way_out(trouble)}"
        raise LangfuseError(said, status)


def _event_id(score: Mapping[str, Any]) -> str:
    """The same for the same score, so that an event that is sent twice counts once."""
    return str(uuid5(NAMESPACE_URL, "rubrica:score:" + msgspec.json.encode(score).decode()))


def _check_address(address: str) -> str:
    """An address that requests can be sent to, without the slash at its end."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise LangfuseError("Langfuse: LANGFUSE_BASE_URL is no address such as https://cloud.langfuse.com")
    if "@" in parts.netloc:
        raise LangfuseError(
            "Langfuse: LANGFUSE_BASE_URL holds a user name; the keys belong in LANGFUSE_PUBLIC_KEY and "
            "LANGFUSE_SECRET_KEY"
        )
    return address.rstrip("/")


def _text(prompt: Any) -> str:
    """The text of a prompt, whichever type it has.

    >>> _text("Be kind."), _text([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}])
    ('Be kind.', 'Be kind.\\n\\nHi')
    """
    if isinstance(prompt, str):
        return prompt
    return "\n\n".join(str(message["content"]) for message in prompt if "content" in message)


def _error_message(content: bytes) -> str:
    try:
        data = decode_json(content)
    except JsonError:
        return ""
    return " ".join(str(data.get("message", "") if isinstance(data, dict) else "").split())[:300]


def _way_out(trouble: str) -> str:
    if trouble.startswith(("401", "403")):
        return " (check LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and LANGFUSE_BASE_URL)"
    return ""
