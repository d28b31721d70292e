"""What a client gets in place of an answer that must not be sent: a refusal in OpenAI's shape, with its reason."""

from __future__ import annotations

import time

import msgspec

from rubrica.llm.model import Usage

from .upstream import Completion

SAYS = "The answer to this request did not meet the safety rules of this service, so it is not shown."
MODEL = "rubrica-gateway"


def refusal(gate: str) -> Completion:
    """A whole answer that says that there is none, because of a gate of the rubric.

    >>> msgspec.json.decode(refusal("safety-floor").raw)["sleipner"]
    {'refused': {'code': 'unsafe_answer', 'gate': 'safety-floor'}}
    """
    message = {"role": "assistant", "content": None, "refusal": SAYS}
    body = {
        "id": f"chatcmpl-refused-{time.time_ns():x}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "content_filter"}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        "sleipner": {"refused": {"code": "unsafe_answer", "gate": gate}},
    }
    return Completion(msgspec.json.encode(body), "", MODEL, Usage(), "content_filter")
