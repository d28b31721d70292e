"""What is worth knowing about a session, in a sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from .chair import FinalAnswer
from .ranking import Ranking
from .review import AnswerReview
from .reviewer_work import ReviewerWork
from .settings import CouncilSettings


def session_notes(
    settings: CouncilSettings,
    rankings: tuple[Ranking, Ranking | None],
    found: Sequence[AnswerReview],
    works: Sequence[ReviewerWork],
    final: FinalAnswer,
) -> tuple[str, ...]:
    """What a reader should know of the ranking, the reviewers and the final answer."""
    ranking, holistic = rankings
    notes = list(ranking.notes)
    if not ranking.order:
        notes.append("no answer has a score: the answers stand in the order of their labels")
    if holistic is not None and not holistic.order:
        notes.append("nobody gave a score for the whole, so there is no second ranking")
    notes += _on_reviewers(settings, found)
    notes += [f"ballot of {work.reviewer}: {oddity}" for work in works for oddity in work.oddities]
    notes += [final.fallback] if final.fallback else []
    if final.refusal:
        notes.append(f"{final.author} refuses, and {final.refusal}: the refusal stands")
    return tuple(notes)


def _on_reviewers(settings: CouncilSettings, found: Sequence[AnswerReview]) -> list[str]:
    heard = {opinion.reviewer for opinion in found if opinion.status != "abstained"}
    silent = {opinion.reviewer for opinion in found if opinion.status == "abstained"}
    open_ones = {opinion.reviewer for opinion in found if opinion.status == "inconclusive"}
    told = [
        (open_ones, "left scores open"),
        (silent - heard, "gave no score"),
        (silent & heard, "gave no score for some answers"),
    ]
    if settings.scoring != "holistic":
        wholes = {opinion.reviewer for opinion in found if opinion.status == "holistic"}
        told.append((wholes, "ignored the rubric: a score for the whole stands in"))
    return [f"{', '.join(sorted(names))} {what}" for names, what in told if names]
