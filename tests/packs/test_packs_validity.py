"""The cards of scores: each score of a bundled rubric has one, and each failure that it tells of still happens."""

from __future__ import annotations

import msgspec
import pytest

import rubrica
from rubrica.packs.library import bundled_rubrics
from rubrica.packs.validity import APART, FEATURES, Figure, KnownFailure, cards, cards_of, figures
from rubrica.text import FEATURES as TEXT_FEATURES

FAILURES = [
    (rubric, score, failure)
    for rubric, known in cards().items()
    for score, card in known.items()
    for failure in card.failures
]


@pytest.mark.parametrize("name", [bundled.name for bundled in bundled_rubrics()])
def test_every_score_of_a_bundled_rubric_has_a_card(name: str) -> None:
    rubric = rubrica.load(name)
    found = cards_of(rubric)
    assert list(found)[: len(rubric.dimensions)] == list(rubric.dimensions)
    assert not set(found) - {*rubric.dimensions, *APART}


def test_a_changed_rubric_has_no_cards() -> None:
    bundled = rubrica.load("answer-quality")
    changed = rubrica.load({**bundled.model_dump(mode="json", exclude_defaults=True), "title": "Another"})
    assert changed.name == bundled.name
    assert not cards_of(changed)


def test_cards_and_figures_are_about_scores_that_exist() -> None:
    named = {f"{rubric}/{score}" for rubric, known in cards().items() for score in known}
    assert {figure.score for figure in figures()} <= named
    assert set(cards()[FEATURES]) <= set(TEXT_FEATURES)


@pytest.mark.parametrize(("rubric", "score", "failure"), FAILURES)
def test_a_known_failure_still_scores_at_least_half(rubric: str, score: str, failure: KnownFailure) -> None:
    found = rubrica.evaluate(rubric, context=failure.context).dimensions[score]
    assert found.share is not None
    assert found.share >= 0.5, "it is no failure any more: take it off the card"


def test_a_figure_reads_as_a_line() -> None:
    figure = Figure("a/b", "replies", 1234, "AUC", 0.912, 0.9, 0.93)
    assert str(figure) == "AUC 0.91 (0.90 to 0.93) on 1,234 replies"
    assert msgspec.json.decode(msgspec.json.encode(figure), type=Figure) == figure
