"""Which cached answers may be given again, and to whom."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace

import msgspec

from rubrica.store.gateway import Cached

from .bill import RequestBill
from .cache import AnswerCache
from .chat import Chat
from .controls import Controls
from .deployments import DeployedStream, models_of
from .flow import Route, RoutedAnswer, RouteStep
from .settings import CacheSettings
from .upstream import Completion, Stream

LARGEST_REQUEST = 1_000_000
"""Bytes of a request whose answer is kept: comparing larger ones would keep others waiting."""

WHOLE = ("stop", "length")
"""How an answer ends that is nothing but text."""


@dataclass(frozen=True, slots=True)
class RepeatedAnswer:
    """An answer that is given again."""

    routed: RoutedAnswer
    bill: RequestBill
    cached: Cached


@dataclass(frozen=True, slots=True)
class _Kept:
    routed: RoutedAnswer  # without what it took to come by
    baseline: float | None


class AnswerReuse:
    """The answers that may be given again: those of requests at temperature 0, and of those that ask for it."""

    def __init__(self, settings: CacheSettings) -> None:
        self._semantic, self._shared = settings.semantic, settings.shared
        self._cache = AnswerCache[_Kept](
            entries=settings.entries,
            seconds=settings.seconds,
            forms=settings.semantic,
        )
        self._off = not (settings.exact or settings.semantic)

    def find(self, chat: Chat, controls: Controls, route: Route, owner: str) -> RepeatedAnswer | None:
        """An answer to this request, or to one that asks the same."""
        if not self._wanted(chat, controls):
            return None
        hit = self._cache.get(chat, self._chosen(chat, controls, route, owner))
        if hit is None:
            return None
        kept = hit.value
        other = "" if hit.exact else ", to the same question in other dress"
        why = f"answered {hit.age:.0f} s ago{other}"
        routed = replace(kept.routed, steps=[RouteStep("decision", "complete", why)], started=time.perf_counter())
        return RepeatedAnswer(
            routed, RequestBill(0.0, 0.0, 0.0, 0.0, kept.baseline), "exact" if hit.exact else "semantic"
        )

    def keep(
        self, chat: Chat, controls: Controls, route: Route, owner: str, routed: RoutedAnswer, bill: RequestBill
    ) -> None:
        """Keep an answer that is complete, unless a better one was wanted."""
        answer = routed.completion or (_assembled(chat, routed.stream) if routed.stream is not None else None)
        if answer is None or routed.degraded or not self._wanted(chat, controls):
            return
        grade = replace(routed.grade, evaluation=None) if routed.grade is not None else None
        kept = replace(routed, completion=answer, stream=None, grade=grade, passed_over=None, steps=[])
        size = len(answer.raw) + len(answer.text)
        self._cache.put(chat, _Kept(kept, bill.baseline), self._chosen(chat, controls, route, owner), size=size)

    def _wanted(self, chat: Chat, controls: Controls) -> bool:
        if self._off or chat.size > LARGEST_REQUEST:
            return False
        return chat.repeatable if controls.cache is None else controls.cache

    def _chosen(self, chat: Chat, controls: Controls, route: Route, owner: str) -> str:
        """Whatever else an answer depends on: models, rubric, and what the request chose."""
        models = [*models_of(route.tier0), "", *models_of(*route.middle.upstreams), "", *models_of(route.tier1)]
        parts = [*models, route.grader.rubric.hash, *map(str, _choices(controls))]
        if not self._shared:
            parts.append(owner)  # that an answer is there would tell one key what another asked
        if self._semantic and not chat.in_words:  # forms are made of words only
            parts.append(hashlib.sha256(msgspec.json.encode(chat.body["messages"])).hexdigest())
        return "\n".join(parts)


def _choices(controls: Controls) -> tuple[object, ...]:
    return (controls.force, controls.question_type, controls.threshold, controls.grading)


def _assembled(chat: Chat, stream: Stream) -> Completion | None:
    """A stream that has ended as a whole answer; None where it may have held more than a text."""
    if not stream.text or stream.finish not in WHOLE or chat.ungradable or chat.body.get("logprobs"):
        return None
    used = stream.usage
    document = {
        "id": f"chatcmpl-{hashlib.sha256(stream.text.encode(errors='replace')).hexdigest()[:24]}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": stream.model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": stream.text, "refusal": None},
                "logprobs": None,
                "finish_reason": stream.finish,
            }
        ],
        "usage": {
            "prompt_tokens": used.input_tokens,
            "completion_tokens": used.output_tokens,
            "total_tokens": used.input_tokens + used.output_tokens,
        },
    }
    whole = Completion(msgspec.json.encode(document), stream.text, stream.model, used, stream.finish)
    if isinstance(stream, DeployedStream):
        return msgspec.structs.replace(whole, asked=stream.asked, deployment=stream.deployment)
    return whole
