"""Whether the winner stands before every reviewer is heard: no ballot that is still out can change it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec


class VoteTally(msgspec.Struct, frozen=True):
    """What an answer has so far: the sum of its reviewers' values, and their number or weight."""

    total: float
    weight: float


class OpenBallot(msgspec.Struct, frozen=True):
    """A reviewer who is still out: which answers it may give a value, and what it counts."""

    labels: Collection[str]
    weight: float = 1.0


def decided_winner(
    tallies: Mapping[str, VoteTally], waiting: Sequence[OpenBallot], span: tuple[float, float], decimals: int = 9
) -> str | None:
    """The one answer with the best mean, whatever the ballots that are out will say; None where that is open.

    A ballot gives each of its answers a value in the span, or none. So the leader's mean can fall as far as the lowest
    values take it, and a rival's rise as far as the highest do; both can happen at once. Equal means, as they are
    shown, are a tie, and a tie is no winner.

    Three answers, 2, 1 and 0 points a ballot: 8, 4 and 0 points after four ballots stand with one more to come, and 6,
    3 and 0 after three do not with two.

    >>> after = lambda ballots, *points: {label: VoteTally(own, ballots) for label, own in zip("ABC", points)}
    >>> decided_winner(after(4, 8, 4, 0), [OpenBallot("ABC")], (0, 2))
    'A'
    >>> decided_winner(after(3, 6, 3, 0), [OpenBallot("ABC")] * 2, (0, 2)) is None
    True
    """
    low, high = span
    worst = {label: _mean(own, label, waiting, low) for label, own in tallies.items()}
    best = {label: _mean(own, label, waiting, high) for label, own in tallies.items()}
    if any(mean is None for mean in best.values()):
        return None  # of an answer that nobody can review nothing is known
    for label, least in worst.items():
        if tallies[label].weight <= 0 or least is None:
            continue
        rivals = (most for other, most in best.items() if other != label)
        if all(round(least, decimals) > round(most or 0.0, decimals) for most in rivals):
            return label
    return None


def _mean(own: VoteTally, label: str, waiting: Sequence[OpenBallot], value: float) -> float | None:
    """The mean where every ballot that is out gives the label this value."""
    more = sum(ballot.weight for ballot in waiting if label in ballot.labels)
    weight = own.weight + more
    return (own.total + more * value) / weight if weight > 0 else None
