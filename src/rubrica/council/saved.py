"""Saved councils, read back for an audit: who gave what to whom, in which place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import msgspec

from rubrica.engine.cases import BadLine
from rubrica.errors import StoredError

from .ranking import Pool
from .settings import Scoring


class SavedReview(msgspec.Struct, frozen=True):
    """What one reviewer gave one answer."""

    reviewer: str
    response: str
    position: int
    own: bool
    status: str
    score: float | None
    scores: Mapping[str, float]
    holistic: float | None


class SavedAnswer(msgspec.Struct, frozen=True):
    """An answer: who wrote it, and how long it is."""

    model: str
    words: int


class SavedTerms(msgspec.Struct, frozen=True):
    """How the council was held."""

    rubric: str
    scoring: Scoring
    pool: Pool
    out_of: float
    tops: Mapping[str, float]  # full marks by dimension


class SavedCouncil(msgspec.Struct, frozen=True, dict=True):
    """One saved session. All scores are given on the rubric's out_of."""

    reviews: tuple[SavedReview, ...]
    answers: Mapping[str, SavedAnswer]
    metadata: SavedTerms

    @cached_property
    def sheets(self) -> dict[str, dict[str, float]]:
        """The capped rubric scores by reviewer and answer; scores that stand in for the rubric are left out."""
        return _sheets((one.reviewer, one.response, one.score) for one in self.reviews if one.status == "scored")

    @cached_property
    def holistic(self) -> dict[str, dict[str, float]]:
        """The scores for the whole by reviewer and answer, where they were asked for."""
        asked = self.metadata.scoring != "rubric"
        return _sheets((one.reviewer, one.response, one.holistic) for one in self.reviews if asked)

    @cached_property
    def ranked(self) -> dict[str, dict[str, float]]:
        """What the ranking stands on: rubric scores, or those for the whole."""
        return _sheets((one.reviewer, one.response, one.score) for one in self.reviews)

    def dimension(self, name: str) -> dict[str, dict[str, float]]:
        """One dimension's scores by reviewer and answer."""
        scale = self.metadata.out_of / self.metadata.tops.get(name, self.metadata.out_of)
        return _sheets(
            (one.reviewer, one.response, one.scores[name] * scale if name in one.scores else None)
            for one in self.reviews
        )


_DECODER = msgspec.json.Decoder(SavedCouncil)


def read_council(line: bytes) -> SavedCouncil:
    """A saved session from its line."""
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise StoredError(f"not a saved council: {error}") from None


def read_councils(lines: Iterable[bytes]) -> Iterator[SavedCouncil | BadLine]:
    """Each saved session in turn; a line that is none as what is wrong with it."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield read_council(line)
            except StoredError as error:
                yield BadLine(number, str(error))


def _sheets(given: Iterable[tuple[str, str, float | None]]) -> dict[str, dict[str, float]]:
    sheets: dict[str, dict[str, float]] = {}
    for reviewer, response, value in given:
        if value is not None:
            sheets.setdefault(reviewer, {})[response] = value
    return sheets
