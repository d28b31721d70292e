"""The rubrics beside the question's: a solution, a hint, the analysis of a mistake, a selection of exercises."""

from __future__ import annotations

import pytest

import rubrica
from education_samples import expected_verdict
from rubrica.packs.library import examples

PACK = "education-question"
OTHERS = ("education-solution", "education-hint", "education-misconception", "education-exercise-selection")


@pytest.mark.parametrize("name", OTHERS)
def test_each_has_examples_of_every_verdict_by_points_of_which_a_judge_decides_all_but_rejects(name: str) -> None:
    cases = [case for case in examples(PACK) if case.rubric == name and case.expect]
    by_points = rubrica.load(name).with_offline("point")
    assert len(cases) >= 6
    assert {rubrica.evaluate(by_points, context=case.context).verdict for case in cases} == {
        "accept",
        "revise",
        "reject",
    }
    assert {expected_verdict(case) for case in cases} == {"reject", "inconclusive"}


@pytest.mark.parametrize("name", OTHERS)
def test_each_says_in_full_what_its_scores_mean(name: str) -> None:
    for axis in rubrica.load(name).dimensions.values():
        assert axis.asks
        assert len(axis.anchors) == 5
        assert axis.offline is not None


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_at_all_is_rejected_without_asking_a_judge(name: str) -> None:
    result = rubrica.evaluate(name, prompt="Add fractions", response="")
    assert (result.verdict, {dimension.status for dimension in result.dimensions.values()} - {"not_applicable"}) == (
        "reject",
        {"not_needed"},
    )


def test_a_solution_is_held_to_the_answer_that_is_known() -> None:
    solution = {"prompt": "What is 6 × 4?", "response": "Four sixes: 6 × 4 = 24. The answer is 24."}
    for answer, fires in ((24, False), (25, True)):
        result = rubrica.evaluate("education-solution", context={**solution, "answer": answer})
        assert any(gate.name == "wrong-result" and gate.fired for gate in result.gates) is fires


def test_a_hint_that_ends_on_the_answer_is_no_hint() -> None:
    hint = {"prompt": "What is 6 × 4?", "response": "Try to double 6 × 2 and see whether you get 24"}
    assert rubrica.evaluate("education-hint", context={**hint, "answer": 24}).verdict == "reject"
    assert rubrica.evaluate("education-hint", context={**hint, "answer": 23}).verdict != "reject"


@pytest.mark.parametrize("subject", ["mathematics", "Maths", "science", "history", "computing", "music", "English"])
def test_the_question_pack_has_notes_for_many_subjects(subject: str) -> None:
    notes = rubrica.load(PACK).notes
    assert notes is not None
    assert notes.find(subject) is not None
    assert notes.find("gardening") is None


@pytest.mark.parametrize("name", ["education-solution", "education-misconception"])
def test_words_that_say_nothing_gain_nothing(name: str) -> None:
    """Praise after a wrong result used to hide it, and any words after a word too few were a diagnosis."""
    gained = {one.probe for one in rubrica.probe(rubrica.load(name).with_offline("point")).exceeding(0.05)}
    assert gained <= {"keywords"}, "a heap of the right words can only be told by a judge"


@pytest.mark.parametrize(
    ("name", "problem", "rest"),
    [
        ("education-solution", "A farmer has 12 cows and 7 hens. How many legs do they have?", "So they have 62 legs."),
        ("education-misconception", "Add 3 tenths and 4 tenths. The learner answered 7.", "That answer is wrong."),
    ],
)
def test_a_problem_over_again_is_no_answer_to_it(name: str, problem: str, rest: str) -> None:
    rubric = rubrica.load(name).with_offline("point")
    result = rubrica.evaluate(rubric, prompt=problem, response=f"{problem} {rest}")
    assert result.verdict == "revise"
    assert "repeats-the-problem" in {gate.name for gate in result.gates if gate.fired}


def test_words_that_fit_any_mistake_are_no_diagnosis() -> None:
    kind = "A wonderful question, and one that shows how much the class has grown. With time all will become clear."
    rubric = rubrica.load("education-misconception").with_offline("point")
    result = rubrica.evaluate(rubric, prompt="Problem: 1/2 + 1/3. Answered: 2/5.", response=kind)
    assert (result.verdict, result.dimensions["diagnosis"].value) == ("reject", 3)
