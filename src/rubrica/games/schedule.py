"""Schedules of tournaments, and what comes of them: round robin, and single elimination by seeds.

Everything here follows from the entrants, the strongest first, and from the scores of each one's rounds in the order
they were played. A match takes a number of rounds of both; whoever has the higher mean wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from rubrica.store.tournaments import Tiebreak

from .composite import NOISE_DIGITS

Key = TypeVar("Key")
MatchState = Literal["waiting", "playing", "decided", "bye"]
"""waiting: it is not known yet who plays. bye: one goes on without playing."""


@dataclass(frozen=True, slots=True)
class MatchRules:
    """How a match is decided."""

    rounds: int = 1  # of each player
    tiebreak: Tiebreak = "next_round"
    over: bool = False  # no more rounds will come: who has not played loses


@dataclass(frozen=True, slots=True)
class Match(Generic[Key]):
    """Two who meet; None: not known yet, or nobody."""

    stage: int  # 1, 2, 3 …
    home: Key | None
    away: Key | None
    state: MatchState
    winner: Key | None = None  # of one that is decided: None means a draw
    home_score: float | None = None
    away_score: float | None = None
    reason: str = ""  # why it was decided, where the scores alone do not say


@dataclass(frozen=True, slots=True)
class RobinRow(Generic[Key]):
    """How one stands in a round robin: a win is a point, a draw half of one."""

    entrant: Key
    points: float
    won: int
    drawn: int
    lost: int


def round_robin(entrants: Sequence[Key]) -> list[list[tuple[Key, Key]]]:
    """Stages in which everybody meets everybody once, nobody twice in a stage; who is left over rests.

    >>> round_robin("abcd")
    [[('a', 'd'), ('b', 'c')], [('c', 'a'), ('d', 'b')], [('a', 'b'), ('c', 'd')]]
    >>> [len(stage) for stage in round_robin("abc")]
    [1, 1, 1]
    """
    ring: list[Key | None] = [*entrants]
    if len(ring) % 2:
        ring.append(None)
    stages = []
    for turn in range(len(ring) - 1):
        pairs = zip(ring[: len(ring) // 2], reversed(ring[len(ring) // 2 :]), strict=True)
        stage = [(a, b) for a, b in pairs if a is not None and b is not None]
        stages.append([(b, a) if turn % 2 and place == 0 else (a, b) for place, (a, b) in enumerate(stage)])
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return stages


def seeded_places(count: int) -> list[int]:
    """The seeds, from 1, in the order of a bracket: the two strongest can meet in the last match only.

    >>> seeded_places(8)
    [1, 8, 4, 5, 2, 7, 3, 6]
    >>> seeded_places(6)
    [1, 8, 4, 5, 2, 7, 3, 6]
    """
    places = [1]
    while len(places) < count:
        size = 2 * len(places) + 1
        places = [seed for place in places for seed in (place, size - place)]
    return places


def play_round_robin(
    entrants: Sequence[Key], scores: Mapping[Key, Sequence[float]], rules: MatchRules
) -> tuple[list[Match[Key]], list[RobinRow[Key]]]:
    """The matches of a round robin as far as they are played, and the table: most points first, then by seed."""
    contest = _Contest(entrants, scores, rules)
    stages = enumerate(round_robin(entrants), 1)
    matches = [contest.meet(number, *pair) for number, stage in stages for pair in stage]
    points: dict[Key, list[int]] = {entrant: [0, 0, 0] for entrant in entrants}
    for match in matches:
        if match.state == "decided" and match.home is not None and match.away is not None:
            for own in (match.home, match.away):
                points[own][1 if match.winner is None else 0 if match.winner == own else 2] += 1
    table = [RobinRow(own, won + drawn / 2, won, drawn, lost) for own, (won, drawn, lost) in points.items()]
    return matches, sorted(table, key=lambda row: (-row.points, -row.won, entrants.index(row.entrant)))


def play_elimination(
    entrants: Sequence[Key], scores: Mapping[Key, Sequence[float]], rules: MatchRules
) -> tuple[list[Match[Key]], Key | None]:
    """The matches of a single elimination as far as they are played, and who has won it all."""
    contest = _Contest(entrants, scores, rules)
    places: list[_Place[Key]] = [
        _Place(entrants[seed - 1] if seed <= len(entrants) else None) for seed in seeded_places(len(entrants))
    ]
    matches: list[Match[Key]] = []
    stage = 1
    while len(places) > 1:
        met = [contest.draw(stage, *pair) for pair in zip(places[::2], places[1::2], strict=True)]
        places = [_Place(match.winner, match.state in ("decided", "bye")) for match in met]
        matches += met
        stage += 1
    return matches, places[0].entrant if places and places[0].known else None


@dataclass(frozen=True, slots=True)
class _Place(Generic[Key]):
    """A place in a bracket: who stands there (None: nobody), and whether that is known."""

    entrant: Key | None
    known: bool = True


class _Contest(Generic[Key]):
    """Matches one after the other; each takes the next rounds of both, and uses them up."""

    def __init__(self, entrants: Sequence[Key], scores: Mapping[Key, Sequence[float]], rules: MatchRules) -> None:
        self._entrants, self._rules = entrants, rules
        self._left = {entrant: list(scores.get(entrant, ())) for entrant in entrants}

    def draw(self, stage: int, home: _Place[Key], away: _Place[Key]) -> Match[Key]:
        """A match of a bracket: with two players, with one who goes on, or with somebody still to come."""
        one, two = home.entrant, away.entrant
        if not (home.known and away.known):
            return Match(stage, one, two, "waiting")
        if one is None or two is None:
            return Match(stage, one, two, "bye", two if one is None else one)
        return self.meet(stage, one, two)

    def meet(self, stage: int, home: Key, away: Key) -> Match[Key]:
        """A match of two."""
        taken = self._rules.rounds
        own, other = self._left[home][:taken], self._left[away][:taken]
        for each in (home, away):
            del self._left[each][:taken]
        marks = _mean(own), _mean(other)
        if len(own) == len(other) == taken:
            return self._decide(stage, home, away, marks)
        if not self._rules.over:
            return Match(stage, home, away, "playing", None, *marks)
        ready = [each for each, found in ((home, own), (away, other)) if len(found) == taken]
        if ready:
            return Match(stage, home, away, "decided", ready[0], *marks, "the other did not play")
        return self._by_seed(stage, home, away, marks, "nobody played; the stronger seed")

    def _decide(self, stage: int, home: Key, away: Key, marks: _Marks) -> Match[Key]:
        one, two = marks
        if one != two:
            return Match(stage, home, away, "decided", home if (one or 0) > (two or 0) else away, *marks)
        if self._rules.tiebreak == "draw":
            return Match(stage, home, away, "decided", None, *marks, "a draw")
        if self._rules.tiebreak == "seed":
            return self._by_seed(stage, home, away, marks, "equal; the stronger seed")
        while self._left[home] and self._left[away]:
            mine, theirs = self._left[home].pop(0), self._left[away].pop(0)
            if mine != theirs:
                winner = home if mine > theirs else away
                return Match(stage, home, away, "decided", winner, *marks, "equal; by a further round")
        if self._rules.over:
            return self._by_seed(stage, home, away, marks, "equal; the stronger seed")
        return Match(stage, home, away, "playing", None, *marks, "equal so far: a further round decides")

    def _by_seed(self, stage: int, home: Key, away: Key, marks: _Marks, reason: str) -> Match[Key]:
        winner = min(home, away, key=self._entrants.index)
        return Match(stage, home, away, "decided", winner, *marks, reason)


_Marks = tuple[float | None, float | None]


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), NOISE_DIGITS) if values else None
