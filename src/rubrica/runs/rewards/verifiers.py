"""A reward as verifiers calls it: a coroutine function of one rollout."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from .rollout import Completion, Prompt, Rollout, given_fields, message_text, reference_text
from .rollout_judge import RolloutJudge
from .shared import SharedEvaluations

VerifiersFunction = Callable[..., Awaitable[float]]
OF_THE_TASK = {
    "idx", "id", "name", "description", "prompt", "system_prompt", "image", "workdir", "agent_user", "skills",
    "network_allow", "network_block", "artifacts", "artifact_max_bytes", "timeout", "resources",
}  # fmt: skip
"""What every task of verifiers has; the rest comes from its dataset."""


def verifiers_function(judge: RolloutJudge, shared: SharedEvaluations, name: str, unscored: float) -> VerifiersFunction:
    """One component of a reward. verifiers finds out from the names of the parameters what a function takes.

    From version 0.4 on these are `task` and `trace`, before that `prompt`, `completion`, `answer` and `info`.
    """

    async def component(
        prompt: Prompt = None,
        completion: Completion = "",
        answer: Any = "",
        info: Mapping[str, Any] | None = None,
        task: Any = None,
        trace: Any = None,
        **_others: Any,
    ) -> float:
        if trace is None:
            fields = given_fields({"reference": reference_text(answer), **(info or {})}.items())
            rollout = Rollout(prompt, completion, fields)
        else:
            rollout = _of_trace(task, trace)
        [evaluation] = await shared.ajudge([rollout])
        found = judge.component(evaluation, name)
        return unscored if found is None else found

    return component


def _of_trace(task: Any, trace: Any) -> Rollout:
    """What the model wrote in a trace, and what the data of its task say."""
    sampled = {id(message) for message in trace.assistant_messages}  # a prompt may have replies of its own
    messages = list(trace.messages)
    begin = next((place for place, one in enumerate(messages) if id(one) in sampled), len(messages))
    asked, written = messages[:begin], messages[begin:]
    if not written or message_text(written[-1]).strip() != trace.last_reply:
        written.append({"role": "assistant", "content": trace.last_reply})
    data = {} if task is None else task.model_dump(exclude=OF_THE_TASK)
    reference, info = reference_text(data.pop("answer", None)), data.pop("info", None)
    given = {"reference": reference, **data, **(info if isinstance(info, Mapping) else {})}
    return Rollout(asked or getattr(task, "prompt", None), written, given_fields(given.items()))
