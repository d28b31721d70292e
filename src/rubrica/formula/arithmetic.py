"""What a formula does with numbers where Python's own operators are not enough.

Every value is a float. A name's value may be an int, bool, float, or another real number such as Decimal
or a numpy scalar: it is turned into the nearest float when it is read, so 2**53 + 1 is read as 2**53,
and an integer past 1.8e308 is a fault. No arithmetic is ever done on the original, so no integer,
however long, can slow a formula down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from operator import mul

from rubrica.errors import FormulaFault

MAX_EXPONENT = 64
EVEN_WEIGHTS = 1e-9  # weights that sum to 1 within this are used as they are


def argument(value: object, name: str) -> float | None:
    """The finite number a name stands for, or None when it is absent.

    >>> argument(True, "passed"), argument(None, "image_score")
    (1.0, None)
    """
    return None if value is None else number(value, name)


def number(value: object, name: str) -> float:
    """The finite number a name stands for; anything else is a fault.

    >>> number("7", "score")
    Traceback (most recent call last):
    rubrica.errors.FormulaFault: 'score' is a str, not a number
    """
    if value is None:
        raise FormulaFault(f"'{name}' is absent: it does not apply here")
    # The first test is for speed: whole numbers are common, and the abstract Real is slow to ask about.
    if not isinstance(value, (int, float)) and not isinstance(value, (Real, Decimal)):
        raise FormulaFault(f"'{name}' is a {type(value).__name__}, not a number")
    try:
        read = float(value)
    except OverflowError:
        raise FormulaFault(f"'{name}' is too large for a formula") from None
    except (ArithmeticError, TypeError, ValueError):
        raise FormulaFault(f"'{name}' is a {type(value).__name__} without a numeric value") from None
    if not math.isfinite(read):
        raise FormulaFault(f"'{name}' is {read}, not a finite number")
    return read


def overflow() -> float:
    """Called where a step is not finite; the caller knows which one."""
    raise OverflowError


def power(base: float, exponent: float) -> float:
    """``base ** exponent`` within bounds.

    >>> power(2.0, 10.0)
    1024.0
    """
    if not -MAX_EXPONENT <= exponent <= MAX_EXPONENT:
        raise FormulaFault(f"the exponent {exponent:g} is outside -{MAX_EXPONENT} to {MAX_EXPONENT}")
    if base < 0 and not exponent.is_integer():
        raise FormulaFault(f"{base:g} ** {exponent:g}: a negative number has no fractional power")
    if base == 0 and exponent < 0:
        raise FormulaFault(f"division by zero in 0 ** {exponent:g}")
    try:
        return math.pow(base, exponent)
    except OverflowError:
        raise FormulaFault(f"{base:g} ** {exponent:g} is too large") from None


def sqrt(x: float) -> float:
    if x < 0:
        raise FormulaFault(f"sqrt({x:g}): a negative number has no square root")
    return math.sqrt(x)


def log(x: float, base: float | None = None) -> float:
    """The logarithm; to base 10 and 2 it is exact for exact powers.

    >>> log(1000.0, 10.0)
    3.0
    """
    if x <= 0:
        raise FormulaFault(f"log({x:g}): only a number above zero has a logarithm")
    if base is None:
        return math.log(x)
    if base <= 0 or base == 1:
        raise FormulaFault(f"log to base {base:g}: a base is above zero and not 1")
    if base == 10:
        return math.log10(x)
    if base == 2:
        return math.log2(x)
    return math.log(x) / math.log(base)


def log1p(x: float) -> float:
    if x <= -1:
        raise FormulaFault(f"log1p({x:g}): only a number above -1 has one")
    return math.log1p(x)


def exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        raise FormulaFault(f"exp({x:g}) is too large") from None


def floor(x: float) -> float:
    return float(math.floor(x))


def ceil(x: float) -> float:
    return float(math.ceil(x))


def rounded(x: float, digits: float = 0.0) -> float:
    return round(x, int(digits))


def clamp(x: float, lo: float, hi: float) -> float:
    if lo > hi:
        raise FormulaFault(f"clamp from {lo:g} down to {hi:g}: the lower bound is above the upper one")
    return lo if x < lo else hi if x > hi else x


def present(function: str, values: tuple[float | None, ...]) -> list[float]:
    """The values of an aggregate without the absent ones; there must be one left."""
    kept = [value for value in values if value is not None]
    if not kept:
        raise FormulaFault(f"{function}: every argument is absent, so there is nothing to take")
    return kept


def finite(value: float, function: str) -> float:
    if not math.isfinite(value):
        raise FormulaFault(f"{function} is too large to be a finite number")
    return value


def added(values: list[float]) -> float:
    """From the left, as ``a + b + c`` would be: the built-in sum() rounds differently from Python 3.12 on."""
    total = values[0]
    for value in values[1:]:
        total += value
    return total


def middle(values: list[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def lowest(*values: float | None) -> float:
    return min(present("min", values))


def highest(*values: float | None) -> float:
    return max(present("max", values))


def mean(*values: float | None) -> float:
    kept = present("mean", values)
    return finite(added(kept) / len(kept), "mean")


def median(*values: float | None) -> float:
    return finite(middle(present("median", values)), "median")


def total(*values: float | None) -> float:
    return finite(added(present("sum", values)), "sum")


def count(*values: float | None) -> float:
    return float(sum(value != 0 for value in present("count", values)))


def any_true(*values: float | None) -> float:
    return 1.0 if any(present("any", values)) else 0.0


def all_true(*values: float | None) -> float:
    return 1.0 if all(present("all", values)) else 0.0


def scale(weights: Sequence[float]) -> float:
    """What a weighted sum is divided by: 1 when the weights sum to 1 already, so that plain decimals stay so.

    >>> scale([0.35, 0.1, 0.2, 0.15, 0.2]), scale([3.0, 1.0])
    (1.0, 4.0)
    """
    weight = math.fsum(weights)
    return 1.0 if abs(weight - 1) <= EVEN_WEIGHTS else weight


def given(names: Mapping[str, object], name: str) -> float:
    """Whether a name has a value at all.

    >>> given({"a": 3.0, "b": None}, "a"), given({"a": 3.0, "b": None}, "b"), given({}, "c")
    (1.0, 0.0, 0.0)
    """
    try:
        return 0.0 if names[name] is None else 1.0
    except KeyError:
        return 0.0


def share_of_points(*pairs: float | None) -> float:
    """The points earned, each times what stands after it, over the sum of the positive ones.

    >>> share_of_points(5.0, 1.0, 3.0, 0.0, -2.0, 1.0), share_of_points(5.0, None, 2.0, 0.5)
    (0.375, 0.5)
    """
    kept = [(p, x) for p, x in zip(pairs[::2], pairs[1::2], strict=True) if p is not None and x is not None]
    possible = math.fsum(p for p, _ in kept if p > 0)
    if possible == 0:
        raise FormulaFault("share_of_points: nothing with points above zero is there to be earned")
    return finite(added([p * x for p, x in kept]) / possible, "share_of_points")


def weighted(weights: tuple[float, ...], *values: float | None) -> float:
    """The mean of the values present by their weights.

    >>> weighted((0.5, 0.25, 0.25), 8.0, None, 2.0)
    6.0
    """
    kept = present("weighted", values)
    if len(kept) < len(values):
        weights = tuple(weight for weight, value in zip(weights, values, strict=True) if value is not None)
    divisor = scale(weights)
    if divisor == 0:
        raise FormulaFault("weighted: every argument that has a weight is absent")
    return finite(added(list(map(mul, weights, kept))) / divisor, "weighted")
