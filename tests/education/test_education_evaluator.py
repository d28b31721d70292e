"""A response is judged question by question, with one judge call each, and summed up in the terms authors know."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback

from education_samples import MARKS, calls, model_name, provider, question, teacher
from rubrica.education import (
    GeneratedQuestion,
    GenerateQuestionResponse,
    GenerateQuestionsRequest,
    ResponseEvaluator,
    aevaluate_api_response,
    evaluate_api_response,
    generate_report,
)
from rubrica.education.results import DIMENSIONS, VERDICTS
from rubrica.errors import InputError, RubricaError
from rubrica.judges.judge import ModelJudge
from rubrica.llm.scripted import ScriptedModel
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score
from rubrica.packs.library import load

REQUEST = GenerateQuestionsRequest(grade=3, count=3, instructions="Equal groups: multiply to find how many in all")


def response(*questions: dict[str, Any], **fields: Any) -> GenerateQuestionResponse:
    data = [GeneratedQuestion.of(item) for item in questions or (question(),)]
    return GenerateQuestionResponse(**{"data": data, "request_id": "363f22f5", "grade": 3, **fields})


async def kind_judge(axes: Mapping[str, Axis], context: Context) -> dict[str, Score]:
    return {name: Score(MARKS[name], "fine", source="llm") for name in axes}


def test_one_judge_call_per_question_scores_everything() -> None:
    remarks: dict[str, Any] = {
        "issues": ["Explanation could be more detailed", "No issues"],
        "strengths": ["Clear question text", "Good step-by-step breakdown"],
        "suggestions": ["Show why equal groups can be multiplied"],
    }
    with provider(teacher(**remarks)) as server:
        evaluator = ResponseEvaluator(parallel_workers=2, judge=model_name(server))
        found = evaluator.evaluate_response(REQUEST, response(question(), question(), question()))
        assert (calls(server, "judgement"), server.requests) == (3, 3)
    first = found.question_evaluations[0]
    assert set(first.scores) == set(DIMENSIONS)
    assert first.di_scores == {"general_principles": 0.82, "format_alignment": 0.82, "grade_language": 0.82}
    assert [(issue.text, issue.category) for issue in first.issues] == [
        ("Explanation could be more detailed", "pedagogical")
    ]
    assert first.scaffolding_section.issues == ("Explanation could be more detailed",)
    assert first.scaffolding_section.strengths == ("Good step-by-step breakdown",)
    assert first.question_section.strengths == ("Clear question text",)
    assert first.question_section.note == "note on question"
    assert first.suggestions == ("Show why equal groups can be multiplied",)
    assert (found.total_issues, found.total_strengths, first.offline) == (3, 6, False)


def test_scores_follow_the_formulas() -> None:
    found = ResponseEvaluator(judge=kind_judge).evaluate_response(REQUEST, response())
    first = found.question_evaluations[0]
    assert first.overall_score == pytest.approx(0.8575, abs=1e-4)
    assert first.question_section.section_score == pytest.approx(0.90, abs=1e-6)
    assert first.scaffolding_section.section_score == pytest.approx(0.7833, abs=1e-4)
    assert first.recommendation == "accept"
    assert found.overall_score == first.overall_score
    assert found.scores["di_compliance"] == pytest.approx(0.82)
    assert found.aggregate_scores["overall"] == found.overall_score


def test_a_failed_check_rejects_and_saves_the_call() -> None:
    with provider(teacher()) as server:
        evaluator = ResponseEvaluator(judge=model_name(server))
        found = evaluator.evaluate_response(REQUEST, response(question(answer="E"), question()))
        assert calls(server, "judgement") == 1
    rejected, accepted = found.question_evaluations
    assert (rejected.recommendation, rejected.overall_score) == ("reject", None)
    assert [issue.category for issue in rejected.issues] == ["format"]
    assert accepted.recommendation == "accept"
    assert (found.question_count, found.scored_count) == (2, 1)
    assert found.overall_score == accepted.overall_score
    assert found.error_taxonomy["format"] == found.error_taxonomy["total_errors"] == 1


def test_a_question_without_a_picture_has_no_image_section_and_says_so() -> None:
    found = ResponseEvaluator().evaluate_response(REQUEST, response())
    section = found.question_evaluations[0].image_section
    assert (section.section_score, section.recommendation) == (None, None)
    assert "no picture" in section.note
    assert found.section_scores["image"].model_dump() == {"average_score": None, "count": 0}


def test_a_picture_is_judged() -> None:
    asked = question(question="Look at the picture. How many apples are in 4 groups of 6?", image="apples.png",
                     alt_text="Four bags with six apples each")  # fmt: skip
    section = ResponseEvaluator().evaluate_response(REQUEST, response(asked)).question_evaluations[0].image_section
    assert "no picture" not in section.note


def test_files_are_no_pictures_where_that_is_forbidden() -> None:
    seen: list[Context] = []

    async def watching(axes: Mapping[str, Axis], context: Context) -> dict[str, Score]:
        seen.append(context)
        return {name: Score(9) for name in axes}

    asked = question(images=["/etc/passwd", "https://example.org/apples.png"], alt_text="apples")
    for files in (True, False):
        ResponseEvaluator(judge=watching, image_files=files).evaluate_response(REQUEST, response(asked))
    assert [[image.url for image in context.images] for context in seen] == [
        ["/etc/passwd", "https://example.org/apples.png"],
        ["https://example.org/apples.png"],
    ]


def test_the_compliance_report_says_what_was_asked_and_what_came() -> None:
    questions = (question(), question(difficulty="easy"), question(type="fill-in", options=None, answer="24"))
    report = ResponseEvaluator().evaluate_response(REQUEST, response(*questions, grade=4)).compliance_report
    assert report["count_compliance"] == {"requested": 3, "generated": 3, "compliant": True}
    assert report["grade_compliance"] == {"requested": 3, "response_grade": 4, "compliant": False}
    assert report["type_distribution"] == {"mcq": 2, "fill-in": 1}
    assert report["difficulty_distribution"] == {"medium": 2, "easy": 1}
    assert set(report["quality_distribution"]) == set(VERDICTS)
    assert set(report["section_scores"]) == {"question", "scaffolding", "image"}
    assert [row["question_id"] for row in report["di_compliance"]["breakdown"]] == [0, 1, 2]


def test_a_response_that_claims_more_than_it_holds_does_not_comply() -> None:
    found = ResponseEvaluator().evaluate_response(REQUEST, response(total_questions=3))
    assert found.compliance_report["count_compliance"] == {
        "requested": 3, "generated": 1, "claimed": 3, "compliant": False,
    }  # fmt: skip
    assert any("asked for" in text for text in found.recommendations)


def test_breaking_direct_instruction_is_a_hard_failure() -> None:
    marks = {**MARKS, "general_principles": 2, "format_alignment": 2, "grade_language": 2}

    async def strict(axes: Mapping[str, Axis], context: Context) -> dict[str, Score]:
        return {name: Score(marks[name]) for name in axes}

    found = ResponseEvaluator(judge=strict).evaluate_response(REQUEST, response())
    (failure,) = found.compliance_report["di_compliance"]["hard_failures"]
    assert (failure["question_id"], failure["score"]) == (0, 0.2)
    assert found.quality_distribution["reject"] == 1
    assert found.error_taxonomy["pedagogical"] == 1


def test_a_judge_that_fails_leaves_the_question_open_and_the_others_judged() -> None:
    script = ScriptedModel(lambda _: "no JSON at all")
    found = ResponseEvaluator(judge=ModelJudge(script, load("education-question"))).evaluate_response(
        REQUEST, response()
    )
    assert found.question_evaluations[0].recommendation == "inconclusive"
    assert (found.overall_score, found.quality_distribution["inconclusive"]) == (None, 1)


def test_an_empty_response_has_no_score_and_does_not_comply() -> None:
    found = ResponseEvaluator().evaluate_response(REQUEST, response(data=[]))
    assert (found.overall_score, found.question_count) == (None, 0)
    assert found.compliance_report["count_compliance"]["compliant"] is False
    assert "0 questions came" in generate_report(found)


def test_as_many_questions_as_workers_are_under_way() -> None:
    under_way, most = 0, 0

    async def counting(axes: Mapping[str, Axis], context: Context) -> dict[str, Score]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return {name: Score(9) for name in axes}

    ResponseEvaluator(parallel_workers=3, judge=counting).evaluate_response(REQUEST, response(*[question()] * 9))
    assert most == 3
    with pytest.raises(RubricaError, match="parallel_workers is 0"):
        ResponseEvaluator(parallel_workers=0)


def test_inside_a_running_loop_the_twin_is_awaited() -> None:
    async def scenario() -> tuple[float | None, str | None, float | None]:
        async with Loopback(teacher(), key=None) as server:
            evaluator = ResponseEvaluator(judge=model_name(server))
            found, report = await aevaluate_api_response(REQUEST, response(), True, evaluator=evaluator)
        offline = ResponseEvaluator().evaluate_response(REQUEST, response())  # the plain one works there too
        with pytest.raises(RubricaError, match="await aevaluate_response"):
            ResponseEvaluator(judge=kind_judge).evaluate_response(REQUEST, response())
        return found.overall_score, report, offline.overall_score

    score, report, offline = asyncio.run(scenario())
    assert score == pytest.approx(0.8575, abs=1e-4)
    assert report is not None
    assert "Question 1: accept" in report
    assert offline is not None


def test_the_report_tells_figures_sections_and_what_to_do_next() -> None:
    found, report = evaluate_api_response(REQUEST, response(question(), question(answer="E")), generate_report=True)
    assert report == ResponseEvaluator().generate_report(found)
    assert report is not None
    for part in (
        "Evaluation of 2 questions",
        "correctness",
        "scaffolding",
        "Question 2: reject",
        "offline",
        "Write 1 question",
        "  errors        format 1",
    ):
        assert part in report
    assert "total_errors" not in report
    assert evaluate_api_response(REQUEST, response())[1] is None


def test_the_result_is_plain_data_and_reads_back() -> None:
    found = ResponseEvaluator().evaluate_response(REQUEST, response())
    again = type(found).model_validate(json.loads(found.model_dump_json()))
    assert again == found


def test_the_baseline_is_updated_where_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    found, _ = evaluate_api_response(REQUEST, response(), update_baseline=True, baseline_file=file)
    (kept,) = json.loads(file.read_text())["evaluations"]
    assert kept["overall_score"] == found.overall_score
    assert kept["request_id"] == "363f22f5"
    assert kept["aggregate_scores"]["overall"] == found.overall_score
    assert {"timestamp", "commit_hash", "total_issues", "total_strengths", "compliance_report", "recommendations",
            "question_count", "quality_distribution"} <= kept.keys()  # fmt: skip


@pytest.mark.parametrize(
    ("loose", "why"),
    [
        ({}, "it has no text"),
        ({"question": "   "}, "it has no text"),
        ({"question": 7}, "question: should be text"),
        ({"question": "2 + 2?", "options": 5}, "options"),
        ([], "an object is wanted"),
    ],
)
def test_what_is_no_question_is_refused_with_the_reason(loose: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        GeneratedQuestion.of(loose)


def test_a_misspelt_field_of_a_request_is_refused() -> None:
    with pytest.raises(ValueError, match="evaluat"):
        GenerateQuestionsRequest.model_validate({"grade": 3, "evaluat": True})


def test_plain_data_and_json_are_judged_as_the_models_are() -> None:
    asked = {"grade": 3, "count": 3, "instructions": REQUEST.instructions}
    given = {"data": [question()], "request_id": "363f22f5", "grade": 3}
    timing: Any = {"timestamp": True, "question_evaluations": {"__all__": {"duration"}}}
    expected = ResponseEvaluator().evaluate_response(REQUEST, response()).model_dump(exclude=timing)
    for request, answered in ((asked, given), (json.dumps(asked), json.dumps(given).encode())):
        found, _ = evaluate_api_response(request, answered)
        assert found.model_dump(exclude=timing) == expected


@pytest.mark.parametrize(
    ("request_data", "response_data", "told"),
    [
        ({"grade": "third"}, {}, "request.grade: should be a whole number"),
        ({"grade": 3, "evaluat": True}, {}, "request.evaluat: there is no such field"),
        ({}, {}, "request.grade: it is missing"),
        ("{oops", {}, "request: not JSON"),
        ([], {}, "request: GenerateQuestionsRequest or an object with its fields is wanted, not list"),
        ({"grade": 3}, {"data": [question(), {"options": []}]}, r"response.data\[1\].question: it is missing"),
        ({"grade": 3}, {"data": "none"}, "response.data: should be a list"),
        ({"grade": 3}, None, "response: .* not NoneType"),
    ],
)
def test_data_that_cannot_be_judged_is_refused_by_field(request_data: Any, response_data: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        evaluate_api_response(request_data, response_data)


def test_another_rubric_and_its_settings_can_be_used() -> None:
    five = load("education-question").with_settings(option_count=5)
    asked = question(options=["A) 10", "B) 20", "C) 24", "D) 46", "E) 12"])
    usual, changed = (
        ResponseEvaluator(rubric=rubric).evaluate_response(REQUEST, response(asked)).question_evaluations[0]
        for rubric in ("education-question", five)
    )
    assert any("number of options" in issue.text for issue in usual.issues)
    assert not any("number of options" in issue.text for issue in changed.issues)


def test_the_evaluation_can_be_put_into_the_response() -> None:
    judged = response()
    judged.evaluation = ResponseEvaluator().evaluate_response(REQUEST, judged)
    assert json.loads(judged.model_dump_json())["evaluation"]["question_count"] == 1


def test_an_unknown_grade_is_not_held_against_a_question() -> None:
    request = GenerateQuestionsRequest(grade=None, instructions="Equal groups of apples")
    found = ResponseEvaluator().evaluate_response(request, response(grade=None)).question_evaluations[0]
    assert found.scores["grade_alignment"] is None
    assert found.overall_score is not None


def test_half_a_surrogate_pair_can_be_judged_and_stored() -> None:
    broken = GeneratedQuestion.of(
        json.loads('{"question": "2 + 2 \\ud800?", "answer": ["\\udfff"], "note": "\\ud83c"}')
    )
    assert (broken.question, broken.answer) == ("2 + 2 \ufffd?", ["\ufffd"])
    json.dumps(broken.plain).encode()
