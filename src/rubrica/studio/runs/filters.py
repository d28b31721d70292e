"""Filters of runs and evaluations in page addresses, so that a filtered page can be bookmarked."""

from __future__ import annotations

import math
from collections.abc import Mapping

from .index import EvaluationFilter

LONGEST_TEXT = 200


def filter_from_query(query: Mapping[str, str]) -> EvaluationFilter:
    """What an address asks for; what makes no sense is passed over.

    >>> filter_from_query({"verdict": "fail", "below": "x", "unscored": "1"})
    EvaluationFilter(verdict='fail', text='', unscored=True, dimension=None, below=None)
    """
    try:
        below = float(query.get("below", ""))
    except ValueError:
        below = math.nan
    return EvaluationFilter(
        query.get("verdict") or None,
        query.get("text", "")[:LONGEST_TEXT],
        query.get("unscored", "") in ("1", "true"),
        query.get("dimension") or None,
        below if math.isfinite(below) else None,
    )


def repeat_of(query: Mapping[str, str]) -> int:
    """Which repeat of a case an address asks for; the first where it does not say.

    >>> repeat_of({"repeat": "2"}), repeat_of({"repeat": "x"})
    (2, 0)
    """
    said = query.get("repeat", "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else 0


def query_from_filter(criteria: EvaluationFilter) -> dict[str, object]:
    """The same as parts of an address.

    >>> query_from_filter(EvaluationFilter("fail", below=0.0, dimension="tone"))
    {'verdict': 'fail', 'dimension': 'tone', 'below': '0'}
    """
    below = f"{criteria.below:g}" if criteria.below is not None else None
    said = {
        "verdict": criteria.verdict,
        "text": criteria.text,
        "unscored": "1" if criteria.unscored else None,
        "dimension": criteria.dimension,
        "below": below,
    }
    return {name: value for name, value in said.items() if value}
