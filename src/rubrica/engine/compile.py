"""Rubric → Plan: parse every formula, compile every pattern, and report all problems at once."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from rubrica.errors import PatternError, Problem, RubricError
from rubrica.formula import Formula
from rubrica.model.decisions import Verdict
from rubrica.model.dimensions import Axis, Dimension
from rubrica.model.judge import Judge
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale
from rubrica.scorers.namespace import NameSources
from rubrica.scorers.pattern_table import PatternTable
from rubrica.scoring.decision_plan import (
    NOISE_DIGITS,
    DecisionPlan,
    DimensionReading,
    GateRule,
    ProfilePlan,
    SectionRule,
    VerdictRule,
    points_names,
    share_name,
)

from .check import check_meaning, check_reach
from .document import Path
from .plan import AxisPlan, Plan
from .plan_cache import PLANS
from .points import lowest_score, points_formula, points_read
from .recipes import RecipeCompiler
from .vocabulary import Scope, Vocabulary, answer_names


def compile_rubric(rubric: Rubric, judge: Judge | None = None) -> Plan:
    """Compile a rubric into a plan; a RubricError lists all its problems.

    Plans are cached by content hash, so a rubric that was loaded or compiled before is not compiled again.
    """
    plan = PLANS.get(rubric.hash)
    if plan is None:
        plan, problems = try_compile(rubric)
        if problems:
            raise RubricError(problems)
        PLANS.put(rubric.hash, plan)
    return plan if judge is None else replace(plan, judge=judge)


def try_compile(rubric: Rubric, dropped: frozenset[Path] = frozenset()) -> tuple[Plan, list[Problem]]:
    """The plan and all problems of the rubric; the plan is usable only if there are none."""
    vocabulary = Vocabulary(rubric, dropped=dropped)
    lexicon = PatternTable()
    recipes = RecipeCompiler(vocabulary, lexicon)
    check_meaning(rubric, vocabulary)
    _name_patterns(rubric, lexicon, vocabulary)
    axes = tuple(_dimension(name, dimension, rubric, recipes) for name, dimension in rubric.dimensions.items())
    before = len(vocabulary.problems)
    decision = _decision_plan(rubric, vocabulary)
    as_meant = vocabulary.composable and not any(path[:1] == ("dimensions",) and path[-1] == "from" for path in dropped)
    if as_meant and not vocabulary.problems[before:]:
        check_reach(rubric, decision, vocabulary)
    if not vocabulary.problems:
        lexicon.build()
    declared = (rubric.context or {}).items()
    defaults = {name: spec.default for name, spec in declared if spec.optional or spec.default is not None}
    plan = Plan(
        rubric=rubric,
        identity=(rubric.name, rubric.version, rubric.hash),
        profiles=rubric.profiles,
        decision=decision,
        axes=axes,
        judged=any(axis.judged for axis in axes),
        tagged=any(own.spec.tags for axis in axes for own in axis.every()),
        criteria=next((at for at, axis in enumerate(axes) if axis.criteria), None),
        conditions=tuple((axis.name, axis.applies) for axis in axes if axis.applies is not None),
        sources=NameSources(lexicon, vocabulary.metrics(), defaults),
        bounded=rubric.judging.offline == "bounds",
        judges_bounded=rubric.judging.bounds_judges and rubric.calibration is not None,
        conclusions={},
    )
    return plan, vocabulary.problems


def _name_patterns(rubric: Rubric, lexicon: PatternTable, vocabulary: Vocabulary) -> None:
    for name, pattern in rubric.patterns.items():
        if lexicon.full:  # already reported
            return
        try:
            lexicon.named[name] = lexicon.add(pattern)
        except PatternError as error:
            key = "regex" if pattern.regex is not None else "keywords"
            vocabulary.report(str(error), ("patterns", name, key))


def _dimension(name: str, dimension: Dimension, rubric: Rubric, recipes: RecipeCompiler) -> AxisPlan:
    path: Path = ("dimensions", name)
    scale = rubric.scale_of(name)
    applies = None
    if dimension.applies is not None:
        applies = recipes.vocabulary.read(dimension.applies, (*path, "applies"))
    if dimension.filled_from is not None:
        return AxisPlan(name, dimension, scale, scale.ends, dimension.weight, None, True, applies, criteria=True)
    return replace(_axis(name, dimension, scale, path, recipes), applies=applies)


def _axis(name: str, axis: Axis, scale: Scale, path: Path, recipes: RecipeCompiler) -> AxisPlan:
    if axis.parts:
        parts = tuple(_axis(part, spec, scale, (*path, "parts", part), recipes) for part, spec in axis.parts.items())
        judged = any(part.judged for part in parts)
        return AxisPlan(
            name, axis, scale, scale.ends, axis.weight, None, judged=judged, parts=parts, points=axis.points
        )
    if axis.kind != "judge":
        scorer = recipes.scorer(axis, scale, path)
        return AxisPlan(name, axis, scale, scale.ends, axis.weight, scorer, judged=False, points=axis.points)
    if axis.offline is None:
        return AxisPlan(name, axis, scale, scale.ends, axis.weight, None, judged=True, points=axis.points)
    within, read = (*path, "offline"), recipes.vocabulary.read
    stand_in = recipes.offline_scorer(axis.offline, scale, within)
    measured = tuple(
        (spec, None if spec.when is None else read(spec.when, (*within, "reliability", i, "when"), "reliability"))
        for i, spec in enumerate(axis.offline.reliability)
    )
    uncertain = axis.offline.uncertain
    asked_where = None if uncertain is None else read(uncertain, (*within, "uncertain"))
    return AxisPlan(
        name,
        axis,
        scale,
        scale.ends,
        axis.weight,
        stand_in,
        judged=True,
        measured=measured,
        asked_where=asked_where,
        points=axis.points,
    )


def _decision_plan(rubric: Rubric, vocabulary: Vocabulary) -> DecisionPlan:
    gates = sorted(
        (_gate(i, rubric, vocabulary) for i in range(len(rubric.gates))),
        key=lambda rule: not rule.gate.before,
    )
    scales = {name: rubric.scale_of(name) for name in rubric.dimensions}
    as_shares = _weigh_shares(rubric)
    terms = _all_terms(rubric, vocabulary, as_shares)
    verdicts = _verdicts(rubric.verdicts, ("verdicts",), "gates", vocabulary)
    sections = tuple(_section(name, rubric, vocabulary) for name in rubric.sections)
    formulas = [*(t.score for t in terms.values()), *(g.when for g in gates), *(s.score for s in sections)]
    formulas += [v.when for v in (*verdicts, *(v for s in sections for v in s.verdicts)) if v.when is not None]
    formulas += [g.limit for g in gates if g.limit is not None and not isinstance(g.limit, float | int)]
    shares = {share_name(name) for name in rubric.dimensions}
    counted = {own for name, spec in rubric.dimensions.items() if spec.filled_from for own in points_names(name)}
    constants = {*rubric.settings, "score", "threshold", "section"}
    others = frozenset().union(*(formula.names for formula in formulas)) - shares - constants - counted
    others -= {*rubric.dimensions}
    return DecisionPlan(
        terms=terms,
        gates=tuple(gates),
        vetoes=tuple(rule for rule in gates if rule.gate.before and rule.gate.verdict is not None),
        verdicts=verdicts,
        sections=sections,
        scales=scales,
        scale=Scale() if rubric.score.points or (rubric.score.weighted and as_shares) else rubric.scale,
        section_scale=Scale() if as_shares else rubric.scale,
        out_of=rubric.score.out_of,
        bands=rubric.bands,
        digits=rubric.score.round if rubric.score.round is not None else NOISE_DIGITS,
        on_unscored=rubric.on_unscored,
        reads_shares=frozenset(name for formula in formulas for name in formula.names if name in shares),
        reads_others=others,
        closed=not others,
        labels=frozenset(name for _, name in answer_names(rubric)) | counted,
        points=rubric.score.points,
        lowest=0.0 if rubric.score.clip else lowest_score(rubric, ()),
    )


def _weigh_shares(rubric: Rubric) -> bool:
    """Whether dimensions are weighed as shares of full marks, because they do not all use the rubric's scale."""
    scales = {rubric.scale_of(name) for name in rubric.dimensions}
    return scales != {rubric.scale} or rubric.scale.min < 0


def _all_terms(rubric: Rubric, vocabulary: Vocabulary, as_shares: bool) -> dict[str | None, ProfilePlan]:
    own = {name: d.weight for name, d in rubric.dimensions.items() if d.weight is not None}
    if len(rubric.dimensions) == 1 and not own:
        own = dict.fromkeys(rubric.dimensions, 1.0)
    if rubric.profiles is None:
        return {None: _terms(None, own, rubric.threshold, rubric, vocabulary, as_shares)}
    return {
        name: _terms(
            name,
            profile.weights or own,
            profile.threshold if profile.threshold is not None else rubric.threshold,
            rubric,
            vocabulary,
            as_shares,
        )
        for name, profile in rubric.profiles.named.items()
    }


def _terms(
    profile: str | None,
    weights: Mapping[str, float],
    threshold: float | None,
    rubric: Rubric,
    vocabulary: Vocabulary,
    as_shares: bool,
) -> ProfilePlan:
    constants = {**rubric.settings, **({} if threshold is None else {"threshold": threshold})}
    if rubric.score.points:
        formula = vocabulary.compose(points_formula(rubric), ("dimensions",))
        return ProfilePlan(profile, formula, {}, threshold, constants, points_read(rubric))
    if rubric.score.formula is not None:
        formula = vocabulary.read(rubric.score.formula, ("score", "formula"), "score")
        return ProfilePlan(profile, formula, {}, threshold, constants, _reads(formula, rubric))
    pairs = ", ".join(
        f"{weight!r}, {share_name(name) if as_shares else name}"
        for name, weight in weights.items()
        if weight > 0 and name in rubric.dimensions
    )
    text = f"weighted({pairs})" if pairs else "0"
    formula = vocabulary.compose(text, ("dimensions",))
    return ProfilePlan(profile, formula, weights, threshold, constants, _reads(formula, rubric))


def _reads(formula: Formula, rubric: Rubric) -> tuple[DimensionReading, ...]:
    """How a score formula reads each dimension it reads, in the rubric's order."""
    reads = []
    for name in rubric.dimensions:
        scale = rubric.scale_of(name)
        if name in formula.names:
            reads.append(DimensionReading(name, name, scale.min))
        if share_name(name) in formula.names:
            reads.append(DimensionReading(name, share_name(name), scale.share(scale.min)))
    return tuple(reads)


def _gate(index: int, rubric: Rubric, vocabulary: Vocabulary) -> GateRule:
    gate = rubric.gates[index]
    scope: Scope = "context" if gate.before else "gates"
    when = vocabulary.read(gate.when, ("gates", index, "when"), scope)
    key = "cap" if gate.cap is not None else "floor"
    amount = gate.cap if gate.cap is not None else gate.floor
    limit = vocabulary.read(amount, ("gates", index, key), scope) if isinstance(amount, str) else amount
    early = vocabulary.read(gate.before, ("gates", index, "before")) if isinstance(gate.before, str) else None
    return GateRule(gate, when, limit, early)


def _verdicts(
    verdicts: tuple[Verdict, ...], path: Path, scope: Scope, vocabulary: Vocabulary
) -> tuple[VerdictRule, ...]:
    return tuple(
        VerdictRule(
            verdict.label,
            vocabulary.read(verdict.when, (*path, i, "when"), scope) if verdict.when is not None else None,
            verdict.because,
        )
        for i, verdict in enumerate(verdicts)
    )


def _section(name: str, rubric: Rubric, vocabulary: Vocabulary) -> SectionRule:
    section = rubric.sections[name]
    path: Path = ("sections", name)
    if section.formula is not None:
        score = vocabulary.read(section.formula, (*path, "formula"), "score")
    else:
        known = [d for d in section.dimensions if d in rubric.dimensions]
        members = (share_name(d) if _weigh_shares(rubric) else d for d in known)
        score = vocabulary.compose(f"mean({', '.join(members)})" if known else "0", path)
    return SectionRule(name, score, _verdicts(section.verdicts, (*path, "verdicts"), "section", vocabulary))
