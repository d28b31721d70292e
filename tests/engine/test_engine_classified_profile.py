"""A profile that the context does not name is found from the prompt; a doubt about it reaches the verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

import rubrica
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate, evaluate
from rubrica.engine.rejudge import rejudge
from rubrica.errors import RubricError
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import INCONCLUSIVE, Cost, Evaluation, Score, Unscored
from rubrica.model.judge import QuestionClass
from rubrica.model.rubric import Rubric
from rubrica.text.question_type import classify_question

CLEAR = "What is the capital of France?"
VAGUE = "Sleep and money"


def rubric(**changed: object) -> Rubric:
    """Passes from so many words on, by type."""
    document = {
        "name": "length",
        "version": "1.0.0",
        "scale": {"min": 0, "max": 100},
        "dimensions": {"words": {"formula": "min(100, word_count)"}},
        "score": {"weighted": True, "out_of": 100},
        "profiles": {
            "by": "question_type",
            "classify": "question_type",
            "default": "ANALYTICAL",
            **{name: {"threshold": 3} for name in ("FACTUAL", "CREATIVE", "ETHICAL", "TECHNICAL")},
            "ANALYTICAL": {"threshold": 50},
        },
        "verdicts": [{"label": "pass", "when": "score >= threshold"}, {"label": "fail"}],
    }
    return rubrica.load({**document, **changed})


def judged(response: str, *, own: Rubric | None = None, **context: object) -> Evaluation:
    return evaluate(compile_rubric(own or rubric()), Context.of({"response": response, **context}))


def test_a_missing_type_is_found_from_the_prompt_and_told_with_its_confidence() -> None:
    found = judged("Paris, of course.", prompt=CLEAR)
    assert (found.profile, found.threshold, found.verdict) == ("FACTUAL", 3, "pass")
    assert found.classified is not None
    assert found.classified.by == "offline"
    assert found.notes == (
        f"question_type: FACTUAL (classified offline, confidence {found.classified.confidence:.2f})",
    )


def test_a_type_that_is_given_is_not_classified() -> None:
    found = judged("Paris, of course.", prompt=CLEAR, question_type="ANALYTICAL")
    assert (found.profile, found.verdict, found.classified, found.notes) == ("ANALYTICAL", "fail", None, ())


@pytest.mark.parametrize("given", ["analytical", " Analytical "])
def test_a_type_in_other_letters_is_the_type_that_is_meant(given: str) -> None:
    found = judged("Paris, of course.", prompt=CLEAR, question_type=given)
    assert (found.profile, found.classified, found.notes) == ("ANALYTICAL", None, ())


def test_names_that_differ_in_case_alone_are_told_apart() -> None:
    profiles = {"by": "question_type", "default": "other", "fast": {}, "FAST": {}, "other": {}}
    document = rubric().model_dump(mode="json", exclude_defaults=True)
    own = rubrica.load({**document, "profiles": profiles, "threshold": 3})
    assert [judged("x", own=own, question_type=name).profile for name in ("fast", "FAST", "Fast")] == [
        "fast", "FAST", "other",
    ]  # fmt: skip


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_cell_names_no_type(empty: str) -> None:
    found = judged("Paris, of course.", prompt=CLEAR, question_type=empty)
    assert (found.profile, [note.startswith("question_type: FACTUAL") for note in found.notes]) == ("FACTUAL", [True])
    assert judged("one two", question_type=empty).notes == ("no question_type was given: profile ANALYTICAL was used",)


def test_an_unknown_type_is_classified_and_told() -> None:
    found = judged("Paris, of course.", prompt=CLEAR, question_type="TRIVIA")
    assert found.profile == "FACTUAL"
    assert found.notes[0].startswith("question_type 'TRIVIA' is none of FACTUAL, ")


@pytest.mark.parametrize("prompt", ["", "   "])
def test_without_a_prompt_the_default_is_used(prompt: str) -> None:
    found = judged("one two three four", prompt=prompt)
    assert (found.profile, found.classified) == ("ANALYTICAL", None)
    assert found.notes == ("no question_type was given: profile ANALYTICAL was used",)


def test_a_verdict_that_hangs_on_an_uncertain_type_is_inconclusive() -> None:
    chances = classify_question(VAGUE)
    assert chances is not None
    assert chances.confidence < 0.9
    likeliest, second = list(chances.chances)[:2]
    profiles = {
        "by": "question_type",
        "classify": "question_type",
        likeliest: {"threshold": 3},
        second: {"threshold": 50},
    }
    others = {name: {"threshold": 3} for name in chances.chances if name not in profiles}
    own = rubric(profiles={**profiles, **others})
    found = judged("one two three four", prompt=VAGUE, own=own)
    assert found.verdict == INCONCLUSIVE
    assert found.reason.startswith("the verdict hangs on the question_type")
    assert f"pass as {likeliest}" in found.reason
    assert f"fail as {second}" in found.reason
    assert judged("one two", prompt=VAGUE, own=own).verdict == "fail"  # whatever the type is
    assert judged("word " * 60, prompt=VAGUE, own=own).verdict == "pass"


def test_the_score_lies_within_what_it_is_under_every_plausible_type() -> None:
    evaluation = rubrica.evaluate("answer-quality", prompt=VAGUE, response="Machines can be just. La la la.")
    assert evaluation.classified is not None
    for name in evaluation.classified.plausible:
        same = rubrica.evaluate(
            "answer-quality",
            prompt=VAGUE,
            response="Machines can be just. La la la.",
            context={"question_type": name},
        )
        assert same.score is not None
        assert evaluation.bounds[0] <= same.score <= evaluation.bounds[1]
    total = sum(evaluation.classified.plausible.values())
    assert total >= 0.9


def test_what_was_classified_is_stored_with_the_evaluation() -> None:
    found = judged("Paris, of course.", prompt=CLEAR)
    assert Evaluation.from_json(found.to_json()).classified == found.classified


def test_a_follow_up_is_read_with_what_it_follows() -> None:
    messages = [
        {"role": "user", "content": "Write a poem about the sea"},
        {"role": "assistant", "content": "Blue, blue."},
        {"role": "user", "content": "once more"},
        {"role": "assistant", "content": "Grey, grey, and then some."},
    ]
    own = compile_rubric(rubric())
    assert evaluate(own, Context.of({"messages": messages})).profile == "CREATIVE"


def test_profiles_that_the_classifier_does_not_know_are_refused() -> None:
    with pytest.raises(RubricError, match="no profile is called so"):
        rubric(profiles={"by": "kind", "classify": "question_type", "LONG": {"threshold": 3}})


class Typist:
    """A judge that scores everything the same and says of which type a question is."""

    def __init__(self, answer: QuestionClass | Exception) -> None:
        self.answer, self.asked = answer, 0

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        return {name: Score(1.0, source="llm", judge="typist") for name in axes}

    async def question_type(self, context: Context) -> QuestionClass:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def judged_by(judge: Typist, prompt: str, response: str = "one two three four", **context: object) -> Evaluation:
    plan = compile_rubric(rubric(), judge)
    return asyncio.run(aevaluate(plan, Context.of({"prompt": prompt, "response": response, **context})))


def test_where_the_type_is_unclear_the_judge_is_asked_and_its_cost_counts() -> None:
    judge = Typist(QuestionClass("ANALYTICAL", 0.95, "model", cost=Cost(0.02, 100, 5)))
    unclear = judged("one two three four", prompt=VAGUE)
    assert unclear.verdict == INCONCLUSIVE
    found = judged_by(judge, VAGUE)
    assert (found.profile, found.verdict, judge.asked) == ("ANALYTICAL", "fail", 1)
    assert found.classified is not None
    assert (found.classified.by, found.classified.confidence > 0.9) == ("judge", True)
    assert found.notes == (
        f"question_type: ANALYTICAL (classified by the judge, confidence {found.classified.confidence:.2f})",
    )
    assert found.cost == Cost(0.02, 100, 5)


def test_a_judge_is_not_asked_for_a_type_that_is_given_clear_or_of_no_matter() -> None:
    judge = Typist(QuestionClass("ANALYTICAL", 0.95, "model"))
    assert judged_by(judge, VAGUE, question_type="FACTUAL").profile == "FACTUAL"
    assert judged_by(judge, CLEAR).profile == "FACTUAL"
    assert judged_by(judge, VAGUE, "word " * 60).verdict == "pass"  # by every type
    assert judge.asked == 0


def test_a_judge_that_is_unsure_of_the_type_leaves_the_verdict_open() -> None:
    found = judged_by(Typist(QuestionClass("ANALYTICAL", 0.3, "model")), VAGUE)
    assert found.classified is not None
    assert len(found.classified.plausible) > 1
    assert found.verdict == INCONCLUSIVE


@pytest.mark.parametrize("failure", [QuestionClass("", 0.0, "fallback", "no budget is left"), OSError("no network")])
def test_without_an_answer_the_type_stays_as_classified_offline_and_the_note_says_why(
    failure: QuestionClass | Exception,
) -> None:
    found = judged_by(Typist(failure), VAGUE)
    offline = judged("one two three four", prompt=VAGUE)
    assert offline.classified is not None
    assert found.classified is not None
    assert (found.verdict, found.classified.by) == (INCONCLUSIVE, "offline")
    assert found.classified.plausible == offline.classified.plausible
    assert ("no budget is left" if isinstance(failure, QuestionClass) else "no network") in found.notes[0]


def test_judged_again_the_type_stays_what_the_judge_said() -> None:
    first = judged_by(Typist(QuestionClass("ANALYTICAL", 0.95, "model")), VAGUE)
    again = rejudge(compile_rubric(rubric()), Evaluation.from_json(first.to_json()))
    assert (again.profile, again.verdict) == (first.profile, first.verdict)
    assert again.classified == first.classified
