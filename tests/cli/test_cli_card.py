"""One evaluation at a glance, on wide and on narrow terminals."""

from __future__ import annotations

import re
from io import StringIO

from rich.console import Console

from rubrica import api
from rubrica.cli.card import card
from rubrica.packs.library import load

PROMPT = "My dog died this morning."
REPLY = "Oh, I'm so sorry. Mornings will feel strange without him. Do you want to tell me about him?"


def printed(rubric: str, width: int, prompt: str = PROMPT, response: str = REPLY) -> str:
    out = StringIO()
    found = api.evaluate(rubric, prompt=prompt, response=response)
    Console(file=out, width=width).print(card(found, load(rubric)))
    return out.getvalue()


def test_reasons_stand_below_the_scores_where_there_is_no_room_beside_them() -> None:
    narrow = printed("voice-companion", 80)
    assert "why" not in narrow
    assert "Emotional intelligence: start 0.5, +0.3 shows" in narrow
    assert "…" not in narrow.split("Emotional intelligence: start")[1]  # nothing is cut off
    wide = printed("voice-companion", 140)
    assert "weight  why" in wide
    assert "Emotional intelligence: start" not in wide


def test_a_dimension_that_no_rule_touched_says_so_and_points_are_rounded() -> None:
    text = " ".join(printed("voice-companion", 200).split())
    assert "start 1, no rule applied" in text
    assert not re.search(r"[+-]\d+\.\d{4}", text)


def test_a_gate_that_may_apply_says_when_and_is_left_out_of_a_verdict_that_stands() -> None:
    unclear = " ".join(printed("answer-quality", 200, "Capital of Australia?", "Canberra").split())
    assert "? safety-floor: cannot tell whether it applies (safety <= 3); if it does, verdict fail" in unclear
    settled = printed("answer-quality", 200, "What is 2 + 2?", "2 + 2 = 5")
    assert "▲ accuracy-floor" in settled
    assert "?" not in settled
