"""The sandbox without a page: a form says what a context says, and an evaluation is shown without markup of others."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from rubrica import api
from rubrica.engine.cases import Case, read_case
from rubrica.engine.load import rubric_from_data
from rubrica.errors import ContextError, InputError
from rubrica.model.context import Context
from rubrica.packs.library import PACKS
from rubrica.studio.sandbox import result
from rubrica.studio.sandbox.form import (
    Form,
    FormMetric,
    FormTurn,
    context_of,
    form_of,
    names_read,
    reads_rounds,
    with_names,
)
from rubrica.studio.sandbox.result_panel import explain

HOSTILE = "<script>alert(1)</script>"


def examples() -> list[tuple[str, str]]:
    found = []
    for pack in PACKS:
        file = files("rubrica.packs") / pack / "examples.jsonl"
        if file.is_file():
            found += [(pack, line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return found


def test_every_bundled_example_means_the_same_once_it_is_filled_in() -> None:
    lines = examples()
    assert len(lines) > 50
    for pack, line in lines:
        case = read_case(line, 1)
        assert isinstance(case, Case)
        plan = api.compile(case.rubric or pack)
        form = with_names(form_of(json.loads(line)), names_read(plan))
        again = api.evaluate(plan, context=context_of(form, rounds=reads_rounds(plan.rubric)))
        once = api.evaluate(plan, context=case.context)
        assert (again.verdict, again.score) == (once.verdict, once.score), (pack, case.id)


def test_what_was_said_before_is_a_chat_or_rounds() -> None:
    turns = (FormTurn("user", "One?"), FormTurn("assistant", "1."), FormTurn("user", " "), FormTurn("assistant", "2."))
    form = Form("Three?", "3.", turns)
    assert context_of(form).history == ("1.", "2.")
    rounds = context_of(form, rounds=True).round_history
    assert [(one.round_number, one.prompt, one.response) for one in rounds] == [(1, "One?", "1."), (2, "", "2.")]
    assert reads_rounds(api.compile("arena").rubric)
    assert not reads_rounds(api.compile("answer-quality").rubric)


def test_values_are_numbers_where_they_read_as_numbers() -> None:
    metrics = (
        FormMetric("response_time", "8"),
        FormMetric("hits", "0.5"),
        FormMetric("question_type", "FACTUAL"),
        FormMetric("x", ""),
    )
    context = context_of(Form(response="So.", metrics=metrics))
    assert (context.metadata.response_time, context.custom_metrics) == (8, {"hits": 0.5})
    assert context.lookup("question_type") == "FACTUAL"
    assert context.lookup("x") is None


def test_criteria_and_a_reference_of_a_case_have_fields_of_their_own() -> None:
    criteria = [
        {"criterion": "Says how.", "points": 6, "tags": ["accuracy"]},
        {"criterion": "Is rude.", "points": -2.5},
    ]
    case = {"response": "So.", "criteria": criteria, "reference": "Pull it out straight."}
    form = form_of(case)
    assert (form.criteria, form.rest) == ("+6 Says how. #accuracy\n-2.5 Is rude.", "")
    assert context_of(form) == Context.of(case)
    richer = form_of({**case, "criteria": [{"criterion": "Says how.", "answers": {"yes": 1, "no": 0}}]})
    assert (richer.criteria, context_of(richer).criteria[0].answers) == ("", {"yes": 1, "no": 0})  # as JSON


@pytest.mark.parametrize("rest", ["{oops", "[1]", '{"metadata": 7}'])
def test_other_context_that_cannot_be_read_is_told(rest: str) -> None:
    with pytest.raises(InputError, match="Other context"):
        context_of(Form(response="So.", rest=rest))


def test_a_field_that_does_not_fit_is_told() -> None:
    with pytest.raises(ContextError, match="response_time"):
        context_of(Form(response="So.", metrics=(FormMetric("response_time", "soon"),)))


def test_a_rubric_says_which_names_it_reads() -> None:
    assert names_read(api.compile("answer-quality"))[0] == "question_type"
    assert "response_time" in names_read(api.compile("speed-demon"))


def test_what_is_judged_is_never_markup_and_its_matches_are_marked() -> None:
    rubric = rubric_from_data(
        {
            "name": "found", "scale": {"min": 0, "max": 10}, "score": {"weighted": True, "out_of": 10},
            "dimensions": {"a": {"weight": 1, "rules": [{"type": "pattern_detection", "patterns": [
                {"name": HOSTILE, "regex": "alert.1", "score": 4}]}]}},
            "verdicts": [{"label": "pass", "when": "score >= 5"}, {"label": "fail"}],
        }
    )  # fmt: skip
    plan = api.compile(rubric)
    found = explain(plan, api.evaluate(plan, prompt=HOSTILE, response=HOSTILE))
    card = found.card
    shown = result.texts(card.texts) + result.dimensions(card) + result.summary(card, rubric)
    shown += result.changes(found.turns, found.releases, rubric) + result.gates(card.gates, rubric)
    shown += result.side_by_side((found.evaluation, rubric), (found.evaluation, rubric), (HOSTILE, "other"))
    assert "<script" not in shown
    assert '<mark class="tone-plus"' in shown
    assert "A at <b>5</b> or more" in shown
