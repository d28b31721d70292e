"""``POST /v1/embeddings``: passed on to the model that the settings name."""

from __future__ import annotations

from uuid import UUID

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rubrica.errors import MissingError
from rubrica.gateway.chat import read_body
from rubrica.gateway.gateway import Gateway
from rubrica.gateway.trace_context import passing_on, read_trace_context
from rubrica.gateway.vectors import Embeddings, EmbeddingsAnswer, EmbeddingsRequest
from rubrica.workspace.access import Caller, check_action

from .allowances import Allowances
from .headers import dollars, traced, value
from .intake import receive_body
from .refusals import refusal_of

NO_MODEL = "there are no embeddings here (name a model as `embeddings: openai:text-embedding-3-small` in the settings)"


class EmbeddingsEndpoint:
    """The endpoint."""

    def __init__(self, gateway: Gateway, allowances: Allowances) -> None:
        self._gateway, self._allowances = gateway, allowances
        named = gateway.settings.embeddings
        self._embeddings = Embeddings(gateway, gateway.parts.models.embeddings(named)) if named is not None else None

    async def __call__(self, request: Request) -> Response:
        caller: Caller = request.scope["state"]["caller"]
        trace: UUID = request.scope["state"]["trace"]
        try:
            found = await self._answer(request, caller, trace)
        except ClientDisconnect:
            return Response(status_code=400)  # which nobody sees
        except Exception as error:  # noqa: BLE001 - the boundary of a request
            refusal = refusal_of(error, str(trace))
            self._gateway.turn_away(trace, caller.key_id, refusal.status)
            return refusal.response(str(trace))
        told = [*traced(trace), (b"x-sleipner-model", value(found.model)), (b"x-sleipner-cost", dollars(found.usd))]
        reply = Response(found.vectors.raw, media_type="application/json")
        reply.raw_headers.extend(told)
        return reply

    async def _answer(self, request: Request, caller: Caller, trace: UUID) -> EmbeddingsAnswer:
        at = self._gateway.clock()
        check_action(caller, "asking for a completion")
        if self._embeddings is None:
            raise MissingError(NO_MODEL)
        allowance = await self._allowances.of(caller.key_id)
        body = read_body(await receive_body(request.scope, request.receive, self._gateway.settings.max_body))
        with passing_on(read_trace_context(request.scope["headers"])):
            return await self._embeddings.answer(EmbeddingsRequest(body, allowance, caller.key_id, trace, at))
