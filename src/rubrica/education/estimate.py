"""What a curriculum run would ask and cost: calls for writing and for judging are counted, nobody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from rubrica.errors import RubricaError
from rubrica.llm.estimate import CostEstimate, UsageEstimator
from rubrica.llm.price import estimate_tokens
from rubrica.runs.events import EventCallback, RunEstimate, ignore_event
from rubrica.runs.execute import estimate_run
from rubrica.runs.files.manifest import read_manifest
from rubrica.runs.request import RunRequest

from .curriculum import Skill
from .evaluator import utc_now
from .material import QuestionMaterial
from .questions import GeneratedQuestion
from .records import QuestionRecord
from .writing import questions_request
from .written import QUESTIONS, WrittenMaterial, complete_skills, written_records


@dataclass(frozen=True, slots=True)
class CurriculumEstimate:
    """Calls, tokens and prices, by model; `judging` is None where no model judges."""

    writing: CostEstimate
    judging: RunEstimate | None


def estimate_curriculum(request: RunRequest, on_event: EventCallback = ignore_event) -> CurriculumEstimate:
    """What executing a run that writes would ask. Judging is counted with a question of the usual length in place of
    each that is not written yet."""
    material = request.cases.material
    if not isinstance(material, WrittenMaterial):
        raise RubricaError("nothing is written in this run (estimate_run counts what judging asks)")
    path = request.folder / QUESTIONS
    earlier = read_manifest(request.folder) if request.resume else None
    goes_on = earlier is not None and not request.manifest(utc_now()).differences(earlier)
    written = [*written_records(path)] if goes_on else []
    done = complete_skills(path) if goes_on else set()
    todo = [skill for skill in material.skills if skill.key not in done]
    counted = _counted(material, todo)
    if not request.judging.names:
        return CurriculumEstimate(counted, None)
    records = [record for record in written if record.place["skill_key"] in done]
    records += [_stand_in(skill, place, material) for skill in todo for place in range(material.writing.count)]
    cases = replace(request.cases, material=QuestionMaterial(records))
    return CurriculumEstimate(counted, estimate_run(replace(request, cases=cases), on_event))


def _counted(material: WrittenMaterial, todo: Sequence[Skill]) -> CostEstimate:
    terms = material.writing
    found, estimator = CostEstimate(terms.model), UsageEstimator(terms.model)
    each = estimate_tokens(usual_question(terms.options).model_dump_json(exclude_none=True))
    for skill in todo:
        asked = estimator.of(questions_request(terms.request(skill), terms.options))
        found.add(msgspec.structs.replace(asked, output_tokens=terms.count * each))
    return found


def _stand_in(skill: Skill, place: int, material: WrittenMaterial) -> QuestionRecord:
    terms = material.writing
    question = usual_question(terms.options)
    return QuestionRecord(place, f"{skill.key}/{place}", skill.grade, terms.request(skill), question, {})


def usual_question(options: int = 4) -> GeneratedQuestion:
    """A sound question of the usual length, whatever it is about: no check rejects it before a judge is asked."""
    return GeneratedQuestion(
        type="mcq",
        difficulty="medium",
        question="Mia and Ben walk home from school together. The library is on their way. Each of them takes a book, "
        "and they read a page aloud in turn until supper. Which word tells where they were before the library?",
        options=[f"{chr(65 + place)}) {word}" for place, word in enumerate(_PLACES[: min(options, len(_PLACES))])],
        answer="A",
        explanation="First, read the story once more from its beginning. Next, put the places into the order in which "
        "Mia and Ben come to them. Then look for the one that stands before the library, because that is asked for.",
    )


_PLACES = ("school", "park", "shop", "home", "pool", "farm", "lake", "hill", "road", "barn")
