"""One driver at a time for a run in an object store, on stores that cannot even write on a condition.

Whoever wants the run writes a claim under a name of its own and lists all claims: where another one is alive, it
withdraws. Of two that come at the same moment, each sees the other, so that at most one goes on. A claim is renewed
while its driver works; one that is no longer renewed is dead. How old it is tells the clock of the store.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import msgspec

from rubrica.errors import RubricaError
from rubrica.jsontext import UNREADABLE
from rubrica.runs.objects.address import ObjectAddress
from rubrica.runs.objects.object_store import ObjectInfo, ObjectStore

CLAIMS = "claims"


class StorePace(msgspec.Struct, frozen=True):
    """How often things happen, in seconds."""

    commit: float = 3.0  # between two commits
    beat: float = 5.0  # between two renewals of the claim
    expiry: float = 30.0  # from the last renewal of a claim until it is dead
    patience: float = 60.0  # while a store that fails is asked again


USUAL_PACE = StorePace()


class ClaimedError(RubricaError):
    """Another driver has the run."""


class RunClaimant(msgspec.Struct, frozen=True):
    """Who wants or has a run."""

    host: str
    process: int
    copy: str  # of the run, on that machine
    holds: bool = False


class RunClaim:
    """The claim of this process."""

    def __init__(self, store: ObjectStore, address: ObjectAddress, copy: str, pace: StorePace) -> None:
        self._store, self._address, self._pace = store, address, pace
        self._who = RunClaimant(socket.gethostname(), os.getpid(), copy)
        self._key = address.under(f"{CLAIMS}/{uuid4().hex}.json")

    def take(self, note: Callable[[str], None]) -> None:
        """Take the run, after one that is dead if need be. The copy is locked, so its other claims are of dead ones."""
        try:
            others = self._others()
            if others:
                self._wait_for_claims(others, note)
            self._who = msgspec.structs.replace(self._who, holds=True)
            self._write()
        except BaseException:
            self.release()
            raise

    def renew(self) -> None:
        """Say that this driver is alive; a ClaimedError where it was taken for dead."""
        self._write()
        for key in self._others(write=False):
            other = self._claimant(key)
            if other is not None and other.holds:
                raise ClaimedError(f"process {other.process} on {other.host} took {self._address} over")

    def release(self) -> None:
        self._store.delete([self._key])

    def _wait_for_claims(self, first: dict[str, ObjectInfo], note: Callable[[str], None]) -> None:
        """Wait until other claims are dead; an error where one is renewed."""
        who = {key: self._claimant(key) for key in first}
        holders = ", ".join(f"process {one.process} on {one.host}" for one in who.values() if one is not None)
        note(f"{holders or 'another driver'} had this run until a moment ago; waiting whether it is at work")
        while others := self._others():
            if any(key not in first or info.changed != first[key].changed for key, info in others.items()):
                raise ClaimedError(f"{holders or 'another driver'} is running {self._address}; wait for it")
            time.sleep(self._pace.expiry / 10)

    def _others(self, *, write: bool = True) -> dict[str, ObjectInfo]:
        """The claims of others that may be alive. Those of dead ones are removed."""
        if write:
            self._write()
        claims = {info.key: info for info in self._store.listed(self._address.under(CLAIMS))}
        own = claims.pop(self._key, None)
        if own is None:
            raise ClaimedError(f"{self._address} was taken over by another driver")
        alive = {}
        for key, info in claims.items():
            other = self._claimant(key)
            dead = other is not None and other.copy == self._who.copy
            if dead or own.changed - info.changed > timedelta(seconds=self._pace.expiry):
                self._store.delete([key])
            else:
                alive[key] = info
        return alive

    def _claimant(self, key: str) -> RunClaimant | None:
        data = self._store.read(key)
        try:
            return msgspec.json.decode(data, type=RunClaimant) if data is not None else None
        except UNREADABLE:
            return None

    def _write(self) -> None:
        self._store.write(self._key, msgspec.json.encode(self._who))
