"""Stage 3: the chair writes the final answer from the ranked ones; where it cannot, the best answer stands."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

import msgspec

from rubrica.judges.fence import TokenSource, process_token
from rubrica.judges.prompt import Material, Template
from rubrica.llm.model import ChatMessage

from .member_reply import MemberReply, ReplyBounds, ask_member, declines, refused
from .members import Members
from .ranking import RankedAnswer


class FinalAnswer(msgspec.Struct, frozen=True):
    """The council's answer, and who wrote it."""

    text: str
    chair: str | None  # who was asked to write it
    author: str  # who wrote it
    fallback: str = ""  # why it is the best answer instead of the chair's; empty where it is the chair's
    refusal: str = ""  # why a chair that refuses is right to; empty where it does not refuse


class BestAnswer(msgspec.Struct, frozen=True):
    """What stands where the chair gives no answer, or refuses without need."""

    author: str
    text: str
    need: str  # why refusing is right; empty where it is not


async def conclude(
    chair: str, members: Members, messages: tuple[ChatMessage, ...], best: BestAnswer, bounds: ReplyBounds
) -> tuple[FinalAnswer, MemberReply]:
    """The chair's answer, or the best of the members' where the chair gives none or refuses what they answer."""
    speech = await ask_member(chair, members, messages, bounds)
    if speech.text is not None:
        refuses = declines(speech.text)
        if best.need or not refuses:
            return FinalAnswer(speech.text, chair, chair, refusal=best.need if refuses else ""), speech
        speech = msgspec.structs.replace(speech, text=None, silence=refused(speech.text))
    reason = f"the chair gave no answer ({speech.silence}): the best answer stands"
    return FinalAnswer(best.text, chair, best.author, reason), speech


def chair_messages(
    question: str,
    answers: Mapping[str, str],
    standings: Sequence[RankedAnswer],
    notes: Mapping[str, str],
    source: TokenSource = process_token,
) -> tuple[ChatMessage, ...]:
    """What the chair is shown: the question, the answers from best to worst, and the reviewers' notes, all fenced."""
    pieces = [("question", question)]
    for place, standing in enumerate((one for one in standings if one.label in answers), 1):
        shown = "not ranked" if standing.rank is None else f"rank {standing.rank}, {standing.value:g}"
        pieces.append((f"answer {place} ({shown})", answers[standing.label]))
        if notes.get(standing.label):
            pieces.append((f"notes on answer {place}", notes[standing.label]))
    material = Material(tuple(pieces))
    fence = material.fence(source)
    system, user = template().fill({"token": fence.token, "material": material.between(fence)})
    return ChatMessage("system", system), ChatMessage("user", user)


@cache
def template() -> Template:
    """The chair's prompt."""
    text = (resources.files("rubrica.council") / "prompts" / "chair.md").read_text("utf-8")
    system, _, user = text.partition("<!-- user -->\n")
    return Template(system, user, hashlib.sha256(text.encode()).hexdigest())
