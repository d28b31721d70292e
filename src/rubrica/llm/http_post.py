"""One POST over the connections that aiohttp keeps, without all that its session does about a request.

The pool, TLS, names, parsing and decompression are aiohttp's. What is left out is what a call to a model never uses:
redirects, cookies, proxies, authentication, middleware, traces, and a task that writes the body. That is two thirds of
what a call through the session costs.
"""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp
import msgspec
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.streams import EofStream, StreamReader
from yarl import URL

_NO_LIMIT = aiohttp.ClientTimeout(total=None, sock_connect=None)  # whoever posts keeps the time
_LINE_ENDS = ("\r", "\n", "\0")


class PostTarget(msgspec.Struct, frozen=True):
    """Where something is posted, and how the request begins: all but its length and its body."""

    request: aiohttp.ClientRequest  # never sent itself: it tells the pool which connections fit
    head: bytes

    @classmethod
    def of(cls, client: aiohttp.ClientSession, url: URL, headers: Mapping[str, str]) -> PostTarget:
        sent = client.headers.copy()  # in which the letters of a name may be large or small
        sent.update(headers)
        request = aiohttp.ClientRequest("POST", url, headers=sent, session=client)
        lines = [f"POST {url.raw_path_qs} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in request.headers.items() if name.lower() != "content-length"]
        if any(end in line for line in lines for end in _LINE_ENDS):
            raise ValueError("a header may not hold a line break")
        return cls(request, ("\r\n".join(lines) + "\r\nContent-Length: ").encode())


class PostedAnswer(msgspec.Struct, frozen=True, gc=False):
    """An answer of which the headers have come. Whoever has it releases it, read or not."""

    status: int
    headers: Mapping[str, str]
    content: StreamReader
    connection: Connection

    def release(self) -> None:
        """Give the connection to the next call, or end it where the exchange is not complete."""
        transport = self.connection.transport
        if transport is not None and transport.get_write_buffer_size():  # answered before all of the body was sent
            transport.abort()  # nobody waits for the rest to be sent
            self.connection.close()
        else:
            self.connection.release()


async def post(client: aiohttp.ClientSession, target: PostTarget, body: bytes) -> PostedAnswer:
    """Send a body; what comes back as soon as it begins."""
    connector = client.connector
    if connector is None:
        raise aiohttp.ClientConnectionError("the session is closed")
    connection = await connector.connect(target.request, [], _NO_LIMIT)
    try:
        protocol, transport = connection.protocol, connection.transport
        if protocol is None or transport is None or transport.is_closing():
            raise aiohttp.ServerDisconnectedError
        protocol.set_response_params(read_until_eof=True)
        transport.write(b"%b%d\r\n\r\n%b" % (target.head, len(body), body))
        return await _begin(protocol, connection)
    except BaseException:
        connection.close()
        raise


async def _begin(protocol: ResponseHandler, connection: Connection) -> PostedAnswer:
    while True:
        try:
            message, content = await protocol.read()
        except EofStream:
            raise aiohttp.ServerDisconnectedError from None
        if not 100 <= message.code < 200:  # those only say that there is more to come
            return PostedAnswer(message.code, message.headers, content, connection)
