"""The result of a session as plain data that is read back whole, for whoever opens the session later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import ValidationError

from .result import CouncilResult
from .settings import CouncilSettings


def result_record(result: CouncilResult) -> dict[str, Any]:
    """A result as plain data. The reviewers' means under the rubric stay out: a review has what is shown of them."""
    plain: dict[str, Any] = msgspec.to_builtins(
        msgspec.structs.replace(result, evaluations={}), enc_hook=_plain_settings
    )
    return plain


def result_of(record: Mapping[str, Any]) -> CouncilResult | None:
    """The result that a record holds; None where another version of Rubrica has kept it in another shape."""
    try:
        return msgspec.convert(record, CouncilResult, dec_hook=_settings)
    except (msgspec.ValidationError, ValidationError):
        return None


def _plain_settings(value: Any) -> Any:
    if isinstance(value, CouncilSettings):
        return value.model_dump(mode="json", exclude_unset=True, exclude={"access"})  # keys are not for keeping
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


def _settings(kind: type, value: Any) -> Any:
    if kind is CouncilSettings:
        return CouncilSettings.model_validate(value)
    raise NotImplementedError(f"{kind.__name__} is not read from JSON")
