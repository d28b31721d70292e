"""The candidate: a model under a system prompt, talking through a scenario."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from rubrica.llm.model import ChatMessage, Model, ModelError, Reply, Request
from rubrica.llm.price import price
from rubrica.model.context import Context, Message
from rubrica.model.evaluation import Cost

from .scenarios import Scenario

MOST_TOKENS = 400
"""Of one reply: several times what anyone would listen to."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A system prompt and the model that follows it."""

    model: Model
    system: str
    temperature: float = 0.0
    max_tokens: int = MOST_TOKENS

    @property
    def key(self) -> str:
        """Tells one system prompt from another."""
        return digest(self.system)

    def asked(self, scenario: Scenario, talk: list[Message]) -> Request:
        """What the model is sent when the last message of the talk is the user's."""
        told = f"\n\nWhat you know about the user: {scenario.about}" if scenario.about else ""
        opening = ChatMessage("system", self.system + told)
        turns = (ChatMessage("assistant" if m.role == "assistant" else "user", m.content) for m in talk)
        return Request((opening, *turns), temperature=self.temperature, max_tokens=self.max_tokens)


def digest(text: str) -> str:
    """A text in twelve letters.

    >>> digest("Be kind.")
    '5499befb38db'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class CandidateReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model replied, and what that took."""

    text: str
    model: str  # as the provider calls it
    duration_ms: float = 0.0
    cost: Cost | None = None


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """One reply in its conversation, or why there is none."""

    scenario: Scenario
    turn: int  # counted from 0
    said: str  # by the user
    context: Context | None  # None: there was no reply
    failure: str = ""
    cost: Cost | None = None
    duration_ms: float = 0.0

    @property
    def case(self) -> str:
        """How the reply is called in figures: the scenario, and the turn where there are several."""
        return self.scenario.id if len(self.scenario.turns) == 1 else f"{self.scenario.id}#{self.turn + 1}"

    @property
    def reply(self) -> str:
        return self.context.response if self.context is not None else ""


async def converse(
    candidate: Candidate,
    scenario: Scenario,
    known: Mapping[int, CandidateReply] = {},
    keep: Callable[[int, CandidateReply], None] = lambda _turn, _said: None,
) -> list[SpokenTurn]:
    """Every turn of a scenario. Where one fails, those after it have nothing to stand on and are not asked.

    Replies that are `known`, by turn, are not asked for again; every other one is given to `keep` as it comes.
    """
    talk = list(scenario.earlier)
    spoken: list[SpokenTurn] = []
    for turn, asked in enumerate(scenario.turns):
        talk.append(Message(role="user", content=asked))
        said = known.get(turn)
        if said is None:
            reply = await _reply(candidate, candidate.asked(scenario, talk))
            if isinstance(reply, str):
                return [*spoken, *_unanswered(scenario, turn, reply)]
            said = reply
            keep(turn, said)
        context = _context(scenario, talk, said)
        spoken.append(SpokenTurn(scenario, turn, asked, context, cost=said.cost, duration_ms=said.duration_ms))
        talk.append(Message(role="assistant", content=said.text))
    return spoken


async def _reply(candidate: Candidate, request: Request) -> CandidateReply | str:
    """What the model says, or why it says nothing."""
    try:
        reply = await candidate.model(request)
    except ModelError as error:
        return str(error)
    if reply.stop == "refusal":
        return "the model refused to answer"
    text = reply.text.strip()
    return (
        CandidateReply(text, reply.model, reply.duration_ms, _cost(candidate, reply)) if text else "the reply is empty"
    )


def _unanswered(scenario: Scenario, turn: int, why: str) -> Iterator[SpokenTurn]:
    yield SpokenTurn(scenario, turn, scenario.turns[turn], None, why)
    for later in range(turn + 1, len(scenario.turns)):
        yield SpokenTurn(scenario, later, scenario.turns[later], None, f"not asked, because turn {turn + 1} failed")


def _context(scenario: Scenario, talk: list[Message], said: CandidateReply) -> Context:
    facts = {
        "scenario": scenario.title,
        "looks_for": scenario.looks_for,
        "about_user": scenario.about,
        "age_group": scenario.age_group,
        "tests": scenario.tests,
        "group": scenario.id,  # the turns of one conversation belong together
        "response_time": said.duration_ms / 1000,
        "model_used": said.model,
    }
    given = {name: fact for name, fact in facts.items() if fact not in (None, "")}
    messages = [message.model_dump() for message in talk]
    return Context.of({"messages": messages, "prompt": talk[-1].content, "response": said.text, "metadata": given})


def _cost(candidate: Candidate, reply: Reply) -> Cost | None:
    if reply.cached:
        return None
    usage = reply.usage
    return Cost(price(candidate.model.name, usage), usage.input_tokens, usage.output_tokens)
