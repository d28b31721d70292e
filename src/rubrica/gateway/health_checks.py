"""What asking deployments whether they are back costs: booked like all else, and told apart from requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

from rubrica.errors import SpendingLimitError, StoreError
from rubrica.llm.budget import Price
from rubrica.store.columns import new_id
from rubrica.store.gateway import RequestRecord

from .bill import paid_for
from .controls import Allowance
from .deployed_model import Deployment
from .names import public_name
from .spending import Spending
from .upstream import Completion

LOG = logging.getLogger("rubrica.gateway")


class HealthChecks:
    """Books each check as a record of the tier `health`, and counts it in what all keys together may spend."""

    def __init__(
        self,
        prices: Price,
        spending: Spending,
        write: Callable[[RequestRecord], object],
        clock: Callable[[], datetime],
    ) -> None:
        self._prices, self._spending, self._write, self._clock = prices, spending, write, clock
        self._charging: set[asyncio.Task[None]] = set()

    def note(self, one: Deployment, answer: Completion) -> None:
        """Book a check that was answered."""
        now, model = self._clock(), public_name(one.upstream.name)
        usd = paid_for(one.upstream.name, answer.usage, self._prices)
        self._write(
            RequestRecord(
                trace=new_id(now),
                at=now,
                status=200,
                total_ms=answer.duration_ms,
                tier="health",
                model=model[:200],
                deployment=one.name[:200],
                tier0_usd=usd,  # in the books it stands with the cheap model's
                tier1_usd=0.0,
                classification_usd=0.0,
                grading_usd=0.0,
                total_usd=usd,
                model_usd={model: usd},
                input_tokens=answer.usage.input_tokens,
                output_tokens=answer.usage.output_tokens,
            )
        )
        if usd and self._spending.limited(Allowance()):
            task = asyncio.get_running_loop().create_task(self._charge(usd))
            self._charging.add(task)
            task.add_done_callback(self._charging.discard)

    async def _charge(self, usd: float) -> None:
        try:
            reservation = await self._spending.reserve(None, Allowance(), usd)
        except (SpendingLimitError, StoreError) as error:
            LOG.warning("a health check of %.6f US dollars was not counted in the budget: %s", usd, error)
        else:
            self._spending.settle(reservation, usd)
