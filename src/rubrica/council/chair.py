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
from rubrica.llm.text_stream import Transcript

from .member_reply import MemberReply, ReplyBounds, ask_member
from .members import Members
from .ranking import RankedAnswer


class FinalAnswer(msgspec.Struct, frozen=True):
    """The council's answer, and who wrote it."""

    text: str
    chair: str | None  # who was asked to write it
    author: str  # who wrote it
    fallback: str = ""  # why it is the best answer instead of the chair's; empty where it is the chair's
    refusal: str = ""  # why a chair that refuses is right to; empty where it does not refuse
    cut: str = ""  # why there is no more of it; empty where it is whole


class ChairNotes(msgspec.Struct, frozen=True):
    """What the chair is told beside the answers."""

    notes: Mapping[str, str]  # of reviewers, by label
    words: int  # that it should keep to
    cut: frozenset[str] = frozenset()  # labels of answers that were cut off
    broken: Mapping[str, tuple[str, ...]] = {}  # instructions that answers break, by label
    refusals: str = ""  # who refused to answer, in a sentence


class BestAnswer(msgspec.Struct, frozen=True):
    """What stands where the chair gives no answer, or refuses without need."""

    author: str
    text: str
    need: str  # why refusing is right; empty where it is not
    cut: str = ""  # why there is no more of it


async def conclude(
    chair: str,
    members: Members,
    messages: tuple[ChatMessage, ...],
    best: BestAnswer,
    asking: tuple[ReplyBounds, Transcript | None],
) -> tuple[FinalAnswer, MemberReply]:
    """The chair's answer, or the best of the members' where the chair gives none or refuses what they answer."""
    bounds, transcript = asking
    speech = await ask_member(chair, members, messages, bounds, transcript)
    if speech.text is not None:
        return FinalAnswer(speech.text, chair, chair, cut=speech.cut), speech
    if speech.refusal and best.need:
        stands = msgspec.structs.replace(speech, text=speech.refusal, silence="")
        return FinalAnswer(speech.refusal, chair, chair, refusal=best.need), stands
    reason = f"the chair gave no answer ({speech.silence}): the best answer stands"
    return FinalAnswer(best.text, chair, best.author, reason, cut=best.cut), speech


def chair_messages(
    question: str,
    answers: Mapping[str, str],
    standings: Sequence[RankedAnswer],
    told: ChairNotes,
    source: TokenSource = process_token,
) -> tuple[ChatMessage, ...]:
    """What the chair is shown: the question, the answers from best to worst, and the reviewers' notes, all fenced."""
    notes = told.notes
    pieces = [("question", question)]
    checked: list[str] = []
    for place, ranked_answer in enumerate((one for one in standings if one.label in answers), 1):
        shown = "not ranked" if ranked_answer.rank is None else f"rank {ranked_answer.rank}, {ranked_answer.value:g}"
        shown += "; cut off at its limit" if ranked_answer.label in told.cut else ""
        pieces.append((f"answer {place} ({shown})", answers[ranked_answer.label]))
        if told.broken.get(ranked_answer.label):
            checked.append(f"answer {place}: {'; '.join(told.broken[ranked_answer.label])}")
        if notes.get(ranked_answer.label):
            pieces.append((f"notes on answer {place}", notes[ranked_answer.label]))
    material = Material(tuple(pieces))
    fence = material.fence(source)
    facts = [f"Checked by code: {'. '.join(checked)}."] if checked else []
    facts += [told.refusals] if told.refusals else []
    system, user = template().fill(
        {
            "token": fence.token,
            "material": material.between(fence),
            "facts": "".join(f"{fact}\n\n" for fact in facts),
            "words": f"{told.words:,}",
        }
    )
    return ChatMessage("system", system), ChatMessage("user", user)


@cache
def template() -> Template:
    """The chair's prompt."""
    text = (resources.files("rubrica.council") / "prompts" / "chair.md").read_text("utf-8")
    system, _, user = text.partition("<!-- user -->\n")
    return Template(system, user, hashlib.sha256(text.encode()).hexdigest())
