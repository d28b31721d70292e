"""A small rubric, a context and a way to ask, shared by the tests of judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubrica.llm.model import Usage
from rubrica.llm.scripted import ScriptedModel, ScriptLine
from rubrica.model.context import Context
from rubrica.model.rubric import Rubric

TOKEN = "00c0ffee00c0ffee"  # noqa: S105 - of a fence


def rubric(mode: str = "each", **changes: Any) -> Rubric:
    return Rubric.model_validate(
        {
            "name": "letters",
            "title": "Letters of complaint",
            "description": "How well a letter gets its writer what the writer wants.",
            "scale": {"min": 1, "max": 10},
            "dimensions": {
                "accuracy": {
                    "title": "Accuracy",
                    "asks": "Are the facts right?",
                    "anchors": {"7-10": "No fact is wrong.", "4-6": "A detail is off.", "1-3": "Much is wrong."},
                    "weight": 0.5,
                },
                "tone": {
                    "scale": {"min": 0, "max": 1},
                    "asks": "Is it firm and polite?",
                    "anchors": {"0.5-1": "Both.", "0-0.5": "Rude, or meek."},
                    "weight": 0.3,
                },
                "form": {"weight": 0.2, "formula": "10"},
            },
            "sections": {"content": {"title": "What it says", "dimensions": ["accuracy"]}},
            "context": {"audience": "who will read the letter"},
            "verdicts": [{"label": "send"}],
            "judging": {"mode": mode},
            **changes,
        }
    )


CONTEXT = Context.of(
    {"prompt": "Write to the landlord.", "response": "Dear Sir, the tap drips.", "audience": "a landlord"}
)
CELL = {"reason": "right", "score": 8, "confidence": 0.9}
TOGETHER = {
    "dimensions": {"accuracy": CELL, "tone": {"reason": "polite", "score": 0.7, "confidence": 0.6}},
    "issues": ["no date"],
    "strengths": ["short"],
    "suggestions": ["add the date"],
    "sections": {"content": "Clear and right."},
}


def scripted(*replies: Any, usage: Usage = Usage(100, 20)) -> ScriptedModel:  # noqa: B008 - frozen
    """A model that gives these replies in turn; texts and JSON objects cost `usage` each."""
    return ScriptedModel([ScriptLine(reply=it, usage=usage) if isinstance(it, str | dict) else it for it in replies])


def same_token(_text: str) -> str:
    return TOKEN


def contents(model: ScriptedModel) -> Sequence[str]:
    """What each request said last."""
    return [request.messages[-1].content for request in model.requests]
