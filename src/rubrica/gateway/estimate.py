"""The most that a request can cost, estimated before any model is asked, so that it can be reserved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from rubrica.judges.question_classifier import MAX_TOKENS as TYPE_TOKENS
from rubrica.judges.question_classifier import SHOWN as TYPE_CHARACTERS
from rubrica.llm.model import Usage
from rubrica.llm.price import estimate_tokens
from rubrica.llm.reasoning import reasoning_tokens
from rubrica.llm.token_bounds import IMAGE_TOKENS, most_tokens

from .bill import Price
from .chat import Chat
from .controls import Controls
from .deployments import DeploymentPool, models_of
from .flow import Route
from .upstream import Upstream

MESSAGE_TOKENS, LIKELY_MESSAGE_TOKENS = 8, 4
"""Tokens around each message, at most and in general."""

QUESTION_TOKENS, REPLY_TOKENS = 3_000, 1_024
"""Tokens of what a judge is told about a dimension, and of its reply."""

ATTEMPTS = 2
"""A judge whose reply cannot be read is asked once more."""

_LIMITS = ("max_completion_tokens", "max_tokens")
_NOT_READ = ("messages", "model", "stream", "user", "temperature", "top_p", "stop")
_COUNTED_APART = ("messages", "model", "stream", "stream_options", *_LIMITS)


@dataclass(frozen=True, slots=True)
class CostCeiling:
    """US dollars, at most; a model whose price is not known counts as 0."""

    answers: float
    judging: float  # classifying and grading

    @property
    def total(self) -> float:
        return self.answers + self.judging


@dataclass(frozen=True, slots=True)
class CostEstimator:
    """Estimates by the prices of models."""

    price: Price
    graders: Sequence[str]
    classifier: str | None
    answer_tokens: int  # of an answer, where the request sets no limit
    characters: int  # of a text that is graded
    measurers: Sequence[str] = ()  # who grade what is compared; none: the graders do
    type_graders: Sequence[Sequence[str]] = ()  # in place of the graders, for some question types

    def request(self, chat: Chat, controls: Controls, route: Route) -> CostCeiling:
        """Of answering a request: both tiers, for either may have to, and judging in between."""
        used = Usage(prompt_tokens(chat), self._answered(chat))
        every = (route.tier0, *route.middle.upstreams, route.tier1)
        tiers = [self._tier(tier, used) for tier in every if tier is not None]
        if controls.force is not None or not controls.grading or chat.ungradable:
            return CostCeiling(max(tiers), 0.0)
        classifying = 0.0
        if self.classifier is not None and controls.question_type is None:
            shown = Usage(2 * TYPE_CHARACTERS + QUESTION_TOKENS, TYPE_TOKENS)
            classifying = ATTEMPTS * self._usd(self.classifier, shown)
        graded = 2 if route.tier1 is not None and not route.sends_unsafe else 1  # where a gate vetoes the first answer
        graded += len(route.middle.upstreams)
        return CostCeiling(sum(tiers), classifying + graded * self._grading(chat, route))

    def comparison(self, chat: Chat, route: Route) -> CostCeiling:
        """Of asking the tier that did not answer, and grading both answers, tier-0's twice at the most.

        Tiers between are asked and graded, too, and one of their answers is graded once more.
        """
        used, between = Usage(prompt_tokens(chat), self._answered(chat)), route.middle.upstreams
        asked = max(self._tier(tier, used) for tier in (route.tier0, route.tier1) if tier is not None)
        asked += sum(self._tier(tier, used) for tier in between)
        measured = (3 if between else 2) * self._grading(chat, route, self.measurers or self.graders)
        return CostCeiling(asked, measured + (1 + len(between)) * self._grading(chat, route))

    def council(self, chat: Chat, models: Iterable[str], tokens: int) -> CostCeiling:
        """Of a session: everybody answers, reads all answers and reviews them, and may be the one who concludes."""
        members = list(models)
        read = prompt_tokens(chat) + QUESTION_TOKENS
        stages = (Usage(read, tokens), Usage(read + len(members) * tokens, tokens))
        both = sum(self._usd(name, stage) for name in members for stage in stages)
        last = max((self._usd(name, Usage(read + 2 * len(members) * tokens, tokens)) for name in members), default=0.0)
        return CostCeiling(0.0, ATTEMPTS * (both + last))

    def _grading(self, chat: Chat, route: Route, graders: Sequence[str] | None = None) -> float:
        most = self.characters
        texts = min(sum(len(turn.text) for turn in chat.turns), 2 * most) + min(len(chat.question), most)
        answer = min(self._answered(chat), most)
        read = QUESTION_TOKENS + texts + answer + IMAGE_TOKENS * len(chat.images)
        calls = ATTEMPTS * route.grader.questions
        asked = [self.graders, *self.type_graders] if graders is None or graders is self.graders else [graders]
        return calls * max(
            sum(self._usd(name, Usage(read, REPLY_TOKENS + reasoning_tokens(name))) for name in names)
            for names in asked
        )

    def tokens(self, chat: Chat) -> tuple[int, int]:
        """The most tokens of a request and of its answer."""
        return prompt_tokens(chat), self._answered(chat)

    def _answered(self, chat: Chat) -> int:
        """Tokens of all the answers that are asked for."""
        limits = [value for name in _LIMITS if type(value := chat.body.get(name)) is int and value > 0]
        count = chat.body.get("n")
        return (limits[0] if limits else self.answer_tokens) * (count if type(count) is int and count > 0 else 1)

    def _tier(self, tier: Upstream, usage: Usage) -> float:
        """The dearest of its deployments may have to answer, or two of them where they are hedged."""
        dearest = max(self._usd(name, usage) for name in models_of(tier))
        return 2 * dearest if isinstance(tier, DeploymentPool) and tier.hedge is not None else dearest

    def _usd(self, model: str, usage: Usage) -> float:
        return self.price(model, usage) or 0.0


def prompt_tokens(chat: Chat) -> int:
    """The most tokens that a model reads of a request: texts, pictures, and all else that it is sent.

    >>> from .chat import read_chat
    >>> prompt_tokens(read_chat(b'{"messages": [{"role": "user", "content": "What is 2 + 2?"}]}'))
    16
    """
    texts = sum(most_tokens(turn.text) + MESSAGE_TOKENS for turn in chat.turns)
    others = [value for key, value in chat.body.items() if key not in _COUNTED_APART]
    others += [part for message in chat.body.get("messages", ()) for part in _unread(message)]
    beside = len(msgspec.json.encode(others)) // 2 if others else 0
    return texts + beside + IMAGE_TOKENS * len(chat.images)


def likely_prompt_tokens(chat: Chat) -> int:
    """About how many tokens a model reads of a request.

    >>> from .chat import read_chat
    >>> likely_prompt_tokens(read_chat(b'{"messages": [{"role": "user", "content": "What is 2 + 2?"}]}'))
    9
    """
    texts = sum(estimate_tokens(turn.text) + LIKELY_MESSAGE_TOKENS for turn in chat.turns)
    others = [value for key, value in chat.body.items() if key not in _NOT_READ]
    others += [part for message in chat.body.get("messages", ()) for part in _unread(message)]
    beside = estimate_tokens(msgspec.json.encode(others).decode()) if others else 0
    return texts + beside + IMAGE_TOKENS * len(chat.images)


def _unread(message: Mapping[str, Any]) -> list[Any]:
    """What a message holds beside its texts and pictures."""
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    found = [value for key, value in message.items() if key not in ("role", "content")]
    kinds = ("text", "image_url")
    return found + [part for part in parts if not (isinstance(part, dict) and part.get("type") in kinds)]
