"""Cross-validation of the safety models: who is learnt from while whom is measured, and what came out.

An answer to an attack is measured by weights that have met neither its goal nor its way of attack; every other text by
weights that have not met its group. So a figure says what to expect on other goals and other attacks, not on more of
the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from rubrica.text.sentence_risk import RiskBand, RiskReliability

from .exchanges import OURS, Labelled, Source, not_near
from .fit import Floats

Rows = NDArray[np.int64]

FOLDS = 5
ATTACKS = {
    "DSN": 0,
    "GCG": 0,
    "JBC": 1,
    "prompt_with_random_search": 1,
    "PAIR": 2,
}  # the group of each, of which one is kept apart with a fold
ATTACK_GROUPS = 3
THIRD = 3  # of the groups of every set, one in so many is kept for the end
ENOUGH = 5  # texts of each label that a figure needs
ALLOWED = 0.05  # of the safe texts have a risk over 0.5
MISSED, ALARMED = 0.05, 0.02  # of the unsafe texts lie below the lower limit; of the safe ones above the upper
LIMITS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def in_third(text: Labelled) -> bool:
    """Whether the text is kept for the end, with its whole group; own examples never are."""
    if not text.group or text.source in OURS:
        return False
    number = int(text.group) + 1 if text.group.isdecimal() else crc32(f"third{text.group}".encode())
    return number % THIRD == 0


def fold_of(text: Labelled) -> int:
    """The fold of a text's group."""
    return crc32(text.group.encode("utf-8", "replace")) % FOLDS


def folds(texts: Sequence[Labelled]) -> list[tuple[Rows, Rows]]:
    """Rows to learn from and rows to measure; what has no group is learnt from unless it names a measured goal.

    With each fold of the goals one group of attacks is kept apart, so an attack is measured where both are new.
    """
    found = []
    for fold in range(FOLDS):
        apart = np.flatnonzero([_measured(each, fold) for each in texts])
        learnt = np.flatnonzero([_learnt(each, fold) for each in texts])
        found.append((without_near(texts, learnt, apart), apart))
    return found


def without_near(texts: Sequence[Labelled], learnt: Rows, apart: Rows) -> Rows:
    """The rows to learn from without own examples that name the goal of a measured attack."""
    attacks = [texts[row] for row in apart if texts[row].attack]
    own = [texts[row] for row in learnt if texts[row].source in OURS]
    far = set(map(id, not_near(own, attacks)))
    return np.array([row for row in learnt if texts[row].source not in OURS or id(texts[row]) in far], dtype=np.int64)


def _measured(each: Labelled, fold: int) -> bool:
    new_attack = not each.attack or _is_apart(each, fold)
    return bool(each.group) and not each.part and fold_of(each) == fold and new_attack


def _learnt(each: Labelled, fold: int) -> bool:
    return not each.group or (fold_of(each) != fold and (not each.attack or not _is_apart(each, fold)))


def _is_apart(each: Labelled, fold: int) -> bool:
    """Whether the attack is of a kind that is kept apart with this fold."""
    return ATTACKS[each.attack] == fold % ATTACK_GROUPS


@dataclass(frozen=True)
class Scored:
    """The scores of some texts by weights that have not met them; above 0 is unsafe rather than safe."""

    scores: Floats
    unsafe: NDArray[np.bool_]
    sources: tuple[Source, ...]

    @property
    def shares(self) -> Floats:
        """What each text counts, so that every source counts the same among the safe and among the unsafe."""
        keys = list(zip(self.sources, self.unsafe.tolist(), strict=True))
        sizes = {key: keys.count(key) for key in set(keys)}
        kinds = {unsafe: len({key for key in sizes if key[1] == unsafe}) for unsafe in (True, False)}
        return np.array([1 / (sizes[key] * kinds[key[1]]) for key in keys])

    @property
    def tells(self) -> bool:
        """Whether there are enough texts of both labels to say how well they are told apart."""
        return bool(min(self.unsafe.sum(), (~self.unsafe).sum()) >= ENOUGH)

    def threshold(self, allowed: float) -> float:
        """The score that so large a share of the safe texts exceeds."""
        safe = ~self.unsafe
        return _quantile(self.scores[safe], self.shares[safe], 1 - allowed)

    def reliability(self, measured: dict[str, float]) -> RiskReliability:
        """The two limits, and what lay on either side of each risk."""
        risks, shares, safe = 1 / (1 + np.exp(-self.scores)), self.shares, ~self.unsafe
        bands = tuple(
            RiskBand(
                limit,
                round(float(shares[safe & (risks >= limit)].sum()), 3),
                round(float(shares[self.unsafe & (risks < limit)].sum()), 3),
            )
            for limit in LIMITS
        )
        low = _quantile(risks[self.unsafe], shares[self.unsafe], MISSED)
        high = max(low, _quantile(risks[safe], shares[safe], 1 - ALARMED))
        return RiskReliability(round(low, 3), round(high, 3), bands, measured)

    def chosen(self, rows: NDArray[np.bool_]) -> Scored:
        """Some of the texts."""
        sources = tuple(each for each, wanted in zip(self.sources, rows.tolist(), strict=True) if wanted)
        return Scored(self.scores[rows], self.unsafe[rows], sources)


def _quantile(values: Floats, shares: Floats, at: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(shares[order]) / shares.sum()
    return float(values[order][min(int(np.searchsorted(reached, at)), len(values) - 1)])


# --- figures ------------------------------------------------------------------------------------------------


def auc(scored: Scored) -> float:
    """How often an unsafe text has the higher score, of all pairs with a safe one."""
    safe, unsafe = scored.scores[~scored.unsafe], scored.scores[scored.unsafe]
    ranked = np.sort(safe)
    below = np.searchsorted(ranked, unsafe, "left") + np.searchsorted(ranked, unsafe, "right")
    return float(below.mean() / 2 / len(safe))


def recall(scored: Scored, allowed: float = ALLOWED) -> float:
    """The share of unsafe texts above the lowest limit that at most the allowed share of safe ones exceeds."""
    safe = np.sort(scored.scores[~scored.unsafe])[::-1]
    return float((scored.scores[scored.unsafe] > safe[int(allowed * len(safe))]).mean())


def figures(parts: Sequence[Scored]) -> dict[str, float]:
    """The means over the folds, with half the width of their 95 % intervals."""
    told = [part for part in parts if part.tells]
    found: dict[str, float] = {"texts": float(sum(len(part.scores) for part in told))}
    for name, figure in (("auc", auc), ("recall", recall)):
        values = [figure(part) for part in told]
        found[name] = round(fmean(values), 3)
        found[f"{name}_error"] = round(1.96 * stdev(values) / len(values) ** 0.5, 3) if len(values) > 1 else 0.0
    return found
