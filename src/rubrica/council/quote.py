"""The most that a council session can cost, worked out before any model is asked."""

from __future__ import annotations

from collections.abc import Sequence

from rubrica.judges.quote import Quote, quote_usages
from rubrica.llm.budget import Price
from rubrica.llm.model import Usage

from .settings import CouncilSettings

PROMPT_TOKENS = 3_000
"""Tokens around the material: what a reviewer or the chair is told to do, with the rubric."""

REVIEW_TOKENS = 700
"""Tokens that a reviewer may write about one answer."""


def quote_session(settings: CouncilSettings, models: Sequence[str], asked: int, price: Price) -> Quote:
    """The most that a session with these models costs; `asked` are tokens of the question and what was said before.

    Everybody answers, everybody reviews (once by rubric, once an answer where one score is given for the whole), and
    the dearest of them is taken to be the chair.
    """
    count = len(settings.models)
    written = settings.tokens * count  # all answers
    answer = Usage(asked + PROMPT_TOKENS, settings.tokens)
    by_rubric = [Usage(asked + written + PROMPT_TOKENS, REVIEW_TOKENS * count)]
    by_whole = [Usage(asked + settings.tokens + PROMPT_TOKENS, REVIEW_TOKENS)] * count
    reviews = {"rubric": by_rubric, "holistic": by_whole, "both": by_rubric + by_whole}[settings.scoring]
    total = sum((quote_usages(name, [answer, *reviews], price) for name in models[:count]), Quote())
    final = Usage(asked + written + REVIEW_TOKENS * count + PROMPT_TOKENS, settings.tokens)
    chairs = [quote_usages(name, [final], price) for name in models]
    unknown = any(chair.usd is None for chair in chairs)
    return total + Quote(1, None if unknown else max(chair.usd or 0.0 for chair in chairs))
