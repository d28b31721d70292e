"""Judging rounds and keeping them, and once more where somebody else was quicker meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from random import random
from typing import TypeVar

from .judging import JudgedRounds, RoundJudging, judge_turns
from .turns import MovedError, PlayerTurn

T = TypeVar("T")
TRIES = 10
"""How often somebody else may be quicker before it is given up."""

PAUSE = 0.02
"""Seconds; at random up to so many times the tries, so that two servers do not keep running into each other."""

Opened = tuple[Sequence[PlayerTurn], bool]
"""Turns to be judged, and whether they are all there is to judge."""


async def judge_and_keep(
    open_turns: Callable[[datetime], Awaitable[Opened]],
    session_at: Callable[[datetime], RoundJudging],
    keep: Callable[[JudgedRounds, bool], Awaitable[T]],
    clock: Callable[[], datetime],
) -> T:
    """Open the turns, judge them and keep what they were given. What was opened is read anew for every try."""
    tries = 0
    while True:
        tries += 1
        now = clock()
        turns, complete = await open_turns(now)
        judged = await judge_turns(turns, session_at(now))
        try:
            return await keep(judged, complete)
        except MovedError:
            if tries == TRIES:
                raise
            await asyncio.sleep(PAUSE * tries * random())  # noqa: S311 - not a secret
