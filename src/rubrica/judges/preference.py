"""Preferences: which of several responses is better, asked in both orders so that places do not count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import msgspec

from rubrica.errors import ContextError
from rubrica.llm.model import Model, Request
from rubrica.llm.reasoning import reasoning_tokens
from rubrica.model.evaluation import Cost, Score, Unscored, total_cost
from rubrica.model.judge_options import Judging
from rubrica.model.rubric import Rubric
from rubrica.phrases import count_of

from . import prompt, shape
from .exchange import AskingTerms, Cell, JudgeQuestion, ParsedReply, Price, exchange
from .fence import TokenSource, process_token
from .order_reply import GRADES, ReplyOrder, read_order
from .panel_fit import FEWEST_WEIGHT
from .response_names import Ranks
from .suspicion import suspicions

RANK = "rank"
MOST_RESPONSES = 9
LETTERS = ("A", "B", "C", "D", "E", "F", "G", "H", "I")
"""What responses are called before a judge, by the place where they stand."""

LONGEST_CHOICE = 512
"""Tokens of a reply, unless the rubric allows a number of its own."""

EVEN = 1e-9
GENERAL = (
    "Whoever asked the question would be better served by it: right before complete, complete before well put, and "
    "no longer than it needs to be. A response that does what was asked beats one that only looks like it."
)


class PreferenceVote(msgspec.Struct, frozen=True):
    """What one judge said of the responses in one order; no ranks where it gave none, and why."""

    judge: str
    ranks: Ranks | None
    reason: str
    confidence: float
    shown: tuple[str, ...]  # the responses as they stood

    @property
    def choice(self) -> str | None:
        """The one it calls best; None where there is none, or several."""
        return _single_best({} if self.ranks is None else {name: -rank for name, rank in self.ranks.items()})


class Preference(msgspec.Struct, frozen=True):
    """Which response is better, and how all of them stand."""

    choice: str | None  # None: a tie
    order: tuple[str, ...]  # best first
    merits: Mapping[str, float]  # from -1, last for everybody, to 1, first for everybody
    confidence: float  # the judges' own, times how far they and their two orders agree
    reason: str
    votes: tuple[PreferenceVote, ...]
    cost: Cost | None = None

    @property
    def plain(self) -> dict[str, Any]:
        """As JSON tells it."""
        return {
            "choice": self.choice,
            "order": list(self.order),
            "merits": {name: round(merit, 4) for name, merit in self.merits.items()},
            "confidence": round(self.confidence, 4),
            "reason": self.reason,
            "votes": [_plain_vote(vote) for vote in self.votes],
            "cost_usd": self.cost.usd if self.cost is not None else None,
        }


@dataclass(frozen=True, slots=True)
class PreferenceJudge:
    """Asks one model which response is better, by a rubric's qualities or in general.

    `graded` asks for a grade from 1 (the first by far) to 7 (the second by far) in place of a choice between two.
    `labels` are what the responses are called before the model.
    """

    model: Model
    rubric: Rubric | None = None
    graded: bool = field(default=False, kw_only=True)
    labels: Sequence[str] = field(default=LETTERS, kw_only=True)
    price: Price | None = field(default=None, kw_only=True)
    fence_source: TokenSource = field(default=process_token, kw_only=True)
    on_unreadable: Callable[[Request], None] | None = field(default=None, kw_only=True)

    async def __call__(self, question: str, responses: Mapping[str, str]) -> list[tuple[PreferenceVote, Cost | None]]:
        """What the model says with the responses as given, and with them turned round."""
        check_responses(responses, self.labels, graded=self.graded)
        names = tuple(responses)
        async with asyncio.TaskGroup() as group:
            asked = [
                group.create_task(self._vote(question, {name: responses[name] for name in shown}))
                for shown in (names, names[::-1])
            ]
        return [task.result() for task in asked]

    async def _vote(self, question: str, shown: Mapping[str, str]) -> tuple[PreferenceVote, Cost | None]:
        names, labels = tuple(shown), tuple(self.labels[: len(shown)])
        ask = self._question(question, dict(zip(labels, shown.values(), strict=True)))
        outcomes, _ = await exchange(ask, self._terms())
        given = [outcomes[label, RANK] for label in labels]
        costs = [outcome.cost for outcome in given if outcome.cost is not None]
        cost = total_cost(costs) if costs else None
        scores = [outcome for outcome in given if isinstance(outcome, Score)]
        if len(scores) < len(given):
            why = next(outcome.reason for outcome in given if isinstance(outcome, Unscored))
            return PreferenceVote(self.model.name, None, why, 0.0, names), cost
        ranks = {name: score.value for name, score in zip(names, scores, strict=True)}
        said = _by_name(scores[0].reason, dict(zip(labels, names, strict=True)))
        return PreferenceVote(self.model.name, ranks, said, scores[0].confidence, names), cost

    def _terms(self) -> AskingTerms:
        """How the model is asked: as the rubric says, where one is given."""
        judging = Judging() if self.rubric is None else self.rubric.judging
        return AskingTerms(
            self.model,
            judging.max_tokens or LONGEST_CHOICE + reasoning_tokens(self.model.name, judging.effort),
            price=self.price,
            on_unreadable=self.on_unreadable,
            deadline=judging.deadline,
            effort=judging.effort,
            limit_key="judging.max_tokens" if self.rubric is not None else "judging.max_tokens of a rubric",
        )

    def _question(self, question: str, responses: Mapping[str, str]) -> JudgeQuestion:
        labels = tuple(responses)
        pieces = [("question", question)] if question else []
        pieces += [(f"response {label}", text or "(the response is empty)") for label, text in responses.items()]
        material = prompt.Material(tuple(pieces))
        fence, quoted = material.fence(self.fence_source), material.quoted
        form = _shape(labels, graded=self.graded)

        def read(text: str) -> ParsedReply:
            found = read_order(fence.cut(text), labels, quoted, graded=self.graded)
            marks = found.marks if isinstance(found, ReplyOrder) else dict.fromkeys(labels, found)
            return ParsedReply({(label, RANK): mark for label, mark in marks.items()})

        decide, answer = _wording(labels, graded=self.graded)
        system, user = prompt.template("prefer").fill(
            {
                "qualities": GENERAL if self.rubric is None else _qualities(self.rubric),
                "decide": decide,
                "answer": answer,
                "shape": shape.skeleton(form),
                "names": " and ".join(f"response {label}" for label in labels),
                "token": fence.token,
                "material": material.between(fence),
            }
        )
        signs = tuple(dict.fromkeys(sign for text in responses.values() for sign in suspicions(text)))
        cells: tuple[Cell, ...] = tuple((label, RANK) for label in labels)

        def asked(_: Collection[Cell]) -> shape.Shape:
            return form

        return JudgeQuestion(system, user, cells, read, asked, suspicions=dict.fromkeys(labels, signs))


def check_responses(responses: Mapping[str, str], labels: Sequence[str] = LETTERS, *, graded: bool = False) -> None:
    """A ContextError where they cannot be compared."""
    if not 2 <= len(responses) <= MOST_RESPONSES:
        raise ContextError(f"{count_of(len(responses), 'response')} cannot be compared; give 2 to {MOST_RESPONSES}")
    if len(labels) < len(responses):
        raise ContextError(f"{len(responses)} responses take as many labels; there are {len(labels)}")
    if graded and len(responses) != 2:
        raise ContextError("a grade from 1 to 7 compares two responses; leave it out for more")
    if len(set(labels)) < len(labels) or not all(label.isalnum() for label in labels):
        raise ContextError("labels are letters or digits, each another one")


def pool_preferences(
    names: Sequence[str],
    given: Sequence[tuple[PreferenceVote, Cost | None]],
    weights: Mapping[str, float] | None = None,
) -> Preference | Unscored:
    """One preference out of several votes: each judge's orders first, then the judges by weight.

    A weight below 0 counts a judge's preference against it. Without weights, or where the judges that answered hold
    less than half of them, all count alike: what a judge adds to a panel is not what it is worth alone.
    """
    votes = tuple(vote for vote, _ in given)
    costs = [cost for _, cost in given if cost is not None]
    cost = total_cost(costs) if costs else None
    by_judge: dict[str, list[PreferenceVote]] = {}
    for vote in votes:
        if vote.ranks is not None:
            by_judge.setdefault(vote.judge, []).append(vote)
    if not by_judge:
        reasons = "; ".join(dict.fromkeys(f"{vote.judge}: {vote.reason}" for vote in votes))
        return Unscored(f"no judge said which is better: {reasons}", "llm", cost=cost)
    counted, notes = _weights(tuple(by_judge), weights or {})
    total = sum(map(abs, counted.values()))
    own = {judge: _merits(names, cast) for judge, cast in by_judge.items()}
    merits = {name: sum(counted[judge] * own[judge][name] for judge in own) / total for name in names}
    choice = _single_best(merits)
    order = tuple(sorted(names, key=lambda name: -merits[name]))
    agreed = max(merits.values())  # 1 where everybody puts the same one first in both orders, 0 for a tie
    votes_cast = [vote for cast in by_judge.values() for vote in cast]
    confidence = fmean(vote.confidence for vote in votes_cast) * max(agreed, 0.0)
    reason = "; ".join(filter(None, (_reason(choice, by_judge, votes), *notes)))
    return Preference(choice, order, merits, confidence, reason, votes, cost)


def _weights(judges: Sequence[str], weights: Mapping[str, float]) -> tuple[dict[str, float], list[str]]:
    """What each judge that answered counts, and what is to be said of it."""
    alike = dict.fromkeys(judges, 1.0)
    whole = sum(map(abs, weights.values()))
    if not whole:
        return alike, []
    known = {judge: weights.get(judge, 0.0) for judge in judges}
    share = sum(map(abs, known.values())) / whole
    if share < FEWEST_WEIGHT:
        return alike, [f"judges that hold {share:.0%} of the learned weights answered, so all count alike"]
    return known, [
        f"{judge} counts against what it chose (learned weight {weight:.2g})"
        for judge, weight in known.items()
        if weight < 0
    ]


def _merits(names: Sequence[str], cast: Sequence[PreferenceVote]) -> dict[str, float]:
    """Each response's place in one judge's eyes, from -1 to 1; an order that could not be read is left out."""
    middle, half = (len(names) + 1) / 2, (len(names) - 1) / 2
    return {name: fmean((middle - (vote.ranks or {})[name]) / half for vote in cast) for name in names}


def _single_best(merits: Mapping[str, float]) -> str | None:
    if not merits:
        return None
    most = max(merits.values())
    best = [name for name, merit in merits.items() if most - merit < EVEN]
    return best[0] if len(best) == 1 else None


def _reason(
    choice: str | None, by_judge: Mapping[str, Sequence[PreferenceVote]], votes: Sequence[PreferenceVote]
) -> str:
    """Why: the words of a judge who chose the same, and what is odd about the votes."""
    parts = []
    for cast in by_judge.values():
        chosen = [vote.choice for vote in cast]
        if len(chosen) == 2 and None not in chosen and chosen[0] != chosen[1]:
            first = all(vote.choice == vote.shown[0] for vote in cast)
            place = "stood first" if first else "stood last"
            parts.append(f"{cast[0].judge} chose what {place}, in both orders")
    unread = [vote for vote in votes if vote.ranks is None]
    parts += dict.fromkeys(f"{vote.judge} gave none ({vote.reason})" for vote in unread)
    agreeing = [vote for cast in by_judge.values() for vote in cast if vote.choice == choice and vote.reason]
    if agreeing:
        best = max(agreeing, key=lambda vote: vote.confidence)
        parts.insert(0, f"{best.judge}: {best.reason}" if len(by_judge) > 1 else best.reason)
    return "; ".join(parts)


def _plain_vote(vote: PreferenceVote) -> dict[str, Any]:
    return {
        "judge": vote.judge,
        "choice": vote.choice,
        "ranks": dict(vote.ranks) if vote.ranks is not None else None,
        "reason": vote.reason,
        "confidence": vote.confidence,
        "shown": list(vote.shown),
    }


def _by_name(reason: str, names: Mapping[str, str]) -> str:
    """A judge's words, which call responses by their place, with a key to them."""
    if not reason:
        return ""
    return f"{reason} ({', '.join(f'{label} is {name}' for label, name in names.items())})"


def _qualities(rubric: Rubric) -> str:
    scales = {name: rubric.scale_of(name) for name in rubric.dimensions}
    return f"{prompt.about(rubric)}\n\n{prompt.dimensions(rubric.dimensions, scales)}".strip()


def _shape(labels: Sequence[str], *, graded: bool) -> shape.Shape:
    if graded:
        return shape.grade_shape(GRADES)
    return shape.choice_shape(labels) if len(labels) == 2 else shape.ranks_shape(labels)


def _wording(labels: Sequence[str], *, graded: bool) -> tuple[str, str]:
    if graded:
        first, second = labels
        return (
            "Use the whole scale.",
            f"`preference`: from 1 to 7: 1, {first} is better by far; 4, neither is; 7, {second} is better by far.",
        )
    if len(labels) == 2:
        return "Call it a tie only where neither is better.", f'`choice`: "{labels[0]}", "{labels[1]}" or "tie".'
    return "Give equals the same rank.", "`ranks`: the rank of every response, 1 for the best."
