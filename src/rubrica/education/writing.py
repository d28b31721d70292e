"""Asks a model to write questions, and reads its reply leniently."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from rubrica.errors import InputError, RubricaError
from rubrica.jsontext import json_values, unwrap_json
from rubrica.judges.fence import visible
from rubrica.judges.prompt import Template
from rubrica.judges.shape import skeleton
from rubrica.llm.model import ChatMessage, Model, Request, Usage
from rubrica.report.figures import count_of

from .questions import GeneratedQuestion, GenerateQuestionsRequest, QuestionType

TOKENS_FOR_ALL, TOKENS_FOR_EACH = 400, 800
TEMPERATURE = 0.7
DEFAULT_OPTIONS = 4  # of a multiple-choice question, where any number of them will do
"""Questions that are always the same ones are of little use."""

LONGEST_REPLY = 400_000
LONGEST_EXCERPT = 160
MOST_TRIED = 200
"""Places in a reply where JSON may begin that are tried."""

_USER = "<!-- user -->\n"
_GRADES = {None: "any", 0: "kindergarten"}
_WRAPPERS = ("questions", "data", "items", "results", "response", "quiz")
_LIKE_QUESTIONS = ("question", "question_text", "stem")


class WritingError(RubricaError):
    """A model did not write what was asked for; says what it did instead."""


@dataclass(frozen=True, slots=True)
class WrittenQuestions:
    """Questions that a model wrote."""

    questions: tuple[GeneratedQuestion, ...]
    refused: tuple[str, ...]  # what else was in the reply, and why it is no question
    seconds: float
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Writer:
    """A model that writes questions."""

    model: Model
    options: int = DEFAULT_OPTIONS  # of a multiple-choice question
    clock: Callable[[], float] = time.perf_counter

    async def write(self, request: GenerateQuestionsRequest) -> WrittenQuestions:
        """The questions for a request, at most as many as were asked for. What goes wrong is told as an error."""
        started = self.clock()
        reply = await self.model(questions_request(request, self.options))
        if reply.stop == "refusal":
            raise WritingError(f"the model refused to write: {_excerpt(reply.text)}")
        if reply.stop == "length":
            raise WritingError(
                f"the reply was cut off after {reply.usage.output_tokens} tokens (ask for fewer questions)"
            )
        questions, refused = read_questions(reply.text)
        if not questions:
            why = refused[0] if refused else "it holds no question"
            raise WritingError(f"the reply cannot be used: {why}: {_excerpt(reply.text)}")
        return WrittenQuestions(questions[: request.count], refused, self.clock() - started, reply.usage)


def questions_request(request: GenerateQuestionsRequest, options: int = 4) -> Request:
    """What a model is asked, as messages and as the shape of its reply."""
    if not (request.topic or request.subject):
        raise InputError("neither a topic nor a subject is named (give `instructions`, `skill` or `subject`)")
    form = shape(request.count)
    values = {
        "form": form_words(request.question_type, options),
        "language": request.language,
        "shape": skeleton(form),
        "count": count_of(request.count, "question"),
        "grade": _GRADES.get(request.grade, str(request.grade)),
        "subject": visible(request.subject) or "as the topic says",
        "difficulty": request.difficulty if request.difficulty != "mixed" else "easy, medium and hard in turn",
        "topic": visible(request.topic) or request.subject,
        "skill": visible(request.skill) or "as the topic says",
    }
    system, user = template().fill(values)
    return Request(
        (ChatMessage("system", system), ChatMessage("user", user)),
        schema=form,
        schema_name="questions",
        temperature=TEMPERATURE,
        max_tokens=TOKENS_FOR_ALL + TOKENS_FOR_EACH * request.count,
    )


@cache
def template() -> Template:
    """The prompt; its hash tells one wording from another."""
    text = _prompt("write.md")
    system, _, user = text.partition(_USER)
    return Template(system, user, hashlib.sha256((text + _prompt("forms.md")).encode()).hexdigest())


@cache
def form_words(kind: QuestionType, options: int) -> str:
    """How a type of question is to be written down."""
    parts = dict(re.findall(r"^## (\S+)\n\n(.*?)(?=\n\n##|\Z)", _prompt("forms.md").strip(), re.DOTALL | re.MULTILINE))
    return " ".join(parts[kind].replace("{{options}}", str(options or DEFAULT_OPTIONS)).split())


def _prompt(name: str) -> str:
    return (resources.files("rubrica.education") / "prompts" / name).read_text("utf-8")


def shape(count: int) -> dict[str, Any]:
    """The reply's JSON schema. Texts and lists are bounded, so that a small model comes to an end."""
    fields: dict[str, Any] = {name: {"type": "string", "maxLength": most} for name, most in _TEXTS.items()}
    fields["options"] = {"type": "array", "items": {"type": "string", "maxLength": 300}, "maxItems": 10}
    names = ("type", "difficulty", "question", "options", "answer", "explanation")
    question = {
        "type": "object",
        "properties": {name: fields[name] for name in names},
        "required": list(names),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"questions": {"type": "array", "items": question, "minItems": 1, "maxItems": count}},
        "required": ["questions"],
        "additionalProperties": False,
    }


_TEXTS = {"type": 20, "difficulty": 20, "question": 1200, "answer": 300, "explanation": 2000}


def read_questions(text: str) -> tuple[tuple[GeneratedQuestion, ...], tuple[str, ...]]:
    """The questions in a reply, and what looked like one and is none: JSON alone, in a code block, or between words.

    >>> [question.answer for question in read_questions('Here: [{"question": "2 + 2?", "answer": "4"}] Enjoy!')[0]]
    ['4']
    """
    questions: list[GeneratedQuestion] = []
    refused: list[str] = []
    for found in _candidates(text[:LONGEST_REPLY]):
        try:
            questions.append(GeneratedQuestion.of(found))
        except InputError as error:
            refused.append(str(error))
    return tuple(questions), tuple(refused)


def _candidates(text: str) -> Iterator[object]:
    whole, data = unwrap_json(text)
    values = [(whole, data)] if isinstance(data, dict | list) else json_values(text, most=MOST_TRIED)
    for _, value in values:
        yield from _inside(value, 4)


def _inside(value: object, depth: int) -> Iterator[object]:
    """What a reply offers as questions: the members of its list, wherever that is wrapped."""
    if isinstance(value, list):
        for item in value:
            inner = list(_inside(item, depth - 1)) if depth else []
            yield from inner or [item]  # what holds no question is told why it is none
    elif isinstance(value, dict):
        if any(isinstance(value.get(name), str) for name in _LIKE_QUESTIONS):
            yield value
            return
        wrapped = [value[name] for name in _WRAPPERS if isinstance(value.get(name), list | dict)]
        if wrapped and depth:
            for inner in wrapped[:1]:
                yield from _inside(inner, depth - 1)
        elif isinstance(value.get("question"), dict) and depth:
            yield from _inside(value["question"], depth - 1)


def _excerpt(text: str) -> str:
    line = visible(" ".join(text[: 8 * LONGEST_EXCERPT].split()))
    return (line if len(line) <= LONGEST_EXCERPT else line[: LONGEST_EXCERPT - 1] + "…") or "it is empty"
