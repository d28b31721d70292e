"""The page that says what scores are worth, from the cards and figures in the package and the rubrics themselves."""

from __future__ import annotations

from collections.abc import Iterator

import rubrica
from docs.tables import GENERATED, table
from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric
from rubrica.packs.library import bundled_rubrics
from rubrica.packs.validity import CLASSIFIERS, FEATURES, Figure, KnownFailure, ScoreCard, cards, figures_of

INTRODUCTION = """# What scores are worth

A score is worth its agreement with people. This page says, for every score of every bundled rubric, what the number
rests on when no judge is asked, how it agreed with people's labels when it was measured, where it is known to fail, and
where not to use it. With a judge, a score is worth what that judge is worth: [`rubrica agreement`](judging.md) measures
it against labels of your own.

Figures come from `make bench-quality`, on texts that the recipe or its weights were not made from. The range in
brackets holds the true figure 95 times in 100 for texts of that kind. On texts of another kind expect less: a score
that was *not measured* is a sign, not a verdict.

| measure | what it says | by chance |
|---|---|---|
| AUC, one of two put first | how often, of a better and a worse text, the better one scores higher | 0.50 |
| ρ | how far score and people put texts in the same order (Spearman) | 0 |
| within its bounds | the share of people's scores within the bounds; where 90 % is stated, about 0.90 is right | |
| verdicts left inconclusive | the share of texts that the bounds leave to a judge | |

Where the range of the first two begins at chance or below, treat the score as no better than that."""


def validity_page() -> str:
    """The whole page."""
    others = [*_others(FEATURES, "Text features"), *_others(CLASSIFIERS, "Classifiers")]
    return "\n\n".join([GENERATED, INTRODUCTION, *_rubrics(), *others]) + "\n"


def _rubrics() -> Iterator[str]:
    for bundled in bundled_rubrics():
        rubric = rubrica.load(bundled.name)
        yield f"## {rubric.name}"
        if rubric.description:
            yield " ".join(rubric.description.split())
        known = cards().get(rubric.name, {})
        if not known:
            yield "No score of this rubric was measured against people. Ask a judge before you act on one."
        for name, dimension in rubric.dimensions.items():
            if card := known.get(name):
                yield from _card(rubric, name, dimension, card)
        for name, card in known.items():
            if name not in rubric.dimensions:
                yield f"### {rubric.name}: {name}"
                yield from _apart_from_dimensions(rubric.name, name, card)


def _others(section: str, title: str) -> Iterator[str]:
    yield f"## {title}"
    for name, card in cards()[section].items():
        yield f"### `{name}`"
        yield from _apart_from_dimensions(section, name, card)


def _apart_from_dimensions(section: str, name: str, card: ScoreCard) -> Iterator[str]:
    yield f"**Rests on.** {card.rests_on}"
    yield _measured(figures_of(section, name))
    yield f"**Not for.** {card.not_for}"


def _card(rubric: Rubric, name: str, axis: Axis, card: ScoreCard) -> Iterator[str]:
    yield f"### {rubric.name}: {name}"
    if axis.asks:
        yield f"**Measures.** {' '.join(axis.asks.split())}"
    yield f"**Offline, rests on.** {card.rests_on}"
    yield _measured(figures_of(rubric.name, name), axis)
    if card.failures:
        yield "**Known failures.**"
        yield table(("asked", "text", "offline", "why"), [_failure(rubric, name, failure) for failure in card.failures])
    yield f"**Not for.** {card.not_for}"


def _measured(figures: tuple[Figure, ...], axis: Axis | None = None) -> str:
    if not figures:
        return f"**Agreement with people.** Not measured{_unmeasured(axis)}."
    rows = [(figure.data, f"{figure.texts:,}", figure.measure, _value(figure), figure.goal) for figure in figures]
    return "**Agreement with people.**\n\n" + table(("data", "texts", "measure", "value", "goal"), rows)


def _unmeasured(axis: Axis | None) -> str:
    """Why a score has no figures, where that lies in how it is scored."""
    if axis is None or axis.offline is not None:
        return ""
    if axis.kind == "judge":
        return ": without a judge it has no score"
    return ": code works it out from what the case states"


def _value(figure: Figure) -> str:
    between = "" if figure.low is None or figure.high is None else f" ({figure.low:.2f}–{figure.high:.2f})"
    return f"{figure.value:.2f}{between}"


def _failure(rubric: Rubric, name: str, failure: KnownFailure) -> tuple[str, str, str, str]:
    """A failure with what the rubric gives for it today."""
    found = rubrica.evaluate(rubric, context=failure.context).dimensions[name]
    value = f"{found.value:g} of {found.high:g}" if found.value is not None else "no score"
    if found.bounds is not None:
        value += f" ({found.bounds[0]:g} to {found.bounds[1]:g})"
    asked = " / ".join([*(said for said, _ in failure.earlier), failure.prompt])
    return " ".join(asked.split()), " ".join(failure.response.split()), value, failure.says
