"""What is asked for and what comes back: the request for questions, a question, and a response that holds several."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rubrica.errors import InputError
from rubrica.llm.images import linked
from rubrica.llm.model import ModelError
from rubrica.model.context import Context
from rubrica.phrases import fault_words
from rubrica.text.questions.question import written_images

from .results import ResponseEvaluation

QuestionType = Literal[
    "mcq", "multi-select", "true-false", "fill-in", "numeric", "short-answer", "open", "matching", "ordering", "mixed"
]
Difficulty = Literal["easy", "medium", "hard", "mixed"]
MOST_QUESTIONS = 50
TYPE_WORDS: Mapping[QuestionType, str] = {
    "mcq": "multiple-choice",
    "multi-select": "multiple-select",
    "true-false": "true-or-false",
    "fill-in": "fill-in",
    "numeric": "numeric",
    "short-answer": "short-answer",
    "open": "open-ended",
    "matching": "matching",
    "ordering": "ordering",
    "mixed": "",
}

OTHER_NAMES = {
    "question": ("question_text", "stem", "text"),
    "options": ("choices", "answer_options", "alternatives"),
    "answer": ("correct_answer", "correct_option", "answer_key", "correct", "key"),
    "explanation": ("rationale", "solution"),
    "type": ("question_type",),
}
"""What others call the fields of a question."""
_ALT_NAMES = ("alt", "alt_text", "image_alt", "image_description", "caption")
_IMAGE_NAMES = ("image", "image_url", "images", "image_urls")

Words = Annotated[str, Field(max_length=4_000)]


class GenerateQuestionsRequest(BaseModel):
    """What a set of questions shall be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    grade: int | None = Field(ge=0, le=13, description="School grade; kindergarten is 0, null is not known.")
    count: int = Field(1, ge=1, le=MOST_QUESTIONS, description="How many questions.")
    subject: Annotated[str, Field(max_length=100)] = Field(
        "", description="School subject. It is never assumed: left out, the result says so."
    )
    language: Annotated[str, Field(max_length=60)] = "english"
    question_type: QuestionType = "mcq"
    difficulty: Difficulty = "medium"
    instructions: Words = Field("", description="What the questions are about, and anything else to keep to.")
    skill: Words = Field("", description="The skill or standard they practise, in words.")
    evaluate: bool = Field(False, description="Whether the questions are judged too.")

    @property
    def topic(self) -> str:
        return " ".join((self.instructions or self.skill).split())

    @property
    def words(self) -> str:
        """The request as a judge is shown it; empty where no topic is given, for then nothing can be off it.

        >>> GenerateQuestionsRequest(grade=3, instructions="Halves and quarters").words
        'Halves and quarters: a multiple-choice question, medium.'
        """
        if not self.topic:
            return ""
        kind = f"{TYPE_WORDS[self.question_type]} question".strip()
        how = [f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"]
        how += [self.difficulty] if self.difficulty != "mixed" else []
        how += [f"in {self.language}"] if self.language.lower() not in ("english", "en") else []
        return f"{self.topic.rstrip('.:')}: {', '.join(how)}."


class GeneratedQuestion(BaseModel):
    """One question. Only its text must be there; what else it brings along is kept, and judged with it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str | None = None
    difficulty: str | None = None
    question: Annotated[str, Field(min_length=1)]
    options: list[Any] | dict[str, Any] | None = None
    answer: Any = None
    explanation: Any = None
    detailed_explanation: Any = None
    voiceover_script: Any = None

    @model_validator(mode="before")
    @classmethod
    def _one_name(cls, data: Any) -> Any:
        """Other usual names of the fields become ours; a field that has its own name already keeps it."""
        if not isinstance(data, Mapping):
            return data
        named = _readable(dict(data))
        for ours, others in OTHER_NAMES.items():
            if named.get(ours) is None:
                found = next((name for name in others if named.get(name) is not None), None)
                if found is not None:
                    named[ours] = named.pop(found)
        text = named.get("question")
        if "question" in named and (text is None or (isinstance(text, str) and not text.strip())):
            named.pop("question")
        for name in ("type", "difficulty"):
            if isinstance(named.get(name), int | float):
                named[name] = str(named[name])
        return named

    @classmethod
    def of(cls, data: object) -> GeneratedQuestion:
        """A question from loose data, or an InputError that says what it lacks.

        >>> GeneratedQuestion.of({"stem": "2 + 2?", "choices": {"A": 3, "B": 4}, "correct_answer": "B"}).answer
        'B'
        >>> GeneratedQuestion.of({"options": []})
        Traceback (most recent call last):
        rubrica.errors.InputError: not a question: it has no text (give it as `question`)
        """
        if not isinstance(data, Mapping):
            raise InputError(f"not a question: an object is wanted, not {type(data).__name__}")
        try:
            return cls.model_validate(dict(data))
        except ValidationError as error:
            raise InputError(
                f"not a question: {'; '.join(sorted({_problem_text(fault) for fault in error.errors()}))}"
            ) from None

    @property
    def plain(self) -> dict[str, Any]:
        """What it says, without what is absent."""
        found: dict[str, Any] = self.model_dump(mode="json", exclude_none=True)
        return found

    @property
    def kind(self) -> str:
        """What it is counted as: its type, or what its options tell."""
        return (self.type or ("mcq" if self.options else "")).strip().lower() or "unknown"


class GenerateQuestionResponse(BaseModel):
    """Questions that were written for a request. Their evaluation may be put beside them when there is one."""

    model_config = ConfigDict(extra="ignore", validate_assignment=True)

    data: tuple[GeneratedQuestion, ...] = ()
    request_id: str = Field(default_factory=lambda: str(uuid4()))
    total_questions: int | None = Field(None, description="Left out: as many as there are in `data`.")
    grade: int | None = Field(None, description="Left out: the request's.")
    evaluation: ResponseEvaluation | None = None

    @property
    def claimed(self) -> int:
        """How many questions it says it has."""
        return len(self.data) if self.total_questions is None else self.total_questions


def context_of(request: GenerateQuestionsRequest, question: GeneratedQuestion, *, files: bool = True) -> Context:
    """What is judged: the question as JSON text, for the request in words. Without `files`, only pictures that stand in
    the question itself or at a web address are looked at, never files of this machine."""
    facts = {
        "grade": request.grade,
        "subject": request.subject,
        "difficulty": request.difficulty if request.difficulty != "mixed" else question.difficulty,
        "skill": request.skill or request.instructions,
        "language": request.language,
    }
    told = {name: value for name, value in facts.items() if value not in (None, "")}
    images = [image for image in images_of(question) if files or _is_linked(image["url"])]
    return Context.of({"prompt": request.words, "response": question.plain, "images": images, "metadata": told})


def images_of(question: GeneratedQuestion) -> list[dict[str, str]]:
    """The pictures a question names in its fields or its text, with their descriptions.

    >>> images_of(GeneratedQuestion(question="Which?", image="bars.png", alt_text="A bar chart"))
    [{'url': 'bars.png', 'alt': 'A bar chart'}]
    >>> images_of(GeneratedQuestion(question="![A map](map.png) Which city is in the north?"))
    [{'url': 'map.png', 'alt': 'A map'}]
    """
    extra = question.model_extra or {}
    alt = next((str(extra[name]) for name in _ALT_NAMES if isinstance(extra.get(name), str)), "")
    found: list[dict[str, str]] = []
    for name in _IMAGE_NAMES:
        given = extra.get(name)
        for item in given if isinstance(given, list) else [given]:
            url = item.get("url") or item.get("src") if isinstance(item, Mapping) else item
            if isinstance(url, str) and url.strip() and all(url != other["url"] for other in found):
                own = (
                    next((str(item[key]) for key in _ALT_NAMES if item.get(key)), "")
                    if isinstance(item, Mapping)
                    else ""
                )
                found.append({"url": url.strip(), "alt": own or alt})
    for url, described in written_images(question.question):
        if url and all(url != other["url"] for other in found):
            found.append({"url": url, "alt": described or alt})
    return found


def _readable(data: dict[str, Any]) -> dict[str, Any]:
    """Data whose texts can be stored: half a surrogate pair, which models now and then write, becomes U+FFFD."""
    try:
        text = json.dumps(data, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        whole: dict[str, Any] = json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        return whole
    except (TypeError, ValueError, RecursionError):
        return data  # not plain data: told by whoever stores or judges it
    return data


def _problem_text(fault: Any) -> str:
    name = str(fault["loc"][0]) if fault["loc"] else "it"
    if fault["type"] == "missing":
        return f"it has no text (give it as `{name}`)"
    return "options: a list or a map is wanted" if name == "options" else f"{name}: {fault_words(fault)}"


def _is_linked(url: str) -> bool:
    try:
        return linked(url) is not None
    except ModelError:
        return False
