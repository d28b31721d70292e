"""The events of a council session, one as each thing happens, for a terminal or a stream of JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from rubrica.model.evaluation import Cost

Stage = Literal["answers", "reviews", "final"]


class _Event(msgspec.Struct, frozen=True, tag_field="event"):
    def to_dict(self) -> dict[str, Any]:
        """Plain data; `event` names what happened."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        if "seconds" in plain:
            plain["seconds"] = round(plain["seconds"], 3)
        return plain


class StageStarted(_Event, frozen=True, tag="stage_started"):
    """A stage begins, and who is asked in it."""

    stage: Stage
    models: tuple[str, ...]
    deadline: float  # seconds


class AnswerReceived(_Event, frozen=True, tag="answered"):
    """A member has answered."""

    model: str
    seconds: float
    words: int
    text: str = ""
    cost: Cost | None = None
    cut: str = ""  # why there is no more of it


class GivenReview(msgspec.Struct, frozen=True):
    """What a reviewer gave one answer, as it came: before ceilings, weights and pooling."""

    model: str  # who wrote the answer
    scores: dict[str, float]  # by dimension
    overall: float | None = None  # for the whole
    place: int | None = None  # where it gave a ranking only
    notes: str = ""


class ReviewFinished(_Event, frozen=True, tag="reviewed"):
    """A reviewer is done. `scored` of the `answers` it was shown have a score."""

    model: str
    seconds: float
    scored: int
    answers: int
    given: tuple[GivenReview, ...] = ()


class MemberDropped(_Event, frozen=True, tag="dropped"):
    """A member gave nothing that could be used in a stage, and why."""

    model: str
    stage: Stage
    reason: str


class ReviewerCancelled(_Event, frozen=True, tag="cancelled"):
    """A reviewer is not waited for any longer, since its review could not have changed the winner."""

    model: str
    reason: str


class DebateStarted(_Event, frozen=True, tag="debate_started"):
    """Reviewers see each other's points, and may change their scores."""

    round: int  # from 1
    models: tuple[str, ...]


class FinalWriting(_Event, frozen=True, tag="writing"):
    """A piece of the chair's answer while it is written. With `anew`, what came before it does not count."""

    text: str
    anew: bool = False


class Ranked(_Event, frozen=True, tag="ranked"):
    """The ranking stands; labels from best to worst, and groups of labels that share a place."""

    ranking: tuple[str, ...]
    ties: tuple[tuple[str, ...], ...]
    labels: dict[str, str]  # to models


class StageFinished(_Event, frozen=True, tag="stage_finished"):
    """A stage is over."""

    stage: Stage
    seconds: float
    cost: Cost | None


class Concluded(_Event, frozen=True, tag="concluded"):
    """The final answer stands."""

    text: str
    chair: str | None
    fallback: str  # why it is not the chair's; empty where it is


Event = (
    StageStarted
    | AnswerReceived
    | ReviewFinished
    | MemberDropped
    | ReviewerCancelled
    | DebateStarted
    | FinalWriting
    | Ranked
    | StageFinished
    | Concluded
)
Listener = Callable[[Event], None]


def ignore_event(_event: Event) -> None:
    """Listens to nothing."""
