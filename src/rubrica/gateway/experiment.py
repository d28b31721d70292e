"""Two ways of grading side by side: which arm a conversation is in, and how the arms compare."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from rubrica.errors import InputError
from rubrica.scoring.intervals import Estimate, mean_difference, share_difference
from rubrica.store.gateway_figures import ExperimentArm

from .chat import Chat

CONTROL = "a"
"""The arm that is graded as without an experiment."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """Deals conversations into two arms. The same conversation is always dealt into the same one.

    >>> Experiment("short", 0.0).arm(Chat({}, (), False)), Experiment("short", 1.0).arm(Chat({}, (), False))
    ('a', 'short')
    """

    name: str  # of the other arm
    share: float  # of conversations, 0 to 1

    def __post_init__(self) -> None:
        if self.name in ("", CONTROL):
            raise InputError(
                f"an experiment cannot be named {self.name!r}: that is what the rest of the traffic is called"
            )

    def arm(self, chat: Chat) -> str:
        """CONTROL, or the experiment's own name."""
        digest = hashlib.sha256(self.name.encode() + b"\0" + conversation_opening(chat)).digest()
        return self.name if digest_share(digest) < self.share else CONTROL


def conversation_opening(chat: Chat) -> bytes:
    """How a conversation begins, up to its first question: later requests of the same conversation begin so, too."""
    first = next((place for place, turn in enumerate(chat.turns) if turn.role == "user"), len(chat.turns) - 1)
    user = chat.body.get("user")
    said = [(turn.role, turn.text) for turn in chat.turns[: first + 1]]
    return msgspec.json.encode((user if isinstance(user, str) else "", said))


def digest_share(digest: bytes) -> float:
    """A digest as a number from 0 to 1, 1 left out: below `share` for that share of digests.

    >>> digest_share(bytes(32)), digest_share(b"\\x80" + bytes(31))
    (0.0, 0.5)
    """
    return int.from_bytes(digest[:6], "big") / 2**48


class ArmContrast(msgspec.Struct, frozen=True):
    """How one arm differs from the control: its figure minus the control's. None: too little to tell.

    Conversations, not requests, are what was dealt, so the intervals are over conversations.
    """

    variant: str
    passed: Estimate | None  # of the pass rates
    score: Estimate | None  # of the mean scores, each under its own rubric
    total_usd: Estimate | None  # of the mean cost of a request whose price is known
    rating: Estimate | None  # of people's mean rating, 1 to 5


def contrasts(arms: Sequence[ExperimentArm]) -> list[ArmContrast]:
    """Every arm against the control, if there is one."""
    control = next((arm for arm in arms if arm.variant == CONTROL), None)
    if control is None:
        return []
    return [
        ArmContrast(
            arm.variant,
            share_difference(control.passed, arm.passed),
            mean_difference(control.score, arm.score),
            mean_difference(control.total_usd, arm.total_usd),
            mean_difference(control.rating, arm.rating),
        )
        for arm in arms
        if arm is not control
    ]
