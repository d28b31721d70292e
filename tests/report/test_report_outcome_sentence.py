"""Why an evaluation came out as it did, as a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rubrica.engine.load import rubric_from_data
from rubrica.report.outcome_sentence import OutcomeFacts, OutcomeSentences

REPLY: dict[str, Any] = {
    "name": "reply",
    "scale": {"max": 10},
    "threshold": 70,
    "settings": {"kindness": 4},
    "dimensions": {
        "solves": {"title": "Solves the problem", "weight": 0.7, "formula": "word_count"},
        "tone": {"weight": 0.3, "formula": "word_count"},
    },
    "score": {"weighted": True, "out_of": 100},
    "verdicts": [
        {"label": "send", "when": "score >= threshold and tone > kindness"},
        {"label": "look_again", "when": "score >= 40", "because": "somebody should read it"},
        {"label": "revise"},
    ],
}
WEAK = OutcomeFacts("revise", 16, 100, "not send: …", None, {"solves": 1.0, "tone": 3.0})


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (WEAK, "16 points; look again needs 40. Most lost: Solves the problem."),
        (
            replace(WEAK, verdict="look_again", score=55, dimensions={"solves": 6.0, "tone": 4.0}),
            "Somebody should read it. 55 points; send needs 70. Most lost: Solves the problem.",
        ),
        (
            replace(WEAK, verdict="look_again", score=82, dimensions={"solves": 10.0, "tone": 4.0}),
            "Somebody should read it. 82 points; send needs Tone more than 4. Most lost: Tone.",
        ),
        (
            replace(WEAK, verdict="send", score=100, dimensions={"solves": 10.0, "tone": 10.0}),
            "100 points; send needs 70.",
        ),
        (replace(WEAK, reason="gate rude: it shouts"), "Gate rude: it shouts."),
        (
            replace(WEAK, verdict="inconclusive", score=None, reason="no score for solves: the verdict could be send"),
            "No score for Solves the problem: the verdict could be send.",
        ),
    ],
)
def test_the_sentence_tells_points_needs_and_what_cost_most(facts: OutcomeFacts, told: str) -> None:
    assert OutcomeSentences(rubric_from_data(REPLY)).of(facts) == told


def test_a_row_of_a_table_leaves_the_bounds_out_and_says_where_most_was_lost() -> None:
    open_for = "offline scores are only known within bounds (solves 1 to 10); a judge can tell"
    reason = f"the verdict could be send or revise: {open_for}"
    facts = replace(WEAK, verdict="inconclusive", score=55, reason=reason)
    sentences = OutcomeSentences(rubric_from_data(REPLY))
    told = "The verdict could be send or revise: offline scores leave it open. Most lost: Solves the problem."
    assert sentences.in_table(facts) == told
    assert sentences.of(facts).endswith("within bounds (Solves the problem 1 to 10); a judge can tell.")
    assert sentences.in_table(WEAK) == sentences.of(WEAK)


@pytest.mark.parametrize(
    ("verdict", "score", "reason", "told"),
    [
        ("unreliable", 4, "solves < 5", "4 points; unreliable: Solves the problem is less than 5. "),
        ("caution", 60, "solves < 7", "60 points; caution: Solves the problem is less than 7. "),
        ("reliable", 90, "not caution: solves < 7", "90 points. "),
    ],
)
def test_of_verdicts_from_worst_to_best_none_needs_to_be_worse(
    verdict: str, score: float, reason: str, told: str
) -> None:
    verdicts = [
        {"label": "unreliable", "when": "solves < 5"},
        {"label": "caution", "when": "solves < 7"},
        {"label": "reliable"},
    ]
    facts = OutcomeFacts(verdict, score, 100, reason, None, {"solves": score / 10, "tone": 9.0})
    sentences = OutcomeSentences(rubric_from_data({**REPLY, "verdicts": verdicts}))
    assert sentences.of(facts) == f"{told}Most lost: Solves the problem."


def test_of_two_rules_with_one_verdict_the_reason_is_that_of_the_rule_that_held() -> None:
    verdicts = [
        {"label": "revise", "when": "tone < 2", "because": "its tone is too low"},
        {"label": "send", "when": "score >= 70"},
        {"label": "revise", "because": "the score is too low"},
    ]
    facts = replace(WEAK, reason="the score is too low; not send: score >= 70 (score = 16)")
    told = OutcomeSentences(rubric_from_data({**REPLY, "verdicts": verdicts})).of(facts)
    assert told.startswith("The score is too low. 16 points")


def test_weights_and_threshold_are_those_of_the_profile() -> None:
    profiles = {
        "by": "kind",
        "short": {"weights": {"solves": 0.1, "tone": 0.9}, "threshold": 60},
        "long": {"weights": {"solves": 0.5, "tone": 0.5}, "threshold": 90},
    }
    verdicts = [{"label": "send", "when": "score >= threshold"}, {"label": "revise"}]
    rubric = rubric_from_data({**REPLY, "threshold": None, "profiles": profiles, "verdicts": verdicts})
    told = OutcomeSentences(rubric).of(replace(WEAK, profile="short"))
    assert told == "16 points; send needs 60. Most lost: Tone."


def test_without_its_rubric_the_reason_stays() -> None:
    assert OutcomeSentences(None).of(replace(WEAK, reason="not send: score >= 70")) == "Not send: score >= 70."
