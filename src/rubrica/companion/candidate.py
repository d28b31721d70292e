"""The candidate: a model under a system prompt, talking through a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from rubrica.llm.cache import reply_key
from rubrica.llm.model import ChatMessage, Model, ModelError, Reply, Request
from rubrica.llm.price import price
from rubrica.model.context import Context, Message
from rubrica.model.evaluation import Cost

from .assertions import AssertionResult
from .journal import NOWHERE, CandidateReply, Journal
from .scenarios import Scenario

SILENCE = " "
"""Stands for an empty reply: a context without a response would take the reply before it for one."""
FAILED = "assertions_failed"
"""The piece of a context that says how many assertions of its scenario a reply fails."""
MOST_TOKENS = 400
"""Of one reply: several times what anyone would listen to."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A system prompt and the model that follows it."""

    model: Model
    system: str
    temperature: float = 0.0
    max_tokens: int = MOST_TOKENS

    def asked(self, scenario: Scenario, talk: list[Message]) -> Request:
        """What the model is sent when the last message of the talk is the user's."""
        told = f"\n\nWhat you know about the user: {scenario.about}" if scenario.about else ""
        opening = ChatMessage("system", self.system + told)
        turns = (ChatMessage("assistant" if m.role == "assistant" else "user", m.content) for m in talk)
        return Request((opening, *turns), temperature=self.temperature, max_tokens=self.max_tokens)


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
    repeat: int = 0  # of the conversation, counted from 0
    assertions: tuple[AssertionResult, ...] = ()
    reached: bool = True  # whether the model answered at all

    @property
    def case(self) -> str:
        """How the reply is called in figures: the scenario, the turn where there are several, and the repeat.

        >>> talk = Scenario(id="own/a", group="own", title="Own", turns=("Hi", "Bye"))
        >>> SpokenTurn(talk, 1, "Bye", None).case, SpokenTurn(talk, 1, "Bye", None, repeat=2).case
        ('own/a#2', 'own/a#2~3')
        """
        turn = f"#{self.turn + 1}" if len(self.scenario.turns) > 1 else ""
        return f"{self.scenario.id}{turn}{f'~{self.repeat + 1}' if self.repeat else ''}"

    @property
    def reply(self) -> str:
        return self.context.response.strip() if self.context is not None else ""


async def converse(
    candidate: Candidate, scenario: Scenario, repeat: int = 0, journal: Journal = NOWHERE
) -> list[SpokenTurn]:
    """Every turn of a scenario. Where one fails, those after it have nothing to stand on and are not asked.

    Replies that the journal knows are not asked for again; every other one is kept there as it comes.
    """
    talk, replies = list(scenario.earlier), list[str]()
    spoken: list[SpokenTurn] = []
    for turn, asked in enumerate(scenario.turns):
        talk.append(Message(role="user", content=asked))
        request = candidate.asked(scenario, talk)
        key = reply_key(candidate.model.name, request, salt=scenario.id, repeat=repeat).hex()
        said = journal.find(key)
        if said is None:
            reply = await _reply(candidate, request)
            if isinstance(reply, str):
                return [*spoken, *_unanswered(scenario, turn, repeat, reply)]
            said = reply
            journal.keep(key, said)
        replies.append(said.text)
        found = scenario.check(turn, replies)
        context = _context(scenario, talk, said, found)
        spoken.append(SpokenTurn(scenario, turn, asked, context, "", said.cost, said.duration_ms, repeat, found))
        talk.append(Message(role="assistant", content=said.text or "…"))  # providers refuse an empty message
    return spoken


async def _reply(candidate: Candidate, request: Request) -> CandidateReply | str:
    """What the model says, or why there is no telling. That it says nothing, or refuses, is what the user hears."""
    try:
        reply = await candidate.model(request)
    except ModelError as error:
        return str(error)
    return CandidateReply(reply.text.strip(), reply.model, reply.duration_ms, _cost(candidate, reply))


def _unanswered(scenario: Scenario, turn: int, repeat: int, why: str) -> Iterator[SpokenTurn]:
    for at in range(turn, len(scenario.turns)):
        reason = why if at == turn else f"not asked, because turn {turn + 1} failed"
        yield SpokenTurn(scenario, at, scenario.turns[at], None, reason, repeat=repeat, reached=False)


def _context(
    scenario: Scenario, talk: list[Message], said: CandidateReply, found: Sequence[AssertionResult]
) -> Context:
    measured = said.duration_ms > 0
    facts: dict[str, Any] = {
        "scenario": scenario.title,
        "looks_for": scenario.looks_for,
        "about_user": scenario.about,
        "age_group": scenario.age_group,
        "tests": scenario.tests,
        "group": scenario.id,  # the turns of one conversation belong together, and so do its repeats
        "response_time": said.duration_ms / 1000 if measured else None,
        "latency_ms": round(said.duration_ms, 1) if measured else None,
        "model_used": said.model,
        FAILED: sum(not one.passed for one in found),
        "assertions": [msgspec.to_builtins(one) for one in found] or None,
    }
    given = {name: fact for name, fact in facts.items() if fact not in (None, "")}
    messages = [message.model_dump() for message in talk]
    response = said.text or SILENCE
    return Context.of({"messages": messages, "prompt": talk[-1].content, "response": response, "metadata": given})


def _cost(candidate: Candidate, reply: Reply) -> Cost | None:
    if reply.cached:
        return None
    usage = reply.usage
    return Cost(price(candidate.model.name, usage), usage.input_tokens, usage.output_tokens)
