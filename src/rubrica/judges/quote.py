"""The most that judging can cost, worked out by writing every question without sending any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from rubrica.llm.budget import Price
from rubrica.llm.model import ModelError, Reply, Request, Usage
from rubrica.llm.token_bounds import most_usage
from rubrica.model.context import Context
from rubrica.model.criteria import criterion_names
from rubrica.model.dimensions import Axis, criterion_part
from rubrica.model.judge_options import MOST_BATCHED
from rubrica.model.rubric import Rubric
from rubrica.text.question_type import question_before

from .judge import ModelJudge
from .preference import PreferenceJudge
from .question_classifier import AskedQuestion, ModelClassifier


class Quote(msgspec.Struct, frozen=True):
    """The calls that a piece of work takes, and the most they can cost in US dollars; None: a price is not known.

    >>> Quote(2, 0.5) + Quote(1, 0.25)
    Quote(calls=3, usd=0.75)
    >>> (Quote(2, 0.5) + Quote(1, None)).usd is None
    True
    """

    calls: int = 0
    usd: float | None = 0.0

    def __add__(self, other: Quote) -> Quote:
        known = self.usd is not None and other.usd is not None
        return Quote(self.calls + other.calls, (self.usd or 0.0) + (other.usd or 0.0) if known else None)

    def times(self, count: int) -> Quote:
        return Quote(self.calls * count, None if self.usd is None else self.usd * count)

    def __str__(self) -> str:
        cost = "at a price that is not known" if self.usd is None else f"for at most ${self.usd:.4f}"
        return f"{self.calls:,} call{'' if self.calls == 1 else 's'} {cost}"


def quote_usages(model: str, usages: Iterable[Usage], price: Price) -> Quote:
    """What calls to one model cost at most."""
    costs = [price(model, usage) for usage in usages]
    known = [cost for cost in costs if cost is not None]
    return Quote(len(costs), sum(known) if len(known) == len(costs) else None)


def judged_axes(rubric: Rubric, context: Context | None = None) -> dict[str, Axis]:
    """The axes of a rubric that a judge is asked about, with the criteria that a case brings."""
    found = ModelJudge(_Unasked(), rubric).judged
    criteria = context.criteria if context is not None else ()
    if not criteria:
        return found
    filled = next((spec for spec in rubric.dimensions.values() if spec.filled_from is not None), None)
    if filled is None:  # it is refused, and nothing is asked
        return found
    own = zip(criterion_names(criteria), criteria, strict=True)
    return found | {name: criterion_part(criterion, filled) for name, criterion in own}


def calls_of(rubric: Rubric, judges: int, repeats: int, context: Context | None = None) -> int:
    """How many calls one evaluation takes at most: of the dimensions, times the repeats, times the judges."""
    judging, own = rubric.judging, len(judged_axes(rubric))
    brought = len(judged_axes(rubric, context)) - own
    if judging.one_by_one or not brought:
        return judging.calls_for(own + brought) * judges * repeats
    in_batches = brought if judging.stop == "decided" else -(-brought // MOST_BATCHED)
    return (judging.calls_for(own) + in_batches) * judges * repeats


def asks_type(rubric: Rubric, context: Context | None = None) -> bool:
    """Whether a judge may be asked for the type of a question: where the rubric goes by it, and nobody gives it."""
    profiles = rubric.profiles
    if profiles is None or profiles.classify is None:
        return False
    if context is None:
        return True
    return profiles.name_for(context.lookup(profiles.by)) is None and bool(context.prompt.strip())


async def type_usages(rubric: Rubric, context: Context) -> Sequence[Usage]:
    """The most tokens of asking for the type of a context's question; nothing where that is known."""
    unasked = _Unasked()
    if asks_type(rubric, context):
        await ModelClassifier(unasked)(AskedQuestion(context.prompt, question_before(context.prompt, context.asked)))
    return unasked.usages


async def rank_usages(
    question: str, responses: Mapping[str, str], rubric: Rubric | None, *, graded: bool
) -> Sequence[Usage]:
    """The most tokens of each call that one judge takes to compare some responses."""
    unasked = _Unasked()
    await PreferenceJudge(unasked, rubric, graded=graded)(question, responses)
    return unasked.usages


async def usages_of(rubric: Rubric, context: Context) -> Sequence[Usage]:
    """The most tokens of each call that one judge takes for one evaluation, asked once."""
    unasked = _Unasked()
    axes = judged_axes(rubric, context)
    await ModelJudge(unasked, rubric)(axes, context)
    # Asked together in waves, each is shown everything.
    times = -(-calls_of(rubric, 1, 1, context) // max(len(unasked.usages), 1))
    return [usage for usage in unasked.usages for _ in range(times)]


class _Unasked:
    """A model that notes what it would have been asked, and answers nothing."""

    name = "nobody"

    def __init__(self) -> None:
        self.usages: list[Usage] = []

    async def __call__(self, request: Request) -> Reply:
        self.usages.append(most_usage(request))
        raise ModelError("over_budget", "not asked: the price is worked out")

    async def close(self) -> None:
        """Nothing is open."""
