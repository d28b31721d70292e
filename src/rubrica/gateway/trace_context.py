"""The trace that a request belongs to, as W3C's headers tell it: gone on with here, and passed on to models."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

TRACEPARENT, TRACESTATE = b"traceparent", b"tracestate"
LONGEST_STATE = 512
_FORM = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]*)?")
_PRINTABLE = re.compile(rb"[ -~]*")


@dataclass(frozen=True, slots=True)
class TraceContext:
    """Whose trace a request is part of.

    >>> context = read_trace_context([(b"traceparent", b"00-" + b"ab" * 16 + b"-" + b"cd" * 8 + b"-01")])
    >>> context.parent, context.sampled, context.headers("12" * 8)["traceparent"]
    ('cdcdcdcdcdcdcdcd', True, '00-abababababababababababababababab-1212121212121212-01')
    """

    trace: str  # 32 hexadecimal digits
    parent: str  # 16: the span that asked
    flags: str
    state: str = ""

    @property
    def sampled(self) -> bool:
        """Whether whoever asked records this trace."""
        return bool(int(self.flags, 16) & 1)

    def headers(self, span: str | None = None) -> dict[str, str]:
        """What the next one is sent: as the child of a span of ours, or, where we record none, of whoever asked us."""
        told = {"traceparent": f"00-{self.trace}-{span or self.parent}-{self.flags}"}
        return {**told, "tracestate": self.state} if self.state else told


def read_trace_context(headers: Iterable[tuple[bytes, bytes]]) -> TraceContext | None:
    """The context that a request came with; None where it has none, or one that means nothing."""
    parents = [value for name, value in headers if name == TRACEPARENT]
    found = _FORM.fullmatch(parents[0].strip()) if len(parents) == 1 else None
    if found is None:
        return None
    version, trace, parent, flags, more = found.groups()
    if version == b"ff" or (version == b"00" and more) or not trace.strip(b"0") or not parent.strip(b"0"):
        return None
    state = b",".join(value.strip() for name, value in headers if name == TRACESTATE)
    kept = state if len(state) <= LONGEST_STATE and _PRINTABLE.fullmatch(state) else b""
    return TraceContext(trace.decode(), parent.decode(), flags.decode(), kept.decode())
