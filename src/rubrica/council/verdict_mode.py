"""Verdict mode: members vote yes or no, may read each other's reasons, and the votes are counted. For checks in CI."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec

from rubrica.errors import InputError
from rubrica.judges.fence import JudgedTexts
from rubrica.judges.mark import reason_of
from rubrica.judges.prompt import Material, Template
from rubrica.judges.reply import answers
from rubrica.llm.model import ChatMessage
from rubrica.model.evaluation import Cost

from .events import AnswerReceived, DebateStarted, Listener, MemberDropped, StageFinished, StageStarted, ignore_event
from .member_reply import MemberReply, ReplyBounds, ask_member, declines
from .members import Members
from .quote import VOTE_TOKENS
from .result import MissingPart, Refusal, plain_cost
from .review_stage import reviewer_weights
from .reviewer_work import sum_costs
from .settings import CouncilSettings
from .tiers import words_for

Choice = Literal["yes", "no", "unclear"]
Decision = Literal["yes", "no", "undecided"]
UNSTATED = 0.5
"""The confidence of a vote that states none: as good as a coin."""
_WORDS: Mapping[str, Choice] = {
    "yes": "yes", "true": "yes", "pass": "yes", "approve": "yes", "no": "no", "false": "no", "fail": "no",
    "reject": "no", "unclear": "unclear", "unsure": "unclear", "unknown": "unclear", "abstain": "unclear",
}  # fmt: skip
DEBATE = (
    "You have voted before. The reasons of the other members are between the fences too. Weigh them by what they say, "
    "not by their number: keep your vote where you find no mistake in it, and change it where a reason is right."
)


class MemberVote(msgspec.Struct, frozen=True):
    """One member's vote."""

    model: str
    vote: Choice
    confidence: float  # that the vote is right, 0.5 to 1
    reason: str
    changed_from: Choice | None = None  # what it was before the debate
    weight: float = 1.0


class VerdictResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the votes come to. `to_dict` is what is printed."""

    question: str
    verdict: Decision
    votes: tuple[MemberVote, ...]
    agreement: float | None  # the weighted share of yes and no votes that the verdict has
    confidence: float | None  # the chance that the votes together give the verdict
    majority: float
    rounds: int
    refusals: tuple[Refusal, ...] = ()
    dropped: tuple[MemberDropped, ...] = ()
    missing: tuple[MissingPart, ...] = ()
    seconds: float = 0.0
    cost: Cost | None = None
    why: str = ""  # why it is undecided

    @property
    def complete(self) -> bool:
        return not self.missing

    @property
    def dissent(self) -> tuple[MemberVote, ...]:
        """The votes against the verdict, the surest first; where it is undecided, all that are not unclear."""
        against = [one for one in self.votes if one.vote not in (self.verdict, "unclear")]
        return tuple(sorted(against, key=lambda one: -one.confidence))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        counts = {choice: sum(one.vote == choice for one in self.votes) for choice in ("yes", "no", "unclear")}
        plain: dict[str, Any] = msgspec.to_builtins(self)
        plain |= {
            "counts": counts,
            "dissent": [msgspec.to_builtins(one) for one in self.dissent],
            "complete": self.complete,
            "seconds": round(self.seconds, 3),
            "cost": plain_cost(self.cost),
            "dropped": [{"model": one.model, "reason": one.reason} for one in self.dropped],
        }
        return plain


async def reach_verdict(
    question: str,
    settings: CouncilSettings,
    members: Members,
    *,
    majority: float = 0.5,
    on_event: Listener = ignore_event,
) -> VerdictResult:
    """Let a council vote on a question. The verdict has more than half of the weight of all yes and no votes, and at
    least the majority; otherwise, and where fewer than the quorum vote yes or no, it is undecided."""
    if not question.strip():
        raise InputError("there is no question")
    if len(settings.models) < 2:
        raise InputError("a council has at least two models (name them as a,b,c)")
    if not 0.5 <= majority <= 1:
        raise InputError("majority: a share from 0.5 to 1")
    for name in settings.models:
        members.named(name)
    return await _Vote(question, settings, members, majority, on_event).hold()


@dataclass(slots=True)
class _Vote:
    """A vote under way."""

    question: str
    settings: CouncilSettings
    members: Members
    majority: float
    tell: Listener
    dropped: list[MemberDropped] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    costs: list[Cost | None] = field(default_factory=list)

    async def hold(self) -> VerdictResult:
        began = self.members.clock()
        self.tell(StageStarted("answers", self.settings.models, self.settings.seconds))
        votes = await self._round(self.settings.models, {})
        rounds = self.settings.limits.debate
        for number in range(1, rounds + 1):
            votes = await self._debate(votes, number)
        spent, cost = self.members.clock() - began, sum_costs(self.costs)
        self.tell(StageFinished("answers", spent, cost))
        weights = reviewer_weights(self.settings)
        counted = tuple(msgspec.structs.replace(one, weight=weights.get(one.model, 1.0)) for one in votes.values())
        verdict, why = decide(counted, self.majority)
        missing: list[MissingPart] = []
        asked, quorum = len(self.settings.models), self.settings.quorum
        decisive = sum(one.vote != "unclear" for one in counted)
        if len(counted) < quorum:
            why = f"{len(counted)} of {asked} models voted, and the council needs {quorum}"
            missing, verdict = [MissingPart("answers", "a quorum", why)], "undecided"
        elif 0 < decisive < quorum:  # one vote alone does not open a gate, however many are unsure
            why = f"{decisive} of {asked} models voted yes or no, and the council needs {quorum}"
            verdict = "undecided"
        agreement, confidence = strength(counted, verdict)
        return VerdictResult(
            question=self.question, verdict=verdict, votes=counted, agreement=agreement, confidence=confidence,
            majority=self.majority, rounds=rounds, refusals=tuple(self.refusals), dropped=tuple(self.dropped),
            missing=tuple(missing), seconds=spent, cost=cost, why=why,
        )  # fmt: skip

    async def _debate(self, votes: Mapping[str, MemberVote], number: int) -> dict[str, MemberVote]:
        points = {name: self._points(name, votes) for name in votes}
        if len(votes) < 2:
            return dict(votes)
        self.tell(DebateStarted(number, tuple(votes)))
        later = await self._round(tuple(votes), points, first=False)
        return {name: _changed(one, later.get(name)) for name, one in votes.items()}

    @staticmethod
    def _points(name: str, votes: Mapping[str, MemberVote]) -> str:
        return "\n".join(
            f"A member votes {one.vote}: {' '.join(one.reason.split())}" for own, one in votes.items() if own != name
        )

    async def _round(
        self, names: Sequence[str], points: Mapping[str, str], *, first: bool = True
    ) -> dict[str, MemberVote]:
        async with asyncio.TaskGroup() as group:
            tasks = {name: group.create_task(self._ask(name, points.get(name, ""), first)) for name in names}
        found = {name: task.result() for name, task in tasks.items()}
        return {name: vote for name, vote in found.items() if vote is not None}

    async def _ask(self, name: str, points: str, first: bool) -> MemberVote | None:
        limits = self.settings.limits
        tokens = self.settings.max_tokens or VOTE_TOKENS
        pieces = (("question", self.question), *([("reasons of other members", points)] if points else []))
        material = Material(pieces)
        fence = material.fence(self.members.fence_source)
        values = {"token": fence.token, "material": material.between(fence), "words": str(words_for(tokens) // 2)}
        system, user = template().fill({**values, "debate": f"{DEBATE}\n\n" if points else ""})
        bounds = ReplyBounds(
            limits.seconds, tokens, self.settings.longest_answer, limits.effort, self.settings.seed, schema=SHAPE
        )
        messages = (ChatMessage("system", system), ChatMessage("user", user))
        speech = await ask_member(name, self.members, messages, bounds)
        self.costs.append(speech.cost)
        vote = None if speech.text is None else read_vote(name, fence.cut(speech.text), material.quoted)
        if vote is not None:
            if first:
                words = len(vote.reason.split())
                said = f"{vote.vote}: {vote.reason}"
                self.tell(AnswerReceived(name, speech.seconds, words, said, speech.cost, speech.cut))
        elif first:
            self._lose(name, speech)
        return vote

    def _lose(self, name: str, speech: MemberReply) -> None:
        """A member without a vote. In a debate, what it said before stands."""
        refusal = speech.refusal or (speech.text if speech.text and declines(speech.text) else "")
        if refusal:
            self.refusals.append(Refusal(name, refusal))
        reason = speech.silence or f"its reply holds no vote: {' '.join((speech.text or '').split())[:120]}"
        self.dropped.append(MemberDropped(name, "answers", reason))
        self.tell(self.dropped[-1])


SHAPE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "maxLength": 2000},
        "verdict": {"type": "string", "enum": ["yes", "no", "unclear"]},
        "confidence": {"type": "number", "minimum": 0.5, "maximum": 1},
    },
    "required": ["reason", "verdict", "confidence"],
    "additionalProperties": False,
}


def read_vote(model: str, text: str, quoted: JudgedTexts) -> MemberVote | None:
    """The vote in a reply: JSON, or a first word of yes or no; None where there is none.

    >>> read_vote("m", '{"verdict": "No", "confidence": 0.9, "reason": "untested"}', JudgedTexts())
    MemberVote(model='m', vote='no', confidence=0.9, reason='untested', changed_from=None, weight=1.0)
    >>> read_vote("m", "Yes, because it holds.", JudgedTexts()).vote, read_vote("m", "Perhaps.", JudgedTexts())
    ('yes', None)
    """
    for found in answers(text, quoted):
        said = found.get("verdict", found.get("vote", found.get("answer")))
        word = "yes" if said is True else "no" if said is False else str(said).strip().strip(".!").lower()
        if word in _WORDS:
            given = found.get("confidence")
            stated = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1
            return MemberVote(model, _WORDS[word], max(0.5, float(given)) if stated else UNSTATED, reason_of(found))  # type: ignore[arg-type]
    first, _, rest = text.strip().lstrip("*_# ").partition(" ")
    word = first.strip("*_.,:;!").lower()
    if word in ("yes", "no"):
        return MemberVote(model, "yes" if word == "yes" else "no", UNSTATED, rest.strip()[:2000])
    return None


def decide(votes: Sequence[MemberVote], majority: float = 0.5) -> tuple[Decision, str]:
    """What the votes come to, and why where that is nothing.

    >>> decide([MemberVote("a", "yes", 0.9, ""), MemberVote("b", "no", 0.6, "")])
    ('undecided', 'the votes are tied')
    >>> decide([MemberVote(name, vote, 0.9, "") for name, vote in zip("abc", ("yes", "yes", "no"))], 0.67)
    ('undecided', 'yes has 66.6% of the votes, and 67% are needed')
    """
    weights = {choice: sum(one.weight for one in votes if one.vote == choice) for choice in ("yes", "no")}
    total = weights["yes"] + weights["no"]
    if total <= 0:
        return "undecided", "nobody votes yes or no"
    if abs(weights["yes"] - weights["no"]) < 1e-9:
        return "undecided", "the votes are tied"
    leader: Decision = "yes" if weights["yes"] > weights["no"] else "no"
    if weights[leader] / total < majority - 1e-9:
        share = math.floor(weights[leader] / total * 1000) / 10  # rounded up, it might look like enough
        return "undecided", f"{leader} has {share:g}% of the votes, and {majority * 100:g}% are needed"
    return leader, ""


def strength(votes: Sequence[MemberVote], verdict: Decision) -> tuple[float | None, float | None]:
    """The share of the votes that a verdict has, and the chance that they together give it: the mean of what each says.

    >>> strength([MemberVote("a", "yes", 0.9, ""), MemberVote("b", "no", 0.6, "")], "yes")
    (0.5, 0.65)
    """
    cast = [one for one in votes if one.vote != "unclear"]
    total = sum(one.weight for one in cast)
    if verdict == "undecided" or total <= 0:
        return None, None
    share = sum(one.weight for one in cast if one.vote == verdict) / total
    chance = sum(one.weight * (one.confidence if one.vote == verdict else 1 - one.confidence) for one in cast) / total
    return round(share, 3), round(chance, 3)


def _changed(before: MemberVote, after: MemberVote | None) -> MemberVote:
    if after is None:
        return before
    was = before.changed_from or before.vote
    return msgspec.structs.replace(after, changed_from=was if was != after.vote else None)


@cache
def template() -> Template:
    """The prompt of a vote."""
    text = (resources.files("rubrica.council") / "prompts" / "verdict.md").read_text("utf-8")
    system, _, user = text.partition("<!-- user -->\n")
    return Template(system, user, hashlib.sha256(text.encode()).hexdigest())
