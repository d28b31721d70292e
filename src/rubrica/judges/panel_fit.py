"""What labels teach about a panel: how its judges' scores, or their choices, are best put together.

Without any label, choices and verdicts teach it too, by how far the judges agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rubrica.model.calibration import ChoiceWeights, JudgeWeight, LearnedPanel, PanelTrial
from rubrica.model.scale import Scale
from rubrica.phrases import count_of
from rubrica.scoring.combination import LinearCombination, learn_combination
from rubrica.scoring.dawid_skene import LatentAnswers, dawid_skene
from rubrica.scoring.isotonic import DECIMALS

from .curve_fit import FOLDS, Pairs, by_item, split_folds
from .labels import ChoiceLabel, Label, UnlabelledScore

FEWEST_CHOICES = 20
FEWEST_WEIGHT = 0.5
"""Of a learned panel's weight, what the judges that answered must hold; else their votes are pooled as usual."""
FEWEST_JUDGES_ALONE = 3
"""Without labels, two judges who differ cannot tell who is right."""
BY_AGREEMENT = (
    "weights are from how far the judges agree (Dawid and Skene), and a mistake that most of them make is not seen"
)
SHARE_PER_LOG_ODDS = 0.25
"""How fast a chance of one half rises with its log-odds: a learned panel is a straight line along that."""


# --- scores -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Items:
    """Labelled items as rows of judges' scores, laid out from -1 to 1."""

    rows: Sequence[Mapping[str, float]]
    truth: list[float]
    units: list[str]
    scale: Scale

    @classmethod
    def of(cls, labels: Iterable[Label], scale: Scale) -> _Items:
        middle, half = _layout(scale)
        rows, truth, units = [], [], []
        for (unit, _), own in by_item(labels).items():
            given: dict[str, list[float]] = {}
            for label in own:
                given.setdefault(label.judge, []).append((label.score - middle) / half)
            rows.append({judge: fmean(scores) for judge, scores in given.items()})
            truth.append((fmean(label.human for label in own) - middle) / half)
            units.append(unit)
        return cls(rows, truth, units, scale)

    def learn(self, folds: Sequence[set[str]]) -> LinearCombination:
        """Learn from the items of these folds."""
        used = [place for place, unit in enumerate(self.units) if any(unit in fold for fold in folds)]
        places = {place: n for n, place in enumerate(used)}
        parts = [[places[place] for place in used if self.units[place] in fold] for fold in folds]
        return learn_combination(
            [self.rows[place] for place in used], [self.truth[place] for place in used], [p for p in parts if p]
        )


def try_panel(labels: Sequence[Label], scale: Scale, folds: Sequence[set[str]]) -> list[Pairs]:
    """By fold, what a panel that learned from the other folds makes of every item, beside what people gave."""
    items = _Items.of(labels, scale)
    tried: list[Pairs] = []
    for fold in folds:
        learned = panel_of(items.learn([other for other in folds if other is not fold]), scale)
        middle, half = _layout(scale)
        tried.append(
            [
                (learned_value(learned, {j: middle + half * x for j, x in row.items()}, scale), middle + half * true)
                for row, true, unit in zip(items.rows, items.truth, items.units, strict=True)
                if unit in fold
            ]
        )
    return tried


def learn_panel(labels: Sequence[Label], scale: Scale, folds: Sequence[set[str]]) -> LearnedPanel:
    """The panel that all labels teach."""
    return panel_of(_Items.of(labels, scale).learn(folds), scale)


def panel_of(combination: LinearCombination, scale: Scale) -> LearnedPanel:
    """A combination of scores between -1 and 1 as one of scores on the scale."""
    middle, half = _layout(scale)
    return LearnedPanel(
        level=round(middle + half * combination.level, DECIMALS),
        judges={
            judge: JudgeWeight(
                weight=round(weight, DECIMALS), centre=round(middle + half * combination.centres[judge], DECIMALS)
            )
            for judge, weight in combination.weights.items()
        },
    )


def learned_value(panel: LearnedPanel, scores: Mapping[str, float], scale: Scale) -> float:
    """What a learned panel makes of its judges' scores, kept on the scale."""
    return scale.clamp(_combination(panel).value(scores))


def weight_share(panel: LearnedPanel, judges: Sequence[str]) -> float:
    """How much of a learned panel's weight these judges hold: 0 to 1."""
    return _combination(panel).share(judges)


def _combination(panel: LearnedPanel) -> LinearCombination:
    return LinearCombination(
        panel.level,
        {judge: known.weight for judge, known in panel.judges.items()},
        {judge: known.centre for judge, known in panel.judges.items()},
    )


def _layout(scale: Scale) -> tuple[float, float]:
    return (scale.min + scale.max) / 2, (scale.max - scale.min) / 2


# --- verdicts without labels ------------------------------------------------------------------------------


def learn_verdicts(given: Sequence[UnlabelledScore], scale: Scale) -> LearnedPanel | str:
    """The panel that judges' verdicts teach without any label, by how far they agree; else why there is none.

    Its value is about how likely a pass is: one half where what speaks for it, how often anything passes included, and
    what speaks against it weigh the same. A judge that says the same of everything hardly moves it.
    """
    words = dict(zip(scale.ends, ("fail", "pass"), strict=True))
    if scale.ends != (0, 1) or any(one.score not in words for one in given):
        return "its scores are not verdicts (0 or 1, on a scale from 0 to 1), and of others only people know the truth"
    answers: dict[tuple[str, str], dict[str, str]] = {}
    for one in given:
        answers.setdefault((one.unit, one.item), {})[one.judge] = words[one.score]
    if len(found := {said for row in answers.values() for said in row.values()}) == 1:
        return f"every judge says {found.pop()} of everything, which tells nothing about them"
    held = _held_against(answers, ("fail", "pass"), "response")
    if isinstance(held, str):
        return held
    prior, moves = held.log_odds("pass", "fail")
    judges = {}
    for judge, by in moves.items():
        apart = by["pass"] - by["fail"]
        centre = -by["fail"] / apart if apart else 0.5  # where it would move nothing, as when it is silent
        judges[judge] = JudgeWeight(weight=round(SHARE_PER_LOG_ODDS * apart, DECIMALS), centre=round(centre, DECIMALS))
    return LearnedPanel(level=round(0.5 + SHARE_PER_LOG_ODDS * prior, DECIMALS), judges=judges)


def _held_against(
    answers: Mapping[tuple[str, str], Mapping[str, str]], options: Sequence[str], thing: str
) -> LatentAnswers | str:
    """Judges held against each other, or what that lacks."""
    judges = {judge for row in answers.values() for judge in row}
    shared = sum(len(row) > 1 for row in answers.values())
    if len(judges) < FEWEST_JUDGES_ALONE or shared < FEWEST_CHOICES:
        return (
            f"to hold judges against each other takes {FEWEST_JUDGES_ALONE} judges and {FEWEST_CHOICES} {thing}s that "
            f"several of them judged, here are {len(judges)} and {shared}"
        )
    return dawid_skene(list(answers.values()), options)


# --- choices ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChoiceFit:
    """What labelled choices teach; no weights where a majority does better, and why."""

    weights: ChoiceWeights | None
    reason: str = ""
    pairs: int = 0
    right: PanelTrial | None = None  # on labels that were not learned from


def learn_choices(labels: Sequence[ChoiceLabel], seed: int = 0) -> ChoiceFit:
    """What each judge's choice should count, by labels; without any, by how far judges agree (Dawid and Skene).

    Kept where it clearly helps on labels that were not learned from: by a standard error at least the weighted judges
    are right more often than a majority, or the best single judge is and they are no worse; and where they are right
    more often than not. Judges that are much alike, or who all guess, would else be told apart by chance.
    """
    options = sorted({option for label in labels for option in (label.choice, label.human) if option is not None})
    if len(options) > 2:
        return ChoiceFit(None, f"choices are between two: found {', '.join(options[:6])}; name them the same in all")
    sides = {option: float(2 * place - 1) for place, option in enumerate(options)}
    if all(label.human is None for label in labels):
        return _without_labels(labels, options)
    items: dict[tuple[str, str], list[ChoiceLabel]] = {}
    for label in labels:
        if label.human is not None:
            items.setdefault((label.unit, label.item), []).append(label)
    if len(items) < FEWEST_CHOICES or len({unit for unit, _ in items}) < FOLDS:
        there = count_of(len(items), "pair has", "pairs have")
        why = f"{there} labels; {FEWEST_CHOICES} in {FOLDS} groups are the fewest to learn from"
        return ChoiceFit(None, why, len(items))
    rows = [_votes(own, sides) for own in items.values()]
    truth = [_side(own, sides) for own in items.values()]
    units = [unit for unit, _ in items]
    folds = [
        [place for place, unit in enumerate(units) if unit in fold]
        for fold in split_folds([own[0] for own in items.values()], seed)
    ]
    trial = _ChoiceTrial.of(rows, truth, folds)
    right = trial.shares()
    if not trial.helps:
        told = "no more than a coin would be" if trial.guesses else "which is no clear gain"
        return ChoiceFit(
            None,
            f"judges alike are right on {right.mean:.0%} of the labels, weighted ones on {right.learned:.0%}, {told}: "
            "they stay alike",
            len(items),
            right,
        )
    learned = learn_combination(rows, truth, folds, sides=True)
    judges = {judge: round(weight, DECIMALS) for judge, weight in learned.weights.items()}
    return ChoiceFit(ChoiceWeights(judges=judges, labels=len(items), right=right), "", len(items), right)


def _without_labels(labels: Sequence[ChoiceLabel], options: Sequence[str]) -> ChoiceFit:
    answers: dict[tuple[str, str], dict[str, str]] = {}
    for label in labels:
        if label.choice is not None:
            answers.setdefault((label.unit, label.item), {})[label.judge] = label.choice
    found = _held_against(answers, options, "pair")
    if isinstance(found, str):
        return ChoiceFit(None, f"no label says which one people chose (ties do not count); {found}")
    weights = {judge: round(weight, DECIMALS) for judge, weight in found.weights().items()}
    return ChoiceFit(
        ChoiceWeights(judges=weights, labels=0),
        f"no label says what people chose: {BY_AGREEMENT}",
        len(answers),
    )


def _votes(own: Sequence[ChoiceLabel], sides: Mapping[str, float]) -> dict[str, float]:
    """Each judge's side of one pair; asked in both orders, the mean of what it said."""
    given: dict[str, list[float]] = {}
    for label in own:
        given.setdefault(label.judge, []).append(sides[label.choice] if label.choice is not None else 0.0)
    return {judge: fmean(said) for judge, said in given.items()}


def _side(own: Sequence[ChoiceLabel], sides: Mapping[str, float]) -> float:
    """The people's side: where several labelled a pair, that of most."""
    total = fmean(sides[label.human] for label in own if label.human is not None)
    return 1.0 if total > 0 else -1.0 if total < 0 else 0.0


@dataclass(frozen=True, slots=True)
class _ChoiceTrial:
    """What was credited for each left-out pair: to the majority, to the judge that looked best, to learned weights."""

    mean: list[float]
    best: list[float]
    learned: list[float]

    @classmethod
    def of(
        cls, rows: Sequence[Mapping[str, float]], truth: Sequence[float], folds: Sequence[Sequence[int]]
    ) -> _ChoiceTrial:
        """Learn from all folds but one, and try what was learned on that one, for each."""
        mean, best, learned = [], [], []
        for fold in folds:
            others = [place for other in folds if other is not fold for place in other]
            places = {place: n for n, place in enumerate(others)}
            parts = [[places[place] for place in other] for other in folds if other is not fold]
            known, said = [rows[place] for place in others], [truth[place] for place in others]
            combination = learn_combination(known, said, parts, sides=True)
            top = _best_judge(known, said)
            for place in fold:
                mean.append(_credit(sum(rows[place].values()), truth[place]))
                best.append(_credit(rows[place].get(top, 0.0), truth[place]))
                learned.append(_credit(combination.value(rows[place]), truth[place]))
        return cls(mean, best, learned)

    @property
    def helps(self) -> bool:
        """Whether learned weights are to take the place of a majority."""
        if self.guesses:
            return False
        if _clearly_above(self.learned, self.mean):
            return True
        return _clearly_above(self.best, self.mean) and fmean(self.learned) >= fmean(self.mean)

    @property
    def guesses(self) -> bool:
        """Whether learned weights are not clearly right more often than a coin."""
        return not _clearly_above(self.learned, [0.5] * len(self.learned))

    def shares(self) -> PanelTrial:
        """The shares of right choices."""
        mean, best, learned = (round(fmean(own), DECIMALS) for own in (self.mean, self.best, self.learned))
        return PanelTrial(mean=mean, best=best, learned=learned)


def _clearly_above(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether one is credited more over the same pairs, by a standard error at least."""
    gains = [mine - theirs for mine, theirs in zip(one, other, strict=True)]
    return sum(gains) > 0 and sum(gains) >= math.sqrt(sum(gain * gain for gain in gains))


def _best_judge(rows: Sequence[Mapping[str, float]], truth: Sequence[float]) -> str:
    judges = sorted({judge for row in rows for judge in row})
    return max(judges, key=lambda j: sum(_credit(row.get(j, 0.0), true) for row, true in zip(rows, truth, strict=True)))


def _credit(said: float, true: float) -> float:
    """1 for the right side, 0 for the wrong one, one half where it is undecided."""
    product = said * true
    return 1.0 if product > 1e-12 else 0.0 if product < -1e-12 else 0.5
