"""Numbers and names as a reader sees them."""

from __future__ import annotations

import math

from rubrica.model.calibration import CalibrationFigures
from rubrica.model.evaluation import Cost, Source, Status
from rubrica.phrases import count_of, figure, percent, signed

__all__ = [
    "SOURCE_WORDS",
    "STATUS_WORDS",
    "count_of",
    "dollars",
    "duration",
    "figure",
    "headline",
    "people_around",
    "percent",
    "price",
    "signed",
    "within",
]

STATUS_WORDS: dict[Status, str] = {
    "scored": "scored",
    "neutral": "neutral stand-in",
    "unscored": "not scored",
    "not_applicable": "does not apply",
    "not_needed": "not needed",
}
SOURCE_WORDS: dict[Source, str] = {"code": "code", "llm": "LLM judge", "human": "human"}


def within(bounds: tuple[float, float] | None) -> str:
    """Between which values something is known to lie; nothing where that is one value.

    >>> within((1, 10)), within((4, 4)), within(None)
    ('1–10', '', '')
    """
    return "" if bounds is None or bounds[0] == bounds[1] else f"{figure(bounds[0])}–{figure(bounds[1])}"


def people_around(found: CalibrationFigures) -> str:
    """Where nine in ten of people's scores lie, counted from a judge's; a dash where it was not measured.

    >>> people_around(CalibrationFigures(mae=1, rmse=1, bias=0, below=0.5, above=2))
    '−0.5 to +2'
    """
    if found.below is None or found.above is None:
        return "–"
    return f"{signed(-round(found.below, 2))} to {signed(round(found.above, 2))}"


def duration(milliseconds: float) -> str:
    """
    >>> duration(0.2), duration(41.7), duration(2400), duration(190_000)
    ('under 1 ms', '42 ms', '2.4 s', '3 min 10 s')
    """
    if milliseconds < 1:
        return "under 1 ms"
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 59.95:
        return f"{figure(round(seconds, 1))} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:,} min {rest} s"


def price(cost: Cost | None) -> str:
    """What something cost, or nothing where nothing was paid for.

    >>> price(Cost(0.00123, 900, 40)), price(Cost(None, 900, 40)), price(None)
    ('$0.00123 (900 tokens in, 40 out)', 'price unknown (900 tokens in, 40 out)', '')
    """
    if cost is None or (cost.usd is None and not cost.input_tokens and not cost.output_tokens):
        return ""
    tokens = f"({cost.input_tokens:,} tokens in, {cost.output_tokens:,} out)"
    return f"{dollars(cost.usd)} {tokens}"


def dollars(usd: float | None) -> str:
    """An amount with enough digits to tell small ones apart.

    >>> dollars(12.5), dollars(0.00123), dollars(0.0), dollars(None)
    ('$12.50', '$0.00123', '$0.00', 'price unknown')
    """
    if usd is None:
        return "price unknown"
    return f"${usd:,.2f}" if usd == 0 or usd >= 1 else f"${usd:.{2 - math.floor(math.log10(abs(usd)))}f}"


def headline(name: str) -> str:
    """A name from a document as words: ``query_relevance`` → ``Query relevance``.

    >>> headline("query_relevance"), headline("QA")
    ('Query relevance', 'QA')
    """
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]
