"""Bad documents: every problem at once, with file, line, path and the way out, quickly."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import rubrica
from rubrica import RubricError
from rubrica.engine.load import rubric_from_text

GOOD = """\
name: toy
version: "1.0.0"
scale: {min: 1, max: 10}
dimensions:
  accuracy:
    weight: 0.6
    anchors: {9-10: exact, 5-8: mixed, 1-4: wrong}
  style:
    weight: 0.4
    formula: "clamp(word_count, 1, 10)"
threshold: 70
score: {out_of: 100}
verdicts:
  - {label: pass, when: "score >= threshold"}
  - {label: fail}
"""


def problems(text: str) -> list[str]:
    with pytest.raises(RubricError) as caught:
        rubric_from_text(text, "toy.yaml")
    return [str(problem) for problem in caught.value.problems]


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


def test_a_good_document_loads() -> None:
    assert rubric_from_text(GOOD).reference == "toy@1.0.0"


def test_json_and_yaml_are_the_same_document() -> None:
    loaded = rubric_from_text(GOOD)
    again = rubric_from_text(json.dumps(loaded.model_dump(mode="json", exclude_defaults=True)))
    assert again.hash == loaded.hash


def test_all_problems_are_told_at_once_with_their_lines() -> None:
    text = (
        changed("weight: 0.6", "weight: 0.7")
        .replace("5-8", "6-8")
        .replace("score >= threshold", "score >= treshold")
        .replace("clamp(word_count", "clmp(word_count")
        .replace("threshold: 70", "context: {}\nthreshold: 70")
    )
    found = problems(text)
    assert len(found) == 4
    assert found[0].startswith("toy.yaml:4: dimensions: the weights sum to 1.1, not 1")
    assert found[1].startswith("toy.yaml:7: dimensions.accuracy.anchors: ")
    assert "between 4 and 6" in found[1]
    assert found[2].startswith("toy.yaml:10: dimensions.style.formula: ")
    assert "clamp" in found[2]
    assert found[3].startswith("toy.yaml:15: verdicts[0].when: ")
    assert "treshold" in found[3]


def test_problems_of_shape_do_not_hide_problems_of_meaning() -> None:
    found = problems(changed("weight: 0.6", "weight: heavy").replace("score >= threshold", "score >="))
    assert any("dimensions.accuracy.weight" in line for line in found)
    assert any("verdicts[0].when" in line for line in found)


def test_a_gate_that_cannot_be_read_does_not_hide_a_bad_verdict() -> None:
    gates = "gates: [{name: g, when: 5, cap: 3}, {when: 'accuracy < 3', cap: 3}]\ncontext: {}\nthreshold: 70"
    found = problems(changed("threshold: 70", gates).replace("score >= threshold", "scoer >= 3"))
    assert [line.split(": ")[1] for line in found] == ["gates[0].when", "gates[1].name", "verdicts[0].when"]
    assert "did you mean 'score'?" in found[-1]


def test_a_long_value_is_quoted_short() -> None:
    found = problems(changed("clamp(word_count, 1, 10)", "1 + " * 3000 + "1"))
    assert all(len(line) < 400 for line in found)


def test_a_dropped_list_item_does_not_shift_the_places_of_the_others() -> None:
    rules = "rules:\n      - {type: zap}\n      - {when: 'x >', add: 1}"
    found = problems(changed('formula: "clamp(word_count, 1, 10)"', rules))
    assert any(line.startswith("toy.yaml:11: dimensions.style.rules[0].type") for line in found)
    assert any(line.startswith("toy.yaml:12: dimensions.style.rules[1].when") for line in found)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("weight: 0.4", "weight: 0.3", "sum to 0.9"),
        ("weight: 0.4", "weight: -1", "greater than or equal to 0"),
        ("weight: 0.4", "wieght: 0.4", "did you mean 'weight'"),
        ("9-10: exact", "9-12: exact", "above the scale's max"),
        ("5-8: mixed", "4-8: mixed", "two anchors cover 4"),
        ("5-8: mixed", "8-5: mixed", "runs backwards"),
        ("score >= threshold", "score >= 700", "can never be reached"),
        ("score >= threshold", "score >= 0", "'fail' can never be reached"),
        ("- {label: fail}", "- {label: best, when: score >= 90}\n  - {label: fail}", "'best' can never be reached"),
        (
            '- {label: pass, when: "score >= threshold"}',
            "- {label: low, when: accuracy < 7}\n  - {label: worse, when: accuracy < 5}",
            "'worse' can never be reached",
        ),
        ("- {label: fail}", "- {label: fail, when: 'score < 3'}", "last verdict must have no `when`"),
        ("label: pass", "label: inconclusive", "what Rubrica says itself"),
        ('version: "1.0.0"', "version: 1.0", "in quotes"),
        ("name: toy", "name: My Toy", "lower-case"),
        ("threshold: 70\n", "", "give a threshold"),
        ("threshold: 70", "gates: [{name: g, when: 'accuracy < 1', cap: 3}]\nthreshold: 70", "can never fire"),
        (
            "threshold: 70",
            "gates: [{name: g, when: 'accuracy < 3'}]\nthreshold: 70",
            "exactly one of cap, floor, verdict",
        ),
        (
            "threshold: 70",
            "gates: [{name: g, when: 'accuracy < 3', verdict: fail, before: true}]\nthreshold: 70",
            "cannot be read before scoring",
        ),
        ("threshold: 70", "bands: {good: 0.7}\nthreshold: 70", "no band starts at 0"),
        ("threshold: 70", "on_unscored: {neutral: 50}\nthreshold: 70", "off the scale"),
        ("threshold: 70", "settings: {accuracy: 3}\nthreshold: 70", "already a dimension"),
        ("threshold: 70", "settings: {word_count: 3}\nthreshold: 70", "already a text feature"),
        ("threshold: 70", "sections: {s: {dimensions: [acuracy]}}\nthreshold: 70", "no dimension 'acuracy'"),
        ("threshold: 70", "profiles: {by: kind, a: {weights: {accuracy: 0.5}}}\nthreshold: 70", "sum to 0.5"),
        ("clamp(word_count, 1, 10)", "__import__('os')", "formula"),
        ("clamp(word_count, 1, 10)", "word_count.__class__", "formula"),
        ("clamp(word_count, 1, 10)", "9 ** 9 ** 9 ** 9", "formula"),
        ("clamp(word_count, 1, 10)", "(" * 1500 + "1" + ")" * 400, "formula"),
        ("weight: 0.4", "weight: 0.4\n    weight: 0.4", "given twice"),
        ("scale: {min: 1, max: 10}", "scale: {min: 10, max: 1}", "must be below"),
        ("dimensions:", "dimensions: [", "not valid YAML"),
    ],
)
def test_a_bad_document_is_refused_with_a_reason(old: str, new: str, told: str) -> None:
    started = time.process_time()
    found = problems(changed(old, new))
    assert any(told in line for line in found), found
    assert time.process_time() - started < 2


def test_a_calibration_must_fit_the_rubric() -> None:
    figures = "{mae: 1, rmse: 1, bias: 0}"
    correction = f"{{scale: {{min: 0, max: 1}}, knots: [[0, 0]], labels: 20, before: {figures}, after: {figures}}}"
    block = (
        f"calibration: {{version: 1, date: 2026-01-01, dimensions: {{accuracy: {correction}, depth: {correction}}}}}"
    )
    found = problems(GOOD + block)
    assert any("was learned on the scale 0–1" in line for line in found)
    assert any("no dimension 'depth' to correct" in line for line in found)


@pytest.mark.parametrize(
    "regex",
    ["(?=x)y", r"(a)\1", "(a{1,1000}){1,1000}", "(" * 5000, "a*", "", "[", r"(?P<n>a)(?P=n)", "(?<!a)b", "a++b(?>c)"],
)
def test_hostile_patterns_are_refused_in_milliseconds(regex: str) -> None:
    rule = {"type": "pattern_detection", "patterns": [{"regex": regex, "score": 1}]}
    started = time.process_time()
    with pytest.raises(RubricError) as caught:
        rubrica.load({"name": "Hostile", "scoring_type": "cumulative", "rules": [rule]})
    assert time.process_time() - started < 1
    assert any("patterns[0].regex" in str(problem) for problem in caught.value.problems)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a\n- b",
        "just text",
        "42",
        "[" * 100_000,
        "{a: " * 5000,
        "a: &a [x]\n"
        + "\n".join(f"b{i}: &b{i} [{', '.join(['*a' if i == 0 else f'*b{i - 1}'] * 9)}]" for i in range(9)),
        "name: !!python/object/apply:os.system [echo hi]",
        "\x00\x01",
        "name: '\ud800'",
        "k: " + "9" * 5000,
        "when: 2024-99-99",
    ],
)
def test_hostile_documents_are_refused_cleanly(text: str) -> None:
    started = time.process_time()
    with pytest.raises(RubricError):
        rubric_from_text(text)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("value", ["!!int", "!!float ''", "!!bool x", "!!timestamp x", "!!set x", "!!map x"])
def test_a_value_that_does_not_fit_its_tag_is_refused_with_its_line(value: str) -> None:
    with pytest.raises(RubricError, match=r"cannot be read: .* is not of the type") as refused:
        rubric_from_text(f"name: x\nversion: {value}\n")
    assert [problem.line for problem in refused.value.problems] == [2]


def test_an_unknown_rubric_names_the_nearest_one() -> None:
    with pytest.raises(RubricError, match="did you mean 'answer-quality'"):
        rubrica.load("anser-quality")


def test_a_missing_file_and_a_binary_file_are_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(RubricError, match=r"nowhere\.yaml"):
        rubrica.load(tmp_path / "nowhere.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(RubricError, match=r"binary\.yaml"):
        rubrica.load(tmp_path / "binary.yaml")


def test_loading_never_raises_anything_but_a_rubric_error() -> None:
    odd: list[Any] = [
        None,
        3,
        [],
        {},
        {"name": 3},
        {"dimensions": {"a": None}},
        {"name": "x", "dimensions": {"a": {"rules": [3]}}},
    ]
    for value in odd:
        document = {
            "name": "x",
            "dimensions": {"a": {}},
            "verdicts": [{"label": "ok"}],
            "gates": value,
            "profiles": value,
        }
        with pytest.raises(RubricError):
            rubrica.load(document if value not in (None, []) else {"verdicts": value})


def test_a_list_with_a_wrong_entry_is_not_called_empty_and_nothing_is_told_twice() -> None:
    rule = '{"type": "metric_threshold", "metric": "moves", "thresholds": [{"points": 5}]}'
    told = problems(f'{{"name": "toy", "scoring_type": "cumulative", "rules": [{rule}]}}')
    assert not [line for line in told if "is empty" in line]
    assert any("points: does not belong here" in line for line in told)
    told = problems('{"name": "toy", "scoring_type": "cumulative", "ruels": []}')
    assert len(told) == len(set(told)) == 2
