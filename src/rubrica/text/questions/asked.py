"""What the stem of a question asks for, as far as it matters to the check of its key."""

from __future__ import annotations

import re

from rubrica.text.lazy_pattern import lazy_pattern

_MISFIT = lazy_pattern(
    r"\bEXCEPT\b|\bexcept\W{0,3}$|(?i:\ball (?:of )?(?:these|the following)\b[^.?]{0,60}\bexcept\b"
    r"|(?:^|[.!?:]\s+)which\b[^.?,]{0,40}\b(?:(?:is|are|does|do|can|could)\s?n[o']t|not|cannot|incorrect|false)\b)"
)
_COUNT = lazy_pattern(
    r"\bhow many\b|\b(?:complete|whole|full|at least|minimum|maximum|fewest|least|most)\b", re.IGNORECASE
)
_CHOICE = lazy_pattern(r"\W*which\s+(?:of\b|(?:\w+\s+){0,2}(?:is|are|has|have|can|could|lies?)\b)", re.IGNORECASE)
_UNKNOWN = lazy_pattern(
    r"\b(?:what\s+is|find|solve\s+for|value\s+of|determine|calculate|then)\s+(?:the\s+value\s+of\s+)?"
    r"([a-zA-Z])\b(?!\s*[-+*/^])"
)


def asks_for_misfit(stem: str) -> bool:
    """Whether a question asks for what does not fit: then its explanation speaks of all that does.

    >>> asks_for_misfit("Which of these is NOT a prime number?"), asks_for_misfit("Which number is prime?")
    (True, False)
    """
    return _MISFIT.search(stem) is not None


def asks_to_choose(stem: str) -> bool:
    """Whether a question asks which option has a property, so that its explanation may try one after the other.

    >>> asks_to_choose("Which number is a square?"), asks_to_choose("Jo has 9 hats. Which share of 12 is that?")
    (True, False)
    """
    return _CHOICE.match(stem) is not None


def asks_for_count(stem: str) -> bool:
    """Whether a question asks for a number of things, of which there are whole ones only."""
    return _COUNT.search(stem) is not None


def asked_unknown(stem: str) -> str | None:
    """The letter whose value is asked for.

    >>> asked_unknown("If x + y = 10 and x - y = 4, what is x?")
    'x'
    """
    found = _UNKNOWN.search(stem)
    return found[1] if found else None
