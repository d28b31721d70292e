"""A profile that the context does not name is found from the prompt; a doubt about it reaches the verdict."""

from __future__ import annotations

import pytest

import rubrica
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.errors import RubricError
from rubrica.model.context import Context
from rubrica.model.evaluation import INCONCLUSIVE, Evaluation
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
    assert found.notes == (f"question_type: FACTUAL (classified offline, {found.classified.confidence:.2f})",)


def test_a_type_that_is_given_is_not_classified() -> None:
    found = judged("Paris, of course.", prompt=CLEAR, question_type="ANALYTICAL")
    assert (found.profile, found.verdict, found.classified, found.notes) == ("ANALYTICAL", "fail", None, ())


def test_an_unknown_type_is_classified_and_told() -> None:
    found = judged("Paris, of course.", prompt=CLEAR, question_type="TRIVIA")
    assert found.profile == "FACTUAL"
    assert found.notes[0].startswith("question_type 'TRIVIA' is unknown; question_type: FACTUAL (classified offline")


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
