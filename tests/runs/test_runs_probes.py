"""Probes: what answers gain by being written for a rubric."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import rubrica
from rubrica import Context, RubricaError, Score, Unscored
from rubrica.cli.lint_probe import show_probes
from rubrica.errors import InputError
from rubrica.model.dimensions import Axis
from rubrica.runs.probes.probe_table import INSTRUCTIONS, PROBES

VERDICTS = [{"label": "good", "when": "score >= 0.5"}, {"label": "bad"}]
CASES = [
    {"id": "short", "prompt": "Why is ice slippery?", "response": "Friction melts it."},
    {"id": "longer", "prompt": "Why is the sky blue?", "response": "Short waves are scattered most by the air."},
]


def by_formula(formula: str, **more: Any) -> dict[str, Any]:
    return {"name": "probed", "dimensions": {"only": {"formula": formula}}, "verdicts": VERDICTS, **more}


def gains(rubric: Any, **how: Any) -> dict[str, float | None]:
    return {one.probe: one.gain for one in rubrica.probe(rubric, CASES, **how).figures}


def test_a_rubric_that_pays_for_length_is_gained_by_padding_and_repetition() -> None:
    found = gains(by_formula("min(word_count / 40, 1)"))
    assert (found["padding"] or 0) > 0.5
    assert (found["repetition"] or 0) > 0.3
    assert (found["empty"] or 0) < 0


def test_a_rubric_that_pays_for_no_words_is_gained_by_an_empty_answer() -> None:
    rubric = by_formula("1 if word_count < 2 else 0")
    assert gains(rubric)["empty"] == 1.0
    gate = [{"name": "empty", "when": "is_empty > 0", "verdict": "bad"}]
    assert gains({**rubric, "gates": gate})["empty"] == 0.0, "a veto earns nothing"


def test_a_rubric_that_pays_for_words_is_gained_by_keywords() -> None:
    patterns = [{"keywords": ["because", "therefore"], "score": 1}, {"keywords": ["sorry"], "score": -1}]
    by_rules = {
        **by_formula(""),
        "dimensions": {"only": {"rules": [{"type": "pattern_detection", "patterns": patterns}]}},
    }
    assert gains(by_rules)["keywords"] == 1.0
    named = {
        "reasons": {"keywords": ["because"]},
        "excuses": {"keywords": ["sorry"]},
    }
    by_names = by_formula("max(0, min(1, reasons - excuses))", patterns=named)
    assert gains(by_names)["keywords"] == 1.0, "words that cost points are not among them"


def test_a_rubric_that_pays_for_the_words_of_the_question_is_gained_by_an_echo() -> None:
    found = gains(by_formula("prompt_overlap"))
    assert (found["echo"] or 0) > 0.5


def test_a_rubric_that_pays_for_nothing_of_the_kind_is_not_gained() -> None:
    report = rubrica.probe(by_formula("0.5"), CASES)
    assert [one.gain for one in report.figures] == [0.0] * len(report.figures)
    assert report.exceeding(0.0) == ()
    assert "keywords" not in [one.probe for one in report.figures], "there are none to stuff it with"


class Gullible:
    """A judge that does as the text tells it, and is taken in by quoted criteria."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        self.seen.append(context.response)
        if not context.response:
            return dict.fromkeys(axes, Unscored("nothing to judge", "llm"))
        told = INSTRUCTIONS in context.response
        return {name: Score(1.0 if told or axis.asks in context.response else 0.2) for name, axis in axes.items()}


def test_a_judge_that_follows_the_text_is_found_out() -> None:
    rubric = {"name": "asked", "dimensions": {"tone": {"asks": "Is it kind?"}}, "verdicts": VERDICTS}
    judge = Gullible()
    report = rubrica.probe(rubric, CASES, judge)
    assert [one.probe for one in report.exceeding()] == ["quoting", "instructions"]
    assert [one.gain for one in report.exceeding()] == [pytest.approx(0.8)] * 2
    empty = next(one for one in report.figures if one.probe == "empty")
    assert (empty.cases, empty.unscored, empty.gain) == (0, 2, None)
    assert report.judged
    assert {case["response"] for case in CASES} < set(judge.seen)


def test_the_reply_of_a_chat_is_changed_in_the_chat_too() -> None:
    chat = [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Hello."}]
    judge = Gullible()
    rubric = {"name": "asked", "dimensions": {"tone": {"asks": "Is it kind?"}}, "verdicts": VERDICTS}
    seen: list[Context] = []

    async def watching(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        seen.append(context)
        return await judge(axes, context)

    rubrica.probe(rubric, [{"messages": chat}], watching, probes=["instructions"])
    changed = next(one for one in seen if INSTRUCTIONS in one.response)
    assert [one.content for one in changed.messages] == ["Hi?", changed.response]


def test_cases_come_from_files_and_from_packs(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(json.dumps(case) + "\n" for case in CASES))
    assert rubrica.probe(by_formula("0.5"), str(file), limit=1).cases == 1
    assert rubrica.probe("speed-demon").cases == 1
    shown = [{"response": "Kind words.", "answer": "yes"}, {"response": "No.", "answer": "no"}]
    tone = {"asks": "Is it kind?", "answers": {"yes": 1, "no": 0}, "examples": shown}
    by_examples = {"name": "asked", "dimensions": {"tone": tone}, "verdicts": VERDICTS}
    assert rubrica.probe(by_examples, judge=Gullible()).cases == 2
    with pytest.raises(InputError, match="probed comes with no examples; give cases"):
        rubrica.probe(by_formula("0.5"))
    with pytest.raises(InputError, match="line 1 of the cases: a case is a mapping"):
        rubrica.probe(by_formula("0.5"), ["text"])
    with pytest.raises(InputError, match="there are no cases"):
        rubrica.probe(by_formula("0.5"), [{"response": " "}])
    with pytest.raises(RubricaError, match=r"there is no probe 'pading' \(did you mean 'padding'"):
        rubrica.probe(by_formula("0.5"), CASES, probes=["pading"])


def test_the_table_tells_what_gains_and_what_helps(capsys: pytest.CaptureFixture[str]) -> None:
    report = rubrica.probe(by_formula("min(word_count / 40, 1)"), CASES)
    show_probes(report, 0.05)
    shown = " ".join(capsys.readouterr().out.split())
    assert "probed@1.0.0, probes on 2 cases, by code" in shown
    assert "padding gains +0.86 on average (at most +0.05)" in shown
    assert all(one.name in shown for one in PROBES if one.name not in ("keywords", "quoting"))
    show_probes(report, 1.0)
    assert "ok no probe gains more than 1 on average" in capsys.readouterr().out
    assert report.plain["probes"][0]["probe"] == "padding"
    assert "<table" in report._repr_html_()
