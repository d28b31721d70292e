"""The response headers of the gateway: who answered, what it cost, and the trace id."""

from __future__ import annotations

from uuid import UUID

from rubrica.gateway.deployments import deployment_of
from rubrica.gateway.exchange import GatewayAnswer, hedges_of
from rubrica.gateway.names import public_name
from rubrica.gateway.rates import rate_headers

Headers = list[tuple[bytes, bytes]]
UNKNOWN = b"unknown"
LONGEST = 200  # characters


def headers_of(answered: GatewayAnswer) -> Headers:
    """What is known of an answer before its first byte."""
    routed, bill = answered.routed, answered.bill
    told = [
        *traced(answered.trace),
        (b"x-sleipner-tier", routed.tier.encode()),
        (b"x-sleipner-model", value(answered.model)),
        (b"x-sleipner-cost", dollars(bill.total if bill is not None else None)),
        (b"x-sleipner-savings", dollars(bill.savings if bill is not None else None)),
    ]
    if deployment := deployment_of(routed.completion or routed.stream):
        told.append((b"x-sleipner-deployment", value(deployment)))
    if answered.asked.counted is not None:
        limits = rate_headers(answered.asked.counted, answered.asked.at)
        told += [(name.encode(), text.encode()) for name, text in limits.items()]
    if not answered.cached and (hedged := hedges_of(routed)):
        told.append((b"x-sleipner-hedged", value(", ".join(public_name(call.model) for _, call in hedged))))
    if routed.classified is not None:
        told.append((b"x-sleipner-question-type", value(routed.classified.type)))
    if routed.grade is not None:
        told.append((b"x-sleipner-score", b"%.4g" % routed.grade.score))
    if routed.refused:
        told.append((b"x-sleipner-refused", value(routed.refused)))
    if routed.degraded:
        told.append((b"x-sleipner-degraded", value(routed.degraded)))
    if answered.cached:
        told.append((b"x-sleipner-cache", answered.cached.encode()))
    return told


def traced(trace: UUID) -> Headers:
    """Under what a request is found again."""
    name = str(trace).encode()
    return [(b"x-sleipner-trace", name), (b"x-request-id", name)]


def dollars(usd: float | None) -> bytes:
    """An amount, never with an exponent.

    >>> dollars(0.00001250), dollars(-0.5), dollars(0.0), dollars(None)
    (b'0.0000125', b'-0.5', b'0', b'unknown')
    """
    if usd is None:
        return UNKNOWN
    return (f"{usd:.10f}".rstrip("0").rstrip(".") or "0").encode()


def value(text: str) -> bytes:
    r"""A text as a header may hold it.

    >>> value("no\r\nline breaks – none")
    b'no line breaks ? none'
    """
    return " ".join(text.split())[:LONGEST].encode("ascii", "replace")
