"""One reply of a council member, within time and length limits, or the reason why there is none."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import msgspec

from rubrica.judges.fence import visible
from rubrica.llm.model import ChatMessage, Model, ModelError, Reply, Request
from rubrica.model.evaluation import Cost
from rubrica.text.style import refusal_spans
from rubrica.text.texts import Texts

from .members import Members

LONGEST_REASON = 300  # characters
GRACE = 0.2
"""Seconds past the deadline in which a model's own limit may end its call: it knows what was wrong, we would not."""


class MemberReply(msgspec.Struct, frozen=True):
    """What a model said. Without a text, `silence` says why there is none."""

    model: str
    text: str | None
    seconds: float
    cost: Cost | None = None  # None: no reply came, so nothing is known
    silence: str = ""


@dataclass(frozen=True, slots=True)
class ReplyBounds:
    """How long a model may take, and how much it may say."""

    seconds: float
    tokens: int
    characters: int


def declines(text: str) -> bool:
    """Whether a text mainly refuses, in plain words that no provider has marked as a refusal.

    >>> declines("I'm sorry, but I can't help with that."), declines("Air scatters blue light.")
    (True, False)
    """
    return bool(refusal_spans(Texts(response=text), "response"))


async def ask_member(
    name: str, members: Members, messages: tuple[ChatMessage, ...], bounds: ReplyBounds
) -> MemberReply:
    """Ask a model. Whatever goes wrong is a silence with its reason; nothing is raised but cancellation."""
    model, began = members.named(name), members.clock()
    request = Request(messages=messages, max_tokens=bounds.tokens)
    reply = await _reply(model, request, bounds.seconds)
    spent = members.clock() - began
    if isinstance(reply, str):
        return MemberReply(name, None, spent, silence=_shorten_reason(reply))
    usd = members.price(name, reply.usage) if members.price is not None else None
    cost = Cost(0.0) if reply.cached else Cost(usd, reply.usage.input_tokens, reply.usage.output_tokens)
    fault = _find_fault(reply, bounds)
    return MemberReply(name, None if fault else reply.text.strip(), spent, cost, _shorten_reason(fault))


async def _reply(model: Model, request: Request, seconds: float) -> Reply | str:
    try:
        async with asyncio.timeout(seconds + GRACE) as limit:
            return await model(request)
    except ModelError as error:
        return str(error).removeprefix(f"{model.name} ")  # whoever is dropped is named beside the reason
    except TimeoutError as error:
        return f"no answer within the deadline of {seconds:g} s" if limit.expired() else str(error) or "timed out"
    except Exception as error:  # noqa: BLE001 - the boundary of a member: a model of anyone's may fail in any way
        return f"the model failed: {type(error).__name__}: {error}"


def _find_fault(reply: Reply, bounds: ReplyBounds) -> str:
    """What makes a reply useless; empty where it is fine."""
    if reply.stop == "refusal":
        return refused(reply.text)
    if len(reply.text) > bounds.characters:
        return f"flooded: {len(reply.text):,} characters, and at most {bounds.characters:,} are listened to"
    if reply.stop == "length":
        return f"flooded: cut off after {reply.usage.output_tokens:,} tokens (at most {bounds.tokens:,})"
    return "" if reply.text.strip() else "the answer is empty"


def refused(said: str) -> str:
    """A refusal as a reason, with its words where there are any."""
    return _shorten_reason("refused to answer" + (f": {said}" if said.strip() else ""))


def _shorten_reason(reason: str) -> str:
    line = visible(" ".join(reason.split()))
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"
