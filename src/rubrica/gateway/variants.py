"""A rubric with some of its numbers changed: other pass marks, another way of asking judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubrica.errors import InputError
from rubrica.model.decisions import Profiles
from rubrica.model.judge_options import Judging
from rubrica.model.rubric import Rubric


def with_thresholds(rubric: Rubric, thresholds: Mapping[str, float]) -> Rubric:
    """The rubric with other pass marks, by question type. Gates and verdicts read them as they read the old ones.

    >>> from rubrica import load
    >>> with_thresholds(load("answer-quality"), {"CREATIVE": 60}).profiles.named["CREATIVE"].threshold
    60.0
    """
    if not thresholds:
        return rubric
    if rubric.profiles is None:
        raise InputError(f"{rubric.name} has no question types to set thresholds for")
    profiles = rubric.profiles.model_dump(exclude_unset=True)
    for question_type, threshold in thresholds.items():
        if question_type not in rubric.profiles.named:
            raise InputError(f"{rubric.name} knows no {question_type}; it knows {', '.join(rubric.profiles.named)}")
        if not 0 <= threshold <= rubric.score.out_of:
            raise InputError(f"a threshold of {rubric.name} lies between 0 and {rubric.score.out_of:g}")
        profiles[question_type]["threshold"] = threshold
    return _changed(rubric, profiles=Profiles.model_validate(profiles))


def with_known_thresholds(rubric: Rubric, thresholds: Mapping[str, float]) -> Rubric:
    """The rubric with those of some thresholds whose question types it knows."""
    known = rubric.profiles.named if rubric.profiles is not None else {}
    return with_thresholds(rubric, {name: value for name, value in thresholds.items() if name in known})


def with_judging(rubric: Rubric, **changes: str | None) -> Rubric:
    """The rubric with `mode`, `stop`, `offline` or `reasons` of its judging changed; None leaves one as it is."""
    now = rubric.judging.model_dump()
    wanted = {key: value for key, value in changes.items() if value is not None and value != now[key]}
    if not wanted:
        return rubric
    judging = Judging.model_validate({**rubric.judging.model_dump(exclude_unset=True), **wanted})
    return _changed(rubric, judging=judging)


def _changed(rubric: Rubric, **fields: Any) -> Rubric:
    """A new rubric, not a copy: a copy would keep the old one's hash."""
    return Rubric.model_validate({**{name: getattr(rubric, name) for name in Rubric.model_fields}, **fields})
