"""What a draft does to the examples: the score and the verdict of each, before and after."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate
from rubrica.judges.jury import Jury
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric

from .draft import GOOD_SIDES, DraftingExample


@dataclass(frozen=True, slots=True)
class ExampleEffect:
    """One example under the draft, and under the rubric it would follow, where there is one."""

    example: DraftingExample
    after: Evaluation
    before: Evaluation | None = None


async def draft_effects(
    draft: Rubric, examples: Sequence[DraftingExample], jury: Jury, base: Rubric | None = None, jobs: int = 16
) -> list[ExampleEffect]:
    """Every example judged under the draft, and under the base; at most `jobs` evaluations at once."""
    plan = compile_rubric(draft, jury.judge(draft))
    earlier = compile_rubric(base, jury.judge(base)) if base is not None else None
    room = asyncio.Semaphore(jobs)

    async def one(example: DraftingExample) -> ExampleEffect:
        async with room:
            before = await aevaluate(earlier, example.context) if earlier is not None else None
            return ExampleEffect(example, await aevaluate(plan, example.context), before)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(example)) for example in examples]
    return [task.result() for task in tasks]


def ordered_pairs(effects: Sequence[ExampleEffect]) -> tuple[int, int]:
    """In how many pairs the preferred response scores higher under the draft, and how many pairs have both scores.

    Each good answer is held against each bad one where they are no pairs.
    """
    paired = any(effect.example.side in ("preferred", "rejected") for effect in effects)
    good = [one for one in effects if one.example.side in GOOD_SIDES and one.after.score is not None]
    bad = [one for one in effects if one.example.side not in GOOD_SIDES and one.after.score is not None]
    pairs = [(one, two) for one in good for two in bad if not paired or one.example.id == two.example.id]
    higher = sum((one.after.score or 0.0) > (two.after.score or 0.0) for one, two in pairs)
    return higher, len(pairs)
