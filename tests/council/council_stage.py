"""A council of loopback models: each answers, reviews by what the answers say, and may fail on demand."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from loopback import Fault, Loopback, Said, Seen

from rubrica.council.events import Event, ignore_event
from rubrica.council.members import open_members
from rubrica.council.result import CouncilResult
from rubrica.council.session import run
from rubrica.council.settings import CouncilSettings
from rubrica.llm.settings import Settings

QUESTION = "When was the tower built, and why?"
DIMENSIONS = ("accuracy", "relevance", "completeness", "conciseness", "clarity")
_SHOWN = re.compile(
    r"<<<(?P<token>\w+) response (?P<label>\w+)\n(?P<text>.*?)\n(?P=token) response (?P=label)>>>", re.S
)

Review = Callable[[Mapping[str, str]], Any]
"""From answers by label, in the order they were shown, to a reply: text, or what is sent as JSON."""


def shown(prompt: str) -> dict[str, str]:
    """The answers a reviewer was shown, by label, in order."""
    return {match["label"]: match["text"] for match in _SHOWN.finditer(prompt)}


def stage_of(seen: Seen) -> str:
    """Which stage a request belongs to."""
    system = seen.body["messages"][0]["content"]
    if system.startswith("You have the last word"):
        return "chair"
    if "### overall" in system:
        return "holistic"
    return "review" if "### accuracy" in system else "answer"


def row(*scores: float, notes: str = "noted") -> dict[str, Any]:
    return {**dict(zip(DIMENSIONS, scores, strict=True)), "notes": notes, "confidence": 0.9}


def by_quality(answers: Mapping[str, str]) -> dict[str, Any]:
    """A sober reviewer: an answer that says ``quality 7`` gets 7 on every dimension."""
    return {"evaluations": {label: row(*[quality(text)] * 5) for label, text in answers.items()}}


def quality(text: str) -> float:
    found = re.search(r"quality (\d+(?:\.\d+)?)", text)
    return float(found[1]) if found else 5.0


def as_a_whole(answers: Mapping[str, str]) -> dict[str, Any]:
    return {
        "evaluations": {
            label: {"notes": "as a whole", "overall": quality(text), "confidence": 0.9}
            for label, text in answers.items()
        }
    }


@dataclass(slots=True)
class Member:
    """One loopback model."""

    answer: str | Said = "quality 5"
    review: Review = by_quality
    holistic: Review = as_a_whole
    final: str = "the final word"
    faults: Sequence[Fault | None] = ()
    latency: float = 0.0
    server: Loopback = field(default_factory=Loopback)

    def reply(self, seen: Seen) -> Said | str:
        match stage_of(seen):
            case "answer":
                return self.answer
            case "chair":
                return self.final
            case stage:
                said = (self.review if stage == "review" else self.holistic)(shown(seen.prompt))
                return said if isinstance(said, Said | str) else json.dumps(said)

    def asked(self, stage: str) -> list[Seen]:
        return [seen for seen in self.server.seen if stage_of(seen) == stage]


@asynccontextmanager
async def seated(members: Mapping[str, Member]) -> AsyncIterator[dict[str, str]]:
    """The members' servers, up; the models' full names by their short ones."""
    async with AsyncExitStack() as stack:
        names = {}
        for name, member in members.items():
            member.server = Loopback(member.reply, member.faults, key=None, latency=member.latency, retry_after=0.01)
            await stack.enter_async_context(member.server)
            names[name] = f"{member.server.openai_url}#{name}"
        yield names


def council(members: Mapping[str, Member], *, events: list[Event] | None = None, **settings: Any) -> CouncilResult:
    """A whole session over loopback; names are given in short, and so are those of the result's models."""

    async def session() -> CouncilResult:
        async with seated(members) as names:
            chair = settings.pop("chair", None)
            chosen = CouncilSettings(
                models=[name for short, name in names.items() if short != "chair"],
                chair=names.get(chair, chair) if chair else None,
                **{"seed": 7, "deadline": 5.0, **settings},
            )
            async with open_members(list(names.values()), Settings(cache=None), seconds=chosen.seconds) as seats:
                return await run(QUESTION, chosen, seats, on_event=ignore_event if events is None else events.append)

    return asyncio.run(session())


def short(name: str) -> str:
    return name.partition("#")[2]


def ranked(result: CouncilResult) -> list[str]:
    """The members from best to worst, in short."""
    return [short(result.labels[label]) for label in result.ranking.order]


def scores_of(result: CouncilResult, member: str) -> list[float | None]:
    """The capped scores that reviewers gave a member's answer."""
    return [one.score for one in result.opinions if short(result.labels[one.label]) == member]
