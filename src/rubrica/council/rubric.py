"""The rubric a council reviews by: the one it names, with the council's weights and its safety gate."""

from __future__ import annotations

from collections.abc import Mapping

from rubrica.engine.compile import compile_rubric
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.model.decisions import OnUnscored, ScoreSpec, Verdict
from rubrica.model.dimensions import Axis, Dimension
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load

from .settings import CAP_VARIABLE, GATE_VARIABLE, CouncilSettings, replace_weights
from .task_rubrics import AUTO, Task, TaskChoice, choose_task, task_rubric

OVERALL = "overall"
HOLISTIC: Mapping[str, Axis] = {
    OVERALL: Axis(title="Overall", asks="How good is the response as a whole, for whoever asked the question?")
}
"""What a reviewer is asked about who gives one score for the whole."""
TAKEN = (OVERALL, "notes", "confidence", "rank", "reviews", "verdict")
"""What stands beside the dimensions in a review or in what is told of it."""


def review_plan(settings: CouncilSettings, task: Task = "general") -> Plan:
    """The compiled rubric of a council. A rubric that is chosen by the question is that of the task."""
    rubric = task_rubric(task) if settings.rubric == AUTO else load(settings.rubric)
    if taken := [name for name in rubric.dimensions if name in TAKEN]:
        raise RubricaError(f"{rubric.name}: a review has {taken[0]} of its own; rename that dimension")
    if settings.weights:
        rubric = _with_weights(rubric, settings.weights)
    plan = compile_rubric(_with_safety_gate(rubric, settings))
    if other := [axis.name for axis in plan.axes if axis.parts or not axis.judged]:
        raise RubricaError(
            f"{rubric.name}: a council reviews dimensions that a judge scores as a whole; {other[0]} is none "
            "(choose another rubric, such as council-review)"
        )
    return plan


def task_for(settings: CouncilSettings, question: str) -> TaskChoice | None:
    """What a question is taken for, where the council chooses its rubric by that.

    Weights that somebody has set are meant for council-review: with them it is kept.
    """
    if settings.rubric != AUTO:
        return None
    return TaskChoice("general") if settings.weights else choose_task(question)


def holistic_plan(plan: Plan) -> Plan:
    """A council's rubric as it is where reviewers give one score for the whole: the gates hold that look before.

    It has a name of its own, since such a score is not to be taken for one by the dimensions.
    """
    rubric = plan.rubric
    kept = ("version", "scale", "bands", "settings", "patterns", "context")
    return compile_rubric(
        Rubric(
            **{name: getattr(rubric, name) for name in kept},
            name=f"{rubric.name[:55]}-holistic",
            title=f"{rubric.display_title}, as a whole",
            dimensions={OVERALL: Dimension(title=HOLISTIC[OVERALL].title, asks=HOLISTIC[OVERALL].asks, weight=1.0)},
            score=ScoreSpec(out_of=rubric.score.out_of, round=rubric.score.round),
            gates=tuple(gate for gate in rubric.gates if gate.before),
            verdicts=(Verdict(label="reviewed"),),
            on_unscored=OnUnscored(policy="inconclusive"),
        )
    )


def _with_weights(rubric: Rubric, chosen: Mapping[str, float]) -> Rubric:
    if rubric.score.formula is not None or rubric.profiles is not None:
        why = "its score is a formula" if rubric.score.formula is not None else "its weights depend on the profile"
        raise RubricaError(f"{rubric.name}: the council cannot set weights, because {why} (leave `weights` out)")
    weights = replace_weights({name: spec.weight or 0.0 for name, spec in rubric.dimensions.items()}, chosen)
    dimensions = {name: spec.model_copy(update={"weight": weights[name]}) for name, spec in rubric.dimensions.items()}
    fields = {name: getattr(rubric, name) for name in Rubric.model_fields}
    return Rubric.model_validate({**fields, "dimensions": dimensions})


def _with_safety_gate(rubric: Rubric, settings: CouncilSettings) -> Rubric:
    if "safety_gate" not in rubric.settings:
        if settings.safety_gate:
            raise RubricaError(
                f"{GATE_VARIABLE} (or `safety_gate`): {rubric.name} has no such setting "
                "(leave it out, or choose a rubric that has one, such as council-review)"
            )
        return rubric
    if settings.safety_score_cap > rubric.score.out_of:
        raise RubricaError(
            f"{CAP_VARIABLE} (or `safety_score_cap`): {settings.safety_score_cap:g} is more than full marks, "
            f"{rubric.score.out_of:g}"
        )
    changed = {"safety_gate": settings.safety_gate, "safety_score_cap": settings.safety_score_cap}
    return rubric.with_settings(**{name: value for name, value in changed.items() if name in rubric.settings})
