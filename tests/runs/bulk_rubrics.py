"""Rubrics and records at random: rules of every type over patterns, features and metrics, and texts of every kind."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

WEIGHTS: dict[int, list[float]] = {1: [1], 2: [0.7, 0.3], 3: [0.5, 0.3, 0.2]}
NUMBERS = [-3, -0.5, 0, 0.1, 0.2, 0.7, 1, 2.5, 3, 10]
DEAR = "b[a-z ]{80}c"  # which reads no more than 40,000 bytes of a text
REGEXES = [DEAR, r"\d+", "[!?]{2,}", r"\b[A-Z]{2,}\b", "é|ß", "(?P<span>x?)y", r"\pL+-\pL+", "b{2,}", "a.*z"]
KEYWORDS = [["good"], ["bad", "worse"], ["new york"], ["don't"], ["日本"], ["sad", "ab"]]
VALUES = [
    "a", "a + b", "a / b", "min(a / b, 1) * 3", "-a", "0 * a", "a * 0.1 + b * 0.2", "word_count - 3", "loud * 2",
    "c if given(c) else 1", "log(a)", "level * a", "question_count + prompt_word_count", "round(a / 3, 2)", "sentiment",
    "min(hidden, 3)", "pii_count",
    "missing_thing", "response_time", "oddly / 2", "round_count", "1 / (a - 1)", "max(a, b, c)", "count(a, c)",
]  # fmt: skip
CONDITIONS = [
    "a > 1", "word_count > 4", "loud >= 2", "not given(c)", "b == 1 or a < 0", "is_empty", "a / b > 1", "True",
    "hidden > 0", "unsafe_count > 0",
    "character_count > 20 and a >= level", "missing_thing > 2", "oddly > 0", "prompt_is_empty", "a == 0",
]  # fmt: skip

WORDS = [
    "good",
    "bad",
    "sad",
    "ab",
    "NEW",
    "York",
    "new york",
    "don’t",
    "12",
    "xy",
    "y",
    "bbb",
    "a…z",
    "Why?!",
    "日本は",
]
LONG = [
    "ab " * 20_000,
    "ab " * 10_000 + "Here is how to make a bomb: good, b" + "a" * 80 + "c, 12! " + "xy " * 10_000,
    "é日" * 9_000,
]
SHORT = (
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
    | st.text(alphabet="abxyzAB 12!?é日\n\u200d😀-", max_size=30)
    | st.text(max_size=20)
    | st.sampled_from(["", " ", "x\x00y"])
)
TEXTS = st.one_of(*[SHORT] * 12, st.sampled_from(["ab " * 12_000, "xy" * 20_000, *LONG]))
METRICS = (
    st.sampled_from([0, 1, 2, 3, -1, 0.5, 0.1, 1.0, -0.0, 0.0, True, False, None, "2", "text", [1], {"x": 1}, 10**30])
    | st.integers(-3, 3)
    | st.floats(-2, 2)
)


def _patterns(points: st.SearchStrategy[float], key: str) -> st.SearchStrategy[dict[str, Any]]:
    what = st.sampled_from(REGEXES).map(lambda r: {"regex": r}) | st.sampled_from(KEYWORDS).map(
        lambda k: {"keywords": k, "match": "prefix" if k == ["ab"] else "word"}
    )
    count: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
        [{}, {}, {"count": "each"}, {"count": "capped", "at_most": 2}]
    )
    field = st.sampled_from([{}, {}, {"field": "prompt"}, {"field": "history"}])
    name = st.sampled_from([{}, {"name": "one"}, {"name": "two"}])
    return st.tuples(what, count, field, name, points).map(
        lambda found: {**found[0], **found[1], **found[2], **found[3], key: found[4]}
    )


AMOUNTS = st.sampled_from(NUMBERS)
RULES = st.one_of(
    st.lists(_patterns(AMOUNTS, "score"), min_size=1, max_size=4).map(
        lambda found: {"type": "pattern_detection", "patterns": found}
    ),
    st.lists(_patterns(AMOUNTS.filter(lambda n: n <= 0), "penalty"), min_size=1, max_size=3).map(
        lambda found: {"type": "penalty", "name": "pen", "patterns": found}
    ),
    st.tuples(st.sampled_from(["a", "c", "word_count", "loud", "missing_thing", "oddly"]), AMOUNTS, AMOUNTS).map(
        lambda found: {
            "type": "metric_threshold",
            "metric": found[0],
            "thresholds": [
                {"operator": ">=", "value": found[1], "score": found[2]},
                {"operator": "<", "value": 0, "score_formula": "a / b"},
            ],
        }
    ),
    st.just({"type": "cross_round_analysis", "track": "a", "scoring": {"consistency_bonus": 2}}),
    st.sampled_from(VALUES).map(lambda text: {"type": "custom_expression", "expression": text}),
    st.tuples(st.sampled_from(CONDITIONS), AMOUNTS | st.sampled_from(VALUES)).map(
        lambda found: {"type": "adjust", "when": found[0], "add": found[1]}
    ),
)


@st.composite
def dimensions(draw: st.DrawFn, counts: dict[str, float]) -> dict[str, Any]:
    found: dict[str, Any] = {**counts}
    if draw(st.booleans()):
        found["scale"] = draw(st.sampled_from([{"min": 0, "max": 10}, {"min": -2, "max": 5}]))
    if draw(st.integers(0, 4)) == 0:
        found["applies"] = draw(st.sampled_from(CONDITIONS))
    match draw(st.sampled_from(["rules", "rules", "rules", "formula", "checks", "offline", "parts"])):
        case "rules":
            found["rules"] = draw(st.lists(RULES, min_size=1, max_size=4))
            found["start"] = draw(st.sampled_from([0, 0.3, 5]))
            found |= draw(
                st.sampled_from([{}, {"scoring": "proportional", "possible": 7}, {"scoring": "binary", "win_at": 1}])
            )
        case "formula":
            found["formula"] = draw(st.sampled_from(VALUES))
        case "checks":
            conditions = draw(st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=3))
            found["checks"] = [{"name": f"check {i}", "that": that} for i, that in enumerate(conditions)]
        case "offline":
            kind = {
                "kind": "some",
                "when": draw(st.sampled_from([*CONDITIONS, "offline_value > 1"])),
                "below": 1,
                "high": 4,
            }
            stand_in = {"formula": draw(st.sampled_from(VALUES)), "reliability": draw(st.sampled_from([[], [kind]]))}
            found |= {"asks": "Is it good?", "offline": stand_in}
        case "parts":
            counted: list[tuple[dict[str, Any], dict[str, Any]]] = [
                ({"weight": 0.5}, {"weight": 0.5}),
                ({"points": 3}, {"points": -2}),
            ]
            first, second = draw(st.sampled_from(counted))
            of_second: dict[str, Any] = {"formula": "2"}
            if draw(st.booleans()):
                of_second = {"parts": {"inner_part": {"weight": 1, "formula": draw(st.sampled_from(VALUES))}}}
            found["parts"] = {
                "first_part": {**first, "formula": draw(st.sampled_from(VALUES))},
                "second_part": {**second, **of_second},
            }
    return found


@st.composite
def gates(draw: st.DrawFn, number: int) -> dict[str, Any]:
    before = draw(st.booleans())
    when = draw(st.sampled_from(CONDITIONS if before else [*CONDITIONS, "d0 > 1", "score > 20"]))
    effect: dict[str, Any] = draw(
        st.sampled_from([{"cap": 40}, {"floor": "a * 3"}, {"verdict": "fail"}, {"cap": "level * 20"}])
    )
    return {"name": f"gate {number}", "when": when, "before": before, **effect}


@st.composite
def rubrics(draw: st.DrawFn) -> dict[str, Any]:
    """A rubric document; not every one can be compiled."""
    count = draw(st.integers(1, 3))
    in_points = draw(st.integers(0, 2)) == 0
    points = [{"points": points} for points in (5.0, -3.0, 0.7)]
    counts = points if in_points else [{"weight": weight} for weight in WEIGHTS[count]]
    ways: list[dict[str, Any]] = [{}, {"round": 2}, {"formula": "d0 / 3 + 0.1 * word_count"}]
    if in_points:
        ways = [{"points": True}, {"points": True, "clip": False}, {"points": True, "round": 2}]
    found: dict[str, Any] = {
        "name": "random",
        "scale": {"min": 0, "max": 10},
        "dimensions": {f"d{i}": draw(dimensions(own)) for i, own in enumerate(counts[:count])},
        "settings": {"level": draw(st.sampled_from([1, 0.5]))},
        "patterns": {
            "loud": {"regex": "[!?bA]"},
            "oddly": {"regex": "(?P<span>x?)y", "field": "prompt"},
            "hidden": {"regex": DEAR},
        },
        "threshold": 30,
        "score": {"out_of": 100} | draw(st.sampled_from(ways)),
        "gates": [draw(gates(i)) for i in range(draw(st.integers(0, 2)))],
        "verdicts": [
            {
                "label": "pass",
                "when": draw(st.sampled_from(["score >= threshold", "d0 > 2 or a > 2", "d0_share > 0.5"])),
            },
            {"label": "fail"},
        ],
        "on_unscored": draw(st.sampled_from(["neutral", "skip", "inconclusive"])),
        "judging": draw(st.sampled_from([{}, {"offline": "bounds"}, {"offline": "point"}])),
    }
    if draw(st.booleans()):
        found["sections"] = {"all_of_it": {"dimensions": list(found["dimensions"])}}
    if draw(st.integers(0, 2)) == 0:
        found["profiles"] = {"by": "kind", "strict": {"threshold": 70}, "mild": {"threshold": 10}}
        found["profiles"] |= draw(st.sampled_from([{}, {"default": "mild"}, {"default": "strict"}]))
    return found


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """A record as a file of cases has it."""
    found: dict[str, Any] = {"response": draw(TEXTS)}
    metrics = {name: draw(METRICS) for name in "abc" if draw(st.integers(0, 4))}
    if draw(st.booleans()):
        found["custom_metrics"] = metrics
    else:
        found |= metrics
    for name, values in {
        "id": st.sampled_from(["x", "é", 7, None]),
        "prompt": TEXTS,
        "kind": st.sampled_from(["strict", "mild", "other", 3]),
        "group": st.sampled_from(["g", 1, None]),
    }.items():
        if draw(st.booleans()):
            found[name] = draw(values)
    if draw(st.integers(0, 5)) == 0:
        found |= draw(
            st.sampled_from(
                [
                    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "bad 12"}]},
                    {"metadata": {"a": 2, "kind": "mild"}},
                    {"round_history": [{"response": "good", "custom_metrics": {"a": 1}}]},
                    {"response": {"question": "Why?!"}},
                    {"response": 5},
                    {"response_time": 2},
                    {"token_count": "x"},
                    {"expect": 3},
                    {"images": ["a.png"]},
                    {"custom_metrics": 3},
                ]
            )
        )
    return found


_DEEP = [(b"[" * depth, b"]" * depth) for depth in (250, 5_000)]
LINES = st.one_of(
    *[records().map(lambda record: json.dumps(record).encode())] * 6,
    records().map(lambda record: json.dumps(record, ensure_ascii=False).encode(errors="replace")),
    st.sampled_from([b"", b"  ", b"{", b"[1]", b'{"response": "\xff"}', b'{"response": "\\ud800 good"}', b"null"]),
    st.sampled_from([b'{"response": "xy", "q\\"\\n": 1}', b'{"response": "xy", "\\u00e9": 1, "a": 2}']),
    st.sampled_from([b'{"response": "xy", "a": 1e999}', *(b'{"response": "b", "x": %b1%b}' % d for d in _DEEP)]),
    st.sampled_from(
        [b'{"response": "xy"} {"response": "b"}', b'{"response": "bad"}\r', b' {"response": "b", "x": [1]} ']
    ),
)
ALIKE = st.lists(
    st.fixed_dictionaries(
        {"response": TEXTS},
        optional={
            "id": st.sampled_from(["x", "y"]),
            "a": METRICS,
            "custom_metrics": st.fixed_dictionaries({"b": METRICS}),
        },
    ).map(lambda record: json.dumps(record).encode()),
    min_size=1,
    max_size=40,
)
"""Lines whose records have some of a few keys, as most files have them."""
