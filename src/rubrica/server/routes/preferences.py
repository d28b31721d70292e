"""Which of several responses is better, said by the server's judges."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from rubrica.model.evaluation import Unscored
from rubrica.server.depends import Serving, Signed
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, render
from rubrica.workspace.preferences import NoJudgeError, PreferenceRequest

EXAMPLE = {"prompt": "When did the tower open?", "responses": {"short": "In 1889.", "vague": "Long ago."}}

router = APIRouter(prefix="/api/preferences", route_class=JsonRoute, tags=["preferences"])


class ComparisonBody(BaseModel):
    """Some responses to the same prompt."""

    prompt: str = ""
    responses: list[str] | dict[str, str] = Field(description="Two to nine, in a list or by name.")
    evaluation: str | None = Field(None, description="The rubric whose qualities count; left out, in general.")
    graded: bool = Field(False, description="Ask for a grade from 1 to 7 in place of a choice between two.")


class PreferenceVoteShown(BaseModel):
    """What one judge said of the responses in one order."""

    judge: str
    choice: str | None
    ranks: dict[str, float] | None
    reason: str
    confidence: float
    shown: list[str]


class PreferenceShown(BaseModel):
    """Which response is better, and how all of them stand."""

    choice: str | None = Field(description="None where none is: a tie, or `unscored` says why nobody could tell.")
    order: list[str] = Field([], description="Best first.")
    merits: dict[str, float] = Field({}, description="From -1, last for every judge, to 1, first for every judge.")
    confidence: float = 0.0
    reason: str = ""
    votes: list[PreferenceVoteShown] = []
    cost_usd: float | None = None
    unscored: Annotated[str | None, Field(description="Why no judge could tell.")] = None


@router.post(
    "",
    response_model=PreferenceShown,
    summary="Compare responses",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
async def compare(body: ComparisonBody, caller: Signed, service: Serving) -> Response:
    """Players. Every judge of the server is asked twice, with the responses in either order. Nothing is stored."""
    try:
        found = await service.preferences.compare(
            caller, PreferenceRequest(body.prompt, body.responses, body.evaluation, body.graded)
        )
    except NoJudgeError as error:
        raise HTTPException(503, str(error)) from None
    if isinstance(found, Unscored):
        return render(RouteAnswer(PreferenceShown(choice=None, reason=found.reason, unscored=found.reason)))
    return render(RouteAnswer(PreferenceShown.model_validate(found.plain)))
