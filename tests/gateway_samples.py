"""Models and routes to make records with, and records as a gateway would make them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import UUID

import msgspec

from rubrica.gateway.chat import Chat, read_chat
from rubrica.gateway.classifier import Classifier
from rubrica.gateway.flow import Route
from rubrica.gateway.grading import Grader
from rubrica.gateway.upstream import Completion, Stream
from rubrica.llm.model import ModelError, Usage
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.store.columns import new_id
from rubrica.store.gateway import GradedDimension, RequestRecord

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
TYPES = {"FACTUAL": 85.0, "ANALYTICAL": 75.0, "TECHNICAL": 80.0, "CREATIVE": 70.0, "ETHICAL": 75.0}
DIMENSIONS = ("accuracy", "completeness", "clarity", "depth", "safety")
CAPITAL = "What is the capital of France?"
GOOD, POOR = "The capital of France is Paris.", "I don't know."
"""Answers to that: an offline grader that is trusted passes the first and fails the second."""

KEYS = [UUID(int=number + 7) for number in range(5)]


@dataclass
class Speaker:
    """A model that always says the same."""

    name: str
    says: str | ModelError = GOOD
    delay: float = 0.0  # seconds
    asked: list[dict[str, Any]] = field(default_factory=list)
    cancelled: int = 0

    async def complete(self, body: Mapping[str, Any]) -> Completion:
        self.asked.append(dict(body))
        try:
            await asyncio.sleep(self.delay)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if isinstance(self.says, ModelError):
            raise self.says
        return Completion(b"{}", self.says, self.name, Usage(20, 8))

    async def open_stream(self, body: Mapping[str, Any]) -> Stream:
        raise ModelError("rejected", f"{self.name} does not stream")

    async def close(self) -> None:
        pass


def trusting_rubric() -> Rubric:
    """The bundled rubric of an operator who takes formulas at their word: what has nothing against it is accurate."""
    document = load("answer-quality").model_dump(mode="json", exclude_defaults=True)
    document["judging"]["offline"] = "point"
    document["dimensions"]["accuracy"]["offline"]["start"] = 9
    return load(document)


@cache
def trusting_file() -> str:
    """The same as a file, to be named in settings."""
    file = Path(mkdtemp(prefix="rubrica-tests-")) / "answer-quality.json"
    file.write_text(trusting_rubric().model_dump_json(exclude_defaults=True), encoding="utf-8")
    return str(file)


def route(tier0: Speaker, tier1: Speaker | None = None) -> Route:
    """A way through these models, graded offline."""
    return Route(tier0, tier1, Grader(trusting_rubric(), deadline=30), Classifier())


def chat(*said: str, **body: Any) -> Chat:
    """A conversation: a question, its answer, the next question."""
    turns = [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(said)]
    return read_chat(msgspec.json.encode({"messages": turns, **body}))


def price(model: str, usage: Usage) -> float | None:
    """A thousandth of a dollar for a token of output, of models that anybody has heard of."""
    return None if model == "unheard:of" else usage.output_tokens / 1000


def record(at: datetime = NOW, **fields: Any) -> RequestRecord:
    """A request that tier-0 answered well enough, unless `fields` say otherwise."""
    plain: dict[str, Any] = {
        "trace": new_id(at),
        "at": at,
        "status": 200,
        "total_ms": 900.0,
        "tier": "tier-0",
        "model": "openai:gpt-4o-mini",
        "question_type": "FACTUAL",
        "classified_by": "offline",
        "classification_confidence": 0.9,
        "rubric": "answer-quality@1.0.0",
        "passed": True,
        "score": 90.0,
        "threshold": 85.0,
        "gated": False,
        "grade_confidence": 0.8,
        "variance": 1.5,
        "tier0_usd": 0.001,
        "tier1_usd": 0.0,
        "classification_usd": 0.0,
        "grading_usd": 0.002,
        "total_usd": 0.003,
        "baseline_usd": 0.01,
        "tier0_ms": 500.0,
        "classification_ms": 1.0,
        "grading_ms": 300.0,
        "input_tokens": 120,
        "output_tokens": 80,
        "answer_tokens": 60,
    }
    return RequestRecord(**(plain | fields))


def traffic(
    count: int, *, seed: int = 3, start: datetime = NOW, over: timedelta = timedelta(days=7)
) -> Iterator[RequestRecord]:
    """Many requests of all kinds, spread evenly over a time."""
    chance = random.Random(seed)  # noqa: S311
    for number in range(count):
        at = start + over * (number / count)
        question_type = chance.choice(list(TYPES))
        score = round(min(100.0, max(10.0, chance.gauss(82, 9))), 1)
        passed = score >= TYPES[question_type]
        known = chance.random() < 0.95
        first, second, grading = 0.001 * chance.random(), 0.0 if passed else 0.01, 0.002
        scores = {
            name: GradedDimension(chance.randint(4, 10), 0.8, "anthropic:claude-haiku-4-5") for name in DIMENSIONS
        }
        yield record(
            at,
            key_id=chance.choice(KEYS),
            conversation=chance.randrange(count // 3 + 1),
            variant=chance.choice(("a", "b")),
            stream=chance.random() < 0.5,
            cached="exact" if chance.random() < 0.1 else "",
            tier="tier-0" if passed else "tier-1",
            question_type=question_type,
            classified_by=chance.choice(("offline", "offline", "model", "given")),
            passed=passed,
            score=score,
            threshold=TYPES[question_type],
            grade_confidence=round(chance.random(), 2),
            variance=round(3 * chance.random(), 1),
            dimension_scores=scores,
            tier0_usd=first if known else None,
            tier1_usd=second,
            grading_usd=grading,
            total_usd=first + second + grading if known else None,
            baseline_usd=0.01,
            tier0_ms=chance.lognormvariate(6, 0.5),
            tier1_ms=None if passed else chance.lognormvariate(7, 0.5),
            classification_ms=chance.lognormvariate(0, 0.5),
            grading_ms=chance.lognormvariate(6.5, 0.6),
            total_ms=chance.lognormvariate(7.5, 0.5),
            prompt_digest=chance.randbytes(32),
        )
