"""The plan of one case: the criteria that it brings, in the place of the dimension that takes them.

Everything else of the plan is shared, so that a case with criteria of its own costs little more than any other.
"""

from __future__ import annotations

from itertools import islice

from msgspec.structs import replace

from rubrica.errors import ContextError
from rubrica.hints import nearest
from rubrica.model.bounds import MOST_CALLS
from rubrica.model.context import Context
from rubrica.model.criteria import Criterion, criterion_names
from rubrica.model.dimensions import criterion_part

from .plan import AxisPlan, Plan
from .points import lowest_score

NO_CRITERIA = "the case has no criteria"
MOST_KEYS = 50
"""Of a case that are looked at for a misprint."""
LIKE_CRITERIA = 0.8
"""How like another key has to be that somebody may have meant for them."""
NO_RESPONSE = (
    "the case has criteria and no response to hold them against: give it one as `response` (--map response=COLUMN "
    'names its column, `rubrica import healthbench --responses FILE` adds answers), or `"response": ""` if it is empty'
)
UNANSWERED = (
    "the chat ends with what the user said, so there is no response to judge: add the answer as its last message, or "
    'give it as `response`; `"response": ""` says that the answer is empty, or that the chat is judged without one'
)


def case_plan(plan: Plan, context: Context) -> Plan:
    """The plan with the criteria of a case; a ContextError says why a case cannot have them."""
    criteria = context.criteria
    if plan.criteria is None:
        if criteria:
            raise ContextError(
                f"the case has criteria, and {plan.rubric.name} does not read any: give it a dimension with "
                "`from: criteria`, or leave the criteria out"
            )
        return plan
    axis = plan.axes[plan.criteria]
    if not criteria or axis.parts:  # which has its criteria already
        return plan
    judging = plan.rubric.judging
    calls = -(-len(criteria) // judging.batch) * judging.repeats * judging.panel
    if judging.one_by_one and calls > MOST_CALLS:
        raise ContextError(
            f"criteria: {len(criteria):,} criteria × {judging.repeats} repeats × {judging.panel} judges make {calls:,} "
            f"calls for one evaluation; at most {MOST_CALLS:,} (`judging.batch` asks about several in a call)"
        )
    taken = {own.name for each in plan.axes for own in each.every()}
    parts = []
    for name, criterion in zip(criterion_names(criteria), criteria, strict=True):
        if name in taken:
            raise ContextError(f"criteria: {name!r} is a dimension of {plan.rubric.name}; give it another id")
        parts.append(_part(name, criterion, axis))
    axes = list(plan.axes)
    axes[plan.criteria] = replace(axis, parts=tuple(parts))
    decision = plan.decision
    if decision.points and not plan.rubric.score.clip:
        decision = replace(decision, lowest=lowest_score(plan.rubric, [one.points for one in criteria]))
    tagged = plan.tagged or any(one.tags for one in criteria)
    return replace(plan, axes=tuple(axes), decision=decision, conclusions={}, tagged=tagged)


def no_criteria(context: Context) -> str:
    """Why a dimension that takes the criteria of a case has none; a key that looks like them is named."""
    key = nearest("criteria", islice(context.metadata.model_extra or {}, MOST_KEYS), LIKE_CRITERIA)
    return f"{NO_CRITERIA}; it has {key!r}, which is not read as such" if key is not None else NO_CRITERIA


def check_answered(plan: Plan, context: Context) -> None:
    """Refuse criteria without a response to be asked of, and a chat that nobody has answered where a judge would be
    asked about the answer; nobody's answer is not a poor one."""
    if not (context.criteria or (plan.judged and context.messages)) or context.has_response or context.images:
        return
    if context.criteria:
        raise ContextError(NO_RESPONSE)
    if context.awaits_answer:
        raise ContextError(UNANSWERED)


def _part(name: str, criterion: Criterion, axis: AxisPlan) -> AxisPlan:
    if criterion.answers:
        _check_answers(name, criterion, axis)
    spec = criterion_part(criterion, axis.spec)
    if odd := next((one for one in criterion.examples if one.answer not in spec.answers), None):
        answer_text = "no answer" if odd.answer is None else f"the answer {odd.answer!r}"
        raise ContextError(f"criteria: {name}: an example has {answer_text}; the answers are {', '.join(spec.answers)}")
    return AxisPlan(name, spec, axis.scale, axis.ends, None, None, judged=True, points=criterion.points, of_case=True)


def _check_answers(name: str, criterion: Criterion, axis: AxisPlan) -> None:
    values = [value for value in criterion.answers.values() if value is not None]
    if len(values) < 2:
        raise ContextError(f"criteria: {name}: answers has no choice; give at least two labels a value")
    for value in values:
        if not axis.scale.holds(value):
            raise ContextError(f"criteria: {name}: the answer {value:g} is off the scale {axis.scale} of {axis.name}")
