"""How two measures go together."""

from __future__ import annotations

import math
from collections.abc import Sequence


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Pearson's correlation; None where either side does not vary.

    >>> pearson([1, 2, 3], [2, 4, 6])
    1.0
    """
    if min(xs) == max(xs) or min(ys) == max(ys):
        return None
    middle_x, middle_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    left, right = [x - middle_x for x in xs], [y - middle_y for y in ys]
    alone = math.sqrt(math.fsum(x * x for x in left) * math.fsum(y * y for y in right))
    return max(-1.0, min(1.0, math.fsum(x * y for x, y in zip(left, right, strict=True)) / alone)) if alone else None
