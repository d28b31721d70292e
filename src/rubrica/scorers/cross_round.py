"""cross_round_analysis: points for how this round continues the player's earlier rounds.

The three findings are defined in the docstring of the rule's model, CrossRoundAnalysis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean

import msgspec

from rubrica.model.context import Round
from rubrica.model.evaluation import RuleHit
from rubrica.model.rules import CrossRoundAnalysis, CrossRoundScoring
from rubrica.phrases import Code, Phrase, Strong, percent, phrase, signed
from rubrica.text.entities import entity_mentions, recurring_mentions, year_mentions

from .namespace import Namespace, is_number
from .rule import Reach, reach_with_zero, total_reach
from .rule_form import NAME, FormField, form_row
from .rule_type import RuleType

ROUNDS_READ = 200
"""Earlier rounds that are looked at, the latest ones."""


class Tracked(msgspec.Struct, frozen=True):
    """What one round holds of the tracked thing: its items, and the level that escalation compares."""

    items: frozenset[str]
    level: float


class CrossRoundRule(msgspec.Struct, frozen=True):
    """A compiled cross_round_analysis."""

    rule: CrossRoundAnalysis

    @property
    def reach(self) -> Reach:
        scoring = self.rule.scoring
        worths = (scoring.callback_detected, scoring.escalation_detected, scoring.consistency_bonus)
        return total_reach([reach_with_zero((points, points)) for points in worths])

    @property
    def names(self) -> frozenset[str]:
        return frozenset()  # without earlier rounds it gives nothing

    def __call__(self, namespace: Namespace) -> list[RuleHit]:
        context = namespace.context
        label = self.rule.name or self.rule.track
        if not context.round_history:
            return []
        rounds = list(zip(context.round_history, namespace.texts.history, strict=True))[-ROUNDS_READ:]
        earlier = [tracked for pair in rounds if (tracked := self._track_round(*pair)) is not None]
        if not earlier:
            return [RuleHit(label, self.rule.type, 0.0, error=f"no earlier round has {self.rule.track!r}")]
        now = self._track_now(namespace, frozenset().union(*(t.items for t in earlier)))
        if now is None:
            return [RuleHit(label, self.rule.type, 0.0, error=f"this round has no metric {self.rule.track!r}")]
        scoring = self.rule.scoring
        findings = (
            ("callback", scoring.callback_detected, self._callback(now, earlier)),
            ("escalation", scoring.escalation_detected, self._escalation(now, earlier)),
            ("consistency", scoring.consistency_bonus, self._consistency(now, earlier)),
        )
        return [
            RuleHit(f"{label}: {name}", self.rule.type, points, reason, category=name)
            for name, points, reason in findings
            if points and reason
        ]

    def _callback(self, now: Tracked, earlier: Sequence[Tracked]) -> str:
        far_enough = earlier[: max(0, len(earlier) - self.rule.callback_gap + 1)]
        shared = self._shared(now, frozenset().union(*(t.items for t in far_enough)))
        if len(shared) < self.rule.callback_items:
            return ""
        return f"takes up {', '.join(sorted(shared)[:5])} again"

    def _escalation(self, now: Tracked, earlier: Sequence[Tracked]) -> str:
        levels = [t.level for t in earlier[-(self.rule.escalation_rounds - 1) :]] + [now.level]
        if len(levels) < self.rule.escalation_rounds:
            return ""
        rising = all(before < after for before, after in pairwise(levels))
        return f"{self.rule.track} rose: {' → '.join(f'{level:g}' for level in levels)}" if rising else ""

    def _consistency(self, now: Tracked, earlier: Sequence[Tracked]) -> str:
        if self.rule.track not in ("entity_mentions", "year_mentions"):
            mean = fmean(t.level for t in earlier)
            near = abs(now.level - mean) <= self.rule.consistency_tolerance * abs(mean)
            return f"{now.level:g} stays near the earlier mean {mean:g}" if near else ""
        sharing = sum(bool(self._shared(now, t.items)) for t in earlier)
        if sharing == 0 or sharing / len(earlier) < self.rule.consistency_share:
            return ""
        return f"shares {self.rule.track} with {sharing} of {len(earlier)} earlier rounds"

    def _shared(self, now: Tracked, items: frozenset[str]) -> frozenset[str]:
        """The items of this round that were there before; of a name, a part of it is enough."""
        if self.rule.track == "entity_mentions":
            return frozenset(recurring_mentions(items, sorted(now.items)))
        return now.items & items

    def _track_now(self, namespace: Namespace, known: frozenset[str]) -> Tracked | None:
        match self.rule.track:
            case "entity_mentions":
                known |= {part for name in known for part in name.split()}
                return _entities(entity_mentions(namespace.texts.response, known))
            case "year_mentions":
                return _years(year_mentions(namespace.texts.response))
            case metric:
                return _metric(namespace.context.lookup(metric))

    def _track_round(self, earlier: Round, response: str) -> Tracked | None:
        match self.rule.track:
            case "entity_mentions":
                given = earlier.entities_mentioned
                return _entities(entity_mentions(response) if given is None else given)
            case "year_mentions":
                return _years(year_mentions(response))
            case metric:
                return _metric(earlier.custom_metrics.get(metric, earlier.scores.get(metric)))


def _entities(names: Sequence[str]) -> Tracked:
    items = frozenset(name.lower() for name in names)
    return Tracked(items, float(len(items)))


def _years(years: Sequence[int]) -> Tracked:
    return Tracked(frozenset(str(year) for year in years), float(max(years, default=0)))


def _metric(value: object) -> Tracked | None:
    if not is_number(value):
        return None
    return Tracked(frozenset({f"{value:g}"}), float(value))


def _phrases(rule: CrossRoundAnalysis) -> Iterator[Phrase]:
    track, scoring = Code(rule.track), rule.scoring
    if scoring.callback_detected:
        back = "an earlier round" if rule.callback_gap == 1 else f"a round at least {rule.callback_gap} rounds back"
        items = "something" if rule.callback_items == 1 else f"at least {rule.callback_items} things"
        yield phrase(
            Strong(signed(scoring.callback_detected)), f" when {items} from {back} comes up again (by ", track, ")."
        )
    if scoring.escalation_detected:
        rounds = f" when it rose over each of the last {rule.escalation_rounds} rounds (by "
        yield phrase(Strong(signed(scoring.escalation_detected)), rounds, track, ").")
    if scoring.consistency_bonus:
        alike = (
            f" when at least {percent(rule.consistency_share)} of the earlier rounds share something with this one (by "
        )
        if rule.track not in ("entity_mentions", "year_mentions"):
            alike = f" when it lies within {percent(rule.consistency_tolerance)} of its earlier mean (by "
        yield phrase(Strong(signed(scoring.consistency_bonus)), alike, track, ").")


CROSS_ROUND_ANALYSIS = RuleType(
    "cross_round_analysis",
    CrossRoundAnalysis,
    title="Points across rounds",
    says="callbacks, escalation and consistency over a game",
    begins={"type": "cross_round_analysis", "track": "entity_mentions", "scoring": {"callback_detected": 1}},
    form=(
        form_row(NAME, FormField("track")),
        form_row(
            FormField("scoring.callback_detected"),
            FormField("scoring.escalation_detected"),
            FormField("scoring.consistency_bonus"),
            says="Points for each finding; 0 is not looked for.",
        ),
    ),
    compile=lambda rule, _: CrossRoundRule(rule),
    phrases=_phrases,
    summary=lambda draft: str(draft.get("track", "")),
    reads_rounds=True,
    parts={"`scoring` of `cross_round_analysis`": CrossRoundScoring},
)
