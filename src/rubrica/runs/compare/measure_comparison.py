"""One line of a comparison: a measure in two runs, the difference, and what it comes to."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from rubrica.report.figures import count_of, figure, percent
from rubrica.runs.summary.measures import Measure
from rubrica.scoring.intervals import LEVEL, Estimate
from rubrica.scoring.paired import TestResult
from rubrica.scoring.power import POWER, cases_needed, fewest_pairs
from rubrica.scoring.resampling import REPLICATES

Verdict = Literal["improvement", "regression", "same", "cannot tell"]


@dataclass(frozen=True, slots=True)
class ComparisonTerms:
    """By what a comparison decides."""

    level: float = LEVEL
    margin: float = 0.02  # of the scale: what is smaller is as good as no difference
    power: float = POWER  # how often a difference that is there should be found
    grouped: bool = True  # whether groups of cases are heeded
    seed: int = 0
    replicates: int = REPLICATES

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {"level": self.level, "margin": self.margin, "power": self.power, "seed": self.seed}


@dataclass(frozen=True, slots=True)
class MeasureComparison:
    """A measure in two runs, over the cases that have a value in both. Above 0 is better."""

    measure: Measure
    rubric: str  # empty where only one is compared
    before: float
    after: float
    cases: int
    changed: int  # cases whose value is not the same
    clusters: int  # groups of cases; as many as cases where every one stands alone
    test: TestResult
    margin: float  # on the measure's scale
    error: float | None  # the standard error of the difference; None with fewer than two groups
    difference: Estimate | None = None  # None with fewer than two groups
    p: float = 1.0  # corrected for the tests beside it
    verdict: Verdict = "cannot tell"
    bound: float | None = None  # of "same": no difference is larger
    more: int | None = None  # of "cannot tell": how many more cases would tell; None: more do not help

    @property
    def mean(self) -> float:
        """The mean difference."""
        return self.difference.value if self.difference is not None else self.after - self.before

    @property
    def is_contradictory(self) -> bool:
        """Whether a few large differences outweigh many small ones to the other side."""
        return self.mean * self.test.lean <= 0 and self.changed > 0

    def with_verdict(self, terms: ComparisonTerms, share: float) -> MeasureComparison:
        """With its verdict. `share` is the share of the level that this line's test is held to."""
        if not self.changed:
            return replace(self, verdict="same", bound=0.0)
        if self.p <= _risk(terms) and not self.is_contradictory:
            return replace(self, verdict="improvement" if self.mean > 0 else "regression")
        reach = max(abs(self.difference.low), abs(self.difference.high)) if self.difference is not None else None
        if reach is not None and reach <= self.margin and self.clusters > 2:
            return replace(self, verdict="same", bound=reach)
        return replace(self, verdict="cannot tell", more=self._more(terms, share))

    def _more(self, terms: ComparisonTerms, share: float) -> int | None:
        """How many more cases would tell, if things stay as they look: a difference, or that none is larger."""
        if self.p <= _risk(terms):  # and yet torn: what is missing is not cases
            return None
        risk = _risk(terms) * share
        per_cluster = self.cases / self.clusters
        least = math.ceil(fewest_pairs(risk) * per_cluster)
        gap = max(abs(self.mean), self.margin - abs(self.mean))
        needed = cases_needed(self.error, self.cases, gap, level=risk, power=terms.power) if self.error and gap else 0
        return max(needed, least, self.cases + 1) - self.cases

    @property
    def description(self) -> str:
        """What it comes to, in words."""
        match self.verdict:
            case "improvement" | "regression":
                return self.verdict
            case "same" if not self.changed:
                return f"equal on all {self.cases:,} cases" if self.cases > 1 else "equal"
            case "same":
                return f"no difference larger than {self._told(self.bound or 0.0)}"
            case _ if self.more is None:
                return "cannot tell: a few large changes stand against many small ones"
            case _:
                word = "about" if self.error else "at least"
                return f"cannot tell; {word} {count_of(_rounded(self.more), 'more case')} would"

    def _told(self, value: float) -> str:
        if self.measure.kind == "passed":
            return f"{percent(value)} points"
        return figure(float(f"{value:.2g}"))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        found = self.difference
        return {
            "kind": self.measure.kind,
            "name": self.measure.name,
            "rubric": self.rubric or None,
            "before": self.before,
            "after": self.after,
            "difference": self.mean,
            "low": found.low if found is not None else None,
            "high": found.high if found is not None else None,
            "cases": self.cases,
            "changed": self.changed,
            "clusters": self.clusters,
            "p": self.test.p,
            "p_holm": self.p,
            "method": self.test.method,
            "verdict": self.verdict,
            "bound": self.bound,
            "more": self.more,
            "said": self.description,
        }


def _risk(terms: ComparisonTerms) -> float:
    return 1 - terms.level + 1e-12  # 1 - 0.95 is a little less than 0.05


def _rounded(count: int) -> int:
    """Two digits are as much as such an estimate is worth."""
    step: int = 10 ** max(len(str(count)) - 2, 0)
    return -(-count // step) * step
