"""Offline, only evidence that holds rejects; what cannot be known has no score, and the result says why."""

from __future__ import annotations

from typing import Any

import pytest

from education_samples import calls, model_name, provider, question, teacher
from rubrica.education import ResponseEvaluator, generate_report
from rubrica.education.results import QuestionEvaluation
from rubrica.judges.judge import ModelJudge
from rubrica.llm.scripted import ScriptedModel
from rubrica.packs.library import load
from rubrica.text.questions import topic

SKILL = "Interpret products of whole numbers as totals of objects arranged in collections"


def judged(skill: str, language: str = "english", **changes: Any) -> QuestionEvaluation:
    request = {"grade": 3, "subject": "mathematics", "skill": skill, "language": language}
    found = ResponseEvaluator().evaluate_response(request, {"data": [question(**changes)]})
    return found.question_evaluations[0]


def test_a_skill_without_a_shared_word_does_not_reject() -> None:
    found = judged(SKILL)
    assert (found.recommendation, found.scores["query_relevance"] is not None) == ("inconclusive", True)


def test_another_topic_altogether_rejects_and_is_told() -> None:
    found = judged("Describe how volcanoes and earthquakes change the surface of the Earth")
    assert found.recommendation == "reject"
    assert {issue.category for issue in found.issues} == {"query_mismatch"}


def test_without_a_sentence_model_few_shared_words_leave_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic, "sentence_model", lambda: None)
    for skill in (SKILL, "Volcanoes, earthquakes and the surface of the Earth"):
        found = judged(skill)
        assert (found.recommendation, found.scores["query_relevance"]) == ("inconclusive", None)
        assert any("it shares few words with the request" in text for text in found.rests_on)
    assert judged("Equal groups of apples").scores["query_relevance"] is not None


SPANISH = {
    "question": "Hay 4 grupos iguales de 6 manzanas. ¿Cuántas manzanas hay en total?",
    "explanation": "Paso 1: vemos que hay 4 grupos iguales con 6 manzanas en cada uno. Paso 2: pensamos en 4 por 6, "
    "porque los grupos son iguales. Paso 3: contamos de seis en seis para comprobar.",
}


def test_readability_is_not_measured_for_spanish_and_the_result_says_so() -> None:
    found = judged("Grupos iguales de manzanas", "spanish", **SPANISH)
    assert found.scores["grade_alignment"] is None
    assert found.rests_on[0] == "it is in Spanish: readability is not measured for Spanish, so its grade has no score"
    assert found.di_scores["format_alignment"] == 0.8  # its steps are seen
    assert found.recommendation == "inconclusive"


@pytest.mark.parametrize("stem", ["¿Cuál es la derivada de x³?", "Bestimme die Ableitung von x³.", "x³的导数是什么？"])
def test_calculus_in_another_language_is_not_for_grade_three(stem: str) -> None:
    assert judged("Grupos iguales", question=stem, explanation=SPANISH["explanation"]).recommendation == "reject"


@pytest.mark.parametrize(
    "stem",
    [
        "Hay 4 bolsas con 6 panes integrales. ¿Cuántos panes hay en total? Son derivados del trigo.",
        "Ein quadratisches Blatt hat 4 Seiten von 6 cm. Wie lang sind die Seiten zusammen?",
        "O limite de velocidade é 24 km por hora. Quantos quilômetros faz o carro em uma hora?",
    ],
)
def test_everyday_words_are_no_topics_of_the_upper_grades(stem: str) -> None:
    assert judged("Grupos iguales", question=stem, explanation=SPANISH["explanation"]).recommendation != "reject"


def test_an_offline_verdict_says_what_it_rests_on_in_result_and_report() -> None:
    found = ResponseEvaluator().evaluate_response({"grade": 3, "skill": SKILL}, {"data": [question()]})
    first = found.question_evaluations[0]
    report = generate_report(found)
    assert first.rests_on[0].startswith("no subject was named")
    assert all(text in report for text in first.rests_on)
    assert "offline scores are only known within bounds" in first.reason
    assert "Ask a judge about 1 question: the verdict is open." in report


def test_leakage_is_told_once() -> None:
    shown = question(options=["A) ten apples", "B) twenty apples", "C) twenty-four apples", "D) six apples"])
    shown["explanation"] += " So it is twenty-four apples."
    request = {"grade": 3, "skill": "Equal groups", "subject": "mathematics"}
    found = ResponseEvaluator().evaluate_response(request, {"data": [shown]}).question_evaluations[0]
    assert sum("leak" in issue.text.lower() for issue in found.issues) == 1
    with provider(teacher(issues=["[pedagogical] Leakage: option C stands in the explanation"])) as server:
        heard = ResponseEvaluator(judge=model_name(server)).evaluate_response(request, {"data": [shown]})
        assert calls(server, "judgement") == 1
    assert sum("leak" in issue.text.lower() for issue in heard.question_evaluations[0].issues) == 1


def test_the_judge_says_which_class_an_issue_is_of() -> None:
    said = [
        "[linguistic] the answer is wrong",
        "**Format**: a step is missing",
        "[query mismatch] the key",
        "Wrong key",
    ]
    with provider(teacher(issues=said)) as server:
        found = ResponseEvaluator(judge=model_name(server)).evaluate_response(
            {"grade": 3, "subject": "mathematics", "skill": "Equal groups"}, {"data": [question()]}
        )
    assert [(issue.text, issue.category) for issue in found.question_evaluations[0].issues] == [
        ("the answer is wrong", "linguistic"),
        ("a step is missing", "format"),
        ("the key", "query_mismatch"),
        ("Wrong key", "mathematical"),
    ]


def test_bands_of_direct_instruction_and_classes_of_issues_reach_the_judge() -> None:
    rubric, asked = load("education-question"), []

    def reply(request: Any) -> str:
        asked.append(request.messages[0].content)
        return "{}"

    judge = ModelJudge(ScriptedModel(reply), rubric)
    ResponseEvaluator(judge=judge).evaluate_response({"grade": 3, "skill": "Equal groups"}, {"data": [question()]})
    shown = " ".join(asked[0].split())
    for part in rubric.dimensions["di_compliance"].parts.values():
        assert len(part.anchors) == 5
        assert all(" ".join(text.split()) in shown for text in part.anchors.values())
    assert all(f"[{name}]" in shown for name in rubric.judging.issue_classes)
