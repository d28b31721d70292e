"""What is kept of one request: a row of figures, and of its texts only what the settings say.

Texts are kept with personal data masked, or as digests, or not at all. Error messages and judges' reasons are never
kept, for both may quote a prompt or a key; what failed is told by the name of the step.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from rubrica.llm.model import Usage
from rubrica.model.evaluation import Cost, Evaluation
from rubrica.store.gateway import Cached, Degraded, GradedDimension, RequestRecord
from rubrica.text.credentials import mask_credentials
from rubrica.text.pii import mask

from .bill import RequestBill
from .chat import Chat
from .controls import TIERS, Controls
from .deployments import asked_model, deployment_of
from .experiment import conversation_opening
from .grading import Grade
from .names import public_name
from .routed_answer import RoutedAnswer, RouteStep
from .upstream import Completion, Stream

MOST_TEXT = 20_000
"""Characters kept of a prompt, from its end, and of an answer, from its start."""

EDGE = 200
LONGEST_NOTE = 500
COSTS = ("tier0_usd", "tier1_usd", "classification_usd", "grading_usd", "total_usd", "baseline_usd")
CUT = "[…]"


@dataclass(frozen=True, slots=True)
class TextRetention:
    """What is done with texts.

    Digests are BLAKE2b under `key`: a plain digest of a short question is found by trying likely questions.
    Equal texts have equal digests for as long as the key is the same; a key of its own makes a database's digests
    useless to whoever has only the database.
    """

    prompts: Literal["keep", "hash", "drop"]
    key: bytes

    @classmethod
    def of(cls, prompts: Literal["keep", "hash", "drop"], key: bytes | None = None) -> TextRetention:
        """Without a key, one for this process is made up: equal texts are then recognised until it ends."""
        return cls(prompts, key or secrets.token_bytes(32))

    def digest(self, text: bytes) -> bytes:
        return hashlib.blake2b(text, key=self.key, digest_size=32).digest()


class HttpExchange(msgspec.Struct, frozen=True):
    """A request and its reply as HTTP saw them."""

    trace: UUID
    at: datetime  # when the request came
    status: int
    total_ms: float  # until the last byte of the reply
    key_id: UUID | None = None
    cached: Cached = ""
    variant: str = ""
    first_byte_ms: float | None = None  # of a stream
    team: str | None = None  # of the key


@dataclass(frozen=True, slots=True, repr=False)
class ExchangeTexts:
    """What was asked and answered, not yet masked. It has no `repr`, so that no log shows it."""

    prompt: str
    answer: str
    rejected: str | None = None  # tier-0's answer, where it did not pass
    withheld: str | None = None  # tier-1's, where it was not sent

    @property
    def size(self) -> int:
        """Characters in all."""
        return sum(len(text) for text in (self.prompt, self.answer, self.rejected, self.withheld) if text)


def record_of(
    exchange: HttpExchange,
    chat: Chat | None,  # None: the body could not be read
    controls: Controls,
    routed: RoutedAnswer | None,  # as far as it came; None: it was refused before any model was asked
    cost: RequestBill | None,
    keeping: TextRetention,
) -> RequestRecord:
    """The row of a request whose reply is complete, without its texts."""
    found: dict[str, Any] = {
        "trace": exchange.trace,
        "at": exchange.at,
        "status": exchange.status,
        "total_ms": exchange.total_ms,
        "key_id": exchange.key_id,
        "team": exchange.team,
        "cached": exchange.cached,
        "variant": exchange.variant,
        "first_byte_ms": exchange.first_byte_ms,
        "chosen": _controls_text(controls),
    }
    if chat is not None:
        found["stream"] = chat.stream
        if exchange.variant:  # requests of a conversation are alike: comparing arms has to know which belong together
            found["conversation"] = int.from_bytes(keeping.digest(conversation_opening(chat))[:8], "big") >> 1
    found |= _costs(cost, exchange.cached) if routed is not None else dict.fromkeys(COSTS, 0.0)
    if routed is not None:
        found |= _route(routed)
        if not exchange.cached:  # what was graded and waited for stands in the row of the first request
            found |= _grade(routed.grade) | _times(routed.steps) | _tokens(routed)
    if chat is not None:
        found |= _digests(chat, routed, keeping)
    return RequestRecord(**found)


def _route(routed: RoutedAnswer) -> dict[str, Any]:
    failed = {step.name for step in routed.steps if step.status == "failed"}
    found: dict[str, Any] = {"degraded": _degraded(routed), "failed_steps": ",".join(sorted(failed))}
    if _answer(routed) is not None:
        answer = _answer(routed)
        found |= {"tier": routed.tier, "model": public_name(asked_model(answer, routed.upstream))[:200]}
        if deployment := deployment_of(answer):
            found["deployment"] = deployment[:200]
    if routed.zone is not None:
        found["zone"] = routed.zone
    if routed.classified is not None:
        found["question_type"] = routed.classified.type
        found["classified_by"] = routed.classified.source
        found["classification_confidence"] = routed.classified.confidence
    return found


def _degraded(routed: RoutedAnswer) -> Degraded:
    """What was missing, in a word of ours: `routed.degraded` quotes providers."""
    if not routed.degraded or routed.tier == "council":
        return ""
    if routed.refused:
        return "unsafe"
    failed = {step.name for step in routed.steps if step.status == "failed"}
    above = any(name in failed for name in TIERS[1:])
    return "tier-1 failed" if above else "tier-0 failed" if "tier-0" in failed else "no tier-1"


def _costs(cost: RequestBill | None, cached: Cached) -> dict[str, Any]:
    if cost is None:
        return {}
    if cached:
        return {**dict.fromkeys(COSTS, 0.0), "baseline_usd": cost.baseline}
    parts = (cost.tier0, cost.tier1, cost.classification, cost.grading, cost.total, cost.baseline)
    return {**dict(zip(COSTS, parts, strict=True)), "model_usd": cost.models or None}


def _grade(grade: Grade | None) -> dict[str, Any]:
    if grade is None:
        return {}
    found: dict[str, Any] = {"passed": grade.passed, "threshold": grade.threshold, "gated": False}
    if grade.note:
        found["grade_note"] = grade.note[:LONGEST_NOTE]
    evaluation = grade.evaluation
    if evaluation is None:
        return found
    per_hundred = 100 / evaluation.out_of
    return found | {
        "rubric": f"{evaluation.rubric}@{evaluation.version}"[:120],
        "score": None if grade.failure or evaluation.score is None else evaluation.score * per_hundred,
        "threshold": grade.threshold * per_hundred,
        "gated": any(gate.fired for gate in evaluation.gates),
        "grade_confidence": evaluation.confidence,
        "variance": evaluation.variance,
        "dimension_scores": _dimensions(evaluation),
    }


def _dimensions(evaluation: Evaluation) -> Mapping[str, GradedDimension]:
    return {
        name: GradedDimension(
            result.value,
            result.confidence,
            (result.judge or "judge") if result.source == "llm" else "",
            result.status == "neutral",
        )
        for name, result in evaluation.dimensions.items()
        if result.value is not None
    }


_TIMES = {"tier-0": "tier0_ms", "classification": "classification_ms", "grading": "grading_ms"}
_TIMES |= dict.fromkeys(TIERS[1:], "tier1_ms")


def _times(steps: list[RouteStep]) -> dict[str, float]:
    found: dict[str, float] = {}
    for step in steps:
        if step.status != "skipped" and (name := _TIMES.get(step.name)) is not None:
            found[name] = found.get(name, 0.0) + step.duration_ms
    return found


def _tokens(routed: RoutedAnswer) -> dict[str, int]:
    """Of everything that was asked of a model, and of the answer alone."""
    answer = _answer(routed)
    used = answer.usage if answer is not None else Usage()
    parts: list[Usage | Cost] = [used]
    if routed.passed_over is not None:
        parts.append(routed.passed_over.usage)
    if routed.withheld is not None:
        parts.append(routed.withheld.usage)
    parts += [one.answer.usage for one in routed.tries if one.answer is not None and one.answer is not answer]
    grades = (routed.grade, routed.second_grade, *(one.grade for one in routed.tries))
    parts += [grade.cost for grade in grades if grade is not None and grade.cost is not None]
    if routed.classified is not None and routed.classified.cost is not None:
        parts.append(routed.classified.cost)
    return {
        "input_tokens": sum(part.input_tokens for part in parts),
        "output_tokens": sum(part.output_tokens for part in parts),
        "answer_tokens": used.output_tokens,
    }


def _digests(chat: Chat, routed: RoutedAnswer | None, keeping: TextRetention) -> dict[str, bytes]:
    if keeping.prompts == "drop":
        return {}
    said = [(turn.role, turn.text) for turn in chat.turns]
    found = {"prompt_digest": keeping.digest(msgspec.json.encode(said))}
    if (answer := _answer(routed)) is not None:
        found["answer_digest"] = keeping.digest(answer.text.encode(errors="replace"))
    return found


def texts_of(chat: Chat | None, routed: RoutedAnswer | None, keeping: TextRetention) -> ExchangeTexts | None:
    """The texts to be kept with a record, if any are."""
    if chat is None or keeping.prompts != "keep":
        return None
    said = [f"{turn.role}: {turn.text}" for turn in chat.turns]
    prompt = "\n\n".join(said) if len(said) > 1 else chat.question
    answer = _answer(routed)
    text = answer.text if answer is not None else ""
    longest = MOST_TEXT + EDGE + 1  # no more is kept, and what waits to be written takes memory
    rejected, withheld = (routed.passed_over, routed.withheld) if routed is not None else (None, None)
    return ExchangeTexts(
        prompt[-longest:],
        text[:longest],
        rejected.text[:longest] if rejected is not None else None,
        withheld.text[:longest] if withheld is not None else None,
    )


def masked(record: RequestRecord, texts: ExchangeTexts | None) -> RequestRecord:
    """The record with its texts in it, personal data, keys and passwords masked.

    It takes a millisecond for 1,500 characters.
    """
    if texts is None:
        return record
    return msgspec.structs.replace(
        record,
        prompt=_storable_text(texts.prompt, from_end=True),
        answer=_storable_text(texts.answer),
        rejected=None if texts.rejected is None else _storable_text(texts.rejected),
        withheld=None if texts.withheld is None else _storable_text(texts.withheld),
    )


def _answer(routed: RoutedAnswer | None) -> Completion | Stream | None:
    return routed.completion or routed.stream if routed is not None else None


def _storable_text(text: str, *, from_end: bool = False) -> str:
    """A text as it is kept: masked, not too long, and of characters that every database takes.

    Of a long one, more is masked than kept: at the very edge, half a number would not be known as one.
    """
    if len(text) <= MOST_TEXT:
        kept = masked_text(text)
    elif from_end:
        kept = CUT + masked_text(text[-MOST_TEXT - EDGE :])[EDGE:][-MOST_TEXT:]
    else:
        kept = masked_text(text[: MOST_TEXT + EDGE])[:-EDGE][:MOST_TEXT] + CUT
    return kept.replace("\0", "\ufffd").encode(errors="replace").decode()


def masked_text(text: str) -> str:
    """A text without personal data, keys and passwords."""
    return mask(mask_credentials(text))


def _controls_text(controls: Controls) -> str:
    """What a request chose that changes its way, as words: ``force=tier-1, threshold=60``."""
    words = {
        "force": controls.force,
        "type": controls.question_type,
        "threshold": None if controls.threshold is None else f"{controls.threshold:g}",
        "grading": None if controls.grading else "off",
        "cache": None if controls.cache is None else "on" if controls.cache else "off",
        "tier0": controls.tier0,
        "tier1": controls.tier1,
    }
    return ", ".join(f"{name}={word}" for name, word in words.items() if word is not None)[:200]
