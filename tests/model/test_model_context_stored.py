"""Whatever comes along with the texts of a context can be stored with its evaluation, or is refused."""

from __future__ import annotations

from typing import Any

import pytest

import rubrica
from rubrica.errors import ContextError
from rubrica.model.context import DEEPEST, Context
from rubrica.model.evaluation import Evaluation


def nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"inner": value}
    return value


@pytest.mark.parametrize(
    "given",
    [
        {"mood\ud800": 1},
        {"mood": "\ud800"},
        {"metadata": {"moods": ["fine", {"\udfff": "x\ud800"}]}},
        {"custom_metrics": {"\ud800": 1}},
        {"player_info": {"name": "\ud83d"}},
    ],
)
def test_half_of_a_surrogate_pair_anywhere_does_not_keep_an_evaluation_from_being_stored(given: dict[str, Any]) -> None:
    stored = rubrica.evaluate("speed-demon", response="Done.", context=given).to_json()
    assert "\ufffd" in stored
    assert Evaluation.from_json(stored).to_json() == stored


def test_data_nested_too_deeply_to_be_stored_is_refused() -> None:
    deep = Context.of({"response": "Done.", "mood": nested(DEEPEST - 2)})
    assert Evaluation.from_json(rubrica.evaluate("speed-demon", context=deep).to_json())
    for levels in (DEEPEST, 100 * DEEPEST):
        with pytest.raises(ContextError, match="nested more than 100 levels deep"):
            Context.of({"response": "Done.", "mood": nested(levels)})
