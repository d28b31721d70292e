"""Criteria of cases: swapped into one compiled plan, against compiling a rubric of them for each case; and judged by a
provider that takes its time, against never waiting for anything else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from pydantic import SecretStr

from rubrica.engine.case_plan import case_plan
from rubrica.engine.compile import compile_rubric, try_compile
from rubrica.engine.evaluate import aevaluate
from rubrica.engine.load import plan_from_data, rubric_from_data
from rubrica.judges.jury import Jury
from rubrica.llm.settings import Settings
from rubrica.model.context import Context
from rubrica.model.rubric import Rubric

from .floor import Ratio, in_turn
from .judges import MODEL, timed
from .provider import provider

CASES, CRITERIA = 500, 12
JUDGED_CASES, JUDGED_CRITERIA, IN_FLIGHT, LATENCY = 1_000, 60, 64, 0.05  # seconds
AT_ONCE = 8
"""Cases: each ends with its slowest call, so some more than fill what may be in flight."""
MOST_MILLISECONDS = 0.3
SHARE_OF_THE_IDEAL = 0.9


def criteria_swapped() -> Ratio:
    """Milliseconds for the criteria of one case, read and in their place in the plan."""
    plan = plan_from_data(_document({"answer": {"from": "criteria"}}))
    cases = [_case(number) for number in range(CASES)]
    own = [
        {f"c{n}": {"points": one["points"], "asks": one["criterion"], "answers": {"met": 1, "not_met": 0}}
         for n, one in enumerate(case["criteria"], 1)}
        for case in cases[:20]
    ]  # fmt: skip
    rubrics = [rubric_from_data(_document(dimensions)) for dimensions in own]

    def mine() -> None:
        for case in cases:
            case_plan(plan, Context.of(case))

    def compiled() -> None:
        for rubric in rubrics:
            try_compile(rubric)

    spent, floor = in_turn(mine, compiled)
    each, fresh = 1000 * spent / CASES, 1000 * floor / len(rubrics)
    return Ratio(
        f"ms for {CRITERIA} criteria of a case, read and swapped into the plan",
        "a rubric of the same criteria, compiled",
        each,
        MOST_MILLISECONDS,
        f"{each:.3f} ms against {fresh:.2f} ms",
        higher_is_better=False,
    )


def criteria_judged() -> Ratio:
    """Cases with many criteria, one call for each, by a provider that takes 50 ms."""
    rubric = rubric_from_data(_document({"answer": {"from": "criteria"}}))
    cases = [Context.of(_case(number, JUDGED_CRITERIA)) for number in range(JUDGED_CASES)]
    with provider(LATENCY, answer="met") as url:
        asyncio.run(_judged(url, rubric, cases[:4]))  # imports, price list and patterns are there from now on
        begun = time.process_time()
        spent = asyncio.run(_judged(url, rubric, cases))
        used = time.process_time() - begun
    calls = JUDGED_CASES * JUDGED_CRITERIA
    ideal = calls * LATENCY / IN_FLIGHT
    return Ratio(
        f"{JUDGED_CRITERIA} criteria x {JUDGED_CASES:,} cases, {IN_FLIGHT} in flight, {1000 * LATENCY:.0f} ms latency",
        "calls x latency / in flight",
        ideal / spent,
        SHARE_OF_THE_IDEAL,
        f"{spent:.1f} s for {calls:,} calls, ideal {ideal:.1f} s; {1e6 * used / calls:.0f} µs of processor time a call",
    )


async def _judged(url: str, rubric: Rubric, cases: Sequence[Context]) -> float:
    """Seconds for all cases; every criterion must be answered."""
    settings = Settings(openai_base_url=url, openai_key=SecretStr("sk-loopback"), concurrency=IN_FLIGHT)
    async with Jury([MODEL], settings, cached=False) as jury:
        plan = compile_rubric(rubric, jury.judge(rubric))

        async def one(context: Context) -> None:
            found = await aevaluate(plan, context)
            assert found.score is not None, found.reason

        return await timed(one, cases, AT_ONCE)


def _document(dimensions: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "measured",
        "dimensions": dimensions,
        "score": {"points": True, "out_of": 100},
        "verdicts": [{"label": "good", "when": "score >= 60"}, {"label": "poor"}],
    }


def _case(number: int, count: int = CRITERIA) -> dict[str, Any]:
    criteria = [
        {"criterion": f"States fact {n} of case {number}.", "points": 5 if n % 4 else -3, "tags": ["accuracy"]}
        for n in range(count)
    ]
    return {"response": "An answer.", "criteria": criteria}
