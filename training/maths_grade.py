"""Fits the model that estimates the grade of a maths question: `python -m training.maths_grade`.

Reads the examples beside it, writes the weights into the package, and says how well they do on the examples that were
kept apart. An example is a line: the grade, the topic, the form (story, riddle, choice, bare) and the question. Those
of one topic and form are kept apart together. To change what the model does, add examples and run it again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rubrica.text.questions.maths_grade import INPUTS, GradeModel
from rubrica.text.questions.maths_signals import MathsSignals, read_signals

from .examples import digest

EXAMPLES = Path(__file__).parent / "examples" / "maths_grade"
LEARNT, HELD_OUT = EXAMPLES / "learnt.txt", EXAMPLES / "held_out.txt"
MODEL = Path(__file__).parents[1] / "src" / "rubrica" / "text" / "questions" / "maths_grade.json"

SHRINK = 10.0  # the price of large weights, over inputs of one spread
ELEMENTARY = 7.0  # below this grade the estimates are right on average: most questions are there
PARTS, PARTINGS = 5, 5
COVERED = 0.9

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GradedQuestion:
    """A question, its grade, and the group it stays with."""

    text: str
    grade: int
    group: str


def read_graded(path: Path) -> list[GradedQuestion]:
    """The questions of a file."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        about, form, text = line.split("|", 2)
        grade, topic = about.split(" ", 1)
        found.append(GradedQuestion(text, int(grade), f"{topic}|{form}"))
    return found


def fit_grades(questions: Sequence[GradedQuestion]) -> GradeModel:
    """The weights that the questions lead to, by ridge regression; their spread is not known yet."""
    rows = np.array([_inputs(read_signals(question.text)) for question in questions])
    grades = np.array([question.grade for question in questions], dtype=np.float64)
    centre, width = rows.mean(axis=0), rows.std(axis=0)
    scaled = (rows - centre) / width
    slopes = np.linalg.solve(scaled.T @ scaled + SHRINK * np.eye(len(INPUTS)), scaled.T @ (grades - grades.mean()))
    weights = slopes / width
    young = grades < ELEMENTARY
    intercept = float((grades[young] - rows[young] @ weights).mean())
    named = {name: round(float(weight), 5) for name, weight in zip(INPUTS, weights, strict=True)}
    return GradeModel(named, round(intercept, 5), 0.0)


def _inputs(signals: MathsSignals) -> list[float]:
    return [read(signals) for read in INPUTS.values()]


def kept_apart_errors(questions: Sequence[GradedQuestion]) -> Floats:
    """How far each question lies from the estimate of a model that has not met its group, over several partings.

    Texts of others show the signals less clearly than examples that were written beside them: each question is tried as
    it is, without its kinds of numbers, without its operations, and without its topic below grade 7.
    """
    groups = sorted({question.group for question in questions})
    errors: list[float] = []
    for parting in range(PARTINGS):
        order = np.random.default_rng(parting).permutation(len(groups))
        part = {groups[place]: number % PARTS for number, place in enumerate(order.tolist())}
        for apart in range(PARTS):
            model = fit_grades([question for question in questions if part[question.group] != apart])
            for question in questions:
                if part[question.group] == apart:
                    signals = read_signals(question.text)
                    errors += (model.value(seen) - question.grade for seen in (signals, *_less_clear(signals)))
    return np.array(errors)


def _less_clear(signals: MathsSignals) -> tuple[MathsSignals, ...]:
    topic = signals.topic if signals.topic >= ELEMENTARY else 0.0
    return replace(signals, kind=0.0), replace(signals, operation=1.0), replace(signals, topic=topic)


def train() -> GradeModel:
    """The model as the examples make it."""
    questions = read_graded(LEARNT)
    errors = kept_apart_errors(questions)
    spread = ceil(2 * float(np.quantile(np.abs(errors), COVERED))) / 2  # rounded up to half a grade
    return replace(fit_grades(questions), spread=spread, made_from=digest(questions, SHRINK, COVERED))


def measured(model: GradeModel, questions: Sequence[GradedQuestion]) -> dict[str, float]:
    """How well a model does: rank correlation, share within one grade, share within the bounds."""
    values = np.array([model.value(read_signals(question.text)) for question in questions])
    grades = np.array([question.grade for question in questions], dtype=np.float64)
    return {
        "rank correlation": rank_correlation(np.round(values), grades),
        "within one grade": float((np.abs(np.round(values) - grades) <= 1).mean()),
        "within the bounds": float((np.abs(values - grades) <= model.spread).mean()),
    }


def rank_correlation(one: Floats, two: Floats) -> float:
    """Spearman's correlation, ties at their mean rank."""
    return float(np.corrcoef(_ranks(one), _ranks(two))[0, 1])


def _ranks(values: Floats) -> Floats:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((count.cumsum() - (count - 1) / 2)[place], dtype=np.float64)


def main() -> None:
    model = train()
    MODEL.write_text(json.dumps(msgspec.structs.asdict(model), indent=1) + "\n", encoding="utf-8")
    print(f"{MODEL.name}: nine in ten within {model.spread} grades")
    for name, share in measured(model, read_graded(HELD_OUT)).items():
        print(f"{share:.3f} {name}, of the examples kept apart")


if __name__ == "__main__":
    main()
