"""The model ``council`` behind the gateway: a conversation is put to the council, its conclusion sent back."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import msgspec

from rubrica.council.result import CouncilResult
from rubrica.council.settings import load_council
from rubrica.errors import InputError, RubricaError
from rubrica.gateway.chat import Chat
from rubrica.gateway.council import COUNCIL, CouncilAnswer
from rubrica.gateway.gateway import Gateway
from rubrica.gateway.prices import why_unpriced
from rubrica.gateway.upstream import Completion
from rubrica.gateway.upstreams.message import counts
from rubrica.llm.model import Usage
from rubrica.server.council_service import CouncilRequest, CouncilService, EarlierTurn

ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
BEYOND = ("tools", "functions", "audio", "logprobs", "response_format")
"""What a request may ask of a model that a council cannot promise: it would be passed over in silence."""


def council_of(gateway: Gateway) -> GatewayCouncil | None:
    """The council that a gateway's settings name; None where they name no models.

    Its calls have the gateway's budget: that of single commands does not count.
    """
    wanted, models = gateway.settings.council, gateway.parts.models.settings
    if not wanted.models and wanted.config is None:
        return None
    file = Path(wanted.config) if wanted.config is not None else None
    base = load_council(file, options={"models": wanted.models or None, "chair": wanted.chair, "tier": wanted.tier})
    if len(base.models) < 2:
        raise RubricaError("council: it has at least two models (name more, or leave it out)")
    prices, settings = gateway.parts.prices, gateway.settings
    why = why_unpriced([base.spec_of(name) for name in base.roster], prices)
    if why and settings.limits_spending and settings.budget.unpriced == "refuse":
        raise RubricaError(f"council: {why}")
    service = CouncilService(base.roster, base, models=lambda: models, price=prices)
    longest = max(base.limits.tokens, base.limits.final_tokens)
    return GatewayCouncil(service, tuple(base.spec_of(name) for name in base.everybody), longest)


class GatewayCouncil:
    """A council in the place of a model."""

    name = COUNCIL

    def __init__(self, council_service: CouncilService, models: Sequence[str], tokens: int) -> None:
        self._council_service, self.models, self.tokens = council_service, models, tokens

    async def __call__(self, chat: Chat) -> CouncilAnswer:
        """The council's answer to a request. A QuorumError says who did not take part."""
        started = time.perf_counter()
        result = await self._council_service.hear(council_request_of(chat))
        return completion_of(result, (time.perf_counter() - started) * 1000)

    async def close(self) -> None:
        await self._council_service.close()


def council_request_of(chat: Chat) -> CouncilRequest:
    """A request as the council takes it: its last message is the question, and those before it are its history.

    >>> from rubrica.gateway.chat import read_chat
    >>> council_request_of(read_chat(b'{"messages": [{"role": "user", "content": "Why?"}]}')).question
    'Why?'
    """
    for name in BEYOND:
        if chat.body.get(name) and chat.body[name] != {"type": "text"}:
            raise InputError(f"`{name}` cannot be had of a council (leave it out, or ask for another model)")
    if chat.ungradable or chat.images:
        raise InputError(f"a council reads and writes text only: {chat.ungradable or 'the question holds an image'}")
    *before, last = chat.turns
    if last.role != "user":
        raise InputError("the last message is the user's question")
    for place, turn in enumerate(before):
        if turn.role not in ROLES:
            raise InputError(f"messages[{place}]: a council reads messages of {', '.join(ROLES)} only")
    history = tuple(EarlierTurn(role=ROLES[turn.role], content=turn.text) for turn in before if turn.text.strip())
    seed = chat.body.get("seed")
    return CouncilRequest(
        question=last.text, history=history, seed=seed if type(seed) is int and 0 <= seed < 2**53 else None
    )


def completion_of(result: CouncilResult, duration_ms: float) -> CouncilAnswer:
    """A session in OpenAI's shape. Token counts are those of all calls."""
    cost = result.cost
    usage = Usage(cost.input_tokens, cost.output_tokens) if cost is not None else Usage()
    message = {"role": "assistant", "content": result.final.text, "refusal": None}
    body = {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": COUNCIL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": counts(usage),
    }
    whole = Completion(msgspec.json.encode(body), result.final.text, COUNCIL, usage, "stop", False, duration_ms)
    return CouncilAnswer(whole, cost.usd if cost is not None else None, debug_summary(result), result.final.fallback)


def debug_summary(result: CouncilResult) -> dict[str, Any]:
    """What the debug block holds: who came out where, who failed, and what it took; not the answers themselves."""
    plain = result.to_dict()
    about = plain["metadata"]
    return {
        "ranking": [
            {"model": about["labels"][name], "rank": own["rank"], "score": own["overall"], "reviews": own["reviews"]}
            for name, own in sorted(
                plain["evaluations"].items(), key=lambda item: item[1]["rank"] or len(result.answers)
            )
        ],
        "ties": [[about["labels"][name] for name in group] for group in plain["ties"]],
        "failed": about["dropped"],
        "chair": about["chair"],
        "fallback": result.final.fallback or None,
        "rubric": about["rubric"],
        "seed": about["seed"],
        "stages": about["stages"],
        "safety_gate": about["safety_gate"],
        "notes": about["notes"],
    }
