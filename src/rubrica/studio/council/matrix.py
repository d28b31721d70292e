"""The result of a council session as tables: the review matrix, and the ranking with its reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from rubrica.council.ranking import RankedAnswer, Ranking
from rubrica.council.result import CouncilResult, name_of
from rubrica.council.review import AnswerReview
from rubrica.council.settings import Scoring
from rubrica.council.task_rubrics import review_rubric
from rubrica.report.excerpt import visible
from rubrica.report.figures import count_of, dollars, duration, figure, headline
from rubrica.report.titles import dimension_title
from rubrica.studio.html_tables import NUMBER, Cell, muted, table

OVERALL, HOLISTIC = "", "*"
"""What cells may show beside one dimension: what counts, and the score for the whole."""

SCORINGS: Mapping[Scoring, str] = {
    "rubric": "by the rubric",
    "holistic": "one score for the whole",
    "both": "both, side by side",
}
POOLS = {"mean": "mean score", "borda": "share of the others beaten", "z": "standard deviations from the mean"}
ABSENT = {
    "abstained": "no score",
    "inconclusive": "left open",
    "holistic": "whole only",
    "ranked": "by place",
    "scored": "—",
}
STAGES = [("Stage", ""), ("Took", NUMBER), ("Cost", NUMBER), ("Tokens", NUMBER)]


def matrix_views(result: CouncilResult) -> dict[str, str]:
    """What the matrix can show, by key."""
    found = {OVERALL: "What counts"}
    if any(one.holistic is not None for one in result.opinions) and result.settings.scoring == "both":
        found[HOLISTIC] = "For the whole"
    named = dict.fromkeys(name for one in result.opinions for name in one.scores)
    rubric = review_rubric(result.rubric)
    return {**found, **{name: dimension_title(name, rubric) for name in named}}


def matrix(result: CouncilResult, lens: str = OVERALL) -> Markup:
    """Reviewers down, answers across; the last line is the mean."""
    labels = [answer.label for answer in result.answers]
    given = {(one.reviewer, one.label): one for one in result.opinions}
    reviewers = [answer.model for answer in result.answers]
    top = result.tops.get(lens, result.out_of)
    head = Markup("").join(
        Markup('<th scope="col">{}<span class="quiet"><bdi>{}</bdi></span></th>').format(
            label, visible(result.labels[label])
        )
        for label in labels
    )
    rows = Markup("").join(
        Markup('<tr><th scope="row"><bdi>{}</bdi></th>{}</tr>').format(
            visible(reviewer),
            Markup("").join(
                _cell(given.get((reviewer, label)), reviewer == result.labels[label], lens, top) for label in labels
            ),
        )
        for reviewer in reviewers
    )
    means = Markup("").join(_mean(result, label, lens) for label in labels)
    return Markup(
        '<div class="wide"><table class="matrix" aria-label="Review matrix: who gave which answer what">'
        '<thead><tr><th scope="col">Reviewer</th>{}</tr></thead><tbody>{}</tbody>'
        '<tfoot><tr><th scope="row">Mean</th>{}</tr></tfoot></table></div>'
    ).format(head, rows, means)


def value_of(one: AnswerReview, lens: str) -> float | None:
    """What a review says through a lens."""
    if lens == OVERALL:
        return one.score
    return one.holistic if lens == HOLISTIC else one.scores.get(lens)


def held_down(one: AnswerReview) -> bool:
    """Whether a gate made a review worth less. A score below its ceiling is what the reviewer gave."""
    return bool(one.gates) and (one.ceiling is None or one.score is None or one.score >= one.ceiling)


def _cell(one: AnswerReview | None, own: bool, lens: str, top: float) -> Markup:
    if one is None:
        return Markup('<td class="no">{}</td>').format("its own" if own else "—")
    value = value_of(one, lens)
    if value is None:
        return Markup('<td class="no" title="{}">{}</td>').format(visible(one.reason), ABSENT[one.status])
    full = min(max(value / top, 0.0), 1.0) if top else 0.0
    held = held_down(one)
    capped = Markup(' <span title="{}">⌃</span>').format(visible(", ".join(one.gates))) if held else Markup("")
    return Markup('<td style="--full:{:.0f}%" title="{}">{}{}</td>').format(
        8 + 42 * full, visible(one.notes), figure(round(value, 2)), capped
    )


def _mean(result: CouncilResult, label: str, lens: str) -> Markup:
    given = [value for one in result.opinions if one.label == label and (value := value_of(one, lens)) is not None]
    mean = round(sum(given) / len(given), 2) if given else None
    return Markup("<td>{}</td>").format(figure(mean))


def place_of(ranked: RankedAnswer, ranking: Ranking) -> str:
    """A place in words, with whom it is shared.

    >>> places = (("A", 1, 8.0), ("B", 1, 8.0), ("C", 3, 5.0))
    >>> ranking = Ranking("mean", tuple(RankedAnswer(*place, 2) for place in places))
    >>> [place_of(ranked, ranking) for ranked in ranking.standings]
    ['place 1, shared with B', 'place 1, shared with A', 'place 3']
    """
    if ranked.rank is None:
        return "not ranked"
    group = next((group for group in ranking.ties if ranked.label in group), ())
    others = [label for label in group if label != ranked.label]
    return f"place {ranked.rank}" + (f", shared with {' and '.join(others)}" if others else "")


def reasons(result: CouncilResult, label: str) -> list[tuple[str, str]]:
    """Why an answer stands where it does: who said so, and what."""
    unsafe = [("Safety gate", reason) for reason in result.safety.failed.get(label, ())]
    found: list[tuple[str, str]] = []
    for one in result.opinions:
        if one.label != label:
            continue
        held = "capped" if held_down(one) else f"at most {figure(one.ceiling)}"
        gates = f"({held} by {', '.join(one.gates)})" if one.gates else ""
        said = " ".join(part for part in (one.notes, gates, one.reason) if part)
        found.append((one.reviewer, said or "no reason given"))
    return [*unsafe, *found]


def stages(result: CouncilResult) -> Markup:
    """What each stage took, and all of them."""
    rows: list[Sequence[Cell]] = []
    for title, seconds, cost in (
        *((headline(one.stage), one.seconds, one.cost) for one in result.stages),
        ("All", result.seconds, result.cost),
    ):
        tokens: Cell = muted("—") if cost is None else f"{cost.input_tokens:,} in, {cost.output_tokens:,} out"
        rows.append([title, duration(seconds * 1000), muted("—") if cost is None else dollars(cost.usd), tokens])
    return table(STAGES, rows, "Cost and timings")


def rank_text(ranked: RankedAnswer, result: CouncilResult) -> str:
    """What a place is by."""
    if ranked.value is None:
        return "nobody gave it a score"
    of = f" of {figure(result.out_of)}" if result.ranking.pool == "mean" else ""
    return f"{POOLS[result.ranking.pool]} {figure(ranked.value)}{of}, by {count_of(ranked.reviews, 'reviewer')}"


def answer_title(result: CouncilResult, label: str) -> str:
    """An answer with its author."""
    return f"{name_of(label)} · {result.labels[label]}"
