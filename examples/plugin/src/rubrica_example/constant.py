"""The provider ``constant:SCORE``: a judge that gives every dimension the same score, whatever it is shown."""

from __future__ import annotations

import json

from rubrica.errors import RubricaError
from rubrica.llm.model import Reply, Request, Usage
from rubrica.llm.provider import ClientOptions, ConnectedClient, Provider


class ConstantModel:
    """Answers every request with the same score."""

    def __init__(self, name: str) -> None:
        self.name = name
        try:
            score = float(name.partition(":")[2])
        except ValueError:
            raise RubricaError(f"{name}: a score is a number, such as constant:7") from None
        self._text = json.dumps({"reason": "always the same", "score": score, "confidence": 1.0})

    async def __call__(self, request: Request) -> Reply:
        return Reply(self._text, self.name, Usage())

    async def close(self) -> None:
        """Nothing is open."""


def _connect(spec: str, options: ClientOptions) -> ConnectedClient[ConstantModel]:
    return ConnectedClient(ConstantModel(spec))  # the client of a server gets a CallGate, too: retries and limits


CONSTANT = Provider(
    "constant",
    {"constant:SCORE": "the same score for everything, such as constant:7"},
    _connect,
    billed=False,
    sees_pictures=False,
)
