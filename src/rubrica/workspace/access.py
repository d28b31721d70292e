"""Callers, their roles and what these allow. How a key is recognised is the server's business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args
from uuid import UUID

from rubrica.errors import DeniedError

Role = Literal["viewer", "player", "author", "admin"]
"""Each may do what those before it may. viewer: read, and try rubrics out by code alone. player: have judges asked,
execute, play, rate. author: create and change rubrics and games. admin: everything, with
others' private things, what is featured, and keys."""

ROLES: tuple[Role, ...] = get_args(Role)
_RANK = {role: rank for rank, role in enumerate(ROLES)}


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever a request comes from.

    >>> ann = Caller(UUID(int=7), "ann", "author")
    >>> ann.may("player"), ann.may("admin")
    (True, False)
    """

    user_id: UUID
    name: str
    role: Role
    key_id: UUID | None = None  # None: no key was needed
    usd_per_day: float | None = None  # that the key may have the server spend; None: no limit of its own

    def may(self, role: Role) -> bool:
        """Whether this caller has at least that role."""
        return _RANK[self.role] >= _RANK[role]

    @property
    def is_admin(self) -> bool:
        return self.role == "admin"

    def owns(self, user_id: UUID | None) -> bool:
        """Whether what `user_id` made is this caller's own. What came with Rubrica (None) is nobody's."""
        return user_id is not None and user_id == self.user_id


LOCAL = Caller(UUID(int=1), "local", "admin")
"""Everybody, on a server without keys, which serves its own machine only. Its row in users is made at start-up."""


def require(caller: Caller, role: Role, what: str) -> None:
    """Refuse a caller who lacks a role.

    >>> require(Caller(UUID(int=7), "ann", "viewer"), "author", "creating a rubric")
    Traceback (most recent call last):
        ...
    rubrica.errors.DeniedError: creating a rubric needs the role author; this key has viewer
    """
    if not caller.may(role):
        raise DeniedError(f"{what} needs the role {role}; this key has {caller.role}")


Action = Literal[
    "asking a judge",
    "asking for a completion",
    "asking the council",
    "changing a rubric",
    "creating a rubric",
    "executing a rubric",
    "having questions written",
    "importing a rubric",
    "keeping a calibrated rubric",
    "making a webhook",
    "starting a run",
    "uploading cases",
]
"""What is refused at once, before a body is read or a model is asked for it."""

_PLAYERS: tuple[Action, ...] = ("asking a judge", "asking for a completion", "executing a rubric")


def check_action(caller: Caller, action: Action) -> None:
    """Refuse a caller who may not do something.

    >>> check_action(Caller(UUID(int=7), "ann", "player"), "starting a run")
    Traceback (most recent call last):
        ...
    rubrica.errors.DeniedError: starting a run needs the role author; this key has player
    """
    require(caller, "player" if action in _PLAYERS else "author", action)
