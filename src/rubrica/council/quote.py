"""The most that a council session can cost, stage by stage, worked out before any model is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from rubrica.judges.quote import Quote
from rubrica.llm.budget import Price
from rubrica.llm.model import Usage
from rubrica.llm.reasoning import reasoning_tokens

from .events import Stage
from .settings import CouncilSettings

PROMPT_TOKENS = 3_000
"""Tokens around the material: what a reviewer or the chair is told to do, with the rubric."""

REVIEW_TOKENS = 700
"""Tokens that a reviewer may write about one answer."""

REPAIR_TOKENS = 500
"""Tokens that say what was wrong with a review."""

VOTE_TOKENS = 700
"""Tokens of a vote in verdict mode."""


class StageQuote(msgspec.Struct, frozen=True):
    """The most that a stage takes; `usd` is None where a price is not known."""

    stage: Stage
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None


StageQuoting = Callable[[CouncilSettings, Sequence[str], int, Price], tuple[StageQuote, ...]]
"""What works a quote out: of the settings, the models, the tokens that are asked, and the prices."""


def quote_stages(settings: CouncilSettings, models: Sequence[str], asked: int, price: Price) -> tuple[StageQuote, ...]:
    """The most that each stage of a session with these models takes.

    `models` are the members, and after them a chair from outside; `asked` are tokens of the question and what was said
    before. Everybody answers, everybody reviews all answers, in every round of debate too, and the dearest is taken to
    be the chair. A review that cannot be read is asked for once more, and that is counted too.
    """
    limits, count = settings.limits, len(settings.models)
    members, written = models[:count], limits.tokens * count
    answers = [
        (name, Usage(asked + PROMPT_TOKENS, limits.tokens + reasoning_tokens(name, limits.effort))) for name in members
    ]
    review = limits.review_tokens or REVIEW_TOKENS * count
    ways = 2 if settings.scoring == "both" else 1
    reviews = [
        (name, usage)
        for name in members
        for later in [0, *[1] * limits.debate]
        for _ in range(ways)
        for usage in _asked_twice(
            asked + written + PROMPT_TOKENS + later * REVIEW_TOKENS * count,
            review + reasoning_tokens(name, limits.effort),
        )
    ]
    read = asked + written + REVIEW_TOKENS * count + PROMPT_TOKENS
    finals = [(name, Usage(read, limits.final_tokens + reasoning_tokens(name, limits.effort))) for name in models]
    chair = max(finals, key=lambda one: _usd([one], price) or 0.0)
    unknown = any(price(name, usage) is None for name, usage in finals)
    last = _stage("final", [chair], price)
    return (
        _stage("answers", answers, price),
        _stage("reviews", reviews, price),
        msgspec.structs.replace(last, usd=None) if unknown else last,
    )


def quote_verdict(settings: CouncilSettings, models: Sequence[str], asked: int, price: Price) -> tuple[StageQuote, ...]:
    """The most that a verdict takes: everybody votes, in every round of debate again."""
    limits, count = settings.limits, len(settings.models)
    tokens = settings.max_tokens or VOTE_TOKENS
    rounds = [
        [
            (
                name,
                Usage(asked + PROMPT_TOKENS + later * tokens * count, tokens + reasoning_tokens(name, limits.effort)),
            )
            for name in models[:count]
        ]
        for later in [0, *[1] * limits.debate]
    ]
    first, *debates = rounds
    again = [call for one in debates for call in one]
    return (_stage("answers", first, price), *([_stage("reviews", again, price)] if again else []))


def total_quote(stages: Sequence[StageQuote]) -> Quote:
    """All stages together."""
    return sum((Quote(stage.calls, stage.usd) for stage in stages), Quote())


def _asked_twice(read: int, written: int) -> tuple[Usage, Usage]:
    """A review, and the same once more with what was wrong about it."""
    return Usage(read, written), Usage(read + written + REPAIR_TOKENS, written)


def _stage(stage: Stage, calls: Sequence[tuple[str, Usage]], price: Price) -> StageQuote:
    return StageQuote(
        stage,
        len(calls),
        sum(usage.input_tokens for _, usage in calls),
        sum(usage.output_tokens for _, usage in calls),
        _usd(calls, price),
    )


def _usd(calls: Sequence[tuple[str, Usage]], price: Price) -> float | None:
    costs = [price(name, usage) for name, usage in calls]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
