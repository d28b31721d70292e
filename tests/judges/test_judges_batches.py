"""Batches: several criteria a call, answers mapped back one by one, and what a reply leaves open asked about alone."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from judges_samples import CONTEXT
from pydantic import ValidationError

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate
from rubrica.judges.judge import ModelJudge
from rubrica.judges.jury import Jury
from rubrica.judges.quote import calls_of, usages_of
from rubrica.llm.model import ModelError, Reply, Request, Usage
from rubrica.llm.price import price
from rubrica.llm.settings import Settings
from rubrica.model.context import Context
from rubrica.model.evaluation import Score, Unscored
from rubrica.model.judge_options import Judging
from rubrica.model.rubric import Rubric

SONNET = "anthropic:claude-sonnet-4-5"
_ASKED = re.compile(r"^### (?:(q\d+): )?(c\d+)$", re.MULTILINE)


def criteria(count: int = 7, batch: int = 3, **judging: Any) -> Rubric:
    """So many criteria, the odd ones met."""
    parts = {
        f"c{i}": {"asks": f"Says {i}.", "weight": 1 / count, "answers": {"met": 1, "not_met": 0}}
        for i in range(1, count + 1)
    }
    if judging.get("mode") == "yes_no":
        parts = {name: {key: value for key, value in part.items() if key != "answers"} for name, part in parts.items()}
    dimensions = {"answer": {"scale": {"min": 0, "max": 1}, "weight": 1, "parts": parts}}
    return Rubric.model_validate(
        {
            "name": "criteria",
            "dimensions": dimensions,
            "verdicts": [{"label": "fine"}],
            "judging": {"mode": "each", "batch": batch, **judging},
        }
    )


def right(name: str) -> str:
    return "met" if int(name[1:]) % 2 else "not_met"


class Reader:
    """Answers what is asked, by the names in the question; `spoil` may change what it says about a batch."""

    name = SONNET

    def __init__(
        self, spoil: Callable[[dict[str, Any]], Any] = lambda reply: reply, words: Mapping[str, str] | None = None
    ) -> None:
        self._spoil, self._words = spoil, words or {"met": "met", "not_met": "not_met"}
        self.batches: list[list[str]] = []
        self.requests: list[Request] = []

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        asked = _ASKED.findall(request.messages[1].content)
        self.batches.append([name for _, name in asked])
        said = {
            number: {"reason": name, "answer": self._words[right(name)], "confidence": 0.9} for number, name in asked
        }
        told = said[""] if "" in said else self._spoil(said)
        return Reply(told if isinstance(told, str) else json.dumps(told), "canned", Usage(600, 60))

    async def close(self) -> None: ...


def judged(model: Any, subject: Rubric, **how: Any) -> dict[str, Score | Unscored]:
    judge = ModelJudge(model, subject, price=price, **how)
    return dict(asyncio.run(judge(judge.judged, CONTEXT)))


def labels(outcomes: Mapping[str, Score | Unscored]) -> dict[str, str]:
    return {name: outcome.label for name, outcome in outcomes.items() if isinstance(outcome, Score)}


RIGHT = {f"c{i}": right(f"c{i}") for i in range(1, 8)}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_answers_come_back_to_the_criterion_that_they_are_about(seed: int) -> None:
    model = Reader()
    outcomes = judged(model, criteria(), seed=seed)
    assert labels(outcomes) == RIGHT
    assert {name: outcome.reason for name, outcome in outcomes.items()} == {name: name for name in RIGHT}
    assert sorted(map(len, model.batches)) == [1, 3, 3]
    assert (seed == 0) == (model.batches[0] == ["c1", "c2", "c3"])


def test_batches_of_one_size_share_their_form_and_all_but_the_criteria() -> None:
    model = Reader()
    judged(model, criteria(count=6))
    first, second = model.requests
    assert first.schema == second.schema
    assert first.messages[0] == second.messages[0]
    shared = first.messages[1].shared
    assert isinstance(shared, int)
    assert first.messages[1].content[:shared] == second.messages[1].content[:shared]
    assert first.messages[1].content[shared:] != second.messages[1].content[shared:]


@pytest.mark.parametrize(
    ("spoil", "alone"),
    [
        (lambda said: {key: value for key, value in said.items() if key != "q2"}, ["c2", "c5"]),
        (lambda said: said | {"q2": {"reason": "", "answer": 4}}, ["c2", "c5"]),
        (lambda _: "I would rather talk about the weather.", ["c1", "c2", "c3", "c4", "c5", "c6"]),
        (lambda said: json.dumps(said)[:40], ["c1", "c2", "c3", "c4", "c5", "c6"]),
    ],
)
def test_what_a_batch_leaves_open_is_asked_about_alone(
    spoil: Callable[[dict[str, Any]], Any], alone: list[str]
) -> None:
    model = Reader(spoil)
    outcomes = judged(model, criteria(count=6))
    assert labels(outcomes) == {name: RIGHT[name] for name in list(RIGHT)[:6]}
    assert sorted(batch[0] for batch in model.batches if len(batch) == 1) == alone
    spent = [outcome.cost for outcome in outcomes.values() if outcome.cost is not None]
    assert sum(cost.input_tokens for cost in spent) == 600 * len(model.batches)  # both times are counted


def test_an_answer_that_was_not_offered_is_not_scored_and_not_asked_about_again() -> None:
    model = Reader(lambda said: said | {"q1": {"reason": "", "answer": "splendid"}})
    outcomes = judged(model, criteria(count=3))
    assert isinstance(outcomes["c1"], Unscored)
    assert 'answered "splendid", which is none of met, not_met' in outcomes["c1"].reason
    assert len(model.batches) == 1


def test_a_provider_that_fails_is_not_asked_about_each() -> None:
    class Down(Reader):
        async def __call__(self, request: Request) -> Reply:
            await super().__call__(request)
            raise ModelError("unreachable", "no connection")

    model = Down()
    outcomes = judged(model, criteria(count=6))
    assert {outcome.reason for outcome in outcomes.values()} == {"no connection"}
    assert len(model.batches) == 2


def test_what_stays_open_says_what_was_tried() -> None:
    class Silent(Reader):
        async def __call__(self, request: Request) -> Reply:
            reply = await super().__call__(request)
            return reply if len(self.batches[-1]) > 1 else Reply("Hm.", "canned", Usage(10, 1))

    outcomes = judged(Silent(lambda said: {key: said[key] for key in ("q1", "q3")}), criteria(count=3))
    assert labels(outcomes) == {"c1": "met", "c3": "met"}
    open_ = outcomes["c2"]
    assert isinstance(open_, Unscored)
    assert "also when asked again" in open_.reason
    assert "in a batch: the reply has no score for it" in open_.reason


def test_yes_and_no_are_asked_about_in_batches_too() -> None:
    model = Reader(words={"met": "yes", "not_met": "no"})
    outcomes = judged(model, criteria(count=6, mode="yes_no"))
    values = {name: outcome.value for name, outcome in outcomes.items() if isinstance(outcome, Score)}
    assert values == {"c1": 1, "c2": 0, "c3": 1, "c4": 0, "c5": 1, "c6": 0}
    assert all(isinstance(outcome, Score) and not outcome.label for outcome in outcomes.values())
    assert len(model.batches) == 2


def test_a_dry_run_and_a_quote_count_batches_and_what_the_provider_keeps() -> None:
    long = Context.of({"response": "The tap drips again, as it did in May. " * 300})

    async def estimate(subject: Rubric) -> tuple[int, int, int]:
        async with Jury([SONNET], Settings(cache=None), dry=True) as jury:
            await aevaluate(compile_rubric(subject, jury.judge(subject)), long)
            (found,) = jury.estimates
            return found.calls, found.input_tokens, found.cached_input_tokens

    calls, read, cached = asyncio.run(estimate(criteria(count=60, batch=10)))
    assert calls == 6
    assert 0.6 < cached / read < 5 / 6
    each, apart, _ = asyncio.run(estimate(criteria(count=60, batch=1)))
    assert each == 60
    assert read < apart / 7
    batched = criteria(count=7, batch=3)
    assert calls_of(batched, judges=2, repeats=2) == 12
    assert len(asyncio.run(usages_of(batched, long))) == 3


def test_a_batch_goes_with_questions_that_are_asked_apart() -> None:
    with pytest.raises(ValidationError, match="batch goes with mode: each or yes_no; mode: together asks about all"):
        Judging.model_validate({"mode": "together", "batch": 4})
    assert Judging.model_validate({"mode": "each", "batch": 4, "stop": "decided"}).calls_for(9) == 9
