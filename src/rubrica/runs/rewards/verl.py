"""A reward as verl calls it: for one response, for a batch, or as a coroutine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubrica.model.evaluation import Evaluation

from .components import TOTAL, component_names
from .rollout import Rollout, given_fields, reference_text
from .rollout_judge import RolloutJudge

ASKED = ("prompt", "question")
"""Keys of `extra_info` under which datasets for verl keep what was asked: verl itself does not pass it on."""
Scored = float | dict[str, float]


@dataclass(frozen=True)
class VerlReward:
    """The methods that verl takes as `custom_reward_function`. They are picklable, as its process pools need."""

    judge: RolloutJudge
    unscored: float
    components: bool = False

    def compute_score(
        self,
        data_source: Any,
        solution_str: str,
        ground_truth: Any,
        extra_info: Mapping[str, Any] | None = None,
        **_others: Any,
    ) -> Scored:
        """The reward of one response."""
        return self._scored(self.judge.judge([_rollout(data_source, solution_str, ground_truth, extra_info)]))[0]

    async def acompute_score(
        self,
        data_source: Any,
        solution_str: str,
        ground_truth: Any,
        extra_info: Mapping[str, Any] | None = None,
        **_others: Any,
    ) -> Scored:
        """The same as a coroutine: verl's reward loop has many of them under way."""
        rollout = _rollout(data_source, solution_str, ground_truth, extra_info)
        return self._scored(await self.judge.ajudge([rollout]))[0]

    def compute_scores(
        self,
        data_sources: Sequence[Any],
        solution_strs: Sequence[str],
        ground_truths: Sequence[Any],
        extra_infos: Sequence[Mapping[str, Any] | None],
        **_others: Any,
    ) -> list[Scored]:
        """The rewards of a batch, for verl's batch reward manager."""
        rows = zip(data_sources, solution_strs, ground_truths, extra_infos, strict=True)
        return self._scored(self.judge.judge([_rollout(*row) for row in rows]))

    def _scored(self, evaluations: Sequence[Evaluation]) -> list[Scored]:
        if not self.components:
            return [self._number(self.judge.component(one)) for one in evaluations]
        return [self._mapping(one) for one in evaluations]

    def _mapping(self, evaluation: Evaluation) -> dict[str, float]:
        """The components that every evaluation has: verl keeps a column of each, and all are of one length."""
        found = self.judge.components(evaluation)
        names = component_names(self.judge.rubric)
        return {"score" if name == TOTAL else name: self._number(found.get(name)) for name in names}

    def _number(self, reward: float | None) -> float:
        return self.unscored if reward is None else reward


def _rollout(source: Any, solution: str, truth: Any, extra: Mapping[str, Any] | None) -> Rollout:
    fields = given_fields({"data_source": source, "reference": reference_text(truth), **(extra or {})}.items())
    asked = next((extra[key] for key in ASKED if extra.get(key) is not None), "") if extra else ""
    return Rollout(asked, solution, fields)
