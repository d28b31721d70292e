"""Requests and responses as callers have them: models, plain data, or JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from rubrica.errors import InputError, JsonError, Problem
from rubrica.jsontext import decode_json
from rubrica.phrases import fault_words

from .questions import GenerateQuestionResponse, GenerateQuestionsRequest

GivenRequest: TypeAlias = GenerateQuestionsRequest | Mapping[str, Any] | str | bytes
GivenResponse: TypeAlias = GenerateQuestionResponse | Mapping[str, Any] | str | bytes
Model = TypeVar("Model", bound=BaseModel)


def request_of(given: GivenRequest) -> GenerateQuestionsRequest:
    """A request, or an InputError that names each field it cannot be read by.

    >>> request_of('{"grade": 3, "instructions": "Halves"}').topic
    'Halves'
    >>> request_of({"grade": 40, "many": 2})
    Traceback (most recent call last):
    rubrica.errors.InputError: request.grade: should be less than or equal to 13; request.many: there is no...
    """
    return _read(GenerateQuestionsRequest, given, "request")


def response_of(given: GivenResponse) -> GenerateQuestionResponse:
    """A response, or an InputError that names each field it cannot be read by.

    >>> response_of({"data": [{"question": "2 + 2?", "answer": 4}, {"options": []}]})
    Traceback (most recent call last):
    rubrica.errors.InputError: response.data[1].question: it is missing
    """
    return _read(GenerateQuestionResponse, given, "response")


def _read(model: type[Model], given: object, name: str) -> Model:
    if isinstance(given, model):
        return given
    try:
        data = decode_json(given) if isinstance(given, str | bytes) else given
    except JsonError as error:
        raise InputError(f"{name}: not JSON: {error}") from None
    if not isinstance(data, Mapping):
        raise InputError(f"{name}: {model.__name__} or an object with its fields is wanted, not {type(data).__name__}")
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise InputError("; ".join(_problem_text(fault, name) for fault in error.errors())) from None


def _problem_text(fault: Any, name: str) -> str:
    """What is wrong with a field, by its path."""
    match fault["type"]:
        case "missing":
            said = "it is missing"
        case "extra_forbidden":
            said = "there is no such field"
        case _:
            said = fault_words(fault)
    return str(Problem(said, path=(name, *fault["loc"])))
