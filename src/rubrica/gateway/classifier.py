"""What type of question a chat asks, which decides how its answer is graded.

Trained weights decide, most of the time in a fraction of a millisecond. Where they are not sure, a language model is
asked, if there is one. Whatever goes wrong, the question counts as analytical.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal

from rubrica.judges.exchange import ExchangeCost, Price
from rubrica.judges.fence import Fence, JudgedTexts, TokenSource, random_token
from rubrica.judges.prompt import Template
from rubrica.judges.reply import UNSTATED_CONFIDENCE, answers
from rubrica.llm.model import ChatMessage, Model, Reply, Request
from rubrica.lru_cache import LruCache
from rubrica.model.evaluation import Cost
from rubrica.text.question_type import SURE_BY_WORDS, TYPES, by_words, classify_question, stands_alone
from rubrica.text.sentence_model import sentence_model

from .chat import Chat

Source = Literal["offline", "model", "fallback", "given", "cache"]

FALLBACK = "ANALYTICAL"
"""What a question counts as that nobody could classify."""

SHOWN = 4000  # characters of a question that a model is shown
MAX_TOKENS = 60
SHAPE = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": list(TYPES)},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["type", "confidence"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class QuestionClass:
    """The type of a question, and how it was found."""

    type: str
    confidence: float  # the classifier's own, 0 to 1; 0 for a fallback
    source: Source
    reason: str = ""
    cost: Cost | None = None  # None: nobody was asked
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ChatQuestion:
    """What a chat asks, and what was asked before it where it does not stand alone."""

    text: str
    earlier: str = ""

    @classmethod
    def of(cls, chat: Chat) -> ChatQuestion:
        """The last user message; a very short one ("and why?") comes with the last that was not.

        >>> from .chat import ChatTurn
        >>> said = (("user", "Who won the battle?"), ("assistant", "Nobody."), ("user", "And why?"))
        >>> asked = tuple(ChatTurn(role, text) for role, text in said)
        >>> ChatQuestion.of(Chat({}, asked, stream=False))
        ChatQuestion(text='And why?', earlier='Who won the battle?')
        """
        said = [turn.text.strip() for turn in chat.turns if turn.role == "user" and turn.text.strip()]
        if not said:
            return cls("")
        before = () if stands_alone(said[-1]) else (text for text in reversed(said[:-1]) if stands_alone(text))
        return cls(said[-1], next(iter(before), ""))

    @property
    def whole(self) -> str:
        return f"{self.earlier}\n{self.text}" if self.earlier else self.text


class OfflineClassifier:
    """Classifies by the weights that come with Rubrica, without asking anybody.

    >>> OfflineClassifier()("Write a poem about an old lighthouse").type
    'CREATIVE'
    """

    def __call__(self, text: str) -> QuestionClass:
        started = time.perf_counter()
        found = classify_question(text)
        if found is None:
            return QuestionClass(FALLBACK, 0.0, "fallback", "nothing is asked in words")
        (first, chance), (second, next_chance), *_ = found.chances.items()
        reason = f"by its {found.by} {first} {chance:.2f}, then {second} {next_chance:.2f}"
        return QuestionClass(first, chance, "offline", reason, duration_ms=_since(started))


class ModelClassifier:
    """Asks a language model. Never raises but for cancellation: a failure is a fallback that says what went wrong."""

    def __init__(
        self,
        model: Model,
        *,
        price: Price | None = None,
        deadline: float = 10.0,  # seconds
        token: TokenSource = random_token,
    ) -> None:
        self._model, self._price, self._deadline, self._token = model, price, deadline, token

    async def __call__(self, question: ChatQuestion) -> QuestionClass:
        started, bill = time.perf_counter(), ExchangeCost()
        try:
            async with asyncio.timeout(self._deadline):
                found = await self._ask(question, bill)
        except TimeoutError:
            found = _fallback(f"{self._model.name} gave no type within {self._deadline:g} s")
        except Exception as error:  # noqa: BLE001 - whatever a model raises, the request goes on
            found = _fallback(f"{self._model.name} gave no type: {error or type(error).__name__}")
        return replace(found, cost=bill.split(1)[0], duration_ms=_since(started))

    async def _ask(self, question: ChatQuestion, bill: ExchangeCost) -> QuestionClass:
        pieces = {"earlier": _cut_middle(question.earlier), "question": _cut_middle(question.text)}
        fence = Fence.for_texts(list(pieces.values()), self._token)
        material = "\n\n".join(fence.around(label, text) for label, text in pieces.items() if text)
        system, user = template().fill({"token": fence.token, "material": material})
        messages = (ChatMessage("system", system), ChatMessage("user", user))
        reply = await self._model(Request(messages, SHAPE, "question_type", max_tokens=MAX_TOKENS))
        bill.add(reply, self._model.name, self._price)
        return self._read(reply, fence, JudgedTexts(tuple(pieces.values())))

    def _read(self, reply: Reply, fence: Fence, quoted: JudgedTexts) -> QuestionClass:
        name = self._model.name
        if reply.stop == "refusal":
            return _fallback(f"{name} refused to classify")
        for candidate in answers(fence.cut(reply.text), quoted):
            kind = str(candidate.get("type", "")).strip().upper()
            if kind in TYPES:
                return QuestionClass(kind, _stated(candidate.get("confidence")), "model", f"{name} says so")
        return _fallback(f"the reply of {name} names no type")


class Classifier:
    """Offline first; where that is not sure, the model; and what was found is remembered for a while.

    Texts are not kept, only their digests. What was found is remembered for the chat's owner alone: that a type is
    known would tell others what was asked. A failure is not remembered: the next time may be better.
    """

    def __init__(
        self,
        model: ModelClassifier | None = None,
        *,
        offline: Callable[[str], QuestionClass] | None = None,
        sure_from: float = 0.55,
        remembered: int = 10_000,
    ) -> None:
        self._offline = offline or OfflineClassifier()
        self._model, self._sure_from = model, sure_from
        self._found = LruCache[bytes, QuestionClass](remembered)

    async def __call__(self, chat: Chat) -> QuestionClass:
        """The type of what a chat asks."""
        started = time.perf_counter()
        question = ChatQuestion.of(chat)
        key = _memory_key(chat.owner, question)
        kept = self._found.get(key)
        if kept is not None:
            return replace(kept, source="cache", cost=None, duration_ms=_since(started))
        found = await self._classify(question)
        if found.source != "fallback":
            self._found.put(key, found)
        return replace(found, duration_ms=_since(started))

    def memory_key(self, chat: Chat) -> bytes:
        """Under what the type of a chat's question is remembered."""
        return _memory_key(chat.owner, ChatQuestion.of(chat))

    def correct(self, key: bytes, question_type: str) -> None:
        """Remember what somebody says that a question was."""
        self._found.put(key, QuestionClass(question_type, 1.0, "given", "named by feedback"))

    async def _classify(self, question: ChatQuestion) -> QuestionClass:
        try:
            found = await self._classify_offline(question.whole)
        except Exception as error:  # noqa: BLE001 - no classifier may stop a request
            found = _fallback(f"the offline classifier failed: {error or type(error).__name__}")
        if self._model is None or not question.text or found.confidence >= self._sure_from:
            return found
        return await self._model(question)

    async def _classify_offline(self, text: str) -> QuestionClass:
        """The offline class; the sentence model takes some milliseconds, in which other requests go on."""
        if sentence_model() is None or by_words(text).confidence >= SURE_BY_WORDS:
            return self._offline(text)
        return await asyncio.to_thread(self._offline, text)


@cache
def template() -> Template:
    """The bundled prompt of `ModelClassifier`."""
    text = (resources.files("rubrica.gateway") / "prompts" / "classify.md").read_text("utf-8")
    system, _, user = text.partition("<!-- user -->\n")
    return Template(system, user, hashlib.sha256(text.encode()).hexdigest())


def _memory_key(owner: str, question: ChatQuestion) -> bytes:
    return hashlib.blake2b(f"{owner}\n{question.whole}".encode("utf-8", "replace"), digest_size=16).digest()


def _fallback(reason: str) -> QuestionClass:
    return QuestionClass(FALLBACK, 0.0, "fallback", reason)


def _stated(confidence: object) -> float:
    """A confidence as the model gave it, if it is one."""
    if isinstance(confidence, int | float) and not isinstance(confidence, bool) and 0 <= confidence <= 1:
        return float(confidence)
    return UNSTATED_CONFIDENCE


def _cut_middle(text: str) -> str:
    """A long question without its middle: what is wanted stands at its ends."""
    if len(text) <= SHOWN:
        return text
    return f"{text[: SHOWN * 3 // 4]}\n[…]\n{text[-SHOWN // 4 :]}"


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
