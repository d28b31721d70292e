"""Which rubric fits a question: code, maths and creative tasks are reviewed by what matters for them.

The question's type is what the classifier of questions says, as for the gateway. Only what is plain is taken for a
task of its own; everything else is reviewed by ``council-review``.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

import msgspec
import yaml

from rubrica.model.rubric import Rubric
from rubrica.packs.library import load, load_if_bundled
from rubrica.text.question_type import classify_question, task_of

Task = Literal["general", "code", "maths", "creative"]
GENERAL = "council-review"
AUTO = "auto"
SURE = 0.6
"""The chance of its type from which on a question is taken for a task."""
LONGEST = 20_000  # characters of a question that are looked at

_CODE = re.compile(
    r"```|\b(?:python|javascript|typescript|java|kotlin|rust|golang|c\+\+|c#|sql|bash|shell script|regexp?|html|css|"
    r"dockerfile|function|method|class|algorithm|unit tests?|stack ?trace|traceback|compile[sr]?|refactor|debug|"
    r"api endpoint|code|script|snippet|query)\b",
    re.IGNORECASE,
)
_WRITES_CODE = re.compile(
    r"\b(?:write|implement|fix|debug|refactor|optimi[sz]e|port|translate|complete|review|rewrite|create|build)\b"
    r"|\bhow (?:do|can|would|to)\b|\bwhat (?:is|does)\b.{0,40}\b(?:output|print|return)|\bwhy (?:does|is|do)\b|```",
    re.IGNORECASE,
)
_MATHS = re.compile(
    r"\b(?:solve|integrate|differentiate|factori[sz]e|simplify|derivative|integral|equation|polynomial|matrix|"
    r"eigenvalues?|determinant|probability|theorem|proof|prove|triangle|logarithm|prime numbers?|remainder|modulo|"
    r"square root|sum of|how many ways|calculate|compute)\b|\d\s?[+*^=×÷]\s?\(?-?\d|\d\s[-/]\s\d"
    r"|\d\s?%\s?of\s?\d|\\(?:frac|int|sqrt|sum)\b"
    r"|\b[a-z]\s?\^\s?\d|\d[a-z]\s?[-+=]",
    re.IGNORECASE,
)


class TaskChoice(msgspec.Struct, frozen=True):
    """What a question was taken for, and why."""

    task: Task
    type: str | None = None  # by the classifier of questions
    confidence: float | None = None


def choose_task(question: str) -> TaskChoice:
    """What kind of review a question needs.

    >>> choose_task("Write a Python function that merges two sorted lists.").task
    'code'
    >>> choose_task("Write a short poem about the sea in winter.").task, choose_task("Why is the sky blue?").task
    ('creative', 'general')
    >>> choose_task("Solve 3x + 7 = 22 and show your steps.").task
    'maths'
    """
    text = question[:LONGEST]
    found = classify_question(text)
    if found is None:
        return TaskChoice("general")
    seen = task_of(text)
    task: Task = "general"
    if found.type == "CREATIVE" and found.confidence >= SURE and "```" not in text:
        task = "creative"
    elif "```" in text or (found.type == "TECHNICAL" and _CODE.search(seen) and _WRITES_CODE.search(text)):
        task = "code"
    elif _MATHS.search(seen) and found.type not in ("CREATIVE", "ETHICAL"):
        task = "maths"
    return TaskChoice(task, found.type, round(found.confidence, 3))


@cache
def task_rubric(task: Task) -> Rubric:
    """The rubric of a task: council-review, with what the task makes different."""
    rubric = load(GENERAL)
    if task == "general":
        return rubric
    change = _changes()[task]
    weights, changed = change["weights"], change["dimensions"]
    dimensions = {
        name: spec.model_copy(update={"weight": weights[name], **changed.get(name, {})}).model_dump(exclude_unset=False)
        for name, spec in rubric.dimensions.items()
    }
    fields = {name: getattr(rubric, name) for name in Rubric.model_fields}
    name = f"{GENERAL}-{task}"
    return Rubric.model_validate({**fields, "name": name, "title": change["title"], "dimensions": dimensions})


def review_rubric(reference: str) -> Rubric | None:
    """The rubric of a finished session by its `name@version`; None where it was a file's."""
    for task in get_args(Task):
        if (rubric := task_rubric(task)).reference == reference:
            return rubric
    return load_if_bundled(reference)


@cache
def _changes() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(
        (resources.files("rubrica.council") / "task_rubrics.yaml").read_text("utf-8")
    )
    return found
