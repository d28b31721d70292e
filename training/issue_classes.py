"""Trains the head that sorts issues of questions into classes: `python -m training.issue_classes`.

Reads the issues beside it, fills their templates, and writes the head into the package; it needs the sentence model.
First it says how well heads do on templates that they have not learnt from.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import yaml
from numpy.typing import NDArray

from rubrica.education.issue_class import FILE
from rubrica.education.taxonomy import CATEGORIES
from rubrica.text.question_type import SentenceHead
from rubrica.text.sentence_model import INSTALL, SentenceModel, sentence_model

from .examples import digest
from .fit import Floats, Recipe, descend_dense

EXAMPLES = Path(__file__).parent / "examples" / "issue_classes" / "issues.yaml"
HEAD = Path(__file__).parents[1] / "src" / "rubrica" / "education" / FILE
RECIPE = Recipe(shrink=1, balance=0, steps=400)
STRETCH = 5.0  # of the vectors, so that their numbers are about as large as the constant beside them
TIMES = 3  # that a template is filled
FOLDS = 5
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class WrittenIssue:
    """An issue, its class, the template it was made of, and how much it counts."""

    text: str
    label: str
    template: str
    count: float


def read_issues(path: Path = EXAMPLES) -> list[WrittenIssue]:
    """Every template, filled a few times; together its copies count as one."""
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    fillings = {**written["fillings"], "other": written["fillings"]["topic"]}
    return [
        issue for label, lines in written["classes"].items() for line in lines for issue in _made(label, line, fillings)
    ]


def _made(label: str, template: str, fillings: Mapping[str, Sequence[str]]) -> Iterator[WrittenIssue]:
    times = TIMES if _SLOT.search(template) else 1
    for turn in range(times):
        place = 0

        def filling(match: re.Match[str], turn: int = turn) -> str:
            nonlocal place
            place += 1
            choices = fillings[match[1]]
            return choices[(crc32(template.encode()) // 7 + turn * 5 + place * 11) % len(choices)]

        text = _SLOT.sub(filling, template)
        yield WrittenIssue(text[0].upper() + text[1:], label, template, 1 / times)


def train(issues: Sequence[WrittenIssue], model: SentenceModel) -> SentenceHead:
    """The head that makes the classes of the issues likely."""
    weights = _fitted(_inputs(issues, model), issues)
    rows = tuple(tuple(float(f"{STRETCH * value:.4f}") for value in column) for column in weights[:-1].T)
    return SentenceHead(CATEGORIES, rows, tuple(float(value) for value in weights[-1]), made_from(issues))


def made_from(issues: Sequence[WrittenIssue]) -> str:
    return digest(*((issue.text, issue.label) for issue in issues), RECIPE)


def _inputs(issues: Sequence[WrittenIssue], model: SentenceModel) -> Floats:
    vectors = np.asarray(model.encode([issue.text for issue in issues]), dtype=np.float64)
    return np.column_stack([STRETCH * vectors, np.ones(len(issues))])


def _fitted(inputs: Floats, issues: Sequence[WrittenIssue]) -> Floats:
    counts = np.array([issue.count for issue in issues])
    weights = descend_dense(inputs, _labels(issues), len(CATEGORIES), RECIPE, counts)
    return np.asarray(weights - weights.mean(axis=1, keepdims=True))


def _labels(issues: Sequence[WrittenIssue]) -> NDArray[Any]:
    return np.array([CATEGORIES.index(issue.label) for issue in issues])


def crossed(issues: Sequence[WrittenIssue], model: SentenceModel) -> float:
    """The share of templates that get their class from a head that has not met them, words of rules aside."""
    inputs, labels = _inputs(issues, model), _labels(issues)
    folds = np.array([crc32(issue.template.encode()) % FOLDS for issue in issues])
    right = np.zeros(len(issues))
    for fold in range(FOLDS):
        learnt = np.flatnonzero(folds != fold)
        weights = _fitted(inputs[learnt], [issues[int(at)] for at in learnt])
        right[folds == fold] = ((inputs @ weights).argmax(axis=1) == labels)[folds == fold]
    return float(np.average(right, weights=[issue.count for issue in issues]))


def main() -> None:
    model, issues = sentence_model(), read_issues()
    if model is None:
        sys.exit(f"the sentence model is not installed ({INSTALL})")
    print(f"{crossed(issues, model):.3f} of the templates that were not learnt from get their class by meaning alone")
    HEAD.write_bytes(train(issues, model).to_bytes())
    print(f"{HEAD.name}: {HEAD.stat().st_size:,} bytes from {len(issues)} issues")


if __name__ == "__main__":
    main()
