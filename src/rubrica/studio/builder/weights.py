"""Weights that keep their sum: what one gains, the others give, each in proportion to what it has."""

from __future__ import annotations

from collections.abc import Collection, Mapping

WHOLE = 1000
"""Weights are counted in thousandths, and in hundredths where all of them are."""


def rebalance(weights: Mapping[str, float], moved: str, to: float, locked: Collection[str] = ()) -> dict[str, float]:
    """The weights after one was moved: they sum to 1, and locked ones stay.

    It moves no further than the unlocked others can give way. Others that all weigh nothing share in equal parts.

    >>> rebalance({"a": 0.5, "b": 0.3, "c": 0.2}, "a", 0.75)
    {'a': 0.75, 'b': 0.15, 'c': 0.1}
    >>> rebalance({"a": 0.5, "b": 0.3, "c": 0.2}, "a", 1.0, locked={"b"})
    {'a': 0.7, 'b': 0.3, 'c': 0.0}
    """
    step = _step({**weights, moved: to})
    units = {name: round(weight * WHOLE / step) for name, weight in weights.items()}
    held = sum(units[name] for name in locked if name in units and name != moved)
    free = [name for name in weights if name not in locked and name != moved]
    room = max(WHOLE // step - held, 0)
    units[moved] = min(max(round(to * WHOLE / step), 0), room) if free else room
    units |= _parts(room - units[moved], {name: units[name] for name in free})
    return {name: count * step / WHOLE for name, count in units.items()}


def add_weight(weights: Mapping[str, float], name: str) -> dict[str, float]:
    """The weights with a further one, which gets an equal part; the others make room in proportion.

    >>> add_weight({"a": 0.6, "b": 0.4}, "c")
    {'a': 0.4, 'b': 0.27, 'c': 0.33}
    """
    count = len(weights) + 1
    return rebalance(
        {**normalise_weights(weights), name: 0.0}, name, round(1 / count, 2 if count < WHOLE // 100 else 3)
    )


def remove_weight(weights: Mapping[str, float], name: str) -> dict[str, float]:
    """The weights without one of them; the others take over what it had.

    >>> remove_weight({"a": 0.4, "b": 0.2, "c": 0.4}, "c")
    {'a': 0.67, 'b': 0.33}
    """
    return normalise_weights({other: weight for other, weight in weights.items() if other != name})


def normalise_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """The same proportions with the sum 1; weights that are all 0 become equal.

    >>> normalise_weights({"a": 2.0, "b": 1.0, "c": 1.0}), normalise_weights({"a": 0.0, "b": 0.0})
    ({'a': 0.5, 'b': 0.25, 'c': 0.25}, {'a': 0.5, 'b': 0.5})
    """
    if not weights:
        return {}
    step = _step(weights) if abs(sum(weights.values()) - 1) < 1e-9 else 10
    counts = {name: max(round(weight * WHOLE * 1000), 0) for name, weight in weights.items()}
    return {name: count * step / WHOLE for name, count in _parts(WHOLE // step, counts).items()}


def _step(weights: Mapping[str, float]) -> int:
    """Thousandths that are counted at a time: 10 where hundredths say every weight exactly."""
    return 10 if all(abs(weight * 100 - round(weight * 100)) < 1e-6 for weight in weights.values()) else 1


def _parts(total: int, shares: Mapping[str, int]) -> dict[str, int]:
    """A whole number in whole parts by proportion; the largest remainders get what rounding leaves over."""
    if not shares:
        return {}
    whole = sum(shares.values())
    even = {name: share if whole else 1 for name, share in shares.items()}
    whole = whole or len(shares)
    parts = {name: total * share // whole for name, share in even.items()}
    left = total - sum(parts.values())
    by_remainder = sorted(even, key=lambda name: -(total * even[name] % whole))
    for name in by_remainder[:left]:
        parts[name] += 1
    return parts
