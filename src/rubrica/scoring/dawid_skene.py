"""Judges held against each other where nobody knows the right answers (Dawid and Skene, 1979)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

PRIOR_RIGHT, PRIOR_WRONG = 2.0, 1.0
"""Answers added to those of all judges, for every right answer and for each wrong one: more right than wrong."""

LIKE_OTHERS = 15.0
"""Answers that each judge is taken to have given as all do, by what is right: few tell little of how judges differ."""

_ROUNDS, _STILL = 100, 1e-6


@dataclass(frozen=True, slots=True)
class LatentAnswers:
    """What the answers of several judges say about the right ones, and about the judges."""

    chances: tuple[Mapping[str, float], ...]  # by item: how likely each option is right
    accuracy: Mapping[str, float]  # by judge: how often it is right, as far as the others tell
    prior: Mapping[str, float]  # how often each option is right
    records: Mapping[str, Mapping[str, Mapping[str, float]]]  # by judge and what is right: how often it says what

    def weights(self) -> dict[str, float]:
        """What each judge's choice counts: the log-odds of its being right, below 0 where it is mostly wrong."""
        return {judge: math.log(right / (1 - right)) for judge, right in self.accuracy.items()}

    def log_odds(self, upper: str, lower: str) -> tuple[float, dict[str, dict[str, float]]]:
        """How much likelier the upper of two options is: before anybody is heard, and by what each judge says.

        >>> found = dawid_skene([{"a": "x", "b": "x", "c": "y"}, {"a": "y", "b": "y", "c": "y"}] * 9, ("x", "y"))
        >>> _, moves = found.log_odds("y", "x")
        >>> moves["a"]["y"] > 1 > moves["c"]["y"] > 0  # c says so of everything
        True
        """
        moves = {
            judge: {said: math.log(record[upper][said] / record[lower][said]) for said in (upper, lower)}
            for judge, record in self.records.items()
        }
        return math.log(self.prior[upper] / self.prior[lower]), moves


def dawid_skene(answers: Sequence[Mapping[str, str]], options: Sequence[str]) -> LatentAnswers:
    """How likely each option is right for every item, and how often each judge is, by expectation-maximisation.

    `answers` holds what each judge said of an item; one who said nothing is left out. It starts from the majority, and
    takes judges to err independently: where most make the same mistake, they are believed. What is known of each judge
    is shrunk towards all of them, or judges who are alike would be told apart by chance.

    >>> said = [{"a": side, "b": side, "c": "y" if n % 2 else side} for n, side in enumerate("xyxyxxyx")]
    >>> found = dawid_skene(said, ("x", "y"))
    >>> found.accuracy["a"] > found.accuracy["c"], round(found.chances[1]["y"], 2) > 0.9
    (True, True)
    """
    judges = sorted({judge for row in answers for judge in row})
    chances = [_majority(row, options) for row in answers]
    prior: dict[str, float] = {}
    records: dict[str, dict[str, dict[str, float]]] = {}
    for _ in range(_ROUNDS):
        prior = {
            option: (math.fsum(own[option] for own in chances) + 1) / (len(chances) + len(options))
            for option in options
        }
        counts = {judge: _counts(judge, answers, chances, options) for judge in judges}
        shared = _shared(counts.values(), options)
        records = {judge: _record(own, shared) for judge, own in counts.items()}
        updated = [_posterior(row, prior, records, options) for row in answers]
        moved = max((abs(a[o] - b[o]) for a, b in zip(chances, updated, strict=True) for o in options), default=0.0)
        chances = updated
        if moved < _STILL:
            break
    accuracy = {
        judge: math.fsum(prior[true] * record[true][true] for true in options) for judge, record in records.items()
    }
    return LatentAnswers(tuple(chances), accuracy, prior, records)


def _majority(row: Mapping[str, str], options: Sequence[str]) -> dict[str, float]:
    votes = [said for said in row.values() if said in options]
    return {option: (votes.count(option) / len(votes)) if votes else 1 / len(options) for option in options}


def _counts(
    judge: str, answers: Sequence[Mapping[str, str]], chances: Sequence[Mapping[str, float]], options: Sequence[str]
) -> dict[str, dict[str, float]]:
    """How often the judge says each thing, by what is right."""
    counts = {}
    for true in options:
        said = dict.fromkeys(options, 0.0)
        for row, chance in zip(answers, chances, strict=True):
            if row.get(judge) in said:
                said[row[judge]] += chance[true]
        counts[true] = said
    return counts


def _shared(counts: Iterable[Mapping[str, Mapping[str, float]]], options: Sequence[str]) -> dict[str, dict[str, float]]:
    """What judges say on the whole, by what is right, as shares."""
    found = {}
    own = list(counts)
    for true in options:
        said = {
            option: (PRIOR_RIGHT if option == true else PRIOR_WRONG) + math.fsum(one[true][option] for one in own)
            for option in options
        }
        total = math.fsum(said.values())
        found[true] = {option: count / total for option, count in said.items()}
    return found


def _record(
    counts: Mapping[str, Mapping[str, float]], shared: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """A judge's answers as shares, by what is right, as if LIKE_OTHERS more were like those of all judges."""
    record = {}
    for true, said in counts.items():
        total = math.fsum(said.values()) + LIKE_OTHERS
        record[true] = {option: (count + LIKE_OTHERS * shared[true][option]) / total for option, count in said.items()}
    return record


def _posterior(
    row: Mapping[str, str],
    prior: Mapping[str, float],
    records: Mapping[str, Mapping[str, Mapping[str, float]]],
    options: Sequence[str],
) -> dict[str, float]:
    logs = {
        true: math.log(prior[true])
        + math.fsum(math.log(records[judge][true][said]) for judge, said in row.items() if said in options)
        for true in options
    }
    most = max(logs.values())
    odds = {option: math.exp(log - most) for option, log in logs.items()}
    return {option: own / sum(odds.values()) for option, own in odds.items()}
