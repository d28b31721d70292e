"""Judges rollouts by a rubric: by code, or by models that others share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal

from rubrica.engine.audience import listeners
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.engine.outline import outline, outline_of
from rubrica.errors import ContextError
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.runs.request import JudgeSettings

from .components import TOTAL, Veto, components_of, reward_of
from .judge_thread import JudgeOrder, JudgeThread
from .rollout import Rollout

FEW = 8
"""Rollouts that are scored by code without leaving the event loop: handing them to a thread takes as long."""
Evaluations = Future[list[Evaluation]]


@dataclass(frozen=True, slots=True)
class RewardTerms:
    """What becomes of evaluations."""

    veto: Veto = 0.0
    relative: Literal["mean", "std"] | None = None
    group_by: str = "prompt"


class RolloutJudge:
    """A rubric, who judges by it, and what a reward makes of it. It can be pickled, and opens its judges anew then."""

    def __init__(self, rubric: Rubric, judge: Judge | None, settings: JudgeSettings, terms: RewardTerms) -> None:
        self.rubric = rubric.scored_in_full()
        self.terms = terms
        self._given = rubric, judge, settings, terms
        self._plan = compile_rubric(self.rubric)
        self._judges: JudgeThread | None = None
        if judge is not None or settings.names:
            self._judges = JudgeThread(JudgeOrder(self.rubric, judge, settings))

    def __reduce__(self) -> tuple[Any, ...]:
        return RolloutJudge, self._given

    def start(self) -> None:
        """Open the judges now, so that one that cannot be asked is told at once."""
        if self._judges is not None:
            self._judges.start()

    def close(self) -> None:
        """Close the judges' connections."""
        if self._judges is not None:
            self._judges.close()

    def submit(self, contexts: Sequence[Context]) -> Evaluations:
        """Evaluations that are there, or that judges are at."""
        if self._judges is not None:
            return self._judges.submit(contexts)
        done: Evaluations = Future()
        done.set_result([evaluate(self._plan, context) for context in contexts])
        return done

    def judge(self, rollouts: Sequence[Rollout]) -> list[Evaluation]:
        """An evaluation of each rollout."""
        return self.submit(contexts_of(rollouts)).result()

    async def ajudge(self, rollouts: Sequence[Rollout]) -> list[Evaluation]:
        """The same without blocking the event loop."""
        contexts = contexts_of(rollouts)
        if self._judges is None and len(contexts) > FEW:
            return (await asyncio.to_thread(self.submit, contexts)).result()
        return await awaited(self.submit(contexts))

    def rewards(self, rollouts: Sequence[Rollout]) -> list[float | None]:
        """The reward of each rollout; by code without an explanation, unless somebody listens to evaluations."""
        if self._judges is not None or listeners:
            return [self.component(one) for one in self.judge(rollouts)]
        plan, veto = self._plan, self.terms.veto
        return [reward_of(outline(plan, context), veto) for context in contexts_of(rollouts)]

    async def arewards(self, rollouts: Sequence[Rollout]) -> list[float | None]:
        """The same without blocking the event loop."""
        if self._judges is None:
            return await asyncio.to_thread(self.rewards, rollouts)
        return [self.component(one) for one in await self.ajudge(rollouts)]

    def component(self, evaluation: Evaluation, name: str = TOTAL) -> float | None:
        """One component of an evaluation; None where it has none."""
        if name == TOTAL:
            return reward_of(outline_of(evaluation), self.terms.veto)
        return self.components(evaluation).get(name)

    def components(self, evaluation: Evaluation) -> dict[str, float | None]:
        """Every component of an evaluation."""
        return components_of(evaluation, self.terms.veto)


def contexts_of(rollouts: Sequence[Rollout]) -> list[Context]:
    """What is judged of each rollout; a fault is told with the number of the completion."""
    found = []
    for number, rollout in enumerate(rollouts, 1):
        try:
            found.append(rollout.context())
        except ContextError as error:
            raise ContextError(f"completion {number}: {error}") from None
    return found


async def awaited(evaluations: Evaluations) -> list[Evaluation]:
    """Wait for what others may wait for as well: when one gives up, it goes on for the others."""
    return evaluations.result() if evaluations.done() else await asyncio.shield(asyncio.wrap_future(evaluations))
