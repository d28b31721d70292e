"""What a verdict means for its reader: good, bad, in between, open, or simply a label."""

from __future__ import annotations

from typing import Literal

from rubrica.errors import FormulaError, FormulaFault
from rubrica.formula import parse
from rubrica.model.evaluation import INCONCLUSIVE
from rubrica.model.rubric import Rubric
from rubrica.scoring.decision_plan import points_names, share_name

Role = Literal["good", "middle", "bad", "inconclusive", "neutral"]
ROLES: tuple[Role, ...] = ("good", "middle", "bad", "inconclusive", "neutral")

SIGNS: dict[Role, str] = {"good": "✓", "middle": "~", "bad": "✕", "inconclusive": "?", "neutral": "•"}
"""Shown beside the colour, so that the colour is never alone in saying it."""

_PLAIN_WORDS: dict[str, Role] = {
    **dict.fromkeys(("pass", "passed", "accept", "accepted", "approve", "deploy", "win", "good", "safe"), "good"),
    **dict.fromkeys(("revise", "review", "warn", "ab_test", "partial", "draw", "tie", "borderline"), "middle"),
    **dict.fromkeys(("fail", "failed", "reject", "rejected", "block", "lose", "bad", "unsafe"), "bad"),
}  # fmt: skip


def role_of(verdict: str, rubric: Rubric | None = None) -> Role:
    """The role of a verdict: what the rubric gives its best and worst response, else plain words, else neutral.

    >>> role_of("pass"), role_of("reject"), role_of("inconclusive"), role_of("scored")
    ('good', 'bad', 'inconclusive', 'neutral')
    """
    if verdict == INCONCLUSIVE:
        return "inconclusive"
    said = _PLAIN_WORDS.get(verdict.lower().replace("-", "_").replace(" ", "_"), "neutral")
    if rubric is None:
        return said
    best, worst = _first_holding(rubric, best=True), _worst(rubric)
    if best == worst:
        return said
    if verdict in (best, worst):
        return "good" if verdict == best else "bad"
    if said != "neutral":
        return said
    if any(rule.label == verdict for rule in rubric.verdicts):
        return "middle"
    return "bad" if any(gate.verdict == verdict for gate in rubric.gates) else "neutral"


class _Extremes(dict[str, object]):
    """What formulas read about the best or the worst response; what is not a score is 0."""

    def __missing__(self, name: str) -> object:
        return 0.0


def _extremes(rubric: Rubric, *, best: bool) -> _Extremes:
    names = _Extremes(rubric.settings)
    for name, dimension in rubric.dimensions.items():
        scale = rubric.scale_of(name)
        for own, axis in dimension.every(name):
            costs = axis.points is not None and axis.points < 0
            end = scale.max if best != costs else scale.min
            names |= {own[-1]: end, share_name(own[-1]): scale.share(end)}
        names |= dict.fromkeys(points_names(name), 1.0 if best else 0.0)
    profiles = rubric.profiles.named.values() if rubric.profiles is not None else ()
    thresholds = [profile.threshold for profile in profiles] + [rubric.threshold]
    names["threshold"] = next((threshold for threshold in thresholds if threshold is not None), 0.0)
    names["score"] = rubric.score.out_of if best else 0.0
    return names


def _first_holding(rubric: Rubric, *, best: bool) -> str:
    names = _extremes(rubric, best=best)
    return next(rule.label for rule in rubric.verdicts if rule.when is None or _holds(rule.when, names))


def _worst(rubric: Rubric) -> str:
    names = _extremes(rubric, best=False)
    forced = (gate.verdict for gate in rubric.gates if gate.verdict is not None and _holds(gate.when, names))
    return next(forced, None) or _first_holding(rubric, best=False)


def _holds(condition: str, names: _Extremes) -> bool:
    try:
        return parse(condition).holds(names)
    except (FormulaError, FormulaFault):
        return False  # it says nothing about this response
