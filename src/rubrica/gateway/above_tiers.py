"""What comes of a request whose first answer is not sent: the tiers between are asked and graded, and one answers.

The learned gate promises a loss against always asking the last tier. With tiers between, what is sent in place of
tier-0's answer may lose something, too, so that a comparison has to find out how much, and at what price.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass

from .bill import Price
from .chat import Chat
from .deployments import asked_model
from .flow import Route
from .grading import Grade
from .middle_tiers import TierQuestion, TierTry
from .routed_answer import RoutedAnswer


class PaidSoFar:
    """What was paid so far, in US dollars; None: nobody knows."""

    def __init__(self, price: Price) -> None:
        self.usd: float | None = 0.0
        self.price = price

    def add(self, usd: float | None) -> float | None:
        self.usd = None if self.usd is None or usd is None else self.usd + usd
        return usd


@dataclass(frozen=True, slots=True)
class AboveQuestion:
    """A request that is compared, and what is known of it."""

    chat: Chat
    question_type: str
    routed: RoutedAnswer
    route: Route
    last_score: float  # of the last tier's answer, 0 to 100
    last_usd: float | None  # what that cost


@dataclass(frozen=True, slots=True)
class AboveOutcome:
    """What the tiers above tier-0 come to."""

    loss: float  # of 1, against the last tier's answer
    usd: float | None  # None: nobody knows


async def compare_above(asked: AboveQuestion, paid: PaidSoFar) -> AboveOutcome | None:
    """What is sent where tier-0's answer is not; None where that cannot be graded."""
    grade = asked.routed.grade
    if grade is not None and grade.veto:
        return AboveOutcome(0.0, asked.last_usd)  # an answer that a gate vetoes goes straight to the last tier
    tries = asked.routed.tries or await _tried(asked, paid)
    usd: float | None = 0.0
    for one in tries:
        usd = _together(usd, _usd_of(one, paid.price))
    passed = tries[-1] if tries and tries[-1].grade is not None and tries[-1].grade.passed else None
    if passed is None or passed.answer is None:
        return AboveOutcome(0.0, _together(usd, asked.last_usd))
    score = await measured_score(asked.route, asked.chat, asked.question_type, passed.answer.text, paid)
    return None if score is None else AboveOutcome((asked.last_score - score) / 100, usd)


async def _tried(asked: AboveQuestion, paid: PaidSoFar) -> list[TierTry]:
    """Ask the tiers between as a request would have, where this one did not come so far."""
    found: list[TierTry] = []
    question = TierQuestion(asked.chat, without_streaming(asked.chat), asked.question_type)
    async with aclosing(asked.route.middle.tries(question, asked.route.grader)) as tries:
        async for one in tries:
            found.append(one)
            paid.add(_usd_of(one, paid.price))
            if one.grade is not None and one.grade.passed:
                break
    return found


def _usd_of(one: TierTry, price: Price) -> float | None:
    answered = 0.0 if one.answer is None else price(asked_model(one.answer, one.upstream), one.answer.usage)
    return _together(answered, 0.0 if one.grade is None else cost_of(one.grade))


def _together(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


async def measured_score(route: Route, chat: Chat, question_type: str, text: str, paid: PaidSoFar) -> float | None:
    """What an answer is worth, 0 to 100, by the grader that measures; None where it cannot say."""
    grade = await (route.measurer or route.grader)(chat, text, question_type)
    paid.add(cost_of(grade))
    evaluation = grade.evaluation
    if grade.failure or evaluation is None or evaluation.score is None:
        return None
    return evaluation.score * 100 / evaluation.out_of


def cost_of(grade: Grade) -> float | None:
    """What a grade cost, in US dollars; None: nobody knows."""
    return 0.0 if grade.cost is None else grade.cost.usd


def without_streaming(chat: Chat) -> dict[str, object]:
    """The request as one whole answer, not a stream."""
    return {key: value for key, value in chat.body.items() if key not in ("stream", "stream_options")}
