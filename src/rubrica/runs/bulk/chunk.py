"""Some thousand records as columns: what a rubric reads of them, without a Context for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from math import copysign
from typing import Any

from rubrica.model.evidence import Field
from rubrica.text.texts import Texts

NOT_MIXED = frozenset({int, str, type(None)})
"""Types whose equal values are the same to every formula."""


class Chunk:
    """Records with a prompt, a response and named values, and neither a chat, nor earlier rounds, nor pictures."""

    def __init__(
        self,
        cases: Any,
        lines: Sequence[int],
        texts: Mapping[Field, Callable[[], Sequence[str]]],
        given: Mapping[str, Sequence[Any]],
    ) -> None:
        """A field that is left out is empty everywhere, a name that is left out is given nowhere."""
        self.cases = cases  # their names: a sequence of texts, or a column of them
        self.lines = lines  # where each record is in its file, counted from 1
        self._texts = texts
        self._given = given
        self._readings: list[Texts] | None = None

    def __len__(self) -> int:
        return len(self.cases)

    def texts(self, field: Field) -> Sequence[str]:
        """The texts of a field."""
        found = self._texts.get(field)
        return [""] * len(self) if found is None else found()

    def given(self, name: str) -> Sequence[Any]:
        """The values of a name, None where there is none."""
        found = self._given.get(name)
        return [None] * len(self) if found is None else found

    def has_value(self, name: str) -> bool:
        """Whether a name is given somewhere."""
        return name in self._given

    @property
    def readings(self) -> list[Texts]:
        """The texts as features read them."""
        if self._readings is None:
            pairs = zip(self.texts("prompt"), self.texts("response"), strict=True)
            self._readings = list(starmap(Texts, pairs))
        return self._readings


def as_keys(values: Sequence[Any], odd: set[int]) -> Sequence[Any]:
    """Values as keys that are equal only where every formula takes them as the same.

    ``True`` is not 1 and -0.0 is not 0.0: such values stand in a pair. What is no plain value is added to `odd`.

    >>> odd = set()
    >>> as_keys([1, True, -0.0, [1]], odd), odd
    ([1, ('bool', True), ('-0.0', -0.0), None], {3})
    """
    types = set(map(type, values))
    if types <= NOT_MIXED or (
        types <= NOT_MIXED | {float} and not (0.0 in values and any(map(_is_minus_zero, values)))
    ):
        return values
    return [_as_key(row, value, odd) for row, value in enumerate(values)]


def _as_key(row: int, value: Any, odd: set[int]) -> Any:
    if type(value) is bool:
        return ("bool", value)
    if _is_minus_zero(value):
        return ("-0.0", value)
    if type(value) is float or type(value) in NOT_MIXED:
        return value
    odd.add(row)
    return None


def _is_minus_zero(value: Any) -> bool:
    return type(value) is float and value == 0.0 and copysign(1.0, value) < 0
