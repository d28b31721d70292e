"""Runs as one visitor may see them; every access is checked by the application layer."""

from __future__ import annotations

import asyncio

from rubrica.runs.compare.baseline import BaselineEntry
from rubrica.studio.studio import Visitor
from rubrica.workspace.run_access import (
    RunKey,
    change_run,
    changeable_names,
    read_run,
    read_runs,
    readable_rows,
)
from rubrica.workspace.run_listing import RunLine

from .workspace import RunsWorkspace


async def permitted_lines(visitor: Visitor) -> list[RunLine]:
    """The runs that a visitor may see, the latest first. Folders that cannot be read are for admins."""
    return await visitor.service.runs.lines(await visitor.still_here())


async def changeable_lines(visitor: Visitor) -> list[RunLine]:
    """The runs that a visitor may change, the latest first."""
    lines = await permitted_lines(visitor)
    names = await visitor.read(changeable_names, [RunKey(line.name, line.id) for line in lines])
    return [line for line in lines if line.name in names]


async def may_change(visitor: Visitor, work: RunsWorkspace, name: str) -> bool:
    """Refuse a run that a visitor may not see; whether they may also change it."""
    key = await asyncio.to_thread(work.key, name)
    return await visitor.read(read_run, key)


async def check_readable(visitor: Visitor, work: RunsWorkspace, *names: str) -> None:
    """Refuse runs that a visitor may not see."""
    await visitor.read(read_runs, [await asyncio.to_thread(work.key, name) for name in names])


async def check_changeable(visitor: Visitor, work: RunsWorkspace, name: str, doing: str) -> RunKey:
    """Refuse a run that a visitor may not change; else which run it is."""
    key = await asyncio.to_thread(work.key, name)
    await visitor.read(change_run, key, doing)
    return key


async def permitted_entries(visitor: Visitor, work: RunsWorkspace) -> list[BaselineEntry]:
    """The baselines of runs that a visitor may see, also of runs whose folder is gone."""
    entries = list(await asyncio.to_thread(work.baselines.entries))
    rows = await visitor.read(readable_rows)
    ids = None if rows is None else {row.run_id for row in rows}
    return [entry for entry in entries if ids is None or entry.run in ids]
