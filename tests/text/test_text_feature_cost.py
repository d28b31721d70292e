"""Whatever a text is made of, no feature and no formula takes long, and no feature fails."""

from __future__ import annotations

import json
import math
import random
import time

import pytest

from rubrica.formula import Interval, parse
from rubrica.text import FEATURES
from rubrica.text.texts import Texts
from rubrica.text.truncation import JUDGED_BYTES

FAR_TOO_LONG = 10.0  # seconds of processor time: some 20 times what it takes, and less than 2 MB took in full

MADE_OF = {
    "one letter": "a",
    "line breaks": "\n",
    "punctuation": "!?.,;:",
    "brackets": "([{<",
    "sums": "1+1=",
    "long sums": "1+1+" * 49 + "2=" + "1+1+" * 49 + "1\n",
    "calculator": "<<1+1=2>>",
    "distinct numbers": " ".join(map(str, range(10_000))),
    "addresses": "a@b.",
    "options": "A) 1\nB) 2\n",
    "list": "- x\n",
    "combining": "e\u0301",
    "surrogates": "\ud800a",
    "emoji": "😀",
    "colons": "1:",
}


def _features(text: str) -> float:
    begun = time.thread_time()
    texts = Texts(text[:5_000], text, [text[:5_000]], [text[:5_000]])
    for feature in FEATURES.values():
        value = feature.compute(texts)
        assert math.isfinite(value), feature.name
        assert feature.low <= value <= feature.high, feature.name
        if feature.evidence is not None:
            list(feature.evidence(texts))
    return time.thread_time() - begun


@pytest.mark.parametrize("piece", MADE_OF.values(), ids=MADE_OF)
def test_no_text_makes_the_features_take_long(piece: str) -> None:
    assert _features(piece * (2_000_000 // len(piece))) < FAR_TOO_LONG


def test_nested_and_mixed_texts_take_no_longer() -> None:
    half = JUDGED_BYTES // 2
    mixed = "".join(random.Random(1).choices("a1 .,()=+-*/\n<>[]{}'\"@#%$^&!?:;", k=JUDGED_BYTES))  # noqa: S311
    assert _features("(" * half + ")" * half) < FAR_TOO_LONG
    assert _features(mixed) < FAR_TOO_LONG


@pytest.mark.parametrize("told", ["The answer is {}.", "2 + 2 = {}", "Half of 40 is {}", "3/{} = 5"])
@pytest.mark.parametrize("group", [",999", ",99"])
def test_no_feature_fails_where_a_number_has_thousands_of_digits(told: str, group: str) -> None:
    said = told.format("1" + 3_000 * group)
    question = {
        "question": "How many are 3 of 4?",
        "options": ["A) 7", f"B) {said}"],
        "answer": "B",
        "explanation": said,
    }
    assert _features(said) < FAR_TOO_LONG
    assert _features(json.dumps(question)) < FAR_TOO_LONG


@pytest.mark.parametrize(
    "formula",
    [
        " + ".join(["x"] * 240),
        "(" * 40 + "x" + ") ** 2" * 40,
        "x ** 64 ** 1 ** 1",
        f"median({', '.join(['x'] * 400)})",
        f"weighted({', '.join(['1, x'] * 200)})",
        "sqrt(" * 40 + "x" + ")" * 40,
        " if x < 1 else ".join(["x"] * 40),
        " < ".join(["x"] * 200),
    ],
)
def test_no_formula_takes_long_to_read_or_to_work_out(formula: str) -> None:
    begun = time.thread_time()
    read = parse(formula)
    for _ in range(20):
        read.holds({"x": 1.0})
        read.interval({"x": Interval.of(0.0, 1.0)})
    assert time.thread_time() - begun < 1.0  # 20 times as much as one may take
