"""What type of question a chat asks, which decides how its answer is graded.

Trained weights decide, most of the time in a fraction of a millisecond. Where they are not sure, a language model is
asked, if there is one. Whatever goes wrong, the question counts as analytical.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable

from msgspec.structs import replace

from rubrica.judges.question_classifier import FALLBACK, AskedQuestion, ModelClassifier, fallback, milliseconds_since
from rubrica.lru_cache import LruCache
from rubrica.model.judge import QuestionClass
from rubrica.text.question_type import SURE_BY_WORDS, by_words, classify_question, question_before
from rubrica.text.sentence_model import sentence_model

from .chat import Chat


def question_of(chat: Chat) -> AskedQuestion:
    """The last user message; a very short one ("and why?") comes with the last that was not.

    >>> from .chat import ChatTurn
    >>> said = (("user", "Who won the battle?"), ("assistant", "Nobody."), ("user", "And why?"))
    >>> asked = tuple(ChatTurn(role, text) for role, text in said)
    >>> question_of(Chat({}, asked, stream=False))
    AskedQuestion(text='And why?', earlier='Who won the battle?')
    """
    said = [turn.text.strip() for turn in chat.turns if turn.role == "user" and turn.text.strip()]
    return AskedQuestion(said[-1], question_before(said[-1], said[:-1])) if said else AskedQuestion("")


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
        return QuestionClass(first, chance, "offline", reason, duration_ms=milliseconds_since(started))


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
        question = question_of(chat)
        key = _memory_key(chat.owner, question)
        kept = self._found.get(key)
        if kept is not None:
            return replace(kept, source="cache", cost=None, duration_ms=milliseconds_since(started))
        found = await self._classify(question)
        if found.source != "fallback":
            self._found.put(key, found)
        return replace(found, duration_ms=milliseconds_since(started))

    def memory_key(self, chat: Chat) -> bytes:
        """Under what the type of a chat's question is remembered."""
        return _memory_key(chat.owner, question_of(chat))

    def correct(self, key: bytes, question_type: str) -> None:
        """Remember what somebody says that a question was."""
        self._found.put(key, QuestionClass(question_type, 1.0, "given", "named by feedback"))

    async def _classify(self, question: AskedQuestion) -> QuestionClass:
        try:
            found = await self._classify_offline(question.in_full)
        except Exception as error:  # noqa: BLE001 - no classifier may stop a request
            found = fallback(f"the offline classifier failed: {error or type(error).__name__}")
        if self._model is None or not question.text or found.confidence >= self._sure_from:
            return found
        return await self._model(question)

    async def _classify_offline(self, text: str) -> QuestionClass:
        """The offline class; the sentence model takes some milliseconds, in which other requests go on."""
        if sentence_model() is None or by_words(text).confidence >= SURE_BY_WORDS:
            return self._offline(text)
        return await asyncio.to_thread(self._offline, text)


def _memory_key(owner: str, question: AskedQuestion) -> bytes:
    return hashlib.blake2b(f"{owner}\n{question.in_full}".encode("utf-8", "replace"), digest_size=16).digest()
