"""Questions for learners: written by a model or by people, judged one by one, counted over a whole curriculum.

>>> from rubrica.education import GeneratedQuestion, GenerateQuestionResponse
>>> from rubrica.education import GenerateQuestionsRequest, ResponseEvaluator
>>> request = GenerateQuestionsRequest(grade=3, instructions="Multiplication facts: 4 times 6")
>>> asked = GeneratedQuestion(type="mcq", difficulty="medium", question="What is 4 times 6?",
...     options=["A) 10", "B) 20", "C) 24", "D) 46"], answer="E", explanation="Count by sixes four times.")
>>> response = GenerateQuestionResponse(data=[asked], grade=3)
>>> evaluation = ResponseEvaluator().evaluate_response(request, response)
>>> evaluation.question_evaluations[0].recommendation
'reject'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubrica.education.baseline import BaselineFile
    from rubrica.education.curriculum import Skill, read_curriculum
    from rubrica.education.evaluator import ResponseEvaluator, aevaluate_api_response, evaluate_api_response
    from rubrica.education.grades import MathsGrade, NoGrade, maths_grade
    from rubrica.education.questions import GeneratedQuestion, GenerateQuestionResponse, GenerateQuestionsRequest
    from rubrica.education.report import generate_report
    from rubrica.education.results import QuestionEvaluation, ResponseEvaluation, SectionEvaluation
    from rubrica.education.taxonomy import classify

__all__ = [
    "BaselineFile",
    "GenerateQuestionResponse",
    "GenerateQuestionsRequest",
    "GeneratedQuestion",
    "MathsGrade",
    "NoGrade",
    "QuestionEvaluation",
    "ResponseEvaluation",
    "ResponseEvaluator",
    "SectionEvaluation",
    "Skill",
    "aevaluate_api_response",
    "classify",
    "evaluate_api_response",
    "generate_report",
    "maths_grade",
    "read_curriculum",
]

_HOMES = {
    "baseline": ("BaselineFile",),
    "curriculum": ("Skill", "read_curriculum"),
    "evaluator": ("ResponseEvaluator", "aevaluate_api_response", "evaluate_api_response"),
    "grades": ("MathsGrade", "NoGrade", "maths_grade"),
    "questions": ("GenerateQuestionResponse", "GenerateQuestionsRequest", "GeneratedQuestion"),
    "report": ("generate_report",),
    "results": ("QuestionEvaluation", "ResponseEvaluation", "SectionEvaluation"),
    "taxonomy": ("classify",),
}


def __getattr__(name: str) -> Any:
    """Public names load on first use: a server that never sees a question should not pay for them."""
    for module, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"rubrica.education.{module}"), name)
            return value
    raise AttributeError(f"module 'rubrica.education' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
