"""One evaluation from end to end with the real embedded model: no network, no key, no bill."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path

import pytest

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate
from rubrica.errors import RubricaError
from rubrica.judges.jury import Jury
from rubrica.llm.settings import Settings
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.packs.library import load

if importlib.util.find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed: pip install 'rubrica[local]'", allow_module_level=True)

from rubrica.llm.local import embedded_weights

RUBRIC = load(
    {
        "name": "capitals",
        "scale": {"min": 1, "max": 10},
        "dimensions": {"accuracy": {"asks": "Is it right?", "anchors": {"6-10": "Right.", "1-5": "Wrong."}}},
        "score": {"out_of": 10},
        "verdicts": [{"label": "pass", "when": "score >= 5"}, {"label": "fail"}],
        "on_unscored": "inconclusive",
    }
)
CONTEXT = Context.of({"prompt": "What is the capital of France?", "response": "Paris."})


async def judged(cache: Path) -> Evaluation:
    async with Jury(["local:"], Settings(cache=cache)) as jury:
        return await aevaluate(compile_rubric(RUBRIC, jury.judge(RUBRIC)), CONTEXT)


@pytest.mark.slow
def test_the_embedded_model_judges_offline_and_its_reply_is_kept(tmp_path: Path) -> None:
    try:
        embedded_weights()
    except RubricaError as error:
        pytest.skip(str(error))
    (tmp_path / "replies.sqlite.key").write_bytes(bytes(32))  # the same fence, and so the same reply, every time
    first = asyncio.run(judged(tmp_path / "replies.sqlite"))
    accuracy = first.dimensions["accuracy"]
    assert accuracy.status == "scored", accuracy.reason
    assert accuracy.value is not None
    assert 1 <= accuracy.value <= 10
    assert (accuracy.source, accuracy.offline) == ("llm", False)
    assert first.verdict == ("pass" if accuracy.value >= 5 else "fail")
    assert first.cost is not None
    assert first.cost.usd == 0  # nobody bills
    assert first.cost.input_tokens > 300  # the whole prompt went in
    assert first.cost.output_tokens > 5

    again = asyncio.run(judged(tmp_path / "replies.sqlite"))
    assert again.dimensions["accuracy"].value == accuracy.value
    assert again.cost is not None
    assert again.cost.input_tokens == 0  # from the cache
