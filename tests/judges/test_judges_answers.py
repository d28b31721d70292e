"""Answers instead of scores: labels that a judge chooses among, pooled, read by formulas, and refused when invented."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judges_samples import CONTEXT, scripted
from loopback import Loopback, Said
from pydantic import SecretStr

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate
from rubrica.engine.load import rubric_from_text
from rubrica.engine.rejudge import decide, rejudge
from rubrica.errors import RubricError
from rubrica.judges.judge import ModelJudge
from rubrica.judges.jury import Jury
from rubrica.judges.panel import Panel, Pooling
from rubrica.llm.settings import Settings
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Evaluation, Score, Unscored, Vote
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale
from rubrica.scoring.pooling import Pool

DOCUMENT = """
name: sourced
version: 1.0.0
dimensions:
  sourced: {asks: "Does it name its source?", answers: {yes: 1, partly: 0.5, no: 0, cannot_assess: null}, weight: 0.5}
  tone: {asks: "How does it sound?", answers: {warm: 1, plain: 1, rude: 0}, weight: 0.5}
gates:
  - {name: rudeness, when: "tone_is_rude and sourced < 1", verdict: fail}
  - {name: warmth, when: "tone_is_warm", floor: 100}
verdicts:
  - {label: pass, when: "score >= 50"}
  - {label: fail}
on_unscored: inconclusive
score: {weighted: true, out_of: 100}
"""


def rubric(**changes: Any) -> Rubric:
    return Rubric.model_validate({**rubric_from_text(DOCUMENT).model_dump(exclude_defaults=True), **changes})


def judged(*replies: Any, **changes: Any) -> Evaluation:
    asked = rubric(**changes)
    return asyncio.run(aevaluate(compile_rubric(asked, ModelJudge(scripted(*replies), asked)), CONTEXT))


def said(answer: object, reason: str = "so") -> dict[str, object]:
    return {"reason": reason, "answer": answer, "confidence": 0.9}


def test_an_answer_counts_its_value_and_is_kept_with_the_evaluation() -> None:
    found = judged(said("partly"), said("plain"))
    sourced = found.dimensions["sourced"]
    assert (sourced.value, sourced.label, sourced.reason, sourced.confidence) == (0.5, "partly", "so", 0.9)
    assert (found.score, found.verdict) == (75, "pass")
    assert sourced.why == "answer partly, so"
    again = Evaluation.from_json(found.to_json())
    assert again.dimensions["tone"].label == "plain"


def test_formulas_tell_labels_of_the_same_value_apart() -> None:
    warm, plain = judged(said("no"), said("warm")), judged(said("no"), said("plain"))
    assert (warm.score, plain.score) == (100, 50)
    assert judged(said("no"), said("rude")).verdict == "fail"
    assert [gate.name for gate in judged(said("yes"), said("rude")).gates if gate.fired] == []


@pytest.mark.parametrize("written", ["Partly", " partly.", "PARTLY"])
def test_a_label_is_read_however_it_is_written(written: str) -> None:
    assert judged(said(written), said("plain")).dimensions["sourced"].label == "partly"


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Answer: **partly**", "partly"),
        ("The answer is no.", "no"),
        ("**Label**: no\nReason: it is long", "no"),
        ("No, it names none.", "no"),
        ("Partly\n\nThe museum is named.", "partly"),
        ("no — there is no source", "no"),
        ("No. 5 is right.", ""),
        ("No idea.", ""),
        ("Yes and no.", ""),
        ("Yes, but only partly.", ""),
        ("Answer: yes\nAnswer: no", ""),
        ("<answer>partly</answer>", "partly"),
        ("<answer>yes</answer> or <answer>no</answer>", ""),
        ('"Yes, says the museum" is all it says.', ""),
    ],
)
def test_a_label_in_prose_is_read_where_it_answers_and_stands_alone(reply: str, label: str) -> None:
    assert judged(reply, reply, said("plain")).dimensions["sourced"].label == label


def test_a_label_that_was_not_offered_leaves_the_dimension_unscored_by_name() -> None:
    sourced = judged(said("mostly"), said("plain")).dimensions["sourced"]
    assert (sourced.value, sourced.status, sourced.label) == (None, "unscored", "")
    assert sourced.reason == 'the judge answered "mostly", which is none of yes, partly, no, cannot_assess'


def test_a_number_in_place_of_a_label_is_asked_for_again() -> None:
    found = judged({"reason": "so", "score": 1}, said("no"), said("plain"))
    assert {axis.label for axis in found.dimensions.values()} == {"no", "plain"}


@pytest.mark.parametrize(
    ("policy", "verdict", "score"), [("inconclusive", "pass", None), ("skip", "pass", 100), ("neutral", "pass", 75)]
)
def test_a_judge_that_cannot_assess_leaves_it_unscored_and_the_policy_says_what_follows(
    policy: str, verdict: str, score: float | None
) -> None:
    found = judged(said("cannot_assess", "the link is dead"), said("plain"), on_unscored=policy)
    sourced = found.dimensions["sourced"]
    assert (sourced.label, sourced.reason) == ("cannot_assess", "cannot_assess: the link is dead")
    assert sourced.status == ("neutral" if policy == "neutral" else "unscored")
    assert (found.verdict, found.score) == (verdict, score)


def test_that_nobody_could_assess_it_can_be_read_by_a_gate() -> None:
    gates = [{"name": "unknown", "when": "sourced_is_cannot_assess", "verdict": "fail"}]
    for policy in ("inconclusive", "skip", "neutral"):
        found = judged(said("cannot_assess"), said("plain"), gates=gates, on_unscored=policy)
        assert (found.verdict, found.gates[0].fired) == ("fail", True)


def test_asked_together_every_dimension_has_its_own_form() -> None:
    model = scripted({"dimensions": {"sourced": said("no"), "depth": {"reason": "deep", "score": 0.25}}})
    dimensions = {"sourced": {"answers": {"yes": 1, "no": 0}, "weight": 0.5}, "depth": {"weight": 0.5}}
    asked = rubric(dimensions=dimensions, gates=[], judging={"mode": "together"})
    found = asyncio.run(aevaluate(compile_rubric(asked, ModelJudge(model, asked)), CONTEXT))
    assert (found.dimensions["sourced"].label, found.dimensions["depth"].value) == ("no", 0.25)
    axes = model.requests[0].schema["properties"]["dimensions"]["properties"]  # type: ignore[index]
    assert axes["sourced"]["properties"]["answer"] == {"type": "string", "enum": ["yes", "no"]}
    assert "score" in axes["depth"]["properties"]


def test_a_provider_is_held_to_the_labels_and_the_prompt_names_them() -> None:
    async def run() -> tuple[Evaluation, Sequence[Any]]:
        def reply(seen: Any) -> Said:
            return Said(json.dumps(said("yes" if "name its source" in seen.prompt else "plain")))

        async with Loopback(script=reply) as there:
            settings = Settings(openai_base_url=there.openai_url, openai_key=SecretStr(there.key or ""), cache=None)
            async with Jury(["openai:gpt-4o-mini"], settings) as jury:
                return await aevaluate(compile_rubric(rubric(), jury.judge(rubric())), CONTEXT), list(there.seen)

    found, seen = asyncio.run(run())
    assert (found.score, found.dimensions["tone"].label) == (100, "plain")
    asked = next(one for one in seen if "name its source" in one.prompt)
    assert '"enum": ["yes", "partly", "no", "cannot_assess"]' in json.dumps(asked.body["response_format"])
    assert "Answer with one of: yes, partly, no, cannot_assess." in asked.prompt
    assert "Scale:" not in asked.prompt


# --- panels -----------------------------------------------------------------------------------------------

VALUES: Mapping[str, float] = {"yes": 1.0, "partly": 0.5, "no": 0.0}


def polled(labels: Sequence[str], how: Pool, weights: Mapping[str, float] | None = None) -> Score | Unscored:
    def seat(label: str) -> Any:
        async def answer(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
            if label not in VALUES:
                return dict.fromkeys(axes, Unscored(f"{label}: so", "llm", label=label))
            return dict.fromkeys(axes, Score(VALUES[label], "so", 1.0, "llm", label=label))

        return answer

    seats = {f"judge{n}": [seat(label)] for n, label in enumerate(labels)}
    panel = Panel(seats, {"sourced": Scale()}, Pooling(how, {"sourced": weights} if weights else {}))
    return asyncio.run(panel({"sourced": Axis(answers={**VALUES, "cannot_assess": None})}, CONTEXT))["sourced"]


@pytest.mark.parametrize(
    ("how", "labels", "pooled"),
    [
        ("majority", ["yes", "no", "yes"], "yes"),
        ("median", ["yes", "no", "no", "partly"], "no"),  # the median of the values would be no answer at all
        ("unanimous", ["yes", "yes", "yes"], "yes"),
        ("unanimous", ["yes", "partly", "yes"], "partly"),
        ("any", ["no", "partly", "no"], "partly"),
        ("majority", ["cannot_assess", "cannot_assess", "no"], "no"),
    ],
)
def test_panels_pool_labels(how: Pool, labels: list[str], pooled: str) -> None:
    found = polled(labels, how)
    assert isinstance(found, Score)
    assert (found.label, found.value) == (pooled, VALUES[pooled])
    assert [vote.label for vote in found.votes] == labels


def test_the_split_is_told() -> None:
    found = polled(["yes", "no", "yes", "cannot_assess"], "majority")
    assert "majority yes, split yes 2, no 1, cannot_assess 1" in found.reason


def test_weights_decide_where_the_rubric_says_so() -> None:
    weights = {"judge0": 3.0, "judge1": 1.0, "judge2": 1.0}
    found = polled(["no", "yes", "yes"], "weighted", weights)
    assert isinstance(found, Score)
    assert found.label == "no"


def test_a_panel_that_cannot_assess_says_so() -> None:
    found = polled(["cannot_assess", "cannot_assess"], "majority")
    assert isinstance(found, Unscored)
    assert found.label == "cannot_assess"


def test_an_even_split_is_no_answer() -> None:
    found = polled(["yes", "no"], "majority")
    assert isinstance(found, Unscored)
    assert found.reason.startswith("the judges are split evenly (yes 1, no 1): judge0 yes; judge1 no")


@given(
    st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=6),
    st.sampled_from(["majority", "unanimous", "any", "mean"]),
)
def test_pooled_answers_were_given_and_do_not_depend_on_the_order(labels: list[str], how: Pool) -> None:
    votes = [Vote(str(n), VALUES[label], label=label) for n, label in enumerate(labels)]
    found = Pooling(how).label("sourced", votes)
    assert found is None or found in labels
    assert found == Pooling(how).label("sourced", votes[::-1])
    assert Pooling(how).value("sourced", votes) == (None if found is None else VALUES[found])
    assert found is not None or how in ("majority", "mean")


def test_a_repeat_that_answers_otherwise_makes_the_verdict_inconclusive_by_its_label() -> None:
    dimensions = {"tone": {"answers": {"warm": 1, "plain": 0.9, "rude": 0.8}}}
    gates = [{"name": "rudeness", "when": "tone_is_rude", "verdict": "fail"}]
    asked = rubric(dimensions=dimensions, gates=gates, judging={"repeats": 2, "pool": "any"})

    def seat(label: str, value: float) -> Any:
        async def answer(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
            return dict.fromkeys(axes, Score(value, "so", 1.0, "llm", label=label))

        return answer

    panel = Panel({"a": [seat("warm", 1.0), seat("rude", 0.8)]}, {"tone": Scale()}, Pooling("any"))
    found = asyncio.run(aevaluate(compile_rubric(asked, panel), CONTEXT))
    assert found.dimensions["tone"].label == "warm"
    assert found.verdict == "inconclusive"
    assert found.dimensions["tone"].split == {"warm": 1, "rude": 1}


# --- given scores, other versions -------------------------------------------------------------------------


def test_a_value_that_people_gave_has_the_label_that_alone_has_it() -> None:
    found = decide(compile_rubric(rubric()), {"sourced": 0.5, "tone": 1}, CONTEXT)
    assert (found.dimensions["sourced"].label, found.dimensions["tone"].label) == ("partly", "")
    assert found.score == 75  # whether it was warm is not known of a 1, so that no gate fires


def test_an_answer_is_judged_again_at_its_new_value() -> None:
    before = judged(said("partly"), said("rude"))
    dimensions = {
        "sourced": {"answers": {"yes": 1, "partly": 0.8, "no": 0}, "weight": 0.5},
        "tone": {"answers": {"warm": 1, "plain": 0.5, "rude": 0.4}, "weight": 0.5},
    }
    after = rejudge(compile_rubric(rubric(dimensions=dimensions, gates=[])), before)
    assert (after.dimensions["sourced"].value, after.dimensions["tone"].value) == (0.8, 0.4)
    assert after.score == pytest.approx(60)


def test_stopping_when_decided_asks_no_more_than_the_labels_that_may_matter() -> None:
    first = {"sourced": {"answers": {"yes": 1, "no": 0}, "weight": 0.9}, "tone": {**TONE, "weight": 0.1}}
    for gates, asked in (([], 1), ([{"name": "rude", "when": "tone_is_rude", "verdict": "fail"}], 2)):
        model = scripted(said("yes"), said("rude"))
        own = rubric(dimensions=first, gates=gates, judging={"stop": "decided"})
        found = asyncio.run(aevaluate(compile_rubric(own, ModelJudge(model, own)), CONTEXT))
        assert (len(model.requests), found.verdict) == (asked, "fail" if gates else "pass")


TONE: dict[str, Any] = {"answers": {"warm": 1, "plain": 1, "rude": 0}}


# --- what cannot be ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("tone: {answers: {yes: 1}}", "answers has no choice (yes); give at least two labels a value"),
        ("tone: {answers: {yes: 1, cannot_assess: null}}", "give at least two labels a value"),
        ("tone: {answers: {yes: 10, no: 0}}", "10 is off the scale 0–1"),
        ("tone: {answers: {yes: 1, 'not at all': 0}}", "dimensions.tone.answers"),
        ("tone: {answers: {yes: many, no: 0}}", "dimensions.tone.answers.yes"),
        ("tone: {answers: {yes: 1, no: 0}, formula: '1'}", "answers go with scorer: judge"),
        ("tone: {answers: {yes: 1, no: 0}, anchors: {0-1: fine}}", "has answers and anchors"),
        ("tone: {answers: {yes: 1, no: 0}}\n  tone_is_yes: {formula: '1'}", "the name 'tone_is_yes' is already"),
        ("tone: {asks: Kind?}\njudging: {pool: any}", "any pools answers, and no dimension has `answers`"),
        ("tone: {answers: {yes: 1, no: 0}}\njudging: {mode: yes_no}", "weighs yes against no itself"),
    ],
)
def test_what_cannot_be_answered_is_told_with_its_place(line: str, told: str) -> None:
    document = f"name: x\nversion: 1.0.0\nscore: {{formula: '1'}}\nverdicts: [{{label: done}}]\ndimensions:\n  {line}\n"
    with pytest.raises(RubricError) as error:
        rubric_from_text(document)
    assert told in str(error.value)


def test_two_labels_of_the_same_value_are_fine_and_an_unknown_one_is_named() -> None:
    assert compile_rubric(rubric()).rubric.dimensions["tone"].answers["plain"] == 1
    declared = {"gates": [{"name": "g", "when": "tone_is_cold", "verdict": "fail"}], "context": {"audience": "who"}}
    with pytest.raises(RubricError, match="tone_is_cold"):
        compile_rubric(rubric(**declared))
