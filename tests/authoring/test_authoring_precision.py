"""How often lint is right, on criteria of our own with known faults and without any."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from rubrica.authoring.criterion_pairs import pair_warnings
from rubrica.authoring.criterion_text import CriterionText
from rubrica.authoring.wording import wording_warnings
from rubrica.text.sentence_model import SentenceModel, sentence_model

CRITERIA: Mapping[str, Any] = yaml.safe_load((Path(__file__).parent / "lint_criteria.yaml").read_text("utf-8"))


def rules_of(text: str) -> list[str]:
    criterion = CriterionText(("dimensions", "one", "asks"), text, binary=True)
    return [warning.rule for warning in wording_warnings(criterion)]


def pair_fault(one: str, other: str, model: SentenceModel | None) -> str:
    criteria = [CriterionText(("dimensions", name, "asks"), text) for name, text in (("a", one), ("b", other))]
    found = [warning.rule for warning in pair_warnings(criteria, model)]
    return found[0] if found else "none"


def precision_and_recall(part: str) -> tuple[float, float]:
    """Of the warnings about single criteria, the share that is right; of the faults, the share that is told."""
    sample = CRITERIA[part]
    told = {row["text"]: (row["fault"], rules_of(row["text"])) for row in sample["faulty"]}
    false = sum(len(rules_of(text)) for text in sample["clean"])
    false += sum(rule != fault for fault, rules in told.values() for rule in rules)
    right = sum(fault in rules for fault, rules in told.values())
    return right / (right + false), right / len(told)


READ = ("tuned", "held_out", "second", "third", "fourth")
"""Samples that rules were changed for; the other one tells what to expect of criteria they have never seen."""


@pytest.mark.parametrize(("part", "precision", "recall"), [*((part, 1.0, 1.0) for part in READ), ("final", 0.9, 0.65)])
def test_warnings_are_right_and_faults_are_found(part: str, precision: float, recall: float) -> None:
    found = precision_and_recall(part)
    assert found[0] >= precision
    assert found[1] >= recall


@pytest.mark.parametrize(("part", "share"), [*((part, 0.75) for part in READ[:-1]), ("fourth", 0.65), ("final", 0.8)])
def test_pairs_that_overlap_or_contradict_are_told_from_others(part: str, share: float) -> None:
    pairs = CRITERIA[part]["pairs"]
    model = sentence_model()
    assert model is not None
    right = sum(pair_fault(pair["one"], pair["other"], model) == pair["fault"] for pair in pairs)
    assert right / len(pairs) >= share


def test_without_the_sentence_model_shared_words_find_most_pairs_and_warn_of_no_others() -> None:
    pairs = [pair for part in CRITERIA.values() for pair in part["pairs"]]
    found = [(pair["fault"], pair_fault(pair["one"], pair["other"], None)) for pair in pairs]
    assert [told for fault, told in found if fault == "none" and told != "none"] == []
    assert sum(fault == told for fault, told in found) / len(found) >= 0.8


def test_there_are_enough_criteria_half_of_them_clean() -> None:
    counts = {part: (len(rows["clean"]), len(rows["faulty"])) for part, rows in CRITERIA.items()}
    assert sum(map(sum, counts.values())) >= 180
    assert all(0.4 <= clean / (clean + faulty) <= 0.6 for clean, faulty in counts.values())
    assert {text for part in READ for text in CRITERIA[part]["clean"]}.isdisjoint(CRITERIA["final"]["clean"])
