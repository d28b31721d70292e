"""The fixed set of functions a formula may call: how many arguments each takes, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec


class Function(msgspec.Struct, frozen=True):
    """What an author may know about a function; how it computes is the business of each reading."""

    name: str
    usage: str  # how it is written
    says: str  # one line for the generated table
    least: int  # fewest arguments
    most: int | None  # most arguments; None: as many as one likes
    drops_absent: bool = False  # an argument that is just a name is left out when it does not apply

    @property
    def takes(self) -> str:
        """How many arguments, in words.

        >>> FUNCTIONS["log"].takes, FUNCTIONS["mean"].takes, FUNCTIONS["clamp"].takes
        ('1 or 2 arguments', '1 or more arguments', '3 arguments')
        """
        if self.most is None:
            return f"{self.least} or more arguments"
        if self.most == self.least:
            return f"{self.least} argument" + ("s" if self.least > 1 else "")
        return f"{self.least} or {self.most} arguments"


_AGGREGATES = (
    ("min", "the smallest argument"),
    ("max", "the largest argument"),
    ("mean", "the sum of the arguments over their number"),
    ("median", "the middle argument; of an even number, the mean of the middle two"),
    ("sum", "the arguments added up, from the left"),
    ("count", "how many of the arguments are true (not zero)"),
    ("any", "1 if at least one argument is true (not zero), else 0"),
    ("all", "1 if every argument is true (not zero), else 0"),
)
_WEIGHTED = "the mean of each x by the weight before it; weights that do not sum to 1 are scaled so that they do"
_POINTS = "each x times the points before it, added up, over the sum of the points above 0"
_ROUND = "x rounded to so many decimals (written as a number from -15 to 15; 0 if not given), halves to even"

_ALL = (
    *(Function(name, f"{name}(x, …)", says, 1, None, drops_absent=True) for name, says in _AGGREGATES),
    Function("weighted", "weighted(w1, x1, w2, x2, …)", _WEIGHTED, 2, None, drops_absent=True),
    Function("share_of_points", "share_of_points(p1, x1, p2, x2, …)", _POINTS, 2, None, drops_absent=True),
    Function("given", "given(name)", "1 if the name has a value, 0 if it is absent or missing", 1, 1),
    Function("abs", "abs(x)", "x without its sign", 1, 1),
    Function("round", "round(x), round(x, digits)", _ROUND, 1, 2),
    Function("floor", "floor(x)", "the largest whole number not above x", 1, 1),
    Function("ceil", "ceil(x)", "the smallest whole number not below x", 1, 1),
    Function("sqrt", "sqrt(x)", "the square root of x; x is not negative", 1, 1),
    Function("log", "log(x), log(x, base)", "the logarithm of x > 0, natural unless a base is given", 1, 2),
    Function("log1p", "log1p(x)", "the natural logarithm of 1 + x, for x > -1", 1, 1),
    Function("exp", "exp(x)", "e to the power of x", 1, 1),
    Function("clamp", "clamp(x, lo, hi)", "x, but not below lo and not above hi", 3, 3),
)

FUNCTIONS: Mapping[str, Function] = MappingProxyType({function.name: function for function in _ALL})
