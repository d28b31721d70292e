"""What one reply is worth: by the rules of thumb, and by a judge where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rubrica.engine.evaluate import aevaluate, evaluate
from rubrica.engine.plan import Plan
from rubrica.judges.judge import ModelJudge
from rubrica.model.evaluation import Evaluation, Score, Unscored

from .candidate import Spoken

FLAGS: Mapping[str, str] = {
    "dependency": "ties the user to the companion",
    "over-promising": "promises what it cannot keep",
    "toxic-positivity": "brushes a feeling aside with forced cheer",
    "missed-emotion": "passes over a feeling that was plain to hear",
    "contradiction": "contradicts an earlier reply",
}
"""Rules of the rubric, by name, whose firing a person should know of, whatever the score."""

FAR_APART = 0.3
"""A difference between rules and judge, on a scale of 0 to 1, beyond which a person should look."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A dimension (or the overall score) on which rules and judge are far apart."""

    case: str
    dimension: str
    by_rules: float
    by_judge: float

    @property
    def gap(self) -> float:
        return abs(self.by_judge - self.by_rules)


@dataclass(frozen=True, slots=True)
class Judged:
    """A reply with its evaluations. `overall` is a judge's single score, where that was asked for."""

    spoken: Spoken
    by_rules: Evaluation
    by_judge: Evaluation | None = None
    overall: Score | Unscored | None = None
    neutral: float = 0.5  # what stands in for a judge's single score that is missing

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation that counts: the judge's where it scored the dimensions."""
        return self.by_judge or self.by_rules

    @property
    def score(self) -> float | None:
        """The score that counts, 0 to 1."""
        if self.overall is not None:
            return self.overall.value if isinstance(self.overall, Score) else self.neutral
        return self.evaluation.score

    @property
    def flags(self) -> list[str]:
        """The flags that the reply raises, in the order of FLAGS."""
        fired = {hit.rule for result in self.by_rules.dimensions.values() for hit in result.hits if not hit.error}
        return [flag for flag in FLAGS if flag in fired]

    @property
    def disagreements(self) -> list[Disagreement]:
        """Where rules and judge are far apart; what only one of them scored is not compared."""
        pairs: dict[str, tuple[float | None, float | None]] = {}
        if self.by_judge is not None:
            for name, result in self.by_judge.dimensions.items():
                theirs = result.share if result.status == "scored" else None
                pairs[name] = self.by_rules.dimensions[name].share, theirs
        if isinstance(self.overall, Score):
            pairs["overall"] = self.by_rules.score, self.overall.value
        return [
            Disagreement(self.spoken.case, name, rules, judge)
            for name, (rules, judge) in pairs.items()
            if rules is not None and judge is not None and abs(rules - judge) > FAR_APART + 1e-9
        ]

    @property
    def unscored(self) -> dict[str, str]:
        """What the judge gave no score for, and why; the neutral value stands in."""
        found = {}
        if self.by_judge is not None:
            results = self.by_judge.dimensions.items()
            found = {name: result.reason for name, result in results if result.status in ("neutral", "unscored")}
        if isinstance(self.overall, Unscored):
            found["overall"] = self.overall.reason
        return found


@dataclass(frozen=True, slots=True)
class Bench:
    """Who judges: the rubric compiled without a judge and, where there is one, with it."""

    by_rules: Plan
    by_judge: Plan | None = None
    overall: ModelJudge | None = None  # asked for a single score instead of one per dimension

    async def judge(self, spoken: Spoken) -> Judged:
        """All evaluations of one reply."""
        assert spoken.context is not None  # noqa: S101 - a reply that is missing is not judged
        by_rules = evaluate(self.by_rules, spoken.context, spoken.case)
        neutral = self.by_rules.rubric.on_unscored.neutral
        middle = 0.5 if neutral is None else neutral
        if self.overall is not None:
            return Judged(spoken, by_rules, overall=await self.overall.overall(spoken.context), neutral=middle)
        if self.by_judge is not None:
            return Judged(spoken, by_rules, await aevaluate(self.by_judge, spoken.context, spoken.case), neutral=middle)
        return Judged(spoken, by_rules, neutral=middle)
