"""What a request costs before the first one is sent: passed, escalated, and by tier-1 alone.

Grading costs about the same for a short answer as for a long one, so it pays from some length of answer on, if it ever
does. Judges are priced by writing their questions down and sending none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate
from rubrica.errors import InputError
from rubrica.judges.jury import Jury
from rubrica.llm.model import Usage
from rubrica.llm.settings import Settings
from rubrica.model.context import Context
from rubrica.packs.library import load

from .deployment_settings import tier_models
from .prices import prices_of
from .setting_groups import GradingSettings
from .settings import GatewaySettings
from .variants import with_judging

LENGTHS = (25, 100, 400, 1_600, 6_400)
"""Tokens of the answers that are priced."""
QUESTION_TOKENS = 60
WORDS_PER_TOKEN = 0.75
PASS_SHARE = 0.6
"""Of answers that are taken to pass where nothing is known."""


@dataclass(frozen=True, slots=True)
class RequestPrice:
    """US dollars for one request with an answer of so many tokens; None where a price is not known.

    >>> short = RequestPrice(100, tier0=0.001, grading=0.004, tier1=0.01)
    >>> short.passed, round(short.escalated, 3), short.break_even
    (0.005, 0.015, 0.5)
    >>> round(short.saving(0.6), 4), round(short.saving(0.4), 4)
    (0.001, -0.001)
    """

    tokens: int
    tier0: float | None
    grading: float | None
    tier1: float | None

    @property
    def passed(self) -> float | None:
        return None if self.tier0 is None or self.grading is None else self.tier0 + self.grading

    @property
    def escalated(self) -> float | None:
        return None if self.passed is None or self.tier1 is None else self.passed + self.tier1

    @property
    def break_even(self) -> float | None:
        """The share of answers that must pass for the gateway to cost no more than tier-1 alone; above 1: never."""
        return None if self.passed is None or not self.tier1 else self.passed / self.tier1

    def saving(self, share: float) -> float | None:
        """Saved against tier-1 alone, where this share of the answers passes."""
        return None if self.passed is None or self.tier1 is None else share * self.tier1 - self.passed


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices of requests under some settings, and what would be cheaper."""

    mode: str  # how judges are asked; empty: there are none
    calls: int  # of judges for one answer
    requests: tuple[RequestPrice, ...]
    pass_share: float
    advice: str = ""  # the setting that would make it pay, where it does not

    @property
    def pays_from(self) -> int | None:
        """Tokens of an answer from which on the gateway saves; None: from none of those priced."""
        found = None
        for request in reversed(self.requests):
            if (saved := request.saving(self.pass_share)) is None or saved <= 0:
                break
            found = request.tokens
        return found


async def price_list(
    settings: GatewaySettings, models: Settings, pass_share: float = PASS_SHARE, lengths: Sequence[int] = LENGTHS
) -> PriceList:
    """What requests cost under some settings; where grading never pays, also how it would."""
    if settings.tier1 is None:
        raise InputError("there is no tier-1 to save against (--tier1 MODEL)")
    found = await _priced(settings, models, pass_share, lengths)
    if found.pays_from is not None or found.requests[0].passed is None:
        return found
    return replace(found, advice=await _advice(settings, models, found))


async def _priced(settings: GatewaySettings, models: Settings, pass_share: float, lengths: Sequence[int]) -> PriceList:
    grading, prices = settings.grading, prices_of(settings.prices)
    rubric = with_judging(load(grading.rubric), mode=grading.mode, stop=grading.stop, reasons="short")
    first = [tier_models(tier)[0] for tier in (settings.tier0, settings.tier1) if tier is not None]
    requests = []
    calls = 0
    for tokens in lengths:
        used = Usage(QUESTION_TOKENS, tokens)
        judging: float | None = 0.0
        if settings.grader:
            async with Jury(settings.grader, models, cached=False, dry=True, prices=prices) as jury:
                plan = compile_rubric(rubric, jury.judge(rubric))
                await aevaluate(plan, _sample(tokens))
                calls = sum(estimate.calls for estimate in jury.estimates)
                costs = [estimate.usd for estimate in jury.estimates]
            judging = None if None in costs else sum(cost for cost in costs if cost is not None)
        tier0, tier1 = (prices(name, used) for name in first)
        requests.append(RequestPrice(tokens, tier0, judging, tier1))
    return PriceList(rubric.judging.mode if settings.grader else "", calls, tuple(requests), pass_share)


async def _advice(settings: GatewaySettings, models: Settings, now: PriceList) -> str:
    """The smallest change of settings that makes the gateway pay for some length of answer."""
    lengths = [request.tokens for request in now.requests]
    if now.mode == "each":
        together = GradingSettings.model_validate({**settings.grading.model_dump(), "mode": "together"})
        changed = settings.model_copy(update={"grading": together})
        found = await _priced(changed, models, now.pass_share, lengths)
        if found.pays_from is not None:
            return f"grading.mode: together pays from answers of {found.pays_from:,} tokens on"
    offline = await _priced(settings.model_copy(update={"grader": ()}), models, now.pass_share, lengths)
    if settings.grader and offline.pays_from is not None:
        return "a cheaper grader, for with none it would pay"
    return "a cheaper tier-0: even without grading, asking it first costs more than it saves"


def _sample(tokens: int) -> Context:
    """A question and an answer of about so many tokens."""
    question = "word " * round(QUESTION_TOKENS * WORDS_PER_TOKEN)
    return Context.of(
        {"prompt": question, "response": "word " * round(tokens * WORDS_PER_TOKEN), "question_type": "ANALYTICAL"}
    )
