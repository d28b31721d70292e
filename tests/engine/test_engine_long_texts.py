"""Long texts: patterns read them in full where they can afford it, and nothing is claimed of what was not read."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest

import rubrica
from rubrica.text.truncation import JUDGED_BYTES

LONG = "first moth. " + "x " * 200_000 + "and a last moth."
NOTE = f"the response has {len(LONG):,} characters: the first 19,998 and the last 19,997 were read"


def rubric(*rules: dict[str, Any], **changes: Any) -> dict[str, Any]:
    found = {"type": "pattern_detection", "patterns": [{"keywords": ["moth"], "score": 2, "count": "each"}]}
    dimension = {"asks": "moths", "rules": [*(rules or (found,))]}
    return {
        "name": "moths",
        "scale": {"min": 0, "max": 10},
        "dimensions": {"moths": dimension},
        "verdicts": [{"label": "done"}],
        **changes,
    }


def test_features_read_the_ends_of_a_long_text_and_the_evaluation_says_so() -> None:
    counted = rubric({"when": "word_count > 1", "add": 2})
    result = rubrica.evaluate(counted, response=LONG)
    assert result.dimensions["moths"].value == 2
    assert result.notes == (NOTE,)
    assert rubrica.evaluate(counted, response=LONG[:JUDGED_BYTES]).notes == ()
    assert rubrica.evaluate(rubric(), response=LONG).notes == ()  # the keyword was looked for everywhere


def test_evidence_in_the_tail_is_where_it_is_in_the_whole_text() -> None:
    result = rubrica.evaluate(rubric(), response=LONG)
    spans = result.dimensions["moths"].hits[0].spans
    assert [LONG[span.start : span.end] for span in spans] == ["moth", "moth"]
    assert spans[1].start > JUDGED_BYTES


def test_the_evidence_of_a_named_pattern_is_where_it_is_in_the_whole_text() -> None:
    gate = {"name": "moths", "when": "moth_count >= 2", "cap": 5}
    named = rubric(patterns={"moth_count": {"keywords": ["moth"]}}, gates=[gate])
    result = rubrica.evaluate(named, response=LONG)
    (gate_result,) = result.gates
    assert [LONG[span.start : span.end] for span in gate_result.spans] == ["moth", "moth"]


def test_a_keyword_is_looked_for_in_all_of_a_long_history() -> None:
    rounds = [{"response": f"moth {number} " + "y" * 30_000} for number in range(3)]
    found = {"keywords": ["moth"], "score": 1, "count": "each", "field": "history"}
    context = {"response": "short", "round_history": rounds}
    result = rubrica.evaluate(rubric({"type": "pattern_detection", "patterns": [found]}), context=context)
    history = "\n".join(round_["response"] for round_ in rounds)
    assert result.dimensions["moths"].value == 3
    spans = result.dimensions["moths"].hits[0].spans
    assert [history[span.start : span.end + 2] for span in spans] == ["moth 0", "moth 1", "moth 2"]
    assert result.notes == ()


def test_twenty_megabytes_are_judged_in_bounded_time_and_memory() -> None:
    text = "word, another (word) 12 + 12 = 24. " * 600_000
    plan = rubrica.compile(rubrica.load("answer-quality"))
    rubrica.evaluate(plan, prompt="Say it.", response=text)  # what is loaded once
    tracemalloc.start()
    start = time.thread_time()
    rubrica.evaluate(plan, prompt="Say it.", response=text)
    assert time.thread_time() - start < 5
    assert tracemalloc.get_traced_memory()[1] < 2 * len(text)
    tracemalloc.stop()


@pytest.mark.parametrize("where", ["rule", "named"])
def test_a_dear_pattern_is_refused_when_the_rubric_is_read(where: str) -> None:
    dear = {"regex": ".{1000}.{1000}.{1000}"}
    document = (
        rubric(patterns={"dear": dear})
        if where == "named"
        else rubric({"type": "pattern_detection", "patterns": [{**dear, "score": 1}]})
    )
    with pytest.raises(rubrica.RubricError, match=r"costs 3,\d\d\d steps a character, the most is 90"):
        rubrica.load(document)


def test_the_patterns_of_a_rubric_are_bounded_together() -> None:
    patterns = [{"regex": f"[ab]{{80}}{number}", "score": 1} for number in range(1_000)]
    start = time.thread_time()
    with pytest.raises(rubrica.RubricError, match=r"cost 2,\d\d\d steps a character together, .* 2,000") as caught:
        rubrica.load(rubric({"type": "pattern_detection", "patterns": patterns}))
    assert len(caught.value.problems) == 1
    assert time.thread_time() - start < 5


def test_faulty_patterns_without_end_are_not_all_explained() -> None:
    patterns = [{"regex": rf"\pL{{900}}{number}", "score": 1} for number in range(2_000)]
    with pytest.raises(rubrica.RubricError) as caught:
        rubrica.load(rubric({"type": "pattern_detection", "patterns": patterns}))
    assert len(caught.value.problems) <= 41
