"""A reward as verifiers calls it: a coroutine function of one rollout."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from .rollout import Completion, Prompt, Rollout, given_fields, reference_text
from .rollout_judge import RolloutJudge
from .shared import SharedEvaluations

VerifiersFunction = Callable[..., Awaitable[float]]


def verifiers_function(judge: RolloutJudge, shared: SharedEvaluations, name: str, unscored: float) -> VerifiersFunction:
    """One component of a reward. verifiers finds out from the names of the parameters what a function takes."""

    async def component(
        prompt: Prompt,
        completion: Completion,
        answer: Any = "",
        state: Mapping[str, Any] | None = None,  # noqa: ARG001 - verifiers passes it
        info: Mapping[str, Any] | None = None,
        **_others: Any,
    ) -> float:
        fields = given_fields({"reference": reference_text(answer), **(info or {})}.items())
        [evaluation] = await shared.ajudge([Rollout(prompt, completion, fields)])
        found = judge.component(evaluation, name)
        return unscored if found is None else found

    return component
