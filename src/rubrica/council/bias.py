"""Biases of reviewers: towards places, long answers and their own answers; and who is harsh.

Quality is taken out by comparing each score with what the other reviewers gave the same answer, so every bias is told
beside the other reviewers: one that all share cannot be seen here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Literal

import msgspec

from rubrica.report.figures import count_of
from rubrica.scoring.holm import holm
from rubrica.scoring.paired import sign_flips

from .saved import SavedCouncil, SavedReview
from .slope import Group, within_groups

Kind = Literal["position", "length", "self-preference", "harshness"]
FEWEST_SESSIONS = 6
"""With fewer, no test could tell a bias from chance: of 2⁵ ways to draw signs, two are 0.06 of all."""


class Bias(msgspec.Struct, frozen=True):
    """One bias of one reviewer. `p` and `corrected` are None where too little is known."""

    reviewer: str
    kind: Kind
    effect: float | None  # in points of the score: see EFFECTS
    sessions: int  # that tell something
    p: float | None = None
    corrected: float | None = None  # by Holm, over all that were tested
    why: str = ""  # why there is no p


EFFECTS: Mapping[Kind, str] = {
    "position": "points for each place further back",
    "length": "points for each doubling of the length",
    "self-preference": "points for an answer of its own",
    "harshness": "points above (+) or below (−) the others",
}

Off = dict[str, float]
"""How far above the other reviewers one reviewer scored each answer of a session."""


def biases(sessions: Sequence[SavedCouncil], chance: Random) -> list[Bias]:
    """Every bias of every reviewer, p-values corrected for how many there are."""
    reviewers = sorted({review.reviewer for session in sessions for review in session.reviews})
    found = [
        measure(reviewer, sessions, chance)
        for reviewer in reviewers
        for measure in (_position, _length, _own, _harshness)
    ]
    tested = [bias for bias in found if bias.p is not None]
    corrected = iter(holm([bias.p for bias in tested if bias.p is not None]))
    return [bias if bias.p is None else msgspec.structs.replace(bias, corrected=next(corrected)) for bias in found]


def deviations_from_others(session: SavedCouncil, reviewer: str) -> Off:
    """Where others scored an answer too, how far above their mean the reviewer is."""
    others = {name: sheet for name, sheet in session.ranked.items() if name != reviewer}
    off: Off = {}
    for response, score in session.ranked.get(reviewer, {}).items():
        peers = [
            sheet[response]
            for name, sheet in others.items()
            if response in sheet and session.answers[response].model != name
        ]
        if peers:
            off[response] = score - fmean(peers)
    return off


def _position(reviewer: str, sessions: Sequence[SavedCouncil], chance: Random) -> Bias:
    return _along("position", reviewer, sessions, lambda _, review: float(review.position), chance)


def _length(reviewer: str, sessions: Sequence[SavedCouncil], chance: Random) -> Bias:
    def doublings(session: SavedCouncil, review: SavedReview) -> float:
        return math.log2(max(session.answers[review.response].words, 1))

    return _along("length", reviewer, sessions, doublings, chance)


def _along(
    kind: Kind,
    reviewer: str,
    sessions: Sequence[SavedCouncil],
    measure: Callable[[SavedCouncil, SavedReview], float],
    chance: Random,
) -> Bias:
    groups: list[Group] = []
    for session in sessions:
        off = deviations_from_others(session, reviewer)
        group = [
            (measure(session, review), off[review.response])
            for review in session.reviews
            if review.reviewer == reviewer and review.response in off and not review.own
        ]
        if len(group) > 1:
            groups.append(group)
    slope = within_groups(groups, chance)
    if slope is None:
        return Bias(reviewer, kind, None, 0, why=_too_few(0, "where it and others scored two answers apart"))
    if slope.groups < FEWEST_SESSIONS:
        return Bias(reviewer, kind, slope.gain, slope.groups, why=_too_few(slope.groups))
    return Bias(reviewer, kind, slope.gain, slope.groups, slope.p)


def _own(reviewer: str, sessions: Sequence[SavedCouncil], chance: Random) -> Bias:
    gaps = []
    for session in sessions:
        off = deviations_from_others(session, reviewer)
        own = [gap for response, gap in off.items() if session.answers[response].model == reviewer]
        rest = [gap for response, gap in off.items() if session.answers[response].model != reviewer]
        if own and rest:
            gaps.append(fmean(own) - fmean(rest))
    return _signed("self-preference", reviewer, gaps, chance, "with self-reviews (exclude_self: false)")


def _harshness(reviewer: str, sessions: Sequence[SavedCouncil], chance: Random) -> Bias:
    gaps = []
    for session in sessions:
        off = deviations_from_others(session, reviewer)
        others = [gap for response, gap in off.items() if session.answers[response].model != reviewer]
        if others:
            gaps.append(fmean(others))
    return _signed("harshness", reviewer, gaps, chance, "where others scored the same answers")


def _signed(kind: Kind, reviewer: str, gaps: Sequence[float], chance: Random, what: str) -> Bias:
    if not gaps:
        return Bias(reviewer, kind, None, 0, why=_too_few(0, what))
    if len(gaps) < FEWEST_SESSIONS:
        return Bias(reviewer, kind, fmean(gaps), len(gaps), why=_too_few(len(gaps), what))
    return Bias(reviewer, kind, fmean(gaps), len(gaps), sign_flips(gaps, chance).p)


def _too_few(count: int, what: str = "that tell something") -> str:
    return f"too few: {count_of(count, 'session')} {what}, {FEWEST_SESSIONS} are needed"
