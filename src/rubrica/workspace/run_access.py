"""Who may see and change a run, and who may review it.

A run belongs to whoever started it on the server. It is private until its owner shares it, which lets everybody who has
a key read it; changing, stopping and reviewing it stay with its owner and with admins. A run that was put into the
folder of runs by other means has no owner: only admins see it, until one of them shares it or gives it to somebody.

A run is recognised by the name of its folder and by the id in its manifest, both together. A folder that is copied or
renamed, and another run that takes a folder's place, is therefore nobody's again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from rubrica.errors import ConflictError, DeniedError, InputError, MissingError
from rubrica.store import run_access as store
from rubrica.store.run_access import RunAccess, Sharing
from rubrica.store.users import find_user, get_user

from .access import Caller, require

MOST_REVIEWERS = 100


@dataclass(frozen=True, slots=True)
class RunKey:
    """Which run is meant: the name of its folder, and the id of its manifest."""

    name: str
    id: str


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Whose a run is and who may see it, as its owner is shown it."""

    owner: str | None  # None: nobody's but the admins'
    sharing: Sharing
    review_sharing: Sharing
    reviewers: Sequence[str]


def may_read_run(caller: Caller, run: RunKey, access: RunAccess | None) -> bool:
    """Whether a run is there for a caller.

    >>> from datetime import UTC
    >>> ann, then = Caller(UUID(int=7), "ann", "author"), datetime(2026, 5, 4, tzinfo=UTC)
    >>> row = RunAccess("monday", "4f1", ann.user_id, "private", "private", then, then)
    >>> may_read_run(ann, RunKey("monday", "4f1"), row), may_read_run(ann, RunKey("monday", "another"), row)
    (True, False)
    """
    if caller.is_admin:
        return True
    return _is_of(run, access) and access is not None and (caller.owns(access.owner_id) or access.sharing == "shared")


def may_change_run(caller: Caller, run: RunKey, access: RunAccess | None) -> bool:
    """Whether a caller may stop a run, go on with it, keep it as a baseline, share it and have it reviewed."""
    if caller.is_admin:
        return True
    return caller.may("author") and access is not None and _is_of(run, access) and caller.owns(access.owner_id)


def missing_run(name: str) -> MissingError:
    """What is told of a run that is not there, or not there for whoever asks."""
    return MissingError(f"there is no run {name[:100].replace(chr(0), '?')!r}, or it is not yours to see")


def read_run(conn: Connection, caller: Caller, run: RunKey) -> bool:
    """Refuse a run that is not there for the caller; whether they may also change it."""
    access = store.access_of(conn, run.name)
    if not may_read_run(caller, run, access):
        raise missing_run(run.name)
    return may_change_run(caller, run, access)


def read_runs(conn: Connection, caller: Caller, runs: Sequence[RunKey]) -> None:
    """The same of several runs at once, such as two that are compared."""
    for run in runs:
        read_run(conn, caller, run)


def change_run(conn: Connection, caller: Caller, run: RunKey, doing: str) -> None:
    """Refuse to change a run that is not the caller's; `doing` says what, such as stopping a run."""
    if not read_run(conn, caller, run):
        require(caller, "author", doing)
        raise DeniedError(f"{doing} is for whoever owns the run, or an admin")


def readable_names(conn: Connection, caller: Caller, runs: Collection[RunKey]) -> set[str]:
    """The names of those runs that are there for the caller."""
    if caller.is_admin:
        return {run.name for run in runs}
    rows = {row.run: row for row in store.readable_access(conn, caller.user_id)}
    return {run.name for run in runs if may_read_run(caller, run, rows.get(run.name))}


def changeable_names(conn: Connection, caller: Caller, runs: Collection[RunKey]) -> set[str]:
    """The names of those runs that the caller may change."""
    if caller.is_admin:
        return {run.name for run in runs}
    rows = {row.run: row for row in store.readable_access(conn, caller.user_id)}
    return {run.name for run in runs if may_change_run(caller, run, rows.get(run.name))}


def readable_rows(conn: Connection, caller: Caller) -> list[RunAccess] | None:
    """What is kept of all runs that the caller may see, also of those whose folder is gone; None: of every run."""
    return None if caller.is_admin else store.readable_access(conn, caller.user_id)


def claim_run(conn: Connection, caller: Caller, run: RunKey, now: datetime) -> None:
    """Make the caller the owner of a run that they start. A name is used once: what is kept under it stays theirs."""
    require(caller, "author", "starting a run")
    if store.access_of(conn, run.name) is not None or store.has_review_items(conn, run.name):
        raise ConflictError(f"the name {run.name!r} belongs to an earlier run; choose another name")
    store.put_access(conn, RunAccess(run.name, run.id, caller.user_id, "private", "private", now, now))


def run_settings(conn: Connection, caller: Caller, run: RunKey) -> RunSettings:
    """Whose a run is and who may see it, for whoever may change that."""
    change_run(conn, caller, run, "changing who may see a run")
    access = store.access_of(conn, run.name)
    if access is None or not _is_of(run, access):
        return RunSettings(None, "private", "private", ())
    owner = None if access.owner_id is None else get_user(conn, access.owner_id)
    names = store.reviewer_names(conn, run.name)
    return RunSettings(None if owner is None else owner.name, access.sharing, access.review_sharing, names)


def share_run(
    conn: Connection, caller: Caller, run: RunKey, sharing: Sharing, rubrics: Collection[str], now: datetime
) -> None:
    """Share a run with everybody who has a key, or with nobody any more. `rubrics` are the hashes of its rubrics.

    A run shows its rubric. One of a rubric that its author keeps private is shared by that author only, or an admin.
    """
    change_run(conn, caller, run, "sharing a run")
    if sharing == "shared" and not caller.is_admin:
        hidden = store.hidden_rubrics(conn, rubrics, caller.user_id)
        if hidden:
            raise DeniedError(
                f"the run shows a private rubric of somebody else ({', '.join(hidden)}); "
                "whoever owns the rubric, or an admin, may share it"
            )
    store.put_access(conn, replace(_row(conn, run, now), sharing=sharing, updated_at=now))


def give_run(conn: Connection, caller: Caller, run: RunKey, owner: str, now: datetime) -> None:
    """Make somebody else the owner of a run; an empty name leaves it to the admins."""
    require(caller, "admin", "giving a run to somebody")
    user_id = _users(conn, [owner])[0] if owner.strip() else None
    store.put_access(conn, replace(_row(conn, run, now), owner_id=user_id, updated_at=now))


def open_review(
    conn: Connection, caller: Caller, run: RunKey, sharing: Sharing, reviewers: Sequence[str], now: datetime
) -> None:
    """Say who may score the review items of a run: everybody with the role player, or those who are named."""
    change_run(conn, caller, run, "choosing reviewers")
    store.put_access(conn, replace(_row(conn, run, now), review_sharing=sharing, updated_at=now))
    store.set_reviewers(conn, run.name, _users(conn, reviewers))


def reviews_seen_by(caller: Caller) -> UUID | None:
    """Whose review items are looked for: the caller's; None for an admin, who sees all."""
    return None if caller.is_admin else caller.user_id


def _is_of(run: RunKey, access: RunAccess | None) -> bool:
    return access is not None and run.id != "" and (access.run, access.run_id) == (run.name, run.id)


def _row(conn: Connection, run: RunKey, now: datetime) -> RunAccess:
    """What is kept of a run; of one that has no row yet, or has taken another's place, what a new row says."""
    access = store.access_of(conn, run.name)
    if access is not None and _is_of(run, access):
        return access
    if not run.id:
        raise InputError(f"{run.name} has no manifest, by which a run is recognised; run it again")
    if access is not None and store.has_review_items(conn, run.name):
        raise ConflictError(
            f"another run called {run.name!r} was here before, and people review it still; give the folder another name"
        )
    store.set_reviewers(conn, run.name, ())
    return RunAccess(run.name, run.id, None, "private", "private", now, now)


def _users(conn: Connection, names: Sequence[str]) -> list[UUID]:
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if len(wanted) > MOST_REVIEWERS:
        raise InputError(f"at most {MOST_REVIEWERS} people can be named")
    found = []
    for name in wanted:
        user = None if "\0" in name else find_user(conn, name)
        if user is None:
            raise InputError(f"nobody here is called {name[:100]!r}")
        found.append(user.id)
    return found
