"""One reply of a council member, within time and length limits, or the reason why there is none.

A reply that is longer than it may be, or that stops half-way, is used as far as it goes, and marked as cut: it is
paid for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rubrica.judges.fence import visible
from rubrica.llm.model import ChatMessage, Model, ModelError, Reply, Request
from rubrica.llm.reasoning import Effort, reasoning_tokens
from rubrica.llm.text_stream import Transcript, streaming_to
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
    cut: str = ""  # why there is no more of the text; empty where it is whole
    refusal: str = ""  # the words of a model that refuses


@dataclass(frozen=True, slots=True)
class ReplyBounds:
    """How long a model may take, and how much it may say."""

    seconds: float
    tokens: int
    characters: int
    effort: Effort | None = None
    seed: int | None = None
    schema: Mapping[str, Any] | None = None  # that a reply follows, where a model can be held to it


def declines(text: str) -> bool:
    """Whether a text mainly refuses, in plain words that no provider has marked as a refusal.

    >>> declines("I'm sorry, but I can't help with that."), declines("Air scatters blue light.")
    (True, False)
    """
    return bool(refusal_spans(Texts(response=text), "response"))


async def ask_member(
    name: str,
    members: Members,
    messages: tuple[ChatMessage, ...],
    bounds: ReplyBounds,
    transcript: Transcript | None = None,
) -> MemberReply:
    """Ask a model. Whatever goes wrong is a silence with its reason, or the end of what had come until then; nothing is
    raised but cancellation."""
    model, began = members.named(name), members.clock()
    request = Request(
        messages=messages,
        schema=bounds.schema,
        max_tokens=bounds.tokens + reasoning_tokens(members.spec(name), bounds.effort),
        seed=bounds.seed,
        effort=bounds.effort or msgspec.UNSET,
    )
    transcript = transcript or Transcript()
    with streaming_to(transcript):
        reply = await _reply(model, request, bounds.seconds)
    spent = members.clock() - began
    if isinstance(reply, str):
        return _half_way(
            MemberReply(name, None, spent, silence=_shorten_reason(reply)), transcript.longest_text, bounds
        )
    usd = members.price(name, reply.usage) if members.price is not None else None
    cost = Cost(0.0) if reply.cached else Cost(usd, reply.usage.input_tokens, reply.usage.output_tokens)
    text = reply.text.strip()
    if reply.stop == "refusal" or (bounds.schema is None and declines(text)):
        words = text[: bounds.characters] or "(no words)"
        return MemberReply(name, None, spent, cost, refused(reply.text), refusal=words)
    if not text:
        return MemberReply(name, None, spent, cost, _nothing_said(reply))
    if not transcript.has_text:
        transcript.receive(text)  # it came whole: from a file, a cache or a model in this process
    return MemberReply(name, text[: bounds.characters], spent, cost, cut=_cut(reply, bounds))


async def _reply(model: Model, request: Request, seconds: float) -> Reply | str:
    try:
        async with asyncio.timeout(seconds + GRACE) as limit:
            return await model(request)
    except ModelError as error:
        return str(error).removeprefix(model.name).lstrip(": ")  # whoever is dropped is named beside the reason
    except TimeoutError as error:
        return f"no answer within the deadline of {seconds:g} s" if limit.expired() else str(error) or "timed out"
    except Exception as error:  # noqa: BLE001 - the boundary of a member: a model of anyone's may fail in any way
        return f"the model failed: {type(error).__name__}: {error}"


def _half_way(failed: MemberReply, kept: str, bounds: ReplyBounds) -> MemberReply:
    """What had come of a reply that failed before its end; what it cost is not known."""
    if not kept:
        return failed
    if declines(kept):
        return msgspec.structs.replace(failed, silence=refused(kept), refusal=kept[: bounds.characters])
    late = failed.seconds >= bounds.seconds
    why = f"cut off at the deadline of {bounds.seconds:g} s" if late else f"cut off half-way: {failed.silence}"
    return msgspec.structs.replace(failed, text=kept[: bounds.characters], silence="", cut=_shorten_reason(why))


def _cut(reply: Reply, bounds: ReplyBounds) -> str:
    """Why there is no more of a reply; empty where it is whole."""
    if len(reply.text) > bounds.characters:
        return f"cut at {bounds.characters:,} of {len(reply.text):,} characters"
    if reply.stop == "length":
        return f"cut off after {reply.usage.output_tokens:,} tokens (at most {bounds.tokens:,})"
    return ""


def _nothing_said(reply: Reply) -> str:
    if reply.stop == "length":
        return f"all {reply.usage.output_tokens:,} tokens went before the answer began (allow more)"
    return "the answer is empty"


def refused(said: str) -> str:
    """A refusal as a reason, with its words where there are any."""
    return _shorten_reason("refused to answer" + (f": {said}" if said.strip() else ""))


def _shorten_reason(reason: str) -> str:
    line = visible(" ".join(reason.split()))
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"
