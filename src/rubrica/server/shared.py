"""Objects that the requests of one server share, created on first use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar, cast
from uuid import UUID
from weakref import WeakValueDictionary

from fastapi import FastAPI

from rubrica.engine.plan import Plan
from rubrica.engine.plan_cache import PlanCache
from rubrica.games import execution
from rubrica.games.execution import ExecutionTarget
from rubrica.workspace import catalogue
from rubrica.workspace.access import Caller, check_action

from .service import Service

P = ParamSpec("P")
T = TypeVar("T")
MOST_TARGETS = 1_000


def shared_instance(app: FastAPI, kind: Callable[[], T]) -> T:
    """The one thing of a kind that an app's requests share."""
    name = f"shared_{kind.__name__}"
    if not hasattr(app.state, name):
        setattr(app.state, name, kind())
    return cast("T", getattr(app.state, name))


class KeyedLocks:
    """Lets requests about the same thing through one at a time, so that they need not be judged twice."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def of(self, key: Hashable) -> asyncio.Lock:
        """The lock of one thing; it lasts for as long as somebody holds it or waits for it."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock


async def run_for_user(app: FastAPI, caller: Caller, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Do in a thread what may take seconds, one thing at a time for each user: who asks for much waits for it."""
    service: Service = app.state.service
    return await service.work.run(caller.user_id, work, *args, **options)


@dataclass(frozen=True, slots=True)
class ReadyTarget:
    """A rubric that can be executed at once."""

    target: ExecutionTarget
    plan: Plan


class TargetCache:
    """Rubrics that were executed last, by id. They may have changed since: whoever keeps a score makes sure.

    A slug can come to mean another rubric at any time, so it is looked up each time.
    """

    def __init__(self) -> None:
        self._known: PlanCache[ReadyTarget] = PlanCache(lambda ready: ready.plan, MOST_TARGETS)

    async def of(self, service: Service, caller: Caller, reference: str) -> ReadyTarget:
        """The rubric a reference means, ready to be executed."""
        check_action(caller, "executing a rubric")
        known = self._known.get(reference)
        if known is not None and not (known.plan.judge and known.plan.judged):
            return known  # a judge is not paid before it is known who may ask it
        if "@" not in reference:
            listing = await service.database.lookup(catalogue.find, caller, reference)
            known = self._known.get(str(listing.id))
            if known is not None and known.target.revision == listing.revision:
                return known
        target, version = await service.database.read(execution.open_target, caller, reference)
        ready = ReadyTarget(
            target, await service.work.run(caller.user_id, service.plans.of, version.definition, version.hash)
        )
        if target.newest:
            self._known.put(str(target.rubric_id), ready)
        return ready

    def forget(self, rubric_id: UUID) -> None:
        """Read a rubric anew next time: it has changed."""
        self._known.drop(str(rubric_id))
