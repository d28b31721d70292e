"""One rollout of a trainer, whichever library it comes from, as a Context."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from rubrica.errors import ContextError
from rubrica.model.context import Context

Conversation = Sequence[Any]
"""Chat messages, each with a role and its content."""
Prompt = str | Conversation | None
Completion = str | Conversation

OF_THE_TRAINER = frozenset(("completion_ids", "prompt_ids", "trainer_state", "log_extra", "log_metric", "environments"))
"""What TRL passes beside the columns of a dataset."""
OF_THE_ROLLOUT = frozenset(("prompt", "response", "messages"))
"""Fields of a Context that the prompt and the completion give; a column of that name does not stand in for them."""
ROLES = {"developer": "system", "function": "tool"}


class Rollout(NamedTuple):
    """What was asked, what the policy wrote, and what the dataset says of it."""

    prompt: Prompt
    completion: Completion
    fields: Mapping[str, Any] = {}

    def context(self) -> Context:
        """All that scorers may see of it. Of a chat, the last reply is what is judged."""
        prompt, completion, fields = self
        texts: dict[str, Any]
        if isinstance(prompt, str | None) and isinstance(completion, str):
            texts = {"prompt": prompt or "", "response": completion}
        else:
            texts = _chat(prompt, completion)
        if not fields or _is_simple(fields):
            try:
                return Context(**texts, metadata=fields) if fields else Context(**texts)
            except ValidationError:  # told in words by what follows
                pass
        return Context.of({**fields, **texts})

    def group(self, by: str) -> str:
        """What rollouts have in common that are compared: the prompt, or a field."""
        if by == "prompt":
            prompt = self.prompt
            asked = prompt if isinstance(prompt, str | None) else [_message(one) for one in prompt]
            return asked if isinstance(asked, str) else json.dumps(asked)
        if by not in self.fields:
            raise ContextError(
                f"group_by {by!r}: there is no such column ({', '.join(self.fields) or 'none is given'})"
            )
        return repr(self.fields[by])


def trl_rollouts(
    prompts: Sequence[Prompt], completions: Sequence[Completion], columns: Mapping[str, Any]
) -> list[Rollout]:
    """A batch as TRL gives it: every column has one value for each completion."""
    count = len(completions)
    if len(prompts) != count:
        raise ContextError(f"{len(prompts)} prompts for {count} completions (TRL repeats each prompt by itself)")
    named = {
        name: column
        for name, values in columns.items()
        if name not in OF_THE_TRAINER | OF_THE_ROLLOUT and (column := _column(values)) is not None
    }
    for name, values in named.items():
        if len(values) != count:
            raise ContextError(f"the column {name} has {len(values)} values for {count} completions")
    if not named:
        return [Rollout(prompt, completion) for prompt, completion in zip(prompts, completions, strict=True)]
    rows = zip(*named.values(), strict=True)
    return [
        Rollout(prompt, completion, given_fields(zip(named, row, strict=True)))
        for prompt, completion, row in zip(prompts, completions, rows, strict=True)
    ]


def given_fields(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The fields that say something: datasets fill up what a row leaves out with None."""
    return {name: plain(value) for name, value in fields if value is not None and name not in OF_THE_ROLLOUT}


def plain(value: Any) -> Any:
    """An array as a list, and records in a list without what they leave out, which datasets fill up with None.

    >>> plain([{"criterion": "Names it.", "points": 2, "tags": None}])
    [{'criterion': 'Names it.', 'points': 2}]
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, list):
        return value
    return [_without_none(one) if isinstance(one, dict) else one for one in value]


def _without_none(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value is not None}


def reference_text(answer: Any) -> str | None:
    """A dataset's own answer as text; None where it has none."""
    if isinstance(answer, str | None):
        return answer or None
    return json.dumps(plain(answer), ensure_ascii=False, default=str)


def _is_simple(fields: Mapping[str, Any]) -> bool:
    """Whether fields are metadata as they stand, which takes a fraction of the time of sorting them."""
    return fields.keys().isdisjoint(Context.model_fields) and all(
        type(value) in (int, float, bool) or (type(value) is str and value.isascii()) for value in fields.values()
    )


def _column(values: Any) -> Sequence[Any] | None:
    """The values of a column; None where it is something else that a trainer passes."""
    values = values.tolist() if hasattr(values, "tolist") else values
    return values if isinstance(values, Sequence) and not isinstance(values, str | bytes) else None


def _chat(prompt: Prompt, completion: Completion) -> dict[str, Any]:
    asked = [("user", prompt or "")] if isinstance(prompt, str | None) else [_message(one) for one in prompt]
    written = [("assistant", completion)] if isinstance(completion, str) else [_message(one) for one in completion]
    if not any(role == "assistant" for role, _ in written):
        written.append(("assistant", ""))  # nothing was written: an earlier reply of the prompt must not be judged
    messages = [{"role": role, "content": text} for role, text in (*asked, *written)]
    return {"messages": messages, "prompt": _last(asked, "user"), "response": _last(written, "assistant")}


def message_text(message: Any) -> str:
    """The text of a message, which is a mapping or an object."""
    return _message(message)[1]


def _last(messages: Sequence[tuple[str, str]], role: str) -> str:
    return next((text for who, text in reversed(messages) if who == role), "")


def _message(message: Any) -> tuple[str, str]:
    """The role and the text of a message, which is a mapping or an object."""
    if isinstance(message, Mapping):
        role, content = message.get("role", ""), message.get("content")
    else:
        role, content = getattr(message, "role", ""), getattr(message, "content", None)
    return ROLES.get(str(role), str(role)), _content(content)


def _content(content: Any) -> str:
    """The text of a message: as it is, or the texts among its parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise ContextError(f"the content of a message is a text or a list of parts, not {type(content).__name__}")
    texts = map(_part_text, content)
    return "\n".join(text for text in texts if isinstance(text, str))


def _part_text(part: Any) -> Any:
    if isinstance(part, str):
        return part
    return part.get("text") if isinstance(part, Mapping) else getattr(part, "text", None)
