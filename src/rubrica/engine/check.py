"""Checks what a rubric means: weights, anchors, bands, and verdicts or gates that can never apply."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from copy import copy
from itertools import pairwise

from rubrica.formula import Formula, Interval
from rubrica.formula.nodes import Number, walk
from rubrica.model.answers import label_name
from rubrica.model.bounds import MOST_CALLS
from rubrica.model.context import Metadata
from rubrica.model.dimensions import Axis, coverage_problems
from rubrica.model.evaluation import INCONCLUSIVE
from rubrica.model.rubric import Rubric
from rubrica.scorers.namespace import CONTEXT_COUNTS
from rubrica.scorers.reference_checks import REFERENCE_CHECKS
from rubrica.scoring.decision_plan import DecisionPlan, ProfilePlan, VerdictRule, share_name
from rubrica.text import text_features
from rubrica.text.question_type import TYPES

from .counting_check import check_parts, check_points, check_sum, check_tree
from .document import Path
from .vocabulary import Vocabulary, answer_names, axes_of, name_clashes

MOST_STEPS = 50_000
"""Parts of formulas worked out to find verdicts and gates that can never come true: at most a second."""


def check_meaning(rubric: Rubric, vocabulary: Vocabulary) -> None:
    """Collect what is wrong with numbers and names, apart from the formulas themselves."""
    check_tree(rubric, vocabulary)
    vocabulary.problems += name_clashes(rubric)
    _check_weights(rubric, vocabulary)
    profiles = rubric.profiles
    if profiles is not None and profiles.classify is not None and not profiles.named.keys() & set(TYPES):
        message = f"the classifier tells {', '.join(TYPES)} apart, and no profile is called so"
        vocabulary.report(message, ("profiles", "classify"), "name profiles as its types, or leave `classify` out")
    if rubric.notes is not None and rubric.context is not None and rubric.notes.by not in rubric.context:
        message = f"the notes depend on {rubric.notes.by!r}, which is not among the context names"
        vocabulary.report(message, ("notes", "by"), "declare it under `context`")
    for name in rubric.dimensions:
        for path, _, axis in axes_of(rubric, name):
            _check_axis(axis, rubric, name, path, vocabulary)
            if axis.parts:
                check_parts(axis.parts, (*path, "parts"), vocabulary)
    for name, section in rubric.sections.items():
        for i, dimension_name in enumerate(section.dimensions):
            _check_dimension(dimension_name, ("sections", name, "dimensions", i), rubric, vocabulary)
    _check_bands(rubric, vocabulary)
    _check_labels(rubric, vocabulary)
    _check_calibration(rubric, vocabulary)
    _check_calls(rubric, vocabulary)
    _check_pool(rubric, vocabulary)


def _check_calls(rubric: Rubric, vocabulary: Vocabulary) -> None:
    """One evaluation asks a bounded number of questions, also where each of the numbers is within its own bound."""
    judging = rubric.judging
    judged = sum(axis.kind == "judge" for _, _, axis in axes_of(rubric))
    asked = -(-judged // judging.batch) if judging.one_by_one else min(judged, 1)
    calls = asked * judging.repeats * judging.panel
    if calls > MOST_CALLS:
        what = f"{judged} judged dimensions" if judging.one_by_one else "one question"
        vocabulary.report(
            f"{what} × {judging.repeats} repeats × {judging.panel} judges make {calls:,} calls for one evaluation",
            ("judging",),
            f"at most {MOST_CALLS:,}; lower repeats or panel, or ask for all dimensions with `mode: together`",
        )


def check_reach(rubric: Rubric, decision: DecisionPlan, vocabulary: Vocabulary) -> None:
    """Collect verdicts that no scores can earn, and gates that no scores can set off."""
    effort = _Effort()
    worlds = [_World(rubric, decision, terms, effort) for terms in decision.terms.values()]
    for i, gate in enumerate(rubric.gates):
        rule = next(rule for rule in decision.gates if rule.gate is gate)
        if all(world.never(rule.when) for world in worlds):
            vocabulary.report(
                f"the gate {gate.name!r} can never fire",
                ("gates", i, "when"),
                "check its bounds against the scale",
            )
    reached = set().union(*(_reachable_rules(world, decision.verdicts) for world in worlds))
    for i, verdict in enumerate(decision.verdicts):
        if i not in reached:
            vocabulary.report(
                f"the verdict {verdict.label!r} can never be reached",
                ("verdicts", i),
                "check its condition against the scale, and the order of the rules",
            )


def _reachable_rules(world: _World, rules: tuple[VerdictRule, ...]) -> set[int]:
    """The verdict rules that may be the first to hold.

    The values of one name at a time are cut at the numbers that the rules compare with, so that a rule in the shadow
    of an earlier one is found: after ``score >= 50``, nothing is left for ``score >= 90``.
    """
    conditions = [rule.when for rule in rules if rule.when is not None]
    reached = set(range(len(rules)))
    for name in frozenset().union(*(condition.names for condition in conditions)):
        first: set[int] = set()
        for part in world.cut(name, conditions):
            first |= _first_in(part, rules)
            if reached <= first or world.effort.is_exhausted:
                break
        if world.effort.is_exhausted:
            break
        reached &= first
    return reached


def _first_in(world: _World, rules: tuple[VerdictRule, ...]) -> set[int]:
    found = set()
    for i, rule in enumerate(rules):
        if rule.when is None or not world.never(rule.when):
            found.add(i)
        if rule.when is None or world.always(rule.when):
            break
    return found


class _Effort:
    """How much may still be worked out. Spent, nothing more is proven, so that nothing more is reported."""

    def __init__(self) -> None:
        self._left = MOST_STEPS
        self._sizes: dict[int, int] = {}  # by formula

    @property
    def is_exhausted(self) -> bool:
        return self._left <= 0

    def take(self, formula: Formula) -> bool:
        """Whether a formula may be read once more."""
        size = self._sizes.get(id(formula))
        if size is None:
            size = self._sizes[id(formula)] = sum(1 for _ in walk(formula.root))
        self._left -= size
        return not self.is_exhausted


class _World:
    """Everything that can happen under one profile, as intervals."""

    def __init__(self, rubric: Rubric, decision: DecisionPlan, terms: ProfilePlan, effort: _Effort) -> None:
        self.effort = effort
        self._names: dict[str, Interval] = {name: Interval.of(f.low, f.high) for name, f in text_features().items()}
        self._names |= {name: Interval.of(0.0, math.inf) for name in rubric.patterns}
        self._names |= dict.fromkeys(CONTEXT_COUNTS, Interval.of(0.0, math.inf))
        self._names |= dict.fromkeys(REFERENCE_CHECKS, Interval.of(0.0, 1.0))
        self._names |= dict.fromkeys([*rubric.settings, *Metadata.model_fields], _ANYTHING)
        for name, given in (rubric.context or {}).items():
            self._names[name] = Interval(-math.inf, math.inf, optional=given.optional)
        if terms.threshold is not None:
            self._names["threshold"] = Interval.point(terms.threshold)
        for dimension, spec in rubric.dimensions.items():
            scale = rubric.scale_of(dimension)
            absent = spec.applies is not None or rubric.on_unscored.policy == "skip"
            for names, axis in spec.every(dimension):
                self._names[names[-1]] = Interval(scale.min, scale.max, optional=absent)
                if axis.answer_set is not None:
                    labels = (label_name(names[-1], label) for label in axis.answers)
                    self._names |= dict.fromkeys(labels, Interval(0.0, 1.0, optional=absent))
            self._names[share_name(dimension)] = Interval(scale.share(scale.min), 1.0, optional=absent)
        self._names["score"] = self._score(decision, terms)

    def cut(self, name: str, conditions: list[Formula]) -> Iterator[_World]:
        """The same world in parts: by single values of a name, and by the stretches between them."""
        if not all(self.effort.take(condition) for condition in conditions):
            return iter(())
        full = self._names.get(name, _ANYTHING)
        threshold = self._names.get("threshold")
        numbers = {node.value for condition in conditions for node in walk(condition.root) if isinstance(node, Number)}
        numbers |= {threshold.lo} if threshold is not None else set()
        cuts = sorted({full.lo, full.hi, *(number for number in numbers if full.lo < number < full.hi)})
        parts = [Interval(at, at, optional=full.optional) for at in cuts if math.isfinite(at)]
        between = ((math.nextafter(low, math.inf), math.nextafter(high, -math.inf)) for low, high in pairwise(cuts))
        parts += [Interval(low, high, optional=full.optional) for low, high in between if low <= high]
        return (self._with(name, part) for part in parts)

    def _with(self, name: str, values: Interval) -> _World:
        part = copy(self)
        part._names = {**self._names, name: values}
        return part

    def _score(self, decision: DecisionPlan, terms: ProfilePlan) -> Interval:
        raw = self._read(terms.score)
        low, high = (decision.to_score(_finite(end, decision.scale.max)) for end in (raw.lo, raw.hi))
        for rule in decision.gates:
            limit = Interval.of(0.0, decision.out_of) if isinstance(rule.limit, Formula) else None
            if rule.gate.cap is not None:
                low = min(low, limit.lo if limit else max(float(rule.gate.cap), 0.0))
            if rule.gate.floor is not None:
                high = max(high, limit.hi if limit else min(float(rule.gate.floor), decision.out_of))
        return Interval.of(low, high)

    def never(self, condition: Formula) -> bool:
        if not self.effort.take(condition):
            return False
        found = self._read(condition)
        return found.lo == found.hi == 0.0

    def always(self, condition: Formula) -> bool:
        return self.effort.take(condition) and self._read(condition).is_true

    def _read(self, formula: Formula) -> Interval:
        return formula.interval({name: self._names.get(name, _ANYTHING) for name in formula.names})


_ANYTHING = Interval.of(-math.inf, math.inf)


def _finite(value: float, bound: float) -> float:
    return min(max(value, -abs(bound) * 1e6), abs(bound) * 1e6)


def _check_weights(rubric: Rubric, vocabulary: Vocabulary) -> None:
    check_points(rubric, vocabulary)
    profiles: Mapping[str, object] = rubric.profiles.named if rubric.profiles else {}
    if rubric.profiles:
        for name, profile in rubric.profiles.named.items():
            for dimension in profile.weights:
                _check_dimension(dimension, ("profiles", name, "weights", dimension), rubric, vocabulary)
            if profile.weights:
                check_sum(profile.weights, ("profiles", name, "weights"), vocabulary)
                if not rubric.score.weighted:
                    way = "a formula" if rubric.score.formula is not None else "in points"
                    path: Path = ("profiles", name, "weights")
                    vocabulary.report(f"has weights, but the score is {way}", path, "drop one")
    if not rubric.score.weighted or any(spec.points is not None for spec in rubric.dimensions.values()):
        return
    every_profile_weighs = (
        bool(profiles) and all(p.weights for p in rubric.profiles.named.values()) if rubric.profiles else False
    )
    weights = {name: dimension.weight for name, dimension in rubric.dimensions.items()}
    if every_profile_weighs and not any(weight is not None for weight in weights.values()):
        return
    if len(weights) > 1 or next(iter(weights.values())) is not None:
        check_sum(weights, ("dimensions",), vocabulary)


def _check_axis(axis: Axis, rubric: Rubric, dimension: str, path: Path, vocabulary: Vocabulary) -> None:
    scale = rubric.scale_of(dimension)
    for gap in coverage_problems(axis, scale):
        vocabulary.report(f"the anchors do not fit the scale {scale}: {gap}", (*path, "anchors"))
    for i, example in enumerate(axis.examples):
        if example.score is not None and not scale.holds(example.score):
            vocabulary.report(f"{example.score:g} is off the scale {scale}", (*path, "examples", i, "score"))
    neutral = rubric.on_unscored.neutral
    if neutral is not None and not scale.holds(neutral):
        vocabulary.report(
            f"the neutral value {neutral:g} is off the scale {scale} of {dimension}",
            ("on_unscored", "neutral"),
        )
    _check_answers(axis, rubric, dimension, path, vocabulary)
    if axis.start and not scale.holds(axis.start) and axis.scoring == "cumulative":
        vocabulary.report(f"start {axis.start:g} is off the scale {scale}", (*path, "start"))


def _check_answers(axis: Axis, rubric: Rubric, dimension: str, path: Path, vocabulary: Vocabulary) -> None:
    scale = rubric.scale_of(dimension)
    for label, value in axis.answers.items():
        if value is not None and not scale.holds(value):
            fix = f"give {dimension} a scale of its own, such as `scale: {{min: 0, max: 1}}`, or another value"
            vocabulary.report(f"{value:g} is off the scale {scale}", (*path, "answers", label), fix)
    if (axis.answers or axis.answers_for_parts) and rubric.judging.mode == "yes_no":
        fix = "ask with `mode: each` or `together`"
        vocabulary.report(
            "has answers, and `judging.mode: yes_no` weighs yes against no itself", (*path, "answers"), fix
        )


def _check_pool(rubric: Rubric, vocabulary: Vocabulary) -> None:
    if rubric.judging.pool in ("majority", "unanimous", "any") and not answer_names(rubric):
        message = f"{rubric.judging.pool} pools answers, and no dimension has `answers`"
        vocabulary.report(message, ("judging", "pool"), "pool scores by median, mean, trimmed or weighted")


def _check_dimension(name: str, path: Path, rubric: Rubric, vocabulary: Vocabulary) -> None:
    if name not in rubric.dimensions and not vocabulary.is_unreadable(name):
        vocabulary.report(f"there is no dimension {name!r}", path, f"one of {', '.join(rubric.dimensions)}")


def _check_calibration(rubric: Rubric, vocabulary: Vocabulary) -> None:
    scales = {name: rubric.scale_of(name) for name in rubric.dimensions}
    scales |= {name: scales[str(path[1])] for path, name, _ in axes_of(rubric)}
    answered = {name for _, name, axis in axes_of(rubric) if axis.answers}
    for name, correction in (rubric.calibration.dimensions if rubric.calibration is not None else {}).items():
        path: Path = ("calibration", "dimensions", name)
        if name not in scales:
            vocabulary.report(f"there is no dimension {name!r} to correct", path, "calibrate again, or remove it")
        elif name in answered:
            vocabulary.report(f"{name} has answers, which are not corrected", path, "remove it")
        elif correction.scale != scales[name]:
            message = f"was learned on the scale {correction.scale}, but {name} has {scales[name]}"
            vocabulary.report(message, path, "calibrate again, or remove it")


def _check_bands(rubric: Rubric, vocabulary: Vocabulary) -> None:
    if rubric.bands and min(rubric.bands.values()) > 0:
        vocabulary.report(
            "no band starts at 0, so that low scores would have none", ("bands",), "let the lowest start at 0"
        )
    if len(set(rubric.bands.values())) < len(rubric.bands):
        vocabulary.report("two bands start at the same share", ("bands",))


def _check_labels(rubric: Rubric, vocabulary: Vocabulary) -> None:
    for i, verdict in enumerate(rubric.verdicts):
        if verdict.label == INCONCLUSIVE:
            vocabulary.report(
                f"{INCONCLUSIVE!r} is what Rubrica says itself",
                ("verdicts", i, "label"),
                "choose another label",
            )
    names = [gate.name for gate in rubric.gates]
    for i, name in enumerate(names):
        if name in names[:i]:
            vocabulary.report(f"two gates are called {name!r}", ("gates", i, "name"), "give each its own name")
