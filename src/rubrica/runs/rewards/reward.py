"""`rubrica.reward`: a rubric as the reward function of a trainer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.hints import did_you_mean
from rubrica.model.evaluation import Evaluation
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.runs.request import JudgeSettings
from rubrica.scoring.group_relative import group_relative

from .components import TAG, TOTAL, Veto, component_names
from .rollout import Completion, Prompt, Rollout, trl_rollouts
from .rollout_judge import RewardTerms, RolloutJudge
from .shared import SharedEvaluations
from .verifiers import VerifiersFunction, verifiers_function
from .verl import VerlReward

Rewards = list[float | None]
RewardFunction = Callable[..., Rewards]
AsyncRewardFunction = Callable[..., Awaitable[Rewards]]
F = TypeVar("F", bound=Callable[..., Any])


class Reward:
    """A rubric as a reward: call it as TRL calls its reward functions, or take its form for verl or verifiers.

    Threads and event loops may share it. It can be pickled, and opens its judges anew in another process.
    """

    def __init__(self, judge: RolloutJudge) -> None:
        self._judge = judge
        self.__name__ = judge.rubric.name  # trainers log a reward under the name of its function

    @property
    def rubric(self) -> Rubric:
        """The rubric, which is scored in full even where it would stop once the verdict is decided."""
        return self._judge.rubric

    def __repr__(self) -> str:
        return f"Reward({self.rubric.reference!r})"

    def close(self) -> None:
        """Close the judges' connections; it happens by itself when the reward is gone."""
        self._judge.close()

    def __call__(self, prompts: Sequence[Prompt], completions: Sequence[Completion], **columns: Any) -> Rewards:
        """One reward for each completion: the share of its score, None where it is unscored."""
        rollouts = trl_rollouts(prompts, completions, columns)
        return self._relative(rollouts, self._judge.rewards(rollouts))

    async def acall(self, prompts: Sequence[Prompt], completions: Sequence[Completion], **columns: Any) -> Rewards:
        """The same without blocking the event loop."""
        rollouts = trl_rollouts(prompts, completions, columns)
        return self._relative(rollouts, await self._judge.arewards(rollouts))

    def evaluations(
        self, prompts: Sequence[Prompt], completions: Sequence[Completion], **columns: Any
    ) -> list[Evaluation]:
        """The explained evaluations that rewards are made of."""
        return self._judge.judge(trl_rollouts(prompts, completions, columns))

    def components(
        self, prompts: Sequence[Prompt], completions: Sequence[Completion], **columns: Any
    ) -> dict[str, Rewards]:
        """The reward and all it is made of, by name: dimensions, parts as `dimension.part`, tags as `tag.name`."""
        return self._by_component(self._judge.judge(trl_rollouts(prompts, completions, columns)))

    async def acomponents(
        self, prompts: Sequence[Prompt], completions: Sequence[Completion], **columns: Any
    ) -> dict[str, Rewards]:
        """The same without blocking the event loop."""
        return self._by_component(await self._judge.ajudge(trl_rollouts(prompts, completions, columns)))

    def functions(self, *names: str) -> list[RewardFunction]:
        """A function for each component, for a trainer that takes a list of them. A rollout is judged once for all.

        Without names, one for each dimension.
        """
        shared = SharedEvaluations(self._judge)

        def made(name: str) -> RewardFunction:
            def component(prompts: Sequence[Prompt], completions: Sequence[Completion], **columns: Any) -> Rewards:
                rollouts = trl_rollouts(prompts, completions, columns)
                return self._component(rollouts, shared.judge(rollouts), name)

            return _called(component, name)

        return [made(name) for name in self._chosen(names)]

    def afunctions(self, *names: str) -> list[AsyncRewardFunction]:
        """The same as coroutine functions."""
        shared = SharedEvaluations(self._judge)

        def made(name: str) -> AsyncRewardFunction:
            async def component(
                prompts: Sequence[Prompt], completions: Sequence[Completion], **columns: Any
            ) -> Rewards:
                rollouts = trl_rollouts(prompts, completions, columns)
                return self._component(rollouts, await shared.ajudge(rollouts), name)

            return _called(component, name)

        return [made(name) for name in self._chosen(names)]

    def verl(self, *, unscored: float, components: bool = False) -> VerlReward:
        """Its form for verl, which takes numbers only: `unscored` stands in where there is none.

        With `components`, every result is a mapping: the reward as `score`, and its components beside it.
        """
        self._refuse_relative("verl")
        return VerlReward(self._judge, unscored, components=components)

    def verifiers(self, *names: str, unscored: float) -> list[VerifiersFunction]:
        """Functions for `funcs` of a verifiers Rubric: the reward, or those components that are named.

        verifiers takes numbers only: `unscored` stands in where there is none.
        """
        self._refuse_relative("verifiers")
        shared = SharedEvaluations(self._judge)
        chosen = {name: name for name in self._chosen(names)} if names else {TOTAL: self.__name__}
        return [
            _called(verifiers_function(self._judge, shared, name, unscored), called) for name, called in chosen.items()
        ]

    def _component(self, rollouts: Sequence[Rollout], found: Sequence[Evaluation], name: str) -> Rewards:
        return self._relative(rollouts, [self._judge.component(one, name) for one in found])

    def _relative(self, rollouts: Sequence[Rollout], rewards: Rewards) -> Rewards:
        terms = self._judge.terms
        if terms.relative is None:
            return rewards
        groups = [rollout.group(terms.group_by) for rollout in rollouts]
        return group_relative(rewards, groups, scaled=terms.relative == "std")

    def _by_component(self, evaluations: Sequence[Evaluation]) -> dict[str, Rewards]:
        rows = [self._judge.components(one) for one in evaluations]
        names = dict.fromkeys([*component_names(self.rubric), *(name for row in rows for name in row)])
        return {name: [row.get(name) for row in rows] for name in names}

    def _chosen(self, names: Sequence[str]) -> Sequence[str]:
        known = component_names(self.rubric)
        for name in names:
            if name not in known and not name.startswith(TAG):
                hint = did_you_mean(name, known, f"it has {', '.join(known)}, and tags as {TAG}NAME")
                raise RubricaError(f"{self.rubric.name} has no component {name!r} ({hint})")
        return names or list(self.rubric.dimensions)

    def _refuse_relative(self, library: str) -> None:
        if self._judge.terms.relative is not None:
            raise RubricaError(f"{library} compares the answers to a prompt itself; leave `relative` out")


def reward(
    rubric: str | Path | Mapping[str, Any] | Rubric | Plan,
    judge: str | Sequence[str] | Judge | None = None,
    *,
    veto: Veto = 0.0,
    relative: Literal["mean", "std"] | None = None,
    group_by: str = "prompt",
    jobs: int = 64,
    cached: bool = True,
    budget: float | None = None,
) -> Reward:
    """A rubric as a reward function for TRL, verl or verifiers. Without a judge, code alone scores.

    `veto` is the reward where a gate forces the verdict: one number, or one by verdict. `relative` compares the rewards
    of one group as GRPO does: less their mean, with ``"std"`` also over their standard deviation. Up to `jobs`
    completions are judged at once, for no more than `budget` US dollars in all.

    >>> speed = reward("speed-demon")
    >>> speed(prompts=["Ready?", "Ready?"], completions=["Yes.", "No."], response_time=[20, 8])
    [0.5, 1.0]
    """
    if relative not in (None, "mean", "std"):
        raise RubricaError(f"relative is 'mean' or 'std', not {relative!r}")
    if isinstance(rubric, Plan):
        judge = rubric.judge if judge is None else judge
        rubric = rubric.rubric
    names = (judge,) if isinstance(judge, str) else tuple(judge) if isinstance(judge, Sequence) else ()
    own = None if isinstance(judge, str | Sequence) else judge
    settings = JudgeSettings(names, budget=budget, jobs=jobs, cached=cached)
    loaded = load(rubric)
    if isinstance(veto, Mapping):
        _check_verdicts(veto, loaded)
    rollouts = RolloutJudge(loaded, own, settings, RewardTerms(veto, relative, group_by))
    rollouts.start()
    return Reward(rollouts)


def _check_verdicts(veto: Mapping[str, float], rubric: Rubric) -> None:
    """A misspelt verdict would never be vetoed."""
    known = list(dict.fromkeys(gate.verdict for gate in rubric.gates if gate.verdict is not None))
    for verdict in veto:
        if verdict not in known:
            forced = f"they force {', '.join(known)}" if known else "they force none"
            raise RubricaError(
                f"veto: no gate of {rubric.name} forces {verdict!r} ({did_you_mean(verdict, known, forced)})"
            )


def _called(function: F, name: str) -> F:
    named: Any = function
    named.__name__ = named.__qualname__ = name
    return function
