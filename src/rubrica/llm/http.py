"""What both wire protocols share: one HTTP session, and every trouble of the wire told as a ModelError.

Nothing here tries again after a trouble: that is decided in one place, elsewhere.
"""

from __future__ import annotations

import asyncio
import io
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Self, TypeVar

import aiohttp
import msgspec
from aiohttp.http_exceptions import ContentEncodingError, HttpProcessingError
from aiohttp.streams import StreamReader
from yarl import URL

from rubrica.errors import JsonError
from rubrica.jsontext import decode_json
from rubrica.llm.deadlines import Deadlines
from rubrica.llm.http_post import PostTarget, post
from rubrica.llm.model import ModelError, Trouble

T = TypeVar("T")

LARGEST_ANSWER = 20_000_000
"""Bytes; a longer body is no answer of a language model."""

FEWEST_CONNECTIONS = 256
"""So many calls may be under way over one session at least."""

LONGEST_MESSAGE = 300  # characters of a provider's own words in an error
_IN_ONE_PIECE = 2**20  # bytes; aiohttp wants a larger body as a stream
_LONGEST_ERROR = 2**20  # bytes
_MOST_TARGETS = 64
_STREAMED = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}  # compressed, events would come in lumps
MASKED = re.compile(r"\bsk-[\w.*-]+|\S*\*{3}\S*")  # a key, or what a provider shows of one


class HttpAnswer(msgspec.Struct, frozen=True, gc=False):
    """What came back over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpSession:
    """The connections to all providers: opened on first use, kept alive, closed together.

    It belongs to the event loop that first uses it. Once closed it may be used again, on any loop.
    The time limit of a call includes its wait for one of the `connections`.
    """

    def __init__(self, *, connections: int = FEWEST_CONNECTIONS, largest_answer: int = LARGEST_ANSWER) -> None:
        self._connections = connections
        self._largest_answer = largest_answer
        self._deadlines = Deadlines()
        self._client: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._targets: dict[tuple[object, ...], PostTarget] = {}

    def __repr__(self) -> str:
        return f"HttpSession(connections={self._connections})"

    async def post(self, url: URL, headers: Mapping[str, str], body: bytes, timeout: float) -> HttpAnswer:
        """Send `body`; the answer with whatever status it has. Redirects are not followed: they would carry keys."""
        try:
            client = self._open()
            target = self._target(client, url, headers)
            with self._deadlines.within(timeout):
                answer = await post(client, target, body)
                try:
                    return HttpAnswer(answer.status, answer.headers, await self._content(answer.content, url))
                finally:
                    answer.release()  # the connection, for the next call; it is closed where the answer is not read
        except (aiohttp.ClientError, HttpProcessingError, TimeoutError, OSError) as error:
            trouble = _of_connection(error, url, timeout)
        raise trouble  # outside the except block: aiohttp's errors can hold the request headers, and so the key

    async def open(self, url: URL, headers: Mapping[str, str], body: bytes, timeout: float) -> StreamingAnswer:
        """Send `body`; the answer as soon as it begins. Whoever opens it closes it."""
        data = body if len(body) <= _IN_ONE_PIECE else io.BytesIO(body)
        sent = {**headers, **_STREAMED}
        try:
            with self._deadlines.within(timeout):
                response = await self._open().post(url, data=data, headers=sent, allow_redirects=False)
                return StreamingAnswer(response, self._deadlines, timeout, self._largest_answer)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            trouble = _of_connection(error, url, timeout)
        raise trouble  # outside the except block, as above

    def _open(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._client is None:
            self._client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),  # the limit is kept here, for less
                headers={"Content-Type": "application/json", "User-Agent": "rubrica"},
            )
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError("this HttpSession belongs to another event loop: close it before that loop ends")
        return self._client

    def _target(self, client: aiohttp.ClientSession, url: URL, headers: Mapping[str, str]) -> PostTarget:
        key = (url, *headers.items())
        target = self._targets.get(key)
        if target is None:
            if len(self._targets) >= _MOST_TARGETS:  # headers that differ each time, such as those of a trace
                self._targets.clear()
            target = self._targets[key] = PostTarget.of(client, url, headers)
        return target

    async def _content(self, stream: StreamReader, url: URL) -> bytes:
        content = await stream.readany()
        if not stream.at_eof():
            received = bytearray(content)
            while len(received) <= self._largest_answer and (chunk := await stream.readany()):
                received += chunk
            content = bytes(received)
        if len(content) > self._largest_answer:
            raise _too_long(url, self._largest_answer)
        return content

    async def close(self) -> None:
        client, self._client = self._client, None
        self._targets.clear()
        if client is not None:
            await client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class StreamingAnswer:
    """An answer whose body is still on its way."""

    __slots__ = ("_content", "_deadlines", "_largest", "_response", "_timeout", "headers", "status")

    def __init__(
        self, response: aiohttp.ClientResponse, deadlines: Deadlines, timeout: float, largest: int = LARGEST_ANSWER
    ) -> None:
        self.status: int = response.status
        self.headers: Mapping[str, str] = response.headers
        self._response, self._content = response, response.content
        self._deadlines, self._timeout = deadlines, timeout  # seconds without a sign of life
        self._largest = largest  # bytes of an answer that does not come in pieces after all

    async def some(self) -> bytes:
        """What has come since the last time, as soon as that is anything; nothing at the end."""
        try:
            with self._deadlines.within(self._timeout):
                return await self._content.readany()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            trouble = _of_connection(error, self._response.url, self._timeout)
        raise trouble

    async def read_all(self) -> HttpAnswer:
        """All of it; of an error as much as one can be long. Then it is closed."""
        body, good = bytearray(), 200 <= self.status < 300
        longest = self._largest if good else _LONGEST_ERROR
        try:
            while len(body) <= longest and (chunk := await self.some()):
                body += chunk
        finally:
            self.close()
        if good and len(body) > longest:
            raise _too_long(self._response.url, longest)
        return HttpAnswer(self.status, self.headers, bytes(body))

    async def drain(self, seconds: float) -> None:
        """Wait for the end of a body of which nothing more matters, so that the connection can be used again."""
        try:
            with self._deadlines.within(seconds):
                while await self._content.readany():
                    pass
        except (aiohttp.ClientError, TimeoutError, OSError):
            pass  # it is not used again
        finally:
            self.close()

    def close(self) -> None:
        """End the connection, unless the body has ended: then it is free for others already."""
        self._response.close()


def _too_long(url: URL, largest: int) -> ModelError:
    return ModelError("garbled", f"{url.host}: the answer is longer than {largest:,} bytes")


def _of_connection(error: Exception, url: URL, timeout: float) -> ModelError:
    place = url.host if url.is_default_port() else f"{url.host}:{url.port}"
    match error:
        case TimeoutError():
            return ModelError("timeout", f"{place}: no answer within {timeout:g} s")
        case aiohttp.InvalidURL():
            return ModelError("rejected", f"{url.human_repr()} is no http:// or https:// address")
        case aiohttp.ClientPayloadError() if isinstance(error.__cause__, ContentEncodingError):
            return ModelError("garbled", f"{place}: the answer cannot be decompressed")
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError():
            return ModelError("unreachable", f"{place}: the connection broke before the answer was complete")
        case aiohttp.ClientSSLError() | aiohttp.ServerFingerprintMismatch():
            return ModelError("unreachable", f"{place}: no trusted TLS connection: {type(error).__name__}")
        case aiohttp.ClientResponseError() | HttpProcessingError():  # its text shows the request
            return ModelError("garbled", f"{place}: the answer is not HTTP")
        case OSError():
            reason = error.strerror or type(error).__name__
            return ModelError("unreachable", f"{place}: no connection: {reason}")
        case _:
            return ModelError("unreachable", f"{place}: no connection: {type(error).__name__}")


LONGEST_CODE = 100


class ErrorBody(msgspec.Struct, frozen=True):
    """What a provider says is wrong, in its own words and codes."""

    message: str = ""
    param: str = ""
    codes: frozenset[str] = frozenset()
    code: str | None = None  # the one that is not only a type


def read_error_body(body: bytes) -> ErrorBody:
    """Read the body of an error answer. Providers agree on little: an object, an object in `error`, or a text.

    >>> read_error_body(b'{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}').message
    'slow down'
    >>> read_error_body(b'{"error": {"message": "too long", "code": "context_length_exceeded", "type": "any"}}').code
    'context_length_exceeded'
    >>> read_error_body(b'{"detail": "no such model"}').message, read_error_body(b"<html>").message
    ('no such model', '')
    """
    try:
        document = decode_json(body)
    except JsonError:
        return ErrorBody()
    outer: dict[str, Any] = document if isinstance(document, dict) else {}
    error = outer.get("error", outer)
    if isinstance(error, str):
        return ErrorBody(error)
    inner: dict[str, Any] = error if isinstance(error, dict) else {}
    details = inner.get("details")
    codes = [inner.get("code"), inner.get("type"), details.get("error_code") if isinstance(details, dict) else None]
    message = inner.get("message", inner.get("detail", ""))
    return ErrorBody(
        message if isinstance(message, str) else msgspec.json.encode(message).decode(),
        param if isinstance(param := inner.get("param"), str) else "",
        frozenset(code for code in codes if isinstance(code, str)),
        next((code[:LONGEST_CODE] for code in (codes[0], codes[2]) if isinstance(code, str)), None),
    )


_OUT_OF_CREDIT = {
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "enforced_spend_limit_reached",
}
_TROUBLES: dict[int, tuple[Trouble, str]] = {
    401: ("unauthorised", "the key was refused"),
    403: ("unauthorised", "the key does not allow this"),
    404: ("rejected", "no such model or address"),
    408: ("overloaded", "the provider gave up waiting"),
    409: ("overloaded", "the provider is busy with a conflicting request"),
    413: ("rejected", "the request is too long"),
    429: ("rate_limited", "too many requests"),
    529: ("overloaded", "the provider is overloaded"),
}


def trouble_in(answer: HttpAnswer, codes: frozenset[str] = frozenset()) -> tuple[Trouble, str]:
    """What an answer that is no success means, and how to say it.

    >>> trouble_in(HttpAnswer(529, {}, b""))
    ('overloaded', 'the provider is overloaded')
    >>> trouble_in(HttpAnswer(429, {}, b""), frozenset({"insufficient_quota"}))
    ('rejected', 'the account is out of credit')
    """
    if answer.status == 402 or codes & _OUT_OF_CREDIT:
        return "rejected", "the account is out of credit"  # said with 429 too, but waiting does not help
    if answer.status < 400:
        return "rejected", "the address redirects elsewhere; correct the base URL"
    if answer.status >= 500:
        trouble, words = _TROUBLES.get(answer.status, ("overloaded", "the provider failed"))
    else:
        trouble, words = _TROUBLES.get(answer.status, ("rejected", "the request was refused"))
    if trouble in ("rate_limited", "overloaded") and answer.headers.get("x-should-retry") == "false":
        return "rejected", words  # both vendors send this where trying again cannot help
    return trouble, words


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the provider asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.

    >>> retry_after({"retry-after": "1.5"}), retry_after({"retry-after-ms": "250", "retry-after": "1"})
    (1.5, 0.25)
    >>> retry_after({"retry-after": "Sun, 15 Nov 2026 08:00:30 GMT", "date": "Sun, 15 Nov 2026 08:00:00 GMT"})
    30.0
    """
    milliseconds, text = headers.get("retry-after-ms"), headers.get("retry-after")
    for value, unit in ((milliseconds, 0.001), (text, 1.0)):
        seconds = _number(value)
        if seconds is not None:
            return max(0.0, seconds * unit)
    until = _date(text)
    if until is None:
        return None
    now = _date(headers.get("date")) or datetime.now(UTC)  # the provider's clock, where it shows it
    return max(0.0, (until - now).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _date(text: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(text) if text else None
    except ValueError:
        return None
    return date.replace(tzinfo=UTC) if date is not None and date.tzinfo is None else date
