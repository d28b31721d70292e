"""Loopback models that hold a council, on an event loop of their own: for servers, gateways and commands.

with members(ann="quality 9", bo="quality 4") as seats:
    names = [seat.model for seat in seats.values()]     # http://127.0.0.1:PORT/v1#ann
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from loopback import Fault, Loopback, Said, Seen
from sqlalchemy import Connection

from rubrica.store.columns import new_id
from rubrica.store.council_sessions import SessionLine, StoredEvent, add_events, add_session
from rubrica.workspace.council_sessions import interrupt_sessions

SCORES = ("accuracy", "relevance", "completeness", "conciseness", "clarity")
QUESTION = "When was the tower built, and why?"
_SHOWN = re.compile(r"<<<(?P<t>\w+) response (?P<label>\w+)\n(?P<text>.*?)\n(?P=t) response (?P=label)>>>", re.S)


@dataclass(slots=True)
class Seat:
    """One model: it answers, scores an answer that says ``quality 7`` with 7, and sums up when it has the chair."""

    answer: str = "quality 5"
    faults: Sequence[Fault | None] = ()
    latency: float = 0.0
    name: str = ""
    server: Loopback = field(default_factory=Loopback)

    @property
    def model(self) -> str:
        return f"{self.server.openai_url}#{self.name}"

    @property
    def asked(self) -> list[str]:
        """What was asked of it, in a word each: answer, review, final."""
        return [stage_of(seen) for seen in self.server.seen]

    def reply(self, seen: Seen) -> Said | str:
        stage = stage_of(seen)
        if stage == "answer":
            return Said(self.answer, input_tokens=10, output_tokens=5)
        if stage == "final":
            return f"{self.name} sums up."
        rows = {match["label"]: _row(match["text"]) for match in _SHOWN.finditer(seen.prompt)}
        return json.dumps({"evaluations": rows})


def voter(said: str, confidence: float = 0.8, reason: str = "because") -> Seat:
    """A member that votes."""
    return Seat(json.dumps({"reason": reason, "verdict": said, "confidence": confidence}))


def stage_of(seen: Seen) -> str:
    systems = [message["content"] for message in seen.body["messages"] if message["role"] == "system"]
    if any(text.startswith("You have the last word") for text in systems):
        return "final"
    return "review" if any("### accuracy" in text for text in systems) else "answer"


def _row(text: str) -> dict[str, Any]:
    found = re.search(r"quality (\d+)", text)
    value = float(found[1]) if found else 5.0
    return {**dict.fromkeys(SCORES, value), "notes": f"worth {value:g}", "confidence": 0.9}


@contextlib.contextmanager
def members(**seats: str | Seat) -> Iterator[dict[str, Seat]]:
    """The members' servers, up; an answer alone stands for a member without faults."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    seated: dict[str, Seat] = {}
    try:
        for name, wanted in seats.items():
            seat = wanted if isinstance(wanted, Seat) else Seat(wanted)
            seat.name = name
            seat.server = Loopback(seat.reply, seat.faults, key=None, latency=seat.latency, retry_after=0.01)
            asyncio.run_coroutine_threadsafe(seat.server.__aenter__(), loop).result(30)
            seated[name] = seat
        yield seated
    finally:
        for seat in seated.values():
            asyncio.run_coroutine_threadsafe(seat.server.__aexit__(None, None, None), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


def running_session(conn: Connection, owner: UUID, now: datetime, title: str = QUESTION) -> UUID:
    """A session as a server leaves it that is killed in the middle: ann has answered, bo has not."""
    line = SessionLine(new_id(now), owner, "", "running", title, None, now, None, now + timedelta(seconds=30))
    add_session(conn, line, {"question": title})
    told: list[dict[str, Any]] = [
        {"event": "stage_started", "stage": "answers", "models": ["ann", "bo"], "deadline": 20.0},
        {"event": "answered", "model": "ann", "seconds": 1.0, "words": 2, "text": "In 1889.", "cost": None},
    ]
    events = [StoredEvent(number, data["event"], data, now) for number, data in enumerate(told, 1)]
    add_events(conn, line.id, events, line.held_until)
    return line.id


def cut_off_session(conn: Connection, owner: UUID, now: datetime, title: str = QUESTION) -> UUID:
    """The same, as it is found by the next server."""
    found = running_session(conn, owner, now, title)
    interrupt_sessions(conn, now, everything=True)
    return found
