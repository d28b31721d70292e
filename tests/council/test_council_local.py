"""A council of the real embedded model, twice under two names: no network, no key, no bill."""

from __future__ import annotations

import asyncio
import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from rubrica.council.members import open_members
from rubrica.council.result import CouncilResult
from rubrica.council.session import run
from rubrica.council.settings import CouncilSettings
from rubrica.errors import RubricaError
from rubrica.llm.settings import Settings

if importlib.util.find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed: pip install 'rubrica[local]'", allow_module_level=True)

from rubrica.llm.local import embedded_weights

RUBRIC = """\
name: short-review
scale: {min: 1, max: 10}
score: {out_of: 10, round: 2}
dimensions:
  accuracy: {asks: Is it right?, anchors: {6-10: Right., 1-5: Wrong.}, weight: 0.7}
  clarity: {asks: Is it clear?, anchors: {6-10: Clear., 1-5: Muddled.}, weight: 0.3}
gates: [{name: accuracy-ceiling, when: "accuracy < 5", cap: 4}]
verdicts: [{label: reliable, when: "accuracy >= 5"}, {label: unreliable}]
on_unscored: inconclusive
"""
"""Small: the model reads 190 tokens a second."""


async def held(models: tuple[str, ...], rubric: Path) -> CouncilResult:
    settings = CouncilSettings(models=models, rubric=str(rubric), seed=1, deadline=400, max_tokens=40, final_tokens=80)
    async with open_members(models, Settings(cache=None), seconds=settings.seconds) as members:
        steady = replace(members, fence_source=lambda _: "00c0ffee00c0ffee")  # the same prompts each time
        return await run("What is the capital of France? Answer in one short sentence.", settings, steady)


@pytest.mark.slow
def test_the_embedded_model_holds_a_council_offline(tmp_path: Path) -> None:
    try:
        weights = embedded_weights()
    except RubricaError as error:
        pytest.skip(str(error))
    rubric = tmp_path / "short-review.yaml"
    rubric.write_text(RUBRIC)
    result = asyncio.run(held(("local:", f"local:{weights}"), rubric))
    assert len(result.answers) == 2
    assert all("Paris" in answer.text for answer in result.answers)
    scored = [opinion for opinion in result.opinions if opinion.score is not None]
    assert scored, [opinion.reason for opinion in result.opinions]
    assert all(1 <= value <= 10 for opinion in scored for value in opinion.scores.values())
    assert result.ranking.order
    assert result.final.text
    assert result.cost is not None
    assert result.cost.usd == 0  # nobody bills
    assert result.cost.output_tokens > 50
    assert [stage.stage for stage in result.stages] == ["answers", "reviews", "final"]
