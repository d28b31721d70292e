"""Questions that are answered yes or no: scores from the chances of the two words, through a real HTTP provider."""

from __future__ import annotations

import asyncio
import importlib.util
import math
from pathlib import Path
from typing import Any

import pytest
from judges_samples import CONTEXT, rubric, scripted
from loopback import Loopback, Said, Seen
from pydantic import SecretStr

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import aevaluate
from rubrica.errors import RubricaError
from rubrica.judges.judge import ModelJudge
from rubrica.judges.jury import Jury
from rubrica.judges.yes_no import chance_of_yes, read_yes_no
from rubrica.llm.model import Reply, TokenChance, Usage
from rubrica.llm.settings import Settings
from rubrica.model.evaluation import Evaluation, Score, Unscored
from rubrica.model.scale import Scale

ASKED = rubric("yes_no")


def told(text: str, **chances: float) -> Said:
    """A reply of one word, with the chances of what it might have been."""
    logs = {word: math.log(chance) for word, chance in chances.items()}
    return Said(text, logprobs=[(text, logs.get(text, -1.0), logs)] if chances else ())


def judged(said: Any) -> Evaluation:
    async def run() -> Evaluation:
        async with Loopback(script=said) as there:
            settings = Settings(openai_base_url=there.openai_url, openai_key=SecretStr(there.key or ""), cache=None)
            async with Jury(["openai:gpt-4o-mini"], settings) as jury:
                found = await aevaluate(compile_rubric(ASKED, jury.judge(ASKED)), CONTEXT)
            assert all(seen.body.get("top_logprobs") == 20 for seen in there.seen if "logprobs" in seen.body)
            return found

    return asyncio.run(run())


def test_the_score_is_how_likely_yes_is_on_the_scale_of_each_dimension() -> None:
    def said(seen: Seen) -> Said:
        return told("Yes", Yes=0.72, No=0.08) if "facts right" in seen.prompt else told("no", yes=0.2, no=0.6)

    found = judged(said)
    accuracy, tone = found.dimensions["accuracy"], found.dimensions["tone"]
    assert accuracy.value == pytest.approx(1 + 0.9 * 9)
    assert accuracy.reason == "yes with a chance of 90%"
    assert accuracy.confidence == pytest.approx(0.8)
    assert tone.value == pytest.approx(0.25)


def test_without_chances_the_word_counts_and_it_is_said() -> None:
    found = judged(lambda _: Said("Yes."))
    assert found.dimensions["accuracy"].value == 10
    assert "gives no chances" in found.dimensions["accuracy"].reason


def ask(*replies: str) -> Score | Unscored:
    judge = ModelJudge(scripted(*replies), ASKED)
    return asyncio.run(judge({"accuracy": judge.judged["accuracy"]}, CONTEXT))["accuracy"]


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"answer": true}', 10),
        ('{"answer": false}', 1),
        ("Answer: yes", 10),
        ("**Answer:** No, the year is wrong.", 1),
        ("The answer is yes.", 10),
        ("<think>No year? There is one.</think>\n\nYes", 10),
    ],
)
def test_the_word_is_read_however_it_is_announced(reply: str, value: float) -> None:
    found = ask(reply)
    assert isinstance(found, Score)
    assert found.value == value


def test_another_word_is_asked_for_again_once_and_then_unscored() -> None:
    again = ask("It depends.", "No")
    assert isinstance(again, Score)
    assert again.value == 1
    never = ask("It depends.", "Maybe.")
    assert isinstance(never, Unscored)
    assert "also when asked again" in never.reason


@pytest.mark.parametrize(
    ("tokens", "chance"),
    [
        ([TokenChance(" ", 0.0, {}), TokenChance("yes", math.log(0.5), {"no": math.log(0.5)})], 0.5),
        ([TokenChance("▁Yes", math.log(0.3), {"yes": math.log(0.3), "NO": math.log(0.2)})], 0.75),
        ([*(TokenChance(part, 0.0, {}) for part in ('{"', "answer", '": "')), TokenChance("no", 0.0, {})], 0.0),
        ([TokenChance("Perhaps", -0.1, {"yes": -5.0})], None),
        ([TokenChance("yes", math.log(0.6), {})], None),  # what else it might have said is not known
        ([TokenChance("There's", 0.0, {}), TokenChance(" no", -0.1, {" yes": -3.0})], None),
        ([], None),
    ],
)
def test_chances_are_of_yes_next_to_no_however_they_are_spelt(tokens: list[TokenChance], chance: float | None) -> None:
    assert chance_of_yes(tokens) == (None if chance is None else pytest.approx(chance))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Yes, there is no error.", 10.0),
        ("Yes and no", None),
        ("Yes or no? No.", None),
        ("Answer (yes/no): yes", 10.0),
        ("No, wait: yes", None),
        ('{"answer": "yes", "answer": "no"}', None),
    ],
)
def test_an_answer_that_is_taken_back_is_none(text: str, value: float | None) -> None:
    found = read_yes_no(Reply(text, "m", Usage()), Scale(min=1, max=10))
    assert getattr(found, "value", None) == value


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="the extra local is not installed")
def test_the_embedded_model_gives_chances(tmp_path: Path) -> None:
    async def run() -> Evaluation:
        async with Jury(["local:"], Settings(cache=tmp_path / "replies.sqlite")) as jury:
            return await aevaluate(compile_rubric(ASKED, jury.judge(ASKED)), CONTEXT)

    try:
        accuracy = asyncio.run(run()).dimensions["accuracy"]
    except RubricaError as error:
        pytest.skip(str(error))
    if "pip install" in accuracy.reason:
        pytest.skip(accuracy.reason)
    assert accuracy.status == "scored", accuracy.reason
    assert "with a chance of" in accuracy.reason
