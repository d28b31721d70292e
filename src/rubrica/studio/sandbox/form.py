"""The sandbox's form, converted from a context and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import msgspec

from rubrica.engine.cases import OWN_KEYS
from rubrica.engine.plan import Plan
from rubrica.errors import InputError, JsonError
from rubrica.jsontext import decode_json
from rubrica.model.context import Context
from rubrica.model.rubric import Rubric
from rubrica.scorers.rule_table import type_of
from rubrica.studio.criterion_lines import criterion_lines, read_criterion_lines

Role = Literal["user", "assistant", "system", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)
PLAIN_ROUND = frozenset({"prompt", "response", "round_number"})
"""Keys of a round that a pair of turns says just as well."""


@dataclass(frozen=True, slots=True)
class FormTurn:
    """Something said before."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class FormMetric:
    """A name that formulas read, and its value as it is typed."""

    name: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """Everything a person may fill in. `criteria` are lines, `rest` is what has no field of its own, as JSON."""

    prompt: str = ""
    response: str = ""
    turns: tuple[FormTurn, ...] = ()
    metrics: tuple[FormMetric, ...] = ()
    rest: str = ""
    criteria: str = ""
    reference: str = ""


def kept_form(data: Any) -> Form | None:
    """A form that a browser kept; None where it makes no sense, or says nothing.

    >>> kept_form({"response": "So.", "more": "x: 1"}) == Form(response="So.")
    True
    >>> kept_form({"response": 7}) is None, kept_form({}) is None
    (True, True)
    """
    try:
        form = msgspec.convert(data, Form)
    except msgspec.ValidationError:
        return None
    return form if form != Form() else None


def form_of(example: Mapping[str, Any]) -> Form:
    """A form filled in with one of a rubric's examples.

    >>> found = form_of({"id": "x", "response": "So.", "metadata": {"response_time": 8}, "criteria": ["Is short."]})
    >>> found.metrics, found.criteria
    ((FormMetric(name='response_time', value='8'),), '+1 Is short.')
    """
    left = {key: value for key, value in example.items() if key not in OWN_KEYS}
    context = Context.of(left)
    turns = _turns(left.pop("messages", ()))
    if turns and turns[-1] == FormTurn("assistant", context.response):
        turns = turns[:-1]
    if turns and turns[-1] == FormTurn("user", context.prompt):
        turns = turns[:-1]
    rounds = left.get("round_history")
    if not turns and isinstance(rounds, list) and all(isinstance(r, dict) and r.keys() <= PLAIN_ROUND for r in rounds):
        turns = tuple(turn for one in left.pop("round_history") for turn in _of_round(one) if turn.text)
    left.pop("prompt", None)
    left.pop("response", None)
    reference = left.pop("reference") if isinstance(left.get("reference"), str) else ""
    criteria = criterion_lines(left.get("criteria"))
    if criteria is not None:
        del left["criteria"]
    metrics: dict[str, str] = {}
    others = [key for key in left if key not in Context.model_fields]
    groups = [("metadata", left.get("metadata")), ("", {key: left[key] for key in others})]
    groups.append(("custom_metrics", left.get("custom_metrics")))
    for group, values in groups:
        if isinstance(values, Mapping) and all(_fits(value) for value in values.values()):
            metrics |= {str(name): _typed(value) for name, value in values.items()}
            for key in [group] if group else others:
                left.pop(key, None)
    rest = json.dumps(left, ensure_ascii=False, indent=2) if left else ""
    rows = tuple(FormMetric(name, value) for name, value in metrics.items())
    return Form(context.prompt, context.response, turns, rows, rest, criteria or "", reference)


def with_names(form: Form, names: Sequence[str]) -> Form:
    """The form with a row for every name that a rubric reads, so that nobody has to know them by heart."""
    there = {metric.name for metric in form.metrics}
    more = tuple(FormMetric(name) for name in names if name not in there)
    return replace(form, metrics=form.metrics + more)


def context_of(form: Form, *, rounds: bool = False) -> Context:
    """The context that a form says. `rounds`: what was said before are rounds of a game, not turns of a chat.

    >>> context_of(Form(response="So.", metrics=(FormMetric("score", "7"), FormMetric("left_out", "")))).lookup("score")
    7
    """
    data = _rest(form.rest)
    data |= {"prompt": form.prompt, "response": form.response}
    if form.reference.strip():
        data["reference"] = form.reference
    if criteria := read_criterion_lines(form.criteria):
        data["criteria"] = [criterion.plain for criterion in criteria]
    turns = [turn for turn in form.turns if turn.text.strip()]
    if turns and rounds and "round_history" not in data:
        data["round_history"] = _rounds(turns)
    elif turns:
        data["messages"] = [{"role": turn.role, "content": turn.text} for turn in turns]
    given = {metric.name.strip(): read_value(metric.value) for metric in form.metrics if metric.value.strip()}
    given.pop("", None)
    metadata = {name: value for name, value in given.items() if name in _METADATA or not _is_number(value)}
    numbers = {name: value for name, value in given.items() if name not in metadata}
    if metadata:
        data["metadata"] = {**data.get("metadata", {}), **metadata}
    if numbers:
        data["custom_metrics"] = {**data.get("custom_metrics", {}), **numbers}
    return Context.of(data)


def names_read(plan: Plan) -> tuple[str, ...]:
    """The names that only a context can give a value to, those first that choose a profile or a note."""
    rubric = plan.rubric
    choosing = [chosen.by for chosen in (rubric.profiles, rubric.notes) if chosen is not None]
    scored = [name for name in (*(rubric.context or {}), *plan.sources.metrics) if name not in rubric.dimensions]
    return tuple(dict.fromkeys((*choosing, *scored)))


def reads_rounds(rubric: Rubric) -> bool:
    """Whether earlier rounds are looked at, so that what was said before counts as rounds."""
    axes = [axis for dimension in rubric.dimensions.values() for axis in (dimension, *dimension.parts.values())]
    recipes = [*axes, *(axis.offline for axis in axes if axis.offline is not None)]
    return any(type_of(rule).reads_rounds for recipe in recipes for rule in recipe.rules)


def read_value(text: str) -> float | int | bool | str:
    """A typed value: a number or true/false where it reads as one, else the text.

    >>> read_value("8"), read_value("0.5"), read_value("true"), read_value("FACTUAL"), read_value("nan")
    (8, 0.5, True, 'FACTUAL', 'nan')
    """
    text = text.strip()
    try:
        value = decode_json(text)
    except JsonError:
        return text
    return value if isinstance(value, int | float | bool) else text


_METADATA = frozenset({"response_time", "token_count", "model_used", "timestamp", "round_number"})


def _turns(messages: Any) -> tuple[FormTurn, ...]:
    found = Context.of({"messages": messages}).messages if messages else ()
    return tuple(FormTurn(message.role, message.content) for message in found)


def _of_round(one: Mapping[str, Any]) -> tuple[FormTurn, FormTurn]:
    return FormTurn("user", str(one.get("prompt") or "")), FormTurn("assistant", str(one.get("response") or ""))


def _rounds(turns: Sequence[FormTurn]) -> list[dict[str, Any]]:
    """Turns as rounds: a user's turn opens one, an assistant's closes it."""
    rounds: list[dict[str, Any]] = []
    asked = ""
    for turn in turns:
        if turn.role == "assistant":
            rounds.append({"round_number": len(rounds) + 1, "prompt": asked, "response": turn.text})
            asked = ""
        elif turn.role == "user":
            asked = turn.text
    return rounds


def _rest(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        data = decode_json(text)
    except JsonError as error:
        raise InputError(f"Other context is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise InputError('Other context is a JSON object, such as {"game_config": {"level": 2}}')
    for key in ("metadata", "custom_metrics"):
        if key in data and not isinstance(data[key], dict):
            raise InputError(f"{key} in Other context is an object of names and values")
    return data


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _fits(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _typed(value: object) -> str:
    return json.dumps(value) if not isinstance(value, str) else value
