"""What a run that asks judges can cost, worked out before it begins."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING

from rubrica.engine.cases import Case
from rubrica.model.context import Context
from rubrica.runs.files.case_source import cases_of, count_cases

from .run_jobs import RunJob

if TYPE_CHECKING:  # a server without judges needs no model client and no price list
    from rubrica.judges.jury import Jury
    from rubrica.judges.quote import Quote

LOOKED_AT = 20
"""Cases that the price of all is worked out from: the dearest of them."""


async def quote_run(jury: Jury, job: RunJob) -> Quote:
    """The most that the evaluations of a run are taken to cost. Nobody is asked."""
    contexts, cases = await asyncio.to_thread(_sample_contexts, job)
    evaluations = job.extent.evaluations(cases) or 0
    quotes = [await jury.quote(job.rubric, context) for context in contexts]
    dearest = max(quotes, key=lambda quote: quote.usd or 0.0)
    return dearest.times(evaluations)


def _sample_contexts(job: RunJob) -> tuple[list[Context], int]:
    """The contexts of the first cases, and how many cases there are."""
    with cases_of(str(job.cases)) as file:
        cases = (case for case in file.cases() if isinstance(case, Case))
        contexts = [case.context for case in islice(cases, LOOKED_AT)]
        found = count_cases(str(job.cases))
        count = found if found is not None else len(contexts) + sum(1 for _ in cases)
    return contexts or [Context()], count
