"""Rule-only evaluation against a bare loop over one re2.Set, and formulas against a compiled lambda."""

from __future__ import annotations

from typing import Any

import re2

import rubrica
from rubrica import Context
from rubrica.engine.evaluate import evaluate
from rubrica.formula import parse

from .floor import Ratio, in_turn
from .texts import KEYWORDS, REGEXES, texts

TEXTS = 100_000


def rubric() -> dict[str, Any]:
    """Ten regexes, twenty keywords and one formula."""
    found = [{"name": f"regex {i}", "regex": regex, "score": 5} for i, regex in enumerate(REGEXES)]
    found += [{"name": word, "keywords": [word], "score": 3} for word in KEYWORDS]
    ratio = {"type": "custom_expression", "name": "stated", "expression": "min(stated / expected, 1) * 30"}
    return {
        "name": "measured",
        "dimensions": {
            "points": {
                "scale": {"min": 0, "max": 100},
                "rules": [{"type": "pattern_detection", "patterns": found}, ratio],
            }
        },
        "threshold": 0.5,
        "verdicts": [{"label": "pass", "when": "score >= threshold"}, {"label": "fail"}],
    }


def explained_evaluations() -> Ratio:
    """One full explained Evaluation per text, against only matching the same patterns."""
    plan = rubrica.compile(rubric())
    options = re2.Options()
    options.log_errors = False
    together = re2.Set.SearchSet(options)
    for regex in plan.sources.lexicon.regexes["response"]:
        together.Add(regex.set_source)
    together.Compile()
    sample = list(texts(TEXTS))

    def mine() -> None:
        for number, text in enumerate(sample):
            metrics = {"stated": number % 7, "expected": 1 + number % 5}
            evaluate(plan, Context(response=text, custom_metrics=metrics))

    def bare() -> None:
        for text in sample:
            together.Match(text)

    spent, floor = in_turn(mine, bare)
    return Ratio(
        f"{TEXTS:,} explained evaluations, 30 patterns + 1 formula",
        "a bare loop over one re2.Set",
        floor / spent,
        0.15,
        f"{TEXTS / spent:,.0f} evaluations/s against {TEXTS / floor:,.0f} matched texts/s",
    )


def formulas() -> Ratio:
    """A formula against the same expression as a Python lambda."""
    text = "0.35 * accuracy + 0.2 * clarity + 0.45 * min(stated / expected, 1) if accuracy >= 5 else 0"
    formula = parse(text)
    plain = eval(compile(f"lambda v: {_as_lookups(text, formula.names)}", "<floor>", "eval"))  # noqa: S307 - our own text
    values = {"accuracy": 8.0, "clarity": 7.0, "stated": 2.0, "expected": 3.0}
    assert formula.value(values) == plain(values)
    calls = range(300_000)

    def mine() -> None:
        value = formula.value
        for _ in calls:
            value(values)

    def bare() -> None:
        for _ in calls:
            plain(values)

    spent, floor = in_turn(mine, bare)
    detail = f"{spent / len(calls) * 1e6:.2f} µs against {floor / len(calls) * 1e6:.2f} µs"
    return Ratio("a formula's value", "the same expression as a lambda", floor / spent, 0.5, detail)


def _as_lookups(text: str, names: frozenset[str]) -> str:
    for name in names:
        text = text.replace(name, f"v['{name}']")
    return text
