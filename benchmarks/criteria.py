"""A case's criteria swapped into one compiled plan, against compiling a rubric of the same criteria for each case."""

from __future__ import annotations

from typing import Any

from rubrica.engine.case_plan import case_plan
from rubrica.engine.compile import try_compile
from rubrica.engine.load import plan_from_data, rubric_from_data
from rubrica.model.context import Context

from .floor import Ratio, in_turn

CASES, CRITERIA = 500, 12
MOST_MILLISECONDS = 0.3


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


def _document(dimensions: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "measured",
        "dimensions": dimensions,
        "score": {"points": True, "out_of": 100},
        "verdicts": [{"label": "good", "when": "score >= 60"}, {"label": "poor"}],
    }


def _case(number: int) -> dict[str, Any]:
    criteria = [
        {"criterion": f"States fact {n} of case {number}.", "points": 5 if n % 4 else -3, "tags": ["accuracy"]}
        for n in range(CRITERIA)
    ]
    return {"response": "An answer.", "criteria": criteria}
