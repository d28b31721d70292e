"""Stage 1: every member is asked the question, and told how long its answer may be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rubrica.llm.model import ChatMessage

from .events import AnswerReceived, Listener, Stage
from .member_reply import MemberReply, ReplyBounds, ask_member
from .members import Members

LENGTH = (
    "Answer in about {words} words at most, unless the question says how long the answer should be. What is longer is "
    "cut off, so come to the point first."
)


def answer_messages(question: str, history: Sequence[ChatMessage], words: int) -> tuple[ChatMessage, ...]:
    """What a member is asked. Its length is told before all else, so that the question is the last word."""
    return ChatMessage("system", LENGTH.format(words=f"{words:,}")), *history, ChatMessage("user", question)


@dataclass(frozen=True, slots=True)
class MemberSpeeches:
    """Asks members the same thing, all at once. Who gives nothing is dropped, and whoever listens is told."""

    members: Members
    bounds: ReplyBounds
    tell: Listener
    drop: Callable[[str, Stage, str], None]

    async def ask(self, names: Sequence[str], messages: tuple[ChatMessage, ...]) -> list[MemberReply]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(name, messages)) for name in names]
        return [task.result() for task in tasks]

    async def _one(self, name: str, messages: tuple[ChatMessage, ...]) -> MemberReply:
        speech = await ask_member(name, self.members, messages, self.bounds)
        if speech.text is None:
            self.drop(name, "answers", speech.silence)
        else:
            words = len(speech.text.split())
            self.tell(AnswerReceived(name, speech.seconds, words, speech.text, speech.cost, speech.cut))
        return speech
