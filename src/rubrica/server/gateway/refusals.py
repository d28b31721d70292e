"""Every error in OpenAI's shape, so that clients made for it understand: ``{"error": {"message", "type", …}}``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from rubrica.council.session import QuorumError
from rubrica.errors import (
    ConflictError,
    DeniedError,
    InputError,
    MissingError,
    RateLimitError,
    RubricaError,
    SpendingLimitError,
    StoreError,
)
from rubrica.gateway.rates import limit_headers
from rubrica.gateway.routed_answer import AllDownError
from rubrica.llm.model import ModelError
from rubrica.server.council_service import CouncilUnavailableError
from rubrica.server.problems import retry_after
from rubrica.store.spending import SOON

from .response_memory import UnknownResponseError

LOG = logging.getLogger("rubrica.gateway")
INTERNAL = "something went wrong here, not with the request; the gateway's log has it under this trace"
NO_RETRY = {"x-should-retry": "false"}
"""OpenAI's clients try again after 429 and 5xx, unless they are told that it cannot help."""


class TooLargeError(RubricaError):
    """A body has more bytes than the gateway takes."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the body has more than {most:,} bytes (max_body in the gateway's settings allows more)")


class OverloadedError(RubricaError):
    """The gateway has too much to do to take this request now."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """Why a request has no answer.

    >>> ErrorReply(400, "`messages` is missing").body
    b'{"error":{"message":"`messages` is missing","type":"invalid_request_error","param":null,"code":null}}'
    """

    status: int
    message: str
    type: str = "invalid_request_error"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    param: str | None = None

    @property
    def body(self) -> bytes:
        error = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return msgspec.json.encode({"error": error})

    @property
    def event(self) -> bytes:
        """The same within a stream that has begun."""
        return b"data: " + self.body + b"\n\n"

    def response(self, trace: str = "") -> Response:
        traced = {"x-sleipner-trace": trace, "x-request-id": trace} if trace else {}
        return Response(self.body, self.status, {**self.headers, **traced}, "application/json")


def refusal_of(error: Exception, trace: str = "") -> ErrorReply:
    """What a client is told of an error. What nobody foresaw is logged, and told without its insides."""
    match error:
        case AllDownError(rejected=ModelError() as refused):
            return ErrorReply(refused.status or 400, str(refused), code=refused.code)
        case AllDownError():
            return ErrorReply(503, str(error), "server_error", "service_unavailable", retry_after(error.retry_after))
        case ModelError():  # a stream that broke off
            return ErrorReply(502, f"the model's answer broke off ({error.trouble})", "server_error", "upstream_error")
        case (
            QuorumError() | CouncilUnavailableError()
        ):  # asking again by itself, as clients do, would cost as much again
            return ErrorReply(503, str(error), "server_error", "service_unavailable", NO_RETRY | retry_after(30))
        case SpendingLimitError():
            soon = error.retry_after is not None and error.retry_after <= SOON
            headers = {} if soon else NO_RETRY
            if error.retry_after is not None:
                headers = headers | retry_after(error.retry_after)
            return ErrorReply(429, str(error), "insufficient_quota", "insufficient_quota", headers)
        case RateLimitError():
            wait = retry_after(error.retry_after) if error.retry_after is not None else NO_RETRY
            told = limit_headers(error.kind, 0, error.limit, error.retry_after or 0)
            return ErrorReply(429, str(error), error.kind, "rate_limit_exceeded", told | wait)
        case OverloadedError():
            return ErrorReply(503, str(error), "server_error", "service_unavailable", retry_after(1))
        case TooLargeError():
            return ErrorReply(413, str(error), code="request_too_large")
        case DeniedError():
            return ErrorReply(403, str(error), "permission_error", "not_allowed")
        case MissingError():
            return ErrorReply(404, str(error), code="not_found")
        case ConflictError():
            return ErrorReply(409, str(error), code="conflict", headers=NO_RETRY)
        case StoreError():
            LOG.error("%s: %s", trace, error)
            return ErrorReply(503, "the database cannot be used now (try again)", "server_error", None, retry_after(1))
        case UnknownResponseError():
            return ErrorReply(400, str(error), code="previous_response_not_found", param="previous_response_id")
        case InputError() | RubricaError():
            return ErrorReply(400, str(error))
        case HTTPException():
            return ErrorReply(error.status_code, str(error.detail), headers=error.headers or {})
        case _:
            LOG.error("%s: %s", trace, type(error).__name__, exc_info=error)
            return ErrorReply(500, INTERNAL, "server_error")


def from_problem(reply: Response) -> ErrorReply:
    """What the sign-in says as a problem detail, in OpenAI's shape."""
    told = msgspec.json.decode(reply.body)
    kept = {name: value for name, value in reply.headers.items() if name in ("retry-after", "www-authenticate")}
    status = reply.status_code
    kind, code = {
        401: ("invalid_request_error", "invalid_api_key"),
        403: ("permission_error", "not_allowed"),
        429: ("requests", "rate_limit_exceeded"),
    }.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    return ErrorReply(status, told["detail"], kind, code, kept)
