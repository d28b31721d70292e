"""What went wrong with a council, as a problem detail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from fastapi import Response

from rubrica.council.session import QuorumError

from .council_service import CouncilUnavailableError
from .problems import refusal, refusal_of

AGAIN = {"Retry-After": "30"}


def council_refusal(scope: Mapping[str, Any], error: BaseException) -> Response:
    """A problem detail; of a council without a quorum it says who was dropped, and why."""
    if isinstance(error, CouncilUnavailableError):
        return refusal(scope, 503, str(error), headers=AGAIN)
    if not isinstance(error, QuorumError):
        return refusal_of(scope, error if isinstance(error, Exception) else RuntimeError(type(error).__name__))
    refused = refusal(scope, 503, str(error), kind="quorum", headers=AGAIN)
    dropped = [{"model": one.model, "stage": one.stage, "reason": one.reason} for one in error.dropped]
    body = {**msgspec.json.decode(refused.body), "dropped": dropped}
    return Response(msgspec.json.encode(body), refused.status_code, AGAIN, refused.media_type)
