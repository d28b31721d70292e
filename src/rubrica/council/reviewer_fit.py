"""What people's preferences teach about reviewers: whose scores side with them, and so what each should count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec

from rubrica.errors import StoredError
from rubrica.judges.labels import ChoiceLabel
from rubrica.judges.panel_fit import FEWEST_CHOICES, learn_choices
from rubrica.report.figures import count_of

from .ballots import clean_ballot
from .saved import SavedCouncil

DECIMALS = 3


class PreferredAnswer(msgspec.Struct, frozen=True):
    """Which answer people preferred in a saved session, by its line; `Response B`, its letter or its model."""

    session: int
    preferred: str


class ReviewerFit(msgspec.Struct, frozen=True):
    """What reviewers should count, 1 on average; nothing where the labels do not show that it helps, and why."""

    weights: Mapping[str, float]
    sessions: int
    pairs: int
    reason: str = ""
    alike: float | None = None  # how often reviewers who count alike side with people, on sessions not learned from
    learned: float | None = None  # the same for these weights

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `reviewer_weights` is what a council's settings take."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return {"reviewer_weights": dict(plain.pop("weights")), **plain}


def read_preferences(lines: Iterable[bytes]) -> list[PreferredAnswer]:
    """The preferences in a file, one JSON object a line."""
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(msgspec.json.decode(line, type=PreferredAnswer))
            except (msgspec.DecodeError, UnicodeError) as error:
                raise StoredError(
                    f'line {number}: not a preference: {error} (write {{"session": 1, "preferred": "Response A"}})'
                ) from None
    return found


def learn_reviewers(sessions: Mapping[int, SavedCouncil], preferences: Sequence[PreferredAnswer]) -> ReviewerFit:
    """What each reviewer should count, by how often its scores side with the answer that people preferred.

    Sessions are by line. A reviewer that sides with people no more often than a coin counts nothing.
    """
    labels: list[ChoiceLabel] = []
    used: set[int] = set()
    for one in preferences:
        session = sessions.get(one.session)
        if session is None:
            raise StoredError(f"there is no session in line {one.session} (it has {len(sessions)})")
        own = list(_choices(one.session, session, _response(session, one)))
        labels += own
        used |= {one.session} if own else set()
    pairs = len({(label.group, label.item) for label in labels})
    if pairs < FEWEST_CHOICES:
        why = f"{count_of(pairs, 'pair')} of answers with a preference; {FEWEST_CHOICES} are the fewest to learn from"
        return ReviewerFit({}, len(used), pairs, why)
    fit = learn_choices(labels)
    alike, learned = (None, None) if fit.right is None else (fit.right.mean, fit.right.learned)
    if fit.weights is None:
        return ReviewerFit({}, len(used), pairs, fit.reason, alike, learned)
    kept = {name: max(0.0, weight) for name, weight in fit.weights.judges.items()}
    mean = sum(kept.values()) / len(kept)
    if mean <= 0:
        return ReviewerFit({}, len(used), pairs, "no reviewer sides with people more often than a coin", alike, learned)
    weights = {name: round(weight / mean, DECIMALS) for name, weight in sorted(kept.items())}
    return ReviewerFit(weights, len(used), pairs, "", alike, learned)


def _response(session: SavedCouncil, preference: PreferredAnswer) -> str:
    named = [name for name, answer in session.answers.items() if answer.model == preference.preferred]
    letters = {name.removeprefix("Response "): name for name in session.answers}
    order = clean_ballot([preference.preferred], list(letters)).order
    found = named or [letters[label] for label in order]
    if not found:
        raise StoredError(
            f"session {preference.session}: there is no {preference.preferred!r} (it has {', '.join(session.answers)})"
        )
    return found[0]


def _choices(number: int, session: SavedCouncil, preferred: str) -> Iterable[ChoiceLabel]:
    """For every pair with the preferred answer, which one each reviewer gave more: the first or the second by name."""
    for first, second in combinations(sorted(session.answers), 2):
        if preferred not in (first, second):
            continue
        human = "first" if preferred == first else "second"
        for reviewer, sheet in session.ranked.items():
            if first in sheet and second in sheet:
                lead = sheet[first] - sheet[second]
                choice = None if lead == 0 else "first" if lead > 0 else "second"
                yield ChoiceLabel(f"{number}/{first}/{second}", reviewer, choice, human, str(number))
