from __future__ import annotations

import re
from typing import Any

import pytest
from report_samples import Page

from rubrica.model.rubric import Rubric
from rubrica.packs.library import bundled_rubrics, load
from rubrica.phrases import Code
from rubrica.report.prose import Heading, Paragraph, TableBlock, markdown
from rubrica.report.rubric_page import rubric_html, rubric_markdown

NAMES = [bundled.name for bundled in bundled_rubrics()]


def rubric(**fields: Any) -> Rubric:
    known: dict[str, Any] = {
        "name": "sample",
        "title": "A sample",
        "scale": {"min": 1, "max": 10},
        "dimensions": {"accuracy": {"asks": "Is it right?", "weight": 1, "anchors": {"6-10": "good", "1-5": "bad"}}},
        "verdicts": [{"label": "pass", "when": "score >= pass_at"}, {"label": "fail"}],
        "settings": {"pass_at": 7},
        "score": {"out_of": 100},
    }
    return Rubric.model_validate(known | fields)


def test_gates_and_verdicts_are_sentences() -> None:
    text = rubric_markdown(
        rubric(
            gates=[
                {"name": "ceiling", "when": "accuracy < 5", "cap": 40, "because": "facts come first"},
                {"name": "unsafe", "when": "unsafe_count > 0", "verdict": "fail", "before": True},
                {"name": "lift", "when": "accuracy > 9", "floor": "pass_at + 1"},
            ]
        )
    )
    assert "- **ceiling**: If `accuracy < 5`, the score is at most 40. Why: facts come first." in text
    assert "- **unsafe**: If `unsafe_count > 0`, the verdict is **fail**, whatever the score. This is checked" in text
    assert "- **lift**: If `accuracy > 9`, the score is at least `pass_at + 1` (`pass_at` is 7)." in text
    assert "1. **pass** if `score >= pass_at` (`pass_at` is 7).\n2. **fail** in every other case." in text


def test_what_a_judge_is_shown_beside_the_question_is_told() -> None:
    shown = {"reference": "It names the year.", "examples": [{"response": "In 1889.", "score": 9}]}
    text = rubric_markdown(rubric(dimensions={"accuracy": {"asks": "Is it right?", "weight": 1, **shown}}))
    assert "The judge is shown what a good response says on this: It names the year." in text
    assert "The judge is shown 1 example at most." in text


def test_rules_of_every_type_are_put_in_words() -> None:
    rules = [
        {"when": "word_count > 50", "add": -0.2, "because": "too long"},
        {"add": "min(1, word_count)"},
        {
            "type": "pattern_detection",
            "patterns": [{"keywords": ["um", "er"], "score": 3, "count": "capped", "at_most": 2}],
        },
        {"type": "penalty", "patterns": [{"regex": "a|b", "penalty": -5, "reason": "no letters", "field": "prompt"}]},
        {
            "type": "metric_threshold",
            "metric": "response_time",
            "thresholds": [{"operator": "<", "value": 10, "score": 5}, {"default": True, "score_formula": "1 + 1"}],
        },
        {"type": "cross_round_analysis", "track": "entity_mentions", "scoring": {"callback_detected": 4}},
        {"type": "custom_expression", "name": "ratio", "expression": "a / b", "required_context": ["a", "b"]},
    ]
    text = rubric_markdown(rubric(dimensions={"points": {"rules": rules, "start": 2, "confidence": 0.5}}))
    assert "Starting from 2 points, add up what applies; the sum, kept between 1 and 10, is the score:" in text
    assert "- **−0.2**: too long (when `word_count > 50`)." in text
    assert "- Add `min(1, word_count)` always." in text
    assert "- **+3** for each match, 2 at most when the response has any of “um”, “er” (as whole words)." in text
    assert "- **−5** when the prompt has a match of `a|b` (no letters)." in text
    assert "- By `response_time`, the first that fits: `< 10` gives 5; otherwise `1 + 1`." in text
    assert "- **+4** when something from an earlier round comes up again (by `entity_mentions`)." in text
    assert "- **ratio**: as many points as `a / b` (needs `a`, `b`)." in text
    assert "Confidence in such a score: 50%." in text


def test_names_of_text_features_are_explained() -> None:
    text = rubric_markdown(rubric(dimensions={"points": {"formula": "min(10, word_count)"}}))
    assert re.search(r"\| `word_count` \| \w+", text)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("neutral", "counts as the middle of its scale"),
        ({"neutral": 5}, "counts as 5, at confidence 0"),
        ("skip", "its weight is shared out"),
        ("inconclusive", "Nothing is assumed"),
    ],
)
def test_what_happens_without_a_score_is_told(policy: object, words: str) -> None:
    assert words in rubric_markdown(rubric(on_unscored=policy))


@pytest.mark.parametrize("name", NAMES)
def test_every_dimension_anchor_gate_and_profile_of_a_bundled_rubric_is_on_its_page(name: str) -> None:
    loaded = load(name)
    text, html = rubric_markdown(loaded), rubric_html(loaded)
    content = re.sub(r"\s+", " ", Page(html).texts("prose")[0])
    assert text.startswith(f"# {loaded.display_title}\n")
    for dimension in loaded.dimensions.values():
        for axis in (dimension, *dimension.parts.values()):
            wanted = [axis.title, axis.asks, *axis.anchors.values()]
            assert all(re.sub(r"\s+", " ", words).strip() in content for words in wanted)
    assert all(gate.name in text and gate.name in content for gate in loaded.gates)
    assert all(profile in content for profile in (loaded.profiles.named if loaded.profiles else ()))
    assert loaded.reference in text
    assert loaded.hash[:12] in text
    assert loaded.hash[:12] in content


@pytest.mark.parametrize("name", NAMES)
def test_markdown_and_page_say_the_same(name: str) -> None:
    def words(text: str) -> str:
        return "".join(re.findall(r"\w+", text.replace("&lt;", "<")))

    page = Page(rubric_html(load(name)))
    shown = page.texts("prose")[0].removeprefix("\nRubric")
    marked = re.sub(r"^\d+\. ", "", rubric_markdown(load(name)), flags=re.MULTILINE)
    assert words(marked) == words(shown)


def test_every_table_row_has_as_many_cells_as_the_head() -> None:
    for name in NAMES:
        for table in re.findall(r"(?:^\|.*\|\n)+", rubric_markdown(load(name)), flags=re.MULTILINE):
            cells = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
            assert len(cells) == 1, table


def test_hostile_words_of_an_author_stay_words() -> None:
    bad = "<script>alert(1)</script> *bold* | `code` [link](x) # _it_ snake_case"
    spec = rubric(title=bad, description=bad, dimensions={"a": {"asks": bad, "title": bad, "anchors": {"1-10": bad}}})
    page = Page(rubric_html(spec))
    assert page.count("script") == 0
    assert bad in page.texts("prose")[0]
    text = rubric_markdown(spec)
    assert "<script>" not in text
    assert r"\*bold\* \| \`code\` \[link\](x) # \_it\_ snake_case" in text


def test_markdown_keeps_pipes_and_backticks_of_code_inside_tables() -> None:
    text = markdown(
        [Heading(2, "T"), TableBlock(("A", "B"), (((Code("a|b"),), (Code("`x`"),)),)), Paragraph((Code("a|b"),))]
    )
    assert r"| `a\|b` | `` `x` `` |" in text
    assert text.endswith("`a|b`\n")


def test_the_page_loads_nothing_and_is_the_same_each_time() -> None:
    html = rubric_html(rubric())
    assert not re.search(r"https?://|url\(|@import|\bsrc=|\bhref=|<script", html)
    assert html == rubric_html(rubric())
