"""The Studio that every page works with, and the Visitor who looks at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from fastapi import Request

from rubrica.errors import DeniedError
from rubrica.server.service import Service
from rubrica.server.sign_in import Authenticator
from rubrica.workspace.access import Caller

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Studio:
    """One running studio: the service behind it, and who is let in."""

    service: Service
    door: Authenticator
    models: tuple[str, ...] = ()  # that a council may be asked with, by name

    def visitor(self, request: Request) -> Visitor:
        """Whoever opened a page; the sign-in middleware has recognised them."""
        return Visitor(self, request.scope)


class Visitor:
    """A person with a page open. Everything they do is checked as a request of theirs would be."""

    def __init__(self, studio: Studio, scope: Any) -> None:
        self.studio = studio
        self.service = studio.service
        self._scope = scope
        self.caller: Caller = scope["state"]["caller"]

    @property
    def signed_in(self) -> bool:
        """Whether they came with a key, and so can sign out."""
        return self.caller.key_id is not None

    async def still_here(self) -> Caller:
        """The caller, looked up anew: a key that was revoked meanwhile opens nothing any more."""
        admitted = await self.studio.door.admit({**self._scope, "path": "/"})
        if not isinstance(admitted, Caller):
            raise DeniedError("your session has ended; sign in again")
        self.caller = admitted
        return admitted

    async def read(self, query: Callable[Concatenate[Any, Caller, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Ask the database something, as this person."""
        caller = await self.still_here()
        return await self.service.database.read(query, caller, *args, **options)

    async def write(self, query: Callable[Concatenate[Any, Caller, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Change something in the database, as this person."""
        caller = await self.still_here()
        return await self.service.database.write(query, caller, *args, **options)
