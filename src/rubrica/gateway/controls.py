"""Controls: what a client may choose by headers, within what its key allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, TypeVar, get_args

import msgspec
from pydantic import Field, field_validator

from rubrica.errors import DeniedError, InputError
from rubrica.hints import nearest
from rubrica.model.bounds import Label

from .limits import TeamName, UsageLimits

Tier = Literal["tier-0", "tier-1", "tier-2", "tier-3", "tier-4", "tier-5", "tier-6", "tier-7"]
Debug = Literal["off", "flow", "timing", "full"]
Control = Literal["debug", "force", "type", "threshold", "grading", "cache", "tiers"]
PREFIX = "x-sleipner-"
TOLD = ("trace", "tier", "model", "cost", "savings", "question-type", "score", "degraded", "refused", "deployment")
"""What answers tell under the same prefix."""

TIERS: tuple[Tier, ...] = get_args(Tier)
DEBUGS: tuple[Debug, ...] = get_args(Debug)
W = TypeVar("W", bound=str)


class Allowance(UsageLimits):
    """What the requests of one key may choose, spend and use."""

    controls: frozenset[Control] = Field(
        frozenset(get_args(Control)) - {"tiers"},
        max_length=len(get_args(Control)),
        description="what requests may choose by x-sleipner- headers",
    )
    models: frozenset[Label] = Field(frozenset(), max_length=1_000, description="models that `tiers` may name")
    choices: dict[Label, Label] = Field(
        {},
        max_length=100,
        description="what holds where a request says nothing, by the names of the x-sleipner- headers",
        examples=[{"threshold": "90"}],
    )
    team: TeamName | None = Field(
        None, description="whose limits hold too, for all its keys together; one of `teams`", examples=["research"]
    )

    @field_validator("choices")
    @classmethod
    def _readable(cls, choices: dict[str, str]) -> dict[str, str]:
        try:
            _controls_from(_known(choices))
        except InputError as error:
            raise ValueError(str(error)) from None
        return choices


class Controls(msgspec.Struct, frozen=True, kw_only=True):
    """What one request chose. Left out: as the gateway is set up."""

    debug: Debug = "off"
    force: Tier | None = None
    question_type: str | None = None
    threshold: float | None = None  # on the rubric's out_of
    grading: bool = True
    cache: bool | None = None
    tier0: str | None = None
    tier1: str | None = None


_KEYS: dict[str, Control] = {
    "debug": "debug",
    "force": "force",
    "type": "type",
    "threshold": "threshold",
    "grading": "grading",
    "cache": "cache",
    "tier0": "tiers",
    "tier1": "tiers",
}
_PLAIN = Controls()


def read_controls(headers: Mapping[str, str], query: Mapping[str, str], allowance: Allowance) -> Controls:
    """What a request asks for. What it may not ask, or what cannot be read, is refused rather than passed over.

    >>> read_controls({"x-sleipner-debug": "full"}, {}, Allowance()).debug
    'full'
    >>> read_controls({"x-sleipner-grading": "maybe"}, {}, Allowance())
    Traceback (most recent call last):
        ...
    rubrica.errors.InputError: x-sleipner-grading: 'maybe' is none of on, off
    """
    asked = {name[len(PREFIX) :]: value for name, value in headers.items() if name.startswith(PREFIX)}
    if not asked.keys() <= _KEYS.keys():
        asked = _known(asked)
    if "debug" in query:
        asked.setdefault("debug", query["debug"])
    for key, value in asked.items():
        if _KEYS[key] not in allowance.controls:
            raise DeniedError(f"{PREFIX}{key}: this key may not choose that")
        if _KEYS[key] == "tiers" and value not in allowance.models:
            raise DeniedError(f"{PREFIX}{key}: this key may not choose {value!r}")
    if allowance.choices:
        asked = {**allowance.choices, **asked}
    return _controls_from(asked) if asked else _PLAIN


def _controls_from(asked: Mapping[str, str]) -> Controls:
    """What was asked, by names of headers without their beginning."""
    return Controls(
        debug=_one_of(asked, "debug", DEBUGS) or "off",
        force=_one_of(asked, "force", TIERS),
        question_type=asked["type"].strip().upper() if "type" in asked else None,
        threshold=_number(asked, "threshold"),
        grading=_one_of(asked, "grading", ("on", "off")) != "off",
        cache=None if "cache" not in asked else _one_of(asked, "cache", ("on", "off")) == "on",
        tier0=asked.get("tier0"),
        tier1=asked.get("tier1"),
    )


def _known(asked: Mapping[str, str]) -> dict[str, str]:
    """What was asked without what we say ourselves, which a client may send back. All else is a mistake."""
    for key in asked:
        if key not in _KEYS and key not in TOLD:
            near = nearest(key, _KEYS)
            hint = f"there are {', '.join(_KEYS)}" if near is None else f"did you mean {PREFIX}{near}?"
            raise InputError(f"{PREFIX}{key} is no control ({hint})")
    return {key: value for key, value in asked.items() if key in _KEYS}


def _one_of(asked: Mapping[str, str], key: str, words: tuple[W, ...]) -> W | None:
    if key not in asked:
        return None
    wanted = asked[key].strip().lower()
    for word in words:
        if word == wanted:
            return word
    raise InputError(f"{PREFIX}{key}: {asked[key]!r} is none of {', '.join(words)}")


def _number(asked: Mapping[str, str], key: str) -> float | None:
    if key not in asked:
        return None
    try:
        value = float(asked[key])
    except ValueError:
        value = math.nan
    if not 0 <= value <= 100:
        raise InputError(f"{PREFIX}{key}: {asked[key]!r} is no number from 0 to 100")
    return value
