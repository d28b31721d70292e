"""Few-shot examples for judges, out of what people gave the responses of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from rubrica.engine.load import rubric_from_text
from rubrica.errors import RubricaError
from rubrica.judges.shown_examples import balanced_examples
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Evaluation
from rubrica.model.few_shot import MOST_EXAMPLES, FewShotExample
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale

from .agreement import opinions_by_item
from .calibration_fit import next_version
from .opinions import Opinion, ReviewedRun
from .questions import Rubrics, questions_of, result_of, rubric_for

LONGEST = 4_000
"""Characters of a response that is shown as an example: a judge reads all of them with every question."""


@dataclass(frozen=True, slots=True)
class ReviewedExample:
    """A response on which people agree."""

    case: str
    example: FewShotExample
    missed: bool  # by the judge, who gave it something else
    people: int


def people_examples(found: ReviewedRun, rubrics: Rubrics, most: int) -> dict[str, dict[str, list[ReviewedExample]]]:
    """Up to `most` examples by rubric and axis, balanced by answer.

    Only what all who scored a response gave it is an example. Those that the judge missed come first, for it learns
    most from them, then those that most people scored.
    """
    candidates: dict[str, dict[str, list[ReviewedExample]]] = {}
    for item, evaluation, opinions in opinions_by_item(found):
        rubric = rubric_for(evaluation, rubrics)
        for question in questions_of(rubric, evaluation):
            axis, scale = _axis(rubric, question.name)
            one = _example(item, evaluation, opinions, question.name, axis) if question.judged else None
            if one is not None and not (one.example.score is not None and not scale.holds(one.example.score)):
                candidates.setdefault(rubric.name, {}).setdefault(question.name, []).append(one)
    return {
        name: {axis: _chosen(own, _axis(rubrics[name], axis)[1], most) for axis, own in by_axis.items()}
        for name, by_axis in candidates.items()
    }


def _chosen(found: Sequence[ReviewedExample], scale: Scale, most: int) -> list[ReviewedExample]:
    ranked = sorted(found, key=lambda one: (not one.missed, -one.people, one.case))
    by_example = {id(one.example): one for one in ranked}
    shown = balanced_examples([one.example for one in ranked], scale)
    return [by_example[id(example)] for example in shown[:most]]


def _example(
    item: str, evaluation: Evaluation, opinions: Sequence[Opinion], name: str, axis: Axis
) -> ReviewedExample | None:
    given = {opinion.scores[name] for opinion in opinions if name in opinion.scores}
    context, result = evaluation.context, result_of(evaluation, name)
    if len(given) != 1 or context is None or not context.response.strip():
        return None
    if len(context.response) > LONGEST or len(context.prompt) > LONGEST:
        return None
    (value,) = given
    outcome: dict[str, Any] = {"score": value}
    if axis.answer_set is not None:
        label = axis.answer_set.label_of(value)
        if not label:
            return None
        outcome = {"answer": label}
    alone = [opinion.note for opinion in opinions if opinion.note.strip() and opinion.scores.keys() == {name}]
    example = FewShotExample(
        prompt=context.prompt, response=context.response, because=alone[0].strip()[:LONGEST] if alone else "", **outcome
    )
    missed = result is not None and result.value is not None and abs(result.value - value) > 1e-9
    people = sum(name in opinion.scores for opinion in opinions)
    return ReviewedExample(evaluation.case or item, example, missed, people)


def document_with_examples(rubric: Rubric, examples: Mapping[str, Sequence[ReviewedExample]]) -> str:
    """The rubric as YAML with its version raised, and these examples behind those that it has."""
    data = rubric.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    data |= {"name": rubric.name, "version": next_version(rubric.version)}
    for name, axis in _written_axes(data):
        own = [one.example.model_dump(mode="json", exclude_defaults=True) for one in examples.get(name, ())]
        kept = axis.get("examples", [])
        if added := [example for example in own if example not in kept]:
            axis["examples"] = [*kept, *added][:MOST_EXAMPLES]
    text = str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110))
    rubric_from_text(text)  # what is written can be read
    return text


def _written_axes(data: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, dimension in data.get("dimensions", {}).items():
        yield name, dimension
        yield from dimension.get("parts", {}).items()


def _axis(rubric: Rubric, name: str) -> tuple[Axis, Scale]:
    for dimension, spec in rubric.dimensions.items():
        if name == dimension:
            return spec, rubric.scale_of(dimension)
        if name in spec.parts:
            return spec.parts[name], rubric.scale_of(dimension)
    raise RubricaError(f"{rubric.reference} has no dimension {name}")
