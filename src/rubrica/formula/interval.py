"""Intervals of floats, and the arithmetic on them.

An interval holds every float that a step can give, bounds included. An infinite bound means "however
large": the values themselves are always finite, because a step that is not finite is a fault. IEEE
operations are monotone, so the bounds of sums, products and quotients are those operations on the
bounds, exactly; where a library function is only accurate to about one unit in the last place, its
bounds are moved outward by a few.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from itertools import product
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from rubrica.formula import arithmetic

_INF = math.inf
_MAX = sys.float_info.max
_WHOLE = 2.0**50  # whole numbers up to here are floats, with room to spare
_STEPS = 4  # units in the last place by which inexact bounds are moved outward


class Interval(msgspec.Struct, frozen=True):
    """All the values a name or a formula may still have.

    >>> Interval.of(0, 10).is_true, Interval.point(1).is_true, Interval.point(0).is_false
    (False, True, True)
    >>> 3.5 in Interval.of(0, 10)
    True
    """

    lo: float
    hi: float
    sure: bool = True  # False: for some of the values meant here, evaluation ends in a fault
    optional: bool = False  # True: the name may turn out to be absent

    ANY: ClassVar[Interval]  # any finite number at all

    @classmethod
    def point(cls, x: float) -> Interval:
        """A value that is known."""
        return cls.of(x, x)

    @classmethod
    def of(cls, lo: float, hi: float, *, optional: bool = False) -> Interval:
        """A value somewhere from lo to hi, both included."""
        low, high = float(lo), float(hi)
        if not low <= high or low == _INF or high == -_INF:
            raise ValueError(f"no finite number lies between {lo} and {hi}")
        return cls(low, high, optional=optional)

    @property
    def truth(self) -> bool | None:
        """Whether the value is non-zero, given that there is one; None when that is open."""
        if self.lo > 0 or self.hi < 0:
            return True
        return False if self.lo == 0 == self.hi else None

    @property
    def is_true(self) -> bool:
        """Non-zero for sure, with no fault possible."""
        return self.sure and self.truth is True

    @property
    def is_false(self) -> bool:
        """Zero for sure, with no fault possible."""
        return self.sure and self.truth is False

    @property
    def is_point(self) -> bool:
        return self.lo == self.hi

    def __contains__(self, x: float) -> bool:
        return self.lo <= x <= self.hi

    def unsure(self, unless: bool = False) -> Interval:
        """The same bounds, where a fault is possible unless something holds."""
        return self if unless else replace(self, sure=False)


Interval.ANY = Interval(-_INF, _INF)
UNKNOWN = Interval(-_INF, _INF, sure=False)  # nothing is known, not even whether there is a value


def down(x: float, steps: int = _STEPS) -> float:
    for _ in range(steps):
        x = math.nextafter(x, -_INF)
    return x


def up(x: float, steps: int = _STEPS) -> float:
    for _ in range(steps):
        x = math.nextafter(x, _INF)
    return x


def computed(lo: float, hi: float, sure: bool) -> Interval:
    """The result of a step that may overflow, which is a fault: so a bound that is infinite is not sure."""
    fits = lo > -_INF and hi < _INF
    return Interval(min(lo, _MAX), max(hi, -_MAX), sure and fits)


def union(a: Interval, b: Interval) -> Interval:
    return Interval(min(a.lo, b.lo), max(a.hi, b.hi), a.sure and b.sure)


def negated(a: Interval) -> Interval:
    return Interval(-a.hi, -a.lo, a.sure)


def add(a: Interval, b: Interval) -> Interval:
    return computed(a.lo + b.lo, a.hi + b.hi, a.sure and b.sure)


def subtract(a: Interval, b: Interval) -> Interval:
    return computed(a.lo - b.hi, a.hi - b.lo, a.sure and b.sure)


def multiply(a: Interval, b: Interval) -> Interval:
    # The values are finite, so what is zero times "however large" is zero.
    corners = [0.0 if x == 0 or y == 0 else x * y for x, y in product((a.lo, a.hi), (b.lo, b.hi))]
    return computed(min(corners), max(corners), a.sure and b.sure)


def divide(a: Interval, b: Interval) -> Interval:
    """
    >>> divide(Interval.of(1, 4), Interval.of(0, 2))
    Interval(lo=0.5, hi=inf, sure=False, optional=False)
    """
    if b.lo > 0 or b.hi < 0:
        # Infinity over infinity stands for quotients that the other corners enclose, and so does zero.
        corners = [0.0 if math.isinf(x) and math.isinf(y) else x / y for x, y in product((a.lo, a.hi), (b.lo, b.hi))]
        return computed(min(corners), max(corners), a.sure and b.sure)
    if b.lo < 0 < b.hi or b.lo == b.hi or a.lo < 0 < a.hi:
        return UNKNOWN
    # A divisor of one sign that reaches zero: zero is a fault, and next to it the quotient has no bound.
    far = b.hi if b.hi > 0 else b.lo
    near = [0.0 if math.isinf(x) and math.isinf(far) else x / far for x in (a.lo, a.hi)]
    if (a.lo >= 0) == (far > 0):
        return Interval(max(min(near), 0.0), _INF, sure=False)
    return Interval(-_INF, min(max(near), 0.0), sure=False)


def floor_divide(a: Interval, b: Interval) -> Interval:
    quotient = divide(a, b)
    ends = (a.lo, a.hi, b.lo, b.hi)
    if quotient.sure and all(map(math.isfinite, ends)) and max(-quotient.lo, quotient.hi) < _WHOLE:
        corners = [x // y for x, y in product((a.lo, a.hi), (b.lo, b.hi))]
        return Interval(min(corners), max(corners))
    # Python floors the exact quotient and we have the rounded one; past 2**53 it is rounded once more.
    return computed(down(floor_float(down(quotient.lo))), up(floor_float(up(quotient.hi))), sure=False)


def modulo(a: Interval, b: Interval) -> Interval:
    sure = a.sure and b.sure and (b.lo > 0 or b.hi < 0)
    lo, hi = min(b.lo, 0.0), max(b.hi, 0.0)  # the result has the sign of the divisor
    if b.lo >= 0 and a.lo >= 0:
        hi = min(hi, a.hi)
    if b.hi <= 0 and a.hi <= 0:
        lo = max(lo, a.lo)
    return Interval(lo, hi, sure)


def power(a: Interval, b: Interval) -> Interval:
    """
    >>> power(Interval.of(-3, 2), Interval.point(2))
    Interval(lo=0.0, hi=9.0, sure=True, optional=False)
    """
    limit = float(arithmetic.MAX_EXPONENT)
    sure = a.sure and b.sure and -limit <= b.lo and b.hi <= limit
    least, most = max(b.lo, -limit), min(b.hi, limit)
    if least > most:
        return UNKNOWN
    if least < 0 and a.lo <= 0 <= a.hi:  # a division by zero is possible, and any size next to it
        return Interval(0.0 if a.lo >= 0 else -_INF, _INF, sure=False)
    if a.lo >= 0:
        return _power_corners(a.lo, a.hi, least, most, sure)
    if not (least == most and least.is_integer()):
        return UNKNOWN
    if least % 2 == 0:
        near = 0.0 if a.hi > 0 else -a.hi
        return _power_corners(near, max(-a.lo, a.hi), least, least, sure)
    if a.hi <= 0:
        return negated(_power_corners(-a.hi, -a.lo, least, least, sure))
    below, above = (
        _power_corners(0.0, -a.lo, least, least, sure),
        _power_corners(0.0, a.hi, least, least, sure),
    )
    return Interval(-below.hi, above.hi, below.sure and above.sure)


def _power_corners(lo: float, hi: float, least: float, most: float, sure: bool) -> Interval:
    """Powers of a base that is not negative are monotone in both: the extremes are at the corners."""
    bounds = [_power_bounds(base, exponent) for base, exponent in product((lo, hi), (least, most))]
    return computed(max(min(low for low, _ in bounds), 0.0), max(high for _, high in bounds), sure)


def _power_bounds(base: float, exponent: float) -> tuple[float, float]:
    if math.isinf(base):
        at = 0.0 if exponent < 0 else 1.0 if exponent == 0 else _INF
        return at, at
    try:
        at = math.pow(base, exponent)
    except OverflowError:
        return _MAX, _INF
    # Where the power is a float exactly, an error under one unit cannot carry a smaller power past it.
    if base in (0, 1) or (
        exponent.is_integer() and abs(exponent) <= 8 and Fraction(base) ** int(exponent) == Fraction(at)
    ):
        return at, at
    return down(at), up(at)


def floor_float(x: float) -> float:
    return x if math.isinf(x) else float(math.floor(x))


def ceil_float(x: float) -> float:
    return x if math.isinf(x) else float(math.ceil(x))


def absolute(a: Interval) -> Interval:
    low = 0.0 if a.lo <= 0 <= a.hi else min(abs(a.lo), abs(a.hi))
    return Interval(low, max(abs(a.lo), abs(a.hi)), a.sure)


def floor(a: Interval) -> Interval:
    return Interval(floor_float(a.lo), floor_float(a.hi), a.sure)


def ceil(a: Interval) -> Interval:
    return Interval(ceil_float(a.lo), ceil_float(a.hi), a.sure)


def rounded(a: Interval, digits: Interval | None = None) -> Interval:
    places = digits.lo if digits is not None else 0.0
    lo, hi = (x if math.isinf(x) else arithmetic.rounded(x, places) for x in (a.lo, a.hi))
    return Interval(lo, hi, a.sure)


def sqrt(a: Interval) -> Interval:
    if a.hi < 0:
        return UNKNOWN
    return Interval(math.sqrt(max(a.lo, 0.0)), math.sqrt(a.hi), a.sure and a.lo >= 0)


def exp(a: Interval) -> Interval:
    lo, hi = (_exp(a.lo), _exp(a.hi))
    return computed(lo if a.lo == 0 else max(down(min(lo, _MAX)), 0.0), hi if a.hi == 0 else up(hi), a.sure)


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return _INF


def log(a: Interval, base: Interval | None = None) -> Interval:
    if a.hi <= 0:
        return UNKNOWN
    sure = a.sure and a.lo > 0
    smallest = max(a.lo, math.ulp(0.0))
    if base is None:
        return _outward(math.log(smallest), math.log(a.hi), sure)
    sure = sure and base.sure
    if base.lo <= 0 or base.lo <= 1 <= base.hi:
        return UNKNOWN
    if base.is_point:
        ends = sorted(arithmetic.log(x, base.lo) for x in (smallest, a.hi))
        return _outward(ends[0], ends[1], sure)
    of_base = _outward(math.log(base.lo), math.log(base.hi), sure)
    quotient = divide(_outward(math.log(smallest), math.log(a.hi), sure), of_base)
    return _outward(quotient.lo, quotient.hi, quotient.sure)


def log1p(a: Interval) -> Interval:
    if a.hi <= -1:
        return UNKNOWN
    smallest = max(a.lo, math.nextafter(-1.0, 0.0))
    return _outward(math.log1p(smallest), math.log1p(a.hi), a.sure and a.lo > -1)


def _outward(lo: float, hi: float, sure: bool) -> Interval:
    """Bounds given by a logarithm, which is exact only where it is zero."""
    return Interval(lo if lo == 0 else down(lo), hi if hi == 0 else up(hi), sure)


def clamp(x: Interval, lo: Interval, hi: Interval) -> Interval:
    ordered = lo.hi <= hi.lo
    low = min(max(x.lo, lo.lo), hi.lo)
    high = min(max(x.hi, lo.hi), hi.hi)
    return Interval(low, high, x.sure and lo.sure and hi.sure and ordered)
