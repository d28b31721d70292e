"""Runs that were never judged: folders with evaluations made from given scores."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

import rubrica
from rubrica.engine.plan import Plan
from rubrica.engine.rejudge import decide
from rubrica.model.context import Context
from rubrica.model.evaluation import Cost, Evaluation, Score, Vote
from rubrica.runs.files.manifest import Manifest, UsedRubric

TONE = """\
name: tone
title: Tone of an answer
scale: {min: 1, max: 10}
score: {out_of: 100}
threshold: 60
dimensions:
  warmth: {weight: 0.5, asks: "Is it kind?", anchors: {7-10: "it feels meant", 1-6: "it is cold"}}
  wit: {weight: 0.5, asks: "Is it funny?", applies: "joke_wanted > 0"}
context: {joke_wanted: {says: "whether a joke was asked for", default: 1}}
verdicts:
  - {label: pass, when: "score >= threshold"}
  - {label: fail}
"""
STYLE = """\
name: style
scale: {min: 0, max: 1}
dimensions:
  form:
    weight: 1
    parts:
      order: {weight: 0.5, asks: "Is it in order?"}
      layout: {weight: 0.5, formula: "1 if word_count < 9 else 0"}
verdicts: [{label: pass, when: "score >= 0.5"}, {label: fail}]
"""
JUDGE = "openai:gpt-5-mini"


def plan_of(folder: Path, text: str = TONE) -> Plan:
    file = folder / "rubric.yaml"
    file.write_text(text)
    return rubrica.compile(file)


def judged(plan: Plan, case: str, scores: Mapping[str, float | None], **fields: Any) -> Evaluation:
    """An evaluation as if a judge had given these scores. `votes` are by dimension."""
    votes: Mapping[str, tuple[Vote, ...]] = fields.pop("votes", {})
    context = Context.of({"prompt": "Say hello.", "response": f"Hello from {case}.", **fields.pop("context", {})})
    confidence, reason = fields.pop("confidence", 0.9), fields.pop("reason_given", "because")
    given = {
        name: Score(value, reason, confidence, "llm", votes=votes.get(name, ()), judge=JUDGE)
        for name, value in scores.items()
        if value is not None
    }
    return msgspec.structs.replace(decide(plan, given, context), case=case, **fields)


def a_run(folder: Path, plans: Iterable[Plan], evaluations: Iterable[Evaluation]) -> Path:
    """A run's folder."""
    folder.mkdir()
    used = tuple(UsedRubric.of(plan.rubric) for plan in plans)
    Manifest(
        id="1",
        started="2026-05-04T09:00:00+00:00",
        rubrics=used,
        judges=(JUDGE,),
        source="cases.jsonl",
        commit="ab" * 20,
    ).write(folder)
    (folder / "evaluations.jsonl").write_text("".join(one.to_json() + "\n" for one in evaluations))
    return folder


def many(plan: Plan, number: int, seed: int = 0) -> list[Evaluation]:
    """Evaluations all over the scale, some doubtful, each with a cost and a duration."""
    draw = random.Random(seed)  # noqa: S311
    found = []
    for case in range(number):
        quality = draw.uniform(2, 9)
        scores = {name: float(min(10, max(1, round(quality + draw.gauss(0, 1))))) for name in ("warmth", "wit")}
        fields: dict[str, Any] = {"duration_ms": draw.lognormvariate(6, 0.5), "cost": Cost(0.001, 900 + case, 40)}
        found.append(judged(plan, f"case-{case:04}", scores, confidence=draw.choice((0.3, 0.9, 0.9)), **fields))
    return found
