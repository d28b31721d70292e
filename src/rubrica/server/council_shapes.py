"""Council sessions as the API shows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from rubrica.council.transcript import SessionTranscript
from rubrica.store.council_sessions import SessionLine, SessionState, StoredEvent, StoredSession


class SessionRow(BaseModel):
    """A session in a list."""

    id: UUID
    owner: str
    state: SessionState = Field(description="interrupted: its server ended before it did")
    title: str = Field(description="The beginning of the question.")
    usd: float | None = Field(description="US dollars; null: not known, or not yet.")
    created_at: datetime
    ended_at: datetime | None


class SessionShown(SessionRow):
    """A session with what was asked and what it came to."""

    request: dict[str, Any]
    answers: dict[str, Any] = Field(description="Of a session without a result: what had arrived, by model.")
    reviews: list[dict[str, Any]] = Field(
        description="Of a session without a result: the reviews that had arrived, as they were given."
    )
    result: dict[str, Any] | None = Field(description="What `POST /v1/council/run` answers with.")
    problem: dict[str, Any] | None = Field(description="Why there is no result.")


class SessionPage(BaseModel):
    """Sessions, the latest first."""

    items: list[SessionRow]
    next: str | None = Field(description="The cursor of the following page; null after the last one.")


def line_dict(line: SessionLine) -> dict[str, Any]:
    """A session as a list shows it."""
    return {name: getattr(line, name) for name in SessionRow.model_fields}


def session_dict(session: StoredSession, events: Sequence[StoredEvent]) -> dict[str, Any]:
    """A session as it is shown when it is opened."""
    transcript = transcript_of(session, events)
    return {
        **line_dict(session.line),
        "request": session.request,
        "answers": {} if session.result is not None else transcript.answers,
        "reviews": [] if session.result is not None else transcript.reviews,
        "result": session.result,
        "problem": transcript.problem,
    }


def transcript_of(session: StoredSession, events: Sequence[StoredEvent]) -> SessionTranscript:
    """A stored session as plain data."""
    about = SessionRow.model_validate(line_dict(session.line)).model_dump(mode="json")
    told = [{**event.data, "at": event.created_at.isoformat()} for event in events]
    return SessionTranscript(about, session.request, told, session.result)
