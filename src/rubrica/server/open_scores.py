"""The background task that has open scores judged again, once the judge may have come back."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime

from rubrica.errors import RubricaError
from rubrica.games import rounds
from rubrica.games.attempts import Opened, judge_and_keep
from rubrica.games.judging import JudgedRounds, RoundJudging
from rubrica.games.open_scores import next_try
from rubrica.games.turns import open_retry
from rubrica.store.scores import claim_due
from rubrica.workspace.access import Caller

from .service import Service

LOG = logging.getLogger("rubrica.server")
WAIT = 20.0
"""Seconds between two looks at what is due."""

AT_ONCE = 10
"""Scores that are judged again in one go. Whoever claims them has them alone until their next try."""


async def judge_open_scores(service: Service) -> None:
    """Judge again what is due, for as long as the server runs."""
    while True:
        await asyncio.sleep(WAIT)
        try:
            while await judge_due(service):
                await asyncio.sleep(0)
        except RubricaError as error:
            LOG.warning("open scores were not judged again: %s", type(error).__name__)


async def judge_due(service: Service) -> int:
    """Judge again what is due of one game, paid for by whoever had it judged; how many scores were claimed."""
    due = await service.database.write(claim_due, service.clock(), AT_ONCE, next_try)
    if not due:
        return 0
    owner = due[0].created_by
    mine = [score for score in due if score.created_by == owner]
    if owner is not None:
        caller = Caller(owner, "", "player")

        async def opened(_now: datetime) -> Opened:
            return await service.database.read(open_retry, caller, due[0].game_id, mine)

        def session(now: datetime) -> RoundJudging:
            return RoundJudging(service.plans.of, caller, now, service.work.of(owner), service.spending)

        async def keep(judged: JudgedRounds, _complete: bool) -> None:
            await service.database.write(rounds.keep_judged_again, judged)

        await judge_and_keep(opened, session, keep, service.clock)
    return len(due)
