"""``POST /v1/messages/count_tokens``: about how many tokens a request has. No model is asked."""

from __future__ import annotations

from uuid import UUID

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rubrica.gateway.estimate import likely_prompt_tokens
from rubrica.workspace.access import Caller, check_action

from .headers import traced
from .intake import receive_body
from .messages_in import read_messages


class TokenCounts:
    """The endpoint. Errors are told by the application, in Anthropic's shape."""

    def __init__(self, most: int) -> None:
        self._most = most  # bytes of a body

    async def __call__(self, request: Request) -> Response:
        caller: Caller = request.scope["state"]["caller"]
        trace: UUID = request.scope["state"]["trace"]
        check_action(caller, "asking for a completion")
        try:
            raw = await receive_body(request.scope, request.receive, self._most)
        except ClientDisconnect:
            return Response(status_code=400)  # which nobody sees
        counted = {"input_tokens": likely_prompt_tokens(read_messages(raw, counted=True))}
        reply = Response(msgspec.json.encode(counted), media_type="application/json")
        reply.raw_headers.extend(traced(trace))
        return reply
