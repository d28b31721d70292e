"""Which cached answers may be given again, and to whom."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from typing import Any, cast

import msgspec

from rubrica.model.judge import QuestionClass
from rubrica.store.gateway import Cached

from .bill import RequestBill
from .cache import AnswerCache, CacheHit, form_digest, request_digest
from .chat import Chat
from .controls import Controls, Tier
from .deployed_model import DeployedStream
from .deployments import models_of
from .flow import Route
from .grading import Grade
from .routed_answer import RoutedAnswer, RouteStep
from .setting_groups import CacheSettings
from .shared_answers import SharedAnswers, StoredAnswer
from .upstream import Completion, Stream, Upstream

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

    def __init__(self, settings: CacheSettings, elsewhere: SharedAnswers | None = None, setup: str = "") -> None:
        self._semantic, self._shared = settings.semantic, settings.shared
        self._elsewhere, self._setup = elsewhere, setup  # of other processes, where they are set up alike
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
        return None if hit is None else _repeated(hit)

    async def find_elsewhere(self, chat: Chat, controls: Controls, route: Route, owner: str) -> RepeatedAnswer | None:
        """The same from other processes, where this one has none and answers are shared."""
        if self._elsewhere is None or not self._wanted(chat, controls):
            return None
        chosen = self._chosen(chat, controls, route, owner)
        found = await self._elsewhere.find(*self._names(chat, chosen))
        upstream = route.tier(found.stored.tier) if found is not None else None
        if found is None or upstream is None:
            return None
        kept = _restored(found.stored, upstream)
        if found.exact:
            size = len(found.stored.completion.raw) + len(found.stored.completion.text)
            self._cache.put(chat, kept, chosen, size=size, age=found.age)
        return _repeated(CacheHit(kept, found.age, found.exact), " by another process")

    def _names(self, chat: Chat, chosen: str) -> tuple[bytes, bytes | None]:
        """Under what an answer is shared."""
        told = f"{self._setup}\n{chosen}"
        return request_digest(chat, told), form_digest(chat, told) if self._semantic else None

    def keep(
        self, chat: Chat, controls: Controls, route: Route, owner: str, routed: RoutedAnswer, bill: RequestBill
    ) -> None:
        """Keep an answer that is complete, unless a better one was wanted."""
        answer = routed.completion or (_assembled(chat, routed.stream) if routed.stream is not None else None)
        if answer is None or routed.degraded or not self._wanted(chat, controls):
            return
        grade = replace(routed.grade, evaluation=None) if routed.grade is not None else None
        kept = replace(routed, completion=answer, stream=None, grade=grade, passed_over=None, steps=[])
        size, chosen = len(answer.raw) + len(answer.text), self._chosen(chat, controls, route, owner)
        self._cache.put(chat, _Kept(kept, bill.baseline), chosen, size=size)
        if self._elsewhere is not None:
            self._elsewhere.put(*self._names(chat, chosen), chat, _stored(kept, answer, bill.baseline))

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


def _repeated(hit: CacheHit[_Kept], by: str = "") -> RepeatedAnswer:
    other = "" if hit.exact else ", to the same question in other dress"
    why = f"answered {hit.age:.0f} s ago{by}{other}"
    routed = replace(hit.value.routed, steps=[RouteStep("decision", "complete", why)], started=time.perf_counter())
    nothing = RequestBill(0.0, 0.0, 0.0, 0.0, hit.value.baseline)
    return RepeatedAnswer(routed, nothing, "exact" if hit.exact else "semantic")


def _stored(routed: RoutedAnswer, answer: Completion, baseline: float | None) -> StoredAnswer:
    told: dict[str, Any] = {}
    if (kind := routed.classified) is not None:
        told = {"question_type": kind.type, "confidence": kind.confidence, "source": kind.source}
    if (grade := routed.grade) is not None:
        told |= {"score": grade.score, "threshold": grade.threshold, "passed": grade.passed}
    return StoredAnswer(routed.tier, answer, baseline, **told)


def _restored(stored: StoredAnswer, upstream: Upstream) -> _Kept:
    routed = RoutedAnswer(cast("Tier", stored.tier), upstream, stored.completion)
    if stored.question_type is not None:
        routed.classified = QuestionClass(stored.question_type, stored.confidence, stored.source)
    if stored.score is not None:
        routed.grade = Grade(stored.question_type or "", stored.threshold, stored.score, stored.passed)
    return _Kept(routed, stored.baseline)


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
