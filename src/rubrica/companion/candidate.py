"""The candidate: a model under a system prompt, talking through a scenario."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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

    def asked(self, scenario: Scenario, talk: list[Message]) -> Request:
        """What the model is sent when the last message of the talk is the user's."""
        told = f"\n\nWhat you know about the user: {scenario.about}" if scenario.about else ""
        opening = ChatMessage("system", self.system + told)
        turns = (ChatMessage("assistant" if m.role == "assistant" else "user", m.content) for m in talk)
        return Request((opening, *turns), temperature=self.temperature, max_tokens=self.max_tokens)


@dataclass(frozen=True, slots=True)
class Spoken:
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


async def converse(candidate: Candidate, scenario: Scenario) -> list[Spoken]:
    """Every turn of a scenario. Where one fails, those after it have nothing to stand on and are not asked."""
    talk = list(scenario.earlier)
    spoken: list[Spoken] = []
    for turn, said in enumerate(scenario.turns):
        talk.append(Message(role="user", content=said))
        try:
            reply = await candidate.model(candidate.asked(scenario, talk))
        except ModelError as error:
            return [*spoken, *_unanswered(scenario, turn, str(error))]
        text = reply.text.strip()
        if not text or reply.stop == "refusal":
            why = "the model refused to answer" if reply.stop == "refusal" else "the reply is empty"
            return [*spoken, *_unanswered(scenario, turn, why)]
        context = _context(scenario, talk, text, reply)
        spoken.append(
            Spoken(scenario, turn, said, context, cost=_cost(candidate, reply), duration_ms=reply.duration_ms)
        )
        talk.append(Message(role="assistant", content=text))
    return spoken


def _unanswered(scenario: Scenario, turn: int, why: str) -> Iterator[Spoken]:
    yield Spoken(scenario, turn, scenario.turns[turn], None, why)
    for later in range(turn + 1, len(scenario.turns)):
        yield Spoken(scenario, later, scenario.turns[later], None, f"not asked, because turn {turn + 1} failed")


def _context(scenario: Scenario, talk: list[Message], text: str, reply: Reply) -> Context:
    facts = {
        "scenario": scenario.title,
        "looks_for": scenario.looks_for,
        "about_user": scenario.about,
        "age_group": scenario.age_group,
        "tests": scenario.tests,
        "group": scenario.id,  # the turns of one conversation belong together
        "response_time": reply.duration_ms / 1000,
        "model_used": reply.model,
    }
    given = {name: fact for name, fact in facts.items() if fact not in (None, "")}
    messages = [message.model_dump() for message in talk]
    return Context.of({"messages": messages, "prompt": talk[-1].content, "response": text, "metadata": given})


def _cost(candidate: Candidate, reply: Reply) -> Cost | None:
    if reply.cached:
        return None
    usage = reply.usage
    return Cost(price(candidate.model.name, usage), usage.input_tokens, usage.output_tokens)
