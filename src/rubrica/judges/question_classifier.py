"""Which type a question is of, asked of a language model: what the offline classifier cannot tell for sure."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from rubrica.llm.model import ChatMessage, Model, Reply, Request
from rubrica.lru_cache import LruCache
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score, Unscored
from rubrica.model.judge import Judge, QuestionClass
from rubrica.text.question_type import TYPES, question_before

from .exchange import ExchangeCost, Price
from .fence import Fence, JudgedTexts, TokenSource, process_token
from .mark import UNSTATED_CONFIDENCE
from .prompt import template
from .reply import answers

FALLBACK = "ANALYTICAL"
"""What a question counts as that nobody could classify."""

SHOWN = 4000  # characters of a question that a model is shown
MAX_TOKENS = 60
REMEMBERED = 10_000  # questions whose types are kept
SHAPE = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": list(TYPES)},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["type", "confidence"],
    "additionalProperties": False,
}


class AskedQuestion(msgspec.Struct, frozen=True):
    """What is asked, and what was asked before it where it does not stand alone."""

    text: str
    earlier: str = ""

    @property
    def in_full(self) -> str:
        return f"{self.earlier}\n{self.text}" if self.earlier else self.text


class ModelClassifier:
    """Asks a language model. Never raises but for cancellation: a failure is a fallback that says what went wrong."""

    def __init__(
        self,
        model: Model,
        *,
        price: Price | None = None,
        deadline: float = 10.0,  # seconds
        token: TokenSource = process_token,
    ) -> None:
        self._model, self._price, self._deadline, self._token = model, price, deadline, token

    async def __call__(self, question: AskedQuestion) -> QuestionClass:
        started, bill = time.perf_counter(), ExchangeCost()
        try:
            async with asyncio.timeout(self._deadline):
                found = await self._ask(question, bill)
        except TimeoutError:
            found = fallback(f"{self._model.name} gave no type within {self._deadline:g} s")
        except Exception as error:  # noqa: BLE001 - whatever a model raises, the request goes on
            found = fallback(f"{self._model.name} gave no type: {error or type(error).__name__}")
        return replace(found, cost=bill.split(1)[0], duration_ms=milliseconds_since(started))

    async def _ask(self, question: AskedQuestion, bill: ExchangeCost) -> QuestionClass:
        pieces = {"earlier": _cut_middle(question.earlier), "question": _cut_middle(question.text)}
        fence = Fence.for_texts(list(pieces.values()), self._token)
        material = "\n\n".join(fence.around(label, text) for label, text in pieces.items() if text)
        system, user = template("question_type").fill({"token": fence.token, "material": material})
        messages = (ChatMessage("system", system), ChatMessage("user", user))
        reply = await self._model(Request(messages, SHAPE, "question_type", max_tokens=MAX_TOKENS))
        bill.add(reply, self._model.name, self._price)
        return self._read(reply, fence, JudgedTexts(tuple(pieces.values())))

    def _read(self, reply: Reply, fence: Fence, quoted: JudgedTexts) -> QuestionClass:
        name = self._model.name
        if reply.stop == "refusal":
            return fallback(f"{name} refused to classify")
        for candidate in answers(fence.cut(reply.text), quoted):
            kind = str(candidate.get("type", "")).strip().upper()
            if kind in TYPES:
                return QuestionClass(kind, _stated(candidate.get("confidence")), "model", f"{name} says so")
        return fallback(f"the reply of {name} names no type")


class ClassifyingJudge:
    """A judge that can also be asked for the type of a question. Each question is asked once."""

    def __init__(self, judge: Judge, model: ModelClassifier, found: LruCache[bytes, QuestionClass]) -> None:
        self._judge, self._model, self._found = judge, model, found

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        return await self._judge(axes, context)

    async def question_type(self, context: Context) -> QuestionClass:
        """The type of a context's question, by the model; of one that was asked before, at no cost."""
        question = AskedQuestion(context.prompt, question_before(context.prompt, context.asked))
        key = hashlib.blake2b(question.in_full.encode("utf-8", "replace"), digest_size=16).digest()  # no text is kept
        kept = self._found.get(key)
        if kept is not None:
            return replace(kept, cost=None, duration_ms=0.0)
        found = await self._model(question)
        if found.source != "fallback":  # a failure is not kept: the next time may be better
            self._found.put(key, found)
        return found


def fallback(reason: str) -> QuestionClass:
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


def milliseconds_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
