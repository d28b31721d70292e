"""Questions for learners: written by the server's model and, where that is wanted, judged as well."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from rubrica.education.evaluator import ResponseEvaluator
from rubrica.education.questions import GenerateQuestionResponse, GenerateQuestionsRequest
from rubrica.education.writing import Writer, WritingError, WrittenQuestions, questions_request
from rubrica.errors import InputError
from rubrica.judges.quote import Quote, quote_usages
from rubrica.llm.budget import load_price
from rubrica.llm.connect import connect
from rubrica.llm.model import Model, ModelError
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.settings import load_settings
from rubrica.llm.token_bounds import most_usage
from rubrica.model.context import Context
from rubrica.server.depends import Serving, Signed
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, render
from rubrica.server.service import Service
from rubrica.server.shared import shared_instance
from rubrica.workspace.access import check_action

LOG = logging.getLogger("rubrica.server")
WORKERS = 20
"""Questions of one request that are judged at once."""

MOST_AT_ONCE = 20
"""Questions of one request."""

AGAIN = {"Retry-After": "5"}
NO_MODEL = "this server has no model to write questions (start it with `rubrica serve --judge MODEL`)"
EXAMPLE = {
    "grade": 5,
    "count": 3,
    "subject": "mathematics",
    "language": "english",
    "question_type": "mcq",
    "difficulty": "medium",
    "instructions": "Adding fractions with different denominators",
    "evaluate": True,
}

router = APIRouter(route_class=JsonRoute, tags=["education"])


class EducationTools:
    """What the requests of one server share: the limits of its model, and the evaluator."""

    def __init__(self) -> None:
        self._gates = ProviderLimits()
        self._evaluator: ResponseEvaluator | None = None

    @asynccontextmanager
    async def model(self, name: str) -> AsyncIterator[Model]:
        """The model that writes, for one request; its limits and its breaker outlast it."""
        opened = connect(name, load_settings(), gates=self._gates)
        try:
            yield opened
        finally:
            await opened.close()

    async def evaluator(self, service: Service) -> ResponseEvaluator:
        """Judges with the server's jury, or offline where it has none. It never opens files as pictures."""
        if self._evaluator is None:
            self._evaluator = await asyncio.to_thread(_evaluator, service)
        return self._evaluator


def _evaluator(service: Service) -> ResponseEvaluator:
    plain = ResponseEvaluator(WORKERS, image_files=False, clock=service.clock)
    if service.jury is None:
        return plain
    judge = service.jury.judge(plain.rubric)
    return ResponseEvaluator(WORKERS, judge, plain.rubric, image_files=False, clock=service.clock)


@router.post(
    "/v2/generate_questions",
    response_model=GenerateQuestionResponse,
    summary="Write questions, and judge them",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
async def generate_questions(
    request: Request, body: GenerateQuestionsRequest, caller: Signed, service: Serving
) -> Response:
    """Authors. The server's model writes the questions; with `evaluate` each is judged, with one judge call, and the
    evaluation comes along. Nothing is stored: the same request writes other questions."""
    check_action(caller, "having questions written")
    if body.count > MOST_AT_ONCE:
        raise InputError(f"count: {body.count} questions are asked for, the most is {MOST_AT_ONCE} (ask twice)")
    if not service.settings.judges:
        raise HTTPException(503, NO_MODEL)
    tools = shared_instance(request.app, EducationTools)
    evaluator = await tools.evaluator(service)
    async with service.spending.paying(caller, await _quote(service, body, evaluator)):
        return await _answer(request, tools, body, service, evaluator)


async def _quote(service: Service, body: GenerateQuestionsRequest, evaluator: ResponseEvaluator) -> Quote:
    """What writing the questions, and judging them if that is wanted, costs at most."""
    price = await asyncio.to_thread(load_price, "having questions written")
    asked = most_usage(questions_request(body, _options(evaluator)))
    writing = quote_usages(service.settings.judges[0], [asked], price)
    if not body.evaluate or service.jury is None:
        return writing
    service.spending.check_calls(writing.calls + service.jury.calls(evaluator.rubric) * body.count)
    longest = Context(prompt=body.topic or "", response="x" * 2 * asked.output_tokens)
    return writing + (await service.jury.quote(evaluator.rubric, longest)).times(body.count)


async def _answer(
    request: Request,
    tools: EducationTools,
    body: GenerateQuestionsRequest,
    service: Service,
    evaluator: ResponseEvaluator,
) -> Response:
    written = await _write_questions(tools, service.settings.judges[0], body, evaluator)
    response = GenerateQuestionResponse(
        data=written.questions,
        request_id=request.scope["state"]["request_id"],
        total_questions=len(written.questions),
        grade=body.grade,
    )
    if body.evaluate:
        response = response.model_copy(update={"evaluation": await evaluator.aevaluate_response(body, response)})
    return render(RouteAnswer(response))


def _options(evaluator: ResponseEvaluator) -> int:
    """How many options a multiple-choice question has."""
    return int(evaluator.rubric.settings.get("option_count", 4))


async def _write_questions(
    tools: EducationTools, name: str, body: GenerateQuestionsRequest, evaluator: ResponseEvaluator
) -> WrittenQuestions:
    """What the model wrote. Where it wrote nothing of use, it is the server that is not up to it just now: 503."""
    try:
        async with tools.model(name) as model:
            return await Writer(model, _options(evaluator)).write(body)
    except WritingError as error:
        raise HTTPException(503, f"no questions were written: {error} (try again)", AGAIN) from None
    except ModelError as error:
        LOG.warning("the model gave no questions: %s", error)
        raise HTTPException(503, f"the model cannot be asked now: {error.trouble} (try again later)", AGAIN) from None
