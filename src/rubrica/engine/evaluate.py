"""Applies a plan to a context: pre-gates → scores → gates → score → verdict → Evaluation."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping

import msgspec

from rubrica.errors import FormulaFault
from rubrica.formula import Formula
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import INCONCLUSIVE, Evaluation, Score, Unscored
from rubrica.model.judge import Judge, Judgement, QuestionClass, QuestionJudge
from rubrica.model.scale import Scale
from rubrica.scorers.namespace import Namespace
from rubrica.scoring.decision_plan import ProfilePlan
from rubrica.scoring.weigh import weigh

from .case_plan import case_plan, check_answered, no_criteria
from .classified_profile import UNASKED, TypeAnswer
from .outcomes import NotApplicable, NotNeeded, Outcome
from .parts import spent, weigh_parts
from .plan import AxisPlan, Plan
from .profile_verdicts import verdicts_by_profile
from .record import record, record_state
from .reliability import asks_judge, with_bounds
from .repeats import repeat_verdicts
from .state import EvaluationState, formula_values
from .waves import next_wave, waiting_leaves

NO_JUDGE = Unscored("no judge is configured and the rubric has no offline scorer for it")


def evaluate(plan: Plan, context: Context, case: str | None = None, *, notify: bool = True) -> Evaluation:
    """Score by code alone: judged dimensions use their offline scorer, and are marked so. With `notify` false,
    listeners do not get the evaluation."""
    state = score_by_code(plan, context) if plan.judged else begin(plan, context)
    return record(state, case) if notify else record_state(state, case)


def score_by_code(plan: Plan, context: Context) -> EvaluationState:
    """A state in which code has scored all it can, ready to be recorded."""
    state = begin(plan, context)
    if plan.judged:
        for axis in state.waiting:
            if _decided(state):
                break
            _set_outcome(state, axis, {})
    return state


async def aevaluate(plan: Plan, context: Context, case: str | None = None) -> Evaluation:
    """Score with the plan's judge where it has one."""
    if plan.judge is None:
        return evaluate(plan, context, case)
    state = begin(plan, context)
    if isinstance(plan.judge, QuestionJudge) and _type_is_open(state):
        answer = TypeAnswer(await _ask_type(state, plan.judge))
        state = msgspec.structs.replace(begin(plan, context, answer), started=state.started)
    return await ask_judge(state, plan.judge, case)


async def ask_judge(state: EvaluationState, judge: Judge, case: str | None = None) -> Evaluation:
    """Score what only a judge can, after `begin`."""
    _score_parts_by_code(state)
    while (waiting := waiting_leaves(state)) and not _decided(state):
        wave = next_wave(state, waiting) if state.plan.rubric.judging.stop == "decided" else waiting
        asked = {leaf.name: leaf.spec for _, leaf in wave if leaf.judged and asks_judge(state, leaf)}
        replies = await _ask(state, judge, asked) if asked else {}
        if isinstance(replies, Judgement) and replies.remarks is not None:
            state.remarks = replies.remarks
        for axis, leaf in wave:
            found = _outcome(state, leaf, replies, score_by_code=True)
            if leaf is axis:
                state.outcomes[axis.name] = found
            else:
                state.parts.setdefault(axis.name, {})[leaf.name] = found
        for axis in {axis.name: axis for axis, leaf in wave if leaf is not axis}.values():
            if all(leaf.name in state.parts[axis.name] for leaf in axis.leaves):
                _set_outcome(state, axis, {})
    return record(state, case)


def _score_parts_by_code(state: EvaluationState) -> None:
    """Give the parts that no judge is asked about their outcomes: they cost nothing, and may decide."""
    for axis in state.waiting:
        if axis.parts:
            own = state.parts.setdefault(axis.name, {})
            for leaf in axis.leaves:
                if not (leaf.judged and asks_judge(state, leaf)):
                    own[leaf.name] = _outcome(state, leaf, {}, score_by_code=True)
            if all(leaf.name in own for leaf in axis.leaves):
                _set_outcome(state, axis, {})


def _type_is_open(state: EvaluationState) -> bool:
    """Whether another type of question is plausible, and the type still matters."""
    if not state.terms.others or state.stopped:
        return False
    return bool(state.waiting) or len(set(verdicts_by_profile(state).values())) > 1


async def _ask_type(state: EvaluationState, judge: QuestionJudge) -> QuestionClass:
    """Ask a judge for the type of the question, for no longer than the rubric's deadline leaves."""
    seconds = state.plan.rubric.judging.deadline
    try:
        async with asyncio.timeout(seconds):
            return await judge.question_type(state.context)
    except Exception as error:  # noqa: BLE001 - the boundary of a scorer, as below
        reason = f"the judge gave no type: {type(error).__name__}: {error}"
        return QuestionClass("", 0.0, "fallback", reason)


async def _ask(state: EvaluationState, judge: Judge, axes: Mapping[str, Axis]) -> Mapping[str, Score | Unscored]:
    """Ask a judge, for no longer than the rubric's deadline leaves. Any exception counts as the judge's failure."""
    seconds = state.plan.rubric.judging.deadline
    left = None if seconds is None else max(seconds - (time.perf_counter() - state.started), 0.0)
    try:
        async with asyncio.timeout(left) as limit:
            return await judge(axes, state.context)
    except Exception as error:  # noqa: BLE001 - the boundary of a scorer: a judge of anyone's may fail in any way
        if limit.expired():
            return dict.fromkeys(axes, Unscored(f"no answer within the deadline of {seconds:g} s", "llm"))
        return dict.fromkeys(axes, Unscored(f"the judge failed: {type(error).__name__}: {error}", "llm"))


def evaluate_scores(
    plan: Plan,
    context: Context,
    given: Mapping[str, Score | Unscored],
    case: str | None = None,
    stored: Evaluation | None = None,
    *,
    notify: bool = True,
) -> Evaluation:
    """Compute an Evaluation from given scores: nothing is scored.

    Keys are names of dimensions or of parts; a dimension without a score is Unscored. From a `stored` evaluation,
    the judge's remarks and its type of question are kept. With `notify` false it is a step on the way to
    another evaluation, and listeners do not get it.
    """
    chosen = stored.classified if stored is not None else None
    state = _open(plan, context, TypeAnswer(stored=chosen) if chosen is not None and chosen.by == "judge" else UNASKED)
    state.voted = any(outcome.votes for outcome in given.values())
    state.remarks = stored.remarks if stored is not None else None
    for axis in state.plan.axes:
        if axis.name in given and not _stays_open(state, axis, given[axis.name]):
            state.outcomes[axis.name] = _accept(state, given[axis.name], axis)
            if axis.parts:
                own = {part.name: _accept(state, given[part.name], part) for part in axis.every() if part.name in given}
                state.parts[axis.name] = {name: found for name, found in own.items() if name != axis.name}
        elif axis.name not in state.outcomes:
            _set_outcome(state, axis, given, score_by_code=False)
    return record(state, case) if notify else record_state(state, case)


def _stays_open(state: EvaluationState, axis: AxisPlan, given: Score | Unscored) -> bool:
    """Whether an axis is unscored because it is not known whether it applies."""
    before = state.outcomes.get(axis.name)
    return isinstance(given, Unscored) and isinstance(before, Unscored) and before.may_not_apply


def begin(plan: Plan, context: Context, answer: TypeAnswer = UNASKED) -> EvaluationState:
    """A state in which everything that needs no judge is scored, or nothing if a gate decides before scoring."""
    state = _open(plan, context, answer)
    check_answered(plan, context)
    if plan.decision.vetoes and apply_vetoes(state):
        return state
    outcomes, namespace = state.outcomes, state.namespace
    for axis in state.plan.axes:
        if axis.judged or axis.name in outcomes:
            continue
        if axis.scorer is not None:
            outcomes[axis.name] = axis.scorer(namespace)
        else:
            _set_outcome(state, axis, {})
    return state


def _open(plan: Plan, context: Context, answer: TypeAnswer = UNASKED) -> EvaluationState:
    if plan.criteria is not None or context.criteria:
        plan = case_plan(plan, context)
    terms = plan.terms(context, answer)
    return open_state(plan, terms, Namespace(context, plan.sources, terms.constants))


def open_state(plan: Plan, terms: ProfilePlan, namespace: Namespace) -> EvaluationState:
    """The initial state: only axes that do not apply have an outcome."""
    state = EvaluationState(plan, namespace.context, terms, namespace)
    if plan.criteria is not None and not plan.axes[plan.criteria].parts:
        state.outcomes[plan.axes[plan.criteria].name] = Unscored(no_criteria(namespace.context))
    for name, applies in plan.conditions:
        try:
            applies_here = namespace.holds(applies)
            if applies_here is None:
                state.outcomes[name] = _open_condition(plan.decision.scales[name], applies, namespace)
            elif not applies_here:
                state.outcomes[name] = NotApplicable(f"nothing to judge: not {applies.text}")
        except FormulaFault as fault:
            state.outcomes[name] = Unscored(f"whether it applies cannot be told: {applies.text}: {fault}")
    return state


def _open_condition(scale: Scale, applies: Formula, namespace: Namespace) -> Unscored:
    reason = f"whether it applies cannot be told: {applies.text}: {'; '.join(namespace.reasons)}"
    return Unscored(reason, between=scale.ends, may_not_apply=True)


def apply_vetoes(state: EvaluationState) -> bool:
    """Whether a gate that is checked before scoring forces the verdict; nothing is scored then."""
    for rule in state.plan.decision.vetoes:
        try:
            early = rule.early is None or state.namespace.holds(rule.early)
            fires = early and state.namespace.holds(rule.when)
        except FormulaFault:
            continue  # reported when the gates are evaluated, like a gate that stays open
        if fires:
            _skip_remaining(state, f"the gate {rule.gate.name} decided before scoring")
            return True
    return False


def _decided(state: EvaluationState) -> bool:
    """Whether the rubric lets the engine stop, and no missing score can change the verdict."""
    if state.plan.rubric.judging.stop != "decided" or not state.waiting:
        return False
    names, unknown = formula_values(state)
    verdict = weigh(state.plan.decision, state.terms, names, unknown).decided
    if verdict is None:
        return False
    if INCONCLUSIVE in verdicts_by_profile(state).values():  # another type of question could still change it
        return False
    alone = set(repeat_verdicts(state).values())
    if INCONCLUSIVE in alone:  # a missing score could still give one repeat another verdict
        return False
    verdict = INCONCLUSIVE if len(alone) > 1 else verdict
    _skip_remaining(state, f"the verdict is {verdict} whatever this is")
    return True


def _skip_remaining(state: EvaluationState, reason: str) -> None:
    state.stopped = True
    for axis in state.waiting:
        state.outcomes[axis.name] = NotNeeded(reason, *spent(state.parts.get(axis.name, {}).values()))
        if axis.name in state.parts:
            state.parts[axis.name] |= {
                leaf.name: NotNeeded(reason) for leaf in axis.leaves if leaf.name not in state.parts[axis.name]
            }


def _set_outcome(
    state: EvaluationState, axis: AxisPlan, replies: Mapping[str, Score | Unscored], *, score_by_code: bool = True
) -> None:
    """Give an axis its outcome: from a reply, from its own scorer, or from its parts."""
    if not axis.parts:
        state.outcomes[axis.name] = _outcome(state, axis, replies, score_by_code)
        return
    own = state.parts.setdefault(axis.name, {})
    state.outcomes[axis.name] = _from_parts(state, axis, own, replies, score_by_code)


def _from_parts(
    state: EvaluationState,
    node: AxisPlan,
    own: dict[str, Outcome],
    replies: Mapping[str, Score | Unscored],
    score_by_code: bool,
) -> Score | Unscored:
    """The outcome of a node, after giving outcomes to those of its parts that have none yet."""
    for part in node.parts:
        answered_whole = part.name in replies and not any(leaf.name in replies for leaf in part.leaves)
        if part.parts and not answered_whole:
            own[part.name] = _from_parts(state, part, own, replies, score_by_code)
        elif part.name not in own:
            own[part.name] = _outcome(state, part, replies, score_by_code)
    return weigh_parts(node, own, state.plan.decision.on_unscored)


def _outcome(
    state: EvaluationState, axis: AxisPlan, replies: Mapping[str, Score | Unscored], score_by_code: bool
) -> Score | Unscored:
    if axis.name in replies:
        return _accept(state, replies[axis.name], axis)
    if not score_by_code:
        return Unscored("no score was given")
    if axis.judged and state.plan.judge is not None and asks_judge(state, axis):
        return Unscored("the judge gave no answer for it", "llm")
    return NO_JUDGE if axis.scorer is None else with_bounds(state, axis, axis.scorer(state.namespace))


def _accept(state: EvaluationState, outcome: Score | Unscored, axis: AxisPlan) -> Score | Unscored:
    """A given score: rejected if it is off the scale, and with this rubric's bounds if it is offline."""
    if axis.spec.answer_set is not None and isinstance(outcome, Score):
        outcome = _relabelled(outcome, axis)
    if isinstance(outcome, Score) and not (math.isfinite(outcome.value) and axis.scale.holds(outcome.value)):
        reason = f"{outcome.value:g} is off the scale {axis.scale}"
        return Unscored(
            reason, outcome.source, outcome.hits, outcome.cost, outcome.duration_ms, outcome.votes, outcome.judge
        )
    if isinstance(outcome, Unscored) and not all(map(axis.scale.holds, outcome.between or ())):
        return msgspec.structs.replace(outcome, between=axis.ends)  # it was open under another scale
    return with_bounds(state, axis, outcome)


def _relabelled(score: Score, axis: AxisPlan) -> Score:
    """An answer with the value that this rubric gives it, or a value with its label."""
    answers = axis.spec.answer_set
    if answers is None:
        return score
    value = answers.values.get(score.label)
    if value is None:
        return msgspec.structs.replace(score, label=answers.label_of(score.value))
    return score if value == score.value else msgspec.structs.replace(score, value=value)
