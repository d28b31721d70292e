"""A dimension is called by its title on every table and card, and by its name as words where nobody knows the title."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

from rubrica.cli.card import card
from rubrica.cli.explanation import explanation
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.engine.load import rubric_from_data
from rubrica.model.context import Context
from rubrica.report.card import card_of
from rubrica.report.titles import dimension_title
from rubrica.runs.summary.measures import Measure, measure_title

RUBRIC = rubric_from_data(
    {
        "name": "titled",
        "version": "1.0.0",
        "dimensions": {
            "d_one": {"title": "Solves the problem", "weight": 0.5, "formula": "min(word_count + 1, 10)"},
            "d_two": {"title": "Kind to the reader", "weight": 0.5, "formula": "max(8, min(word_count, 10))"},
        },
        "scale": {"min": 0, "max": 10},
        "score": {"weighted": True, "out_of": 100},
        "verdicts": [{"label": "send", "when": "score >= 70"}, {"label": "hold"}],
    }
)
FOUND = evaluate(compile_rubric(RUBRIC), Context.of({"response": "Yes."}))


def _printed(what: RenderableType) -> str:
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(what)
    return console.export_text()


def test_tables_of_one_evaluation_show_titles() -> None:
    for shown in (_printed(card(FOUND, RUBRIC)), _printed(explanation(FOUND, RUBRIC))):
        assert "Solves the problem" in shown
        assert "Kind to the reader" in shown
        assert "d_one" not in shown
    assert "D one" in _printed(card(FOUND))


def test_a_card_says_what_was_missed_and_where_most_was_lost() -> None:
    assert card_of(FOUND, 1, RUBRIC).reason == "50 points; send needs 70. Most lost: Solves the problem."


def test_a_measure_goes_by_the_first_rubric_that_has_it() -> None:
    assert measure_title(Measure("dimension", "d_two"), None, RUBRIC) == "Kind to the reader"
    assert dimension_title("d_two") == "D two"
