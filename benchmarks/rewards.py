"""Rewards of a plain rubric against the reward function that somebody would write by hand."""

from __future__ import annotations

import re
from typing import Any

import rubrica

from .floor import Ratio, in_turn
from .texts import KEYWORDS, texts

TEXTS = 20_000
WORDS = KEYWORDS[:8]


def rubric() -> dict[str, Any]:
    """Words that earn points, a length, and a gate: what a reward without a judge is made of."""
    found = [{"name": word, "keywords": [word], "score": 2} for word in WORDS]
    return {
        "name": "plain",
        "dimensions": {
            "words": {
                "weight": 0.6,
                "scale": {"min": 0, "max": 10},
                "rules": [{"type": "pattern_detection", "patterns": found}],
            },
            "length": {"weight": 0.4, "scale": {"min": 0, "max": 1}, "formula": "min(word_count / 50, 1)"},
        },
        "gates": [{"name": "empty", "when": "word_count < 1", "verdict": "fail"}],
        "verdicts": [{"label": "pass", "when": "score >= 0.5"}, {"label": "fail"}],
    }


def rewards_a_second() -> Ratio:
    """TRL's call for a large batch, on one core."""
    patterns = [re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE) for word in WORDS]
    sample = list(texts(TEXTS))
    prompts = ["What is it?"] * TEXTS
    reward = rubrica.reward(rubric())

    def by_hand(completions: list[str]) -> list[float]:
        found = []
        for text in completions:
            count = len(text.split())
            points = min(2 * sum(pattern.search(text) is not None for pattern in patterns), 10)
            found.append(0.6 * points / 10 + 0.4 * min(count / 50, 1) if count else 0.0)
        return found

    given = reward(prompts=prompts[:500], completions=sample[:500])
    for one, other in zip(given, by_hand(sample[:500]), strict=True):
        assert one is not None
        assert abs(one - other) < 1e-9
    spent, floor = in_turn(
        lambda: reward(prompts=prompts, completions=sample, difficulty=[3] * TEXTS), lambda: by_hand(sample)
    )
    return Ratio(
        f"{TEXTS:,} rewards of a plain rubric, as TRL asks for them",
        "a reward function written by hand with re",
        floor / spent,
        1.0,
        f"{TEXTS / spent:,.0f} rewards/s on one core (20,000 wanted) against {TEXTS / floor:,.0f}",
    )
