"""Why models gave no score, counted: reasons that differ in their numbers only are one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

MOST_REASONS = 50
LONGEST_REASON = 160
OTHERS = "other reasons"
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class FailureReasons:
    """Reasons as they come. Each is told by its first wording; memory stays bounded, whatever a provider says.

    >>> reasons = FailureReasons()
    >>> for said in ("HTTP 529, tried again in 3 s", "HTTP 529, tried again in 4 s", "no answer"):
    ...     reasons.add(said)
    >>> reasons.counted()
    (('HTTP 529, tried again in 3 s', 2), ('no answer', 1))
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._wordings: dict[str, str] = {}

    def add(self, reason: str) -> None:
        key = _NUMBER.sub("0", reason[:LONGEST_REASON])
        if key not in self._wordings:
            if len(self._wordings) >= MOST_REASONS:
                key = OTHERS
            self._wordings[key] = OTHERS if key == OTHERS else reason[:LONGEST_REASON]
        self._counts[key] += 1

    def counted(self) -> Sequence[tuple[str, int]]:
        """The reasons, the most frequent first."""
        return tuple((self._wordings[key], count) for key, count in self._counts.most_common())
