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


@pytest.mark.parametrize(
    ("problem", "hint", "answer"),
    [
        ("What is 12 × 5?", "I can't tell you the answer, but what is 10 × 5?", 60),
        ("What is 12 × 5?", "10 × 5 = 50. What is the other part?", 60),
        ("What is 12 × 5?", "10 × 5 = 50. What is the other part?", None),
        ("Solve 3x + 4 = 19.", "After the first step you have 3x = 15.", 5),
        ("What is the capital of France?", "The answer is in the second paragraph.", None),
        ("What is 3/4 of 20?", "Your answer is too large. Is 3/4 more or less than 1?", 15),
        ("What is 3/4 of 20?", "The result will be smaller than 20. Why?", 15),
        ("What is 3/4 of 20?", "The solution is to find one quarter first.", 15),
    ],
)
def test_a_hint_that_speaks_of_the_answer_does_not_give_it_away(problem: str, hint: str, answer: int | None) -> None:
    given = {"answer": answer} if answer is not None else {}
    found = rubrica.evaluate("education-hint", prompt=problem, response=hint, context=given)
    assert not any(gate.fired for gate in found.gates), found.reason


@pytest.mark.parametrize(
    ("problem", "hint", "answer"),
    [
        ("What is 12 × 5?", "12 × 5 = 60.", None),
        ("A dog has 4 legs. How many have 3 dogs?", "Work out 3 × 4 = 12", None),
        ("Solve 3x + 4 = 19.", "Subtract 4 and divide by 3: x = 5.", None),
        ("Solve 3x + 4 = 19.", "Subtract 4 and divide by 3: x = 5.", 5),
        ("What is the capital of France?", "The answer is Paris.", None),
        ("What is 3/4 of 20?", "So it is 15.", 15),
    ],
)
def test_a_hint_that_gives_the_answer_away_is_rejected(problem: str, hint: str, answer: int | None) -> None:
    given = {"answer": answer} if answer is not None else {}
    found = rubrica.evaluate("education-hint", prompt=problem, response=hint, context=given)
    assert found.verdict == "reject"


@pytest.mark.parametrize(
    ("analysis", "verdict"),
    [
        ("The learner is not lazy: they believe that × means +. Ask them to draw 5 rows of 12.", "inconclusive"),
        ("It looks like a careless mistake, but they read × as +. Let them draw it.", "inconclusive"),
        ("I can't help noticing that the learner reads × as +. Ask them to draw it.", "inconclusive"),
        ("The learner is lazy.", "reject"),
        ("I'm sorry, but I can't help with that.", "reject"),
    ],
)
def test_who_says_that_nobody_is_lazy_blames_nobody(analysis: str, verdict: str) -> None:
    found = rubrica.evaluate("education-misconception", prompt="12 × 5, learner: 17", response=analysis)
    assert found.verdict == verdict


def test_a_task_without_a_list_or_a_question_mark_is_an_exercise() -> None:
    asked = "Pick two exercises on fractions"
    task = rubrica.evaluate("education-exercise-selection", prompt=asked, response="Compute 1/2 + 1/4 with a drawing.")
    none = rubrica.evaluate("education-exercise-selection", prompt=asked, response="Practice makes perfect. Good luck.")
    assert (task.verdict, none.verdict) == ("inconclusive", "reject")


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


def test_exercises_may_be_chosen_by_their_place_in_a_book() -> None:
    chosen = "p. 40 no. 2 (mixing juice): taste gives a feeling for a ratio.\np. 43 no. 1 (map): the same with units."
    found = rubrica.evaluate(
        "education-exercise-selection", prompt="Two ratio exercises from the book", response=chosen
    )
    assert found.verdict == "inconclusive"


def test_near_copies_are_less_varied_than_tasks_of_several_kinds() -> None:
    copies = "\n".join(f"{at}. Find the volume of a box: {at}, 2, 4." for at in (1, 2, 3))
    kinds = (
        "1. Build a box of 12 cubes.\n2. A tank holds 60 litres. How deep is it?\n3. Draw two boxes of equal volume."
    )
    values = [
        _value("education-exercise-selection", "variety", "Three exercises on volume", each) for each in (copies, kinds)
    ]
    assert values[0] < 5 < values[1]


def test_a_hint_in_other_words_than_the_problem_is_no_less_right() -> None:
    hint = "Think of six loaves. How many halves could you hand out?"
    assert _value("education-hint", "accuracy", "Work out 6 : 1/2.", hint) == 8


def test_a_hint_that_only_tells_leaves_less_to_the_learner_than_one_that_asks() -> None:
    tells, asks = "Only 5 children pay, so take 5 times 7.", "How many of the children have to buy a ticket?"
    problem = "A ticket costs 7 dollars. How much do 6 children pay if one rides free?"
    assert _value("education-hint", "restraint", problem, tells) < _value("education-hint", "restraint", problem, asks)


def test_padding_makes_no_solution_complete() -> None:
    problem = "Three T-shirts at 12 dollars each and 4 dollars for shipping. What is the bill?"
    padded = (
        "Three shirts are bought, and each of them has its price, as is usual, so that in the end 40 dollars are paid."
    )
    short = "3 · 12 = 36 dollars. With shipping 36 + 4 = 40 dollars are paid."
    values = [_value("education-solution", "completeness", problem, each) for each in (padded, short)]
    assert values[0] < values[1]


def test_a_check_after_the_result_does_not_replace_it() -> None:
    solved = "240 / 48 = 5, so 5 coaches are needed. Check: 5 · 48 = 240."
    found = rubrica.evaluate(
        "education-solution", prompt="How many coaches for 240 people?", response=solved, context={"answer": 5}
    )
    assert "wrong-result" not in {gate.name for gate in found.gates if gate.fired}


def _value(rubric: str, axis: str, prompt: str, response: str) -> float:
    value = rubrica.evaluate(rubric, prompt=prompt, response=response).dimensions[axis].value
    assert value is not None
    return value
