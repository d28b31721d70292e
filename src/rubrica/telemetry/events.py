"""Evaluations as ``gen_ai.evaluation.result`` events: one for the evaluation, one per dimension."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rubrica.model.evaluation import DimensionResult, Evaluation

EVENT = "gen_ai.evaluation.result"
LONGEST = 1_000
"""Characters of an explanation."""

Attributes = Mapping[str, str | float | bool]


def events(evaluation: Evaluation) -> Iterator[Attributes]:
    """The attributes of each event.

    The whole evaluation is named like its rubric, a dimension ``rubric/dimension``. Values of dimensions are on their
    own scale. What has no score has no value: `error.type` says ``unscored`` and the explanation why.
    """
    shared = _common_attributes(evaluation)
    whole: dict[str, str | float | bool] = {
        "gen_ai.evaluation.name": evaluation.rubric,
        "gen_ai.evaluation.score.label": evaluation.verdict,
        "gen_ai.evaluation.explanation": evaluation.reason[:LONGEST],
        "rubrica.out_of": evaluation.out_of,
    }
    if evaluation.score is not None:
        whole["gen_ai.evaluation.score.value"] = evaluation.score
    if evaluation.cost is not None and evaluation.cost.usd is not None:
        whole["rubrica.cost.usd"] = evaluation.cost.usd
    yield whole | shared
    for name, result in evaluation.dimensions.items():
        if result.status != "not_applicable":
            yield _dimension(f"{evaluation.rubric}/{name}", result) | shared


def _dimension(name: str, result: DimensionResult) -> dict[str, str | float | bool]:
    found: dict[str, str | float | bool] = {
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.explanation": result.why[:LONGEST],
        "rubrica.status": result.status,
    }
    if result.status == "scored" and result.value is not None:
        found["gen_ai.evaluation.score.value"] = result.value
    if result.status in ("unscored", "neutral"):
        found["error.type"] = "unscored"
    if result.band:
        found["gen_ai.evaluation.score.label"] = result.band
    if result.judge:
        found["rubrica.judge"] = result.judge
    return found


def _common_attributes(evaluation: Evaluation) -> dict[str, str | float | bool]:
    found: dict[str, str | float | bool] = {
        "rubrica.rubric": f"{evaluation.rubric}@{evaluation.version}",
        "rubrica.rubric.hash": evaluation.hash,
    }
    if evaluation.case is not None:
        found["rubrica.case"] = evaluation.case
    if evaluation.offline:
        found["rubrica.offline"] = True
    context = evaluation.context
    response = context.lookup("response_id") if context is not None else None
    if isinstance(response, str):
        found["gen_ai.response.id"] = response
    if context is not None and context.metadata.model_used:
        found["gen_ai.response.model"] = context.metadata.model_used
    return found
