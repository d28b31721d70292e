"""The background task that has open scores judged again, once the judge may have come back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from rubrica.errors import RubricaError
from rubrica.games import rounds
from rubrica.games.attempts import Opened, judge_and_keep
from rubrica.games.judging import JudgedRounds, RoundJudging
from rubrica.games.open_scores import next_try
from rubrica.games.turns import open_retry
from rubrica.store.scores import OpenScore, claim_due
from rubrica.workspace.access import Caller

from .service import Service

LOG = logging.getLogger("rubrica.server")
WAIT = 20.0
"""Seconds between two looks at what is due."""

AT_ONCE = 10
"""Scores that are judged again in one go. Whoever claims them has them alone until their next try."""


async def judge_open_scores(service: Service, wait: float = WAIT) -> None:
    """Judge again what is due, for as long as the server runs."""
    while True:
        await asyncio.sleep(wait)
        try:
            while await judge_due(service):
                await asyncio.sleep(0)
        except RubricaError as error:
            LOG.warning("open scores were not looked for: %s", type(error).__name__)


async def judge_due(service: Service) -> int:
    """Judge again what is due of one game, each score paid for by whoever had it judged; how many were claimed."""
    due = await service.database.write(claim_due, service.clock(), AT_ONCE, next_try)
    by_owner: dict[UUID, list[OpenScore]] = {}
    for score in due:
        if score.created_by is not None:
            by_owner.setdefault(score.created_by, []).append(score)
    for owner, mine in by_owner.items():
        try:
            await _judge_again(service, owner, mine)
        except RubricaError as error:  # such as one whose money for today is spent: the others' are judged all the same
            LOG.warning("open scores were not judged again: %s", type(error).__name__)
    return len(due)


async def _judge_again(service: Service, owner: UUID, mine: Sequence[OpenScore]) -> None:
    caller = Caller(owner, "", "player")

    async def opened(_now: datetime) -> Opened:
        return await service.database.read(open_retry, caller, mine[0].game_id, mine)

    def session(now: datetime) -> RoundJudging:
        return RoundJudging(service.plans.of, caller, now, service.work.of(owner), service.spending)

    async def keep(judged: JudgedRounds, _complete: bool) -> None:
        await service.database.write(rounds.keep_judged_again, judged)

    await judge_and_keep(opened, session, keep, service.clock)
