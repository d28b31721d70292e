"""Rules, gates and verdicts of a rubric in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import assert_never

from rubrica.errors import FormulaError
from rubrica.formula import parse
from rubrica.model.decisions import Gate, Profiles, Verdict
from rubrica.model.dimensions import Check, Offline, Recipe
from rubrica.model.reliability import Reliability
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale
from rubrica.phrases import Code, Phrase, Strong, figure, listed, phrase
from rubrica.scorers.rule_table import type_of

Settings = Mapping[str, float | bool]
NO_SETTINGS: Settings = MappingProxyType({})
TRUST = "How far such a score can be trusted: where people's scores lie, by kind of text"


def recipe_phrases(recipe: Recipe, scale: Scale) -> tuple[Phrase, tuple[Phrase, ...]]:
    """How a score is made without a model: a sentence that opens the list, and the list."""
    if recipe.formula is not None:
        return phrase(
            "The score is ", Code(recipe.formula), f", kept between {figure(scale.min)} and {figure(scale.max)}."
        ), ()
    if recipe.checks:
        opening = f"The score is the share of these checks that hold, spread over {scale}:"
        return (opening,), tuple(_check(check) for check in recipe.checks)
    return phrase(_recipe_opening(recipe, scale)), tuple(
        line for rule in recipe.rules for line in type_of(rule).phrases(rule)
    )


def _check(check: Check) -> Phrase:
    weight = f", weight {figure(check.weight)}" if check.weight != 1 else ""
    otherwise = f"; otherwise: {check.otherwise}" if check.otherwise else ""
    return phrase(Strong(check.name), ": ", Code(check.that), weight, otherwise)


def _recipe_opening(recipe: Recipe, scale: Scale) -> str:
    start = f"Starting from {figure(recipe.start)} points, add up" if recipe.start else "Add up"
    match recipe.scoring:
        case "cumulative":
            low, high = figure(scale.min), figure(scale.max)
            return f"{start} what applies; the sum, kept between {low} and {high}, is the score:"
        case "proportional":
            full = f" ({figure(recipe.possible)} points are full marks)" if recipe.possible is not None else ""
            return f"{start} what applies; the share of the points possible{full}, spread over {scale}, is the score:"
        case "binary":
            goal = "anything above 0 points" if recipe.win_at is None else f"{figure(recipe.win_at)} points or more"
            return f"{start} what applies; {goal} give {figure(scale.max)}, less gives {figure(scale.min)}:"
        case _:
            assert_never(recipe.scoring)


def reliability_phrases(offline: Offline, scale: Scale, settings: Settings = NO_SETTINGS) -> tuple[Phrase, ...]:
    """How far an offline score can be trusted, kind by kind; nothing where nothing is said of it."""
    return tuple(_kind(kind, scale, settings) for kind in offline.reliability)


def silence_phrases(offline: Offline, settings: Settings = NO_SETTINGS) -> tuple[Phrase, ...]:
    """Where an offline recipe gives no score, and why."""
    return tuple(
        phrase("No score if ", condition(guard.when, settings), f": {' '.join(guard.because.split())}.")
        for guard in offline.unscored
    )


def _kind(kind: Reliability, scale: Scale, settings: Settings) -> Phrase:
    """``worked sums (asks_for_number > 0): up to 4; measured on 54 texts (GSM8K).``"""
    when = phrase(" (", condition(kind.when, settings), ")") if kind.when is not None else ()
    low, high = kind.low, kind.high
    ends = [f"{figure(low)} or more"] if low is not None else []
    ends += [f"{figure(high)} at most"] if high is not None else []
    if kind.below is not None or kind.above is not None:
        below, above = (figure(end) if end is not None else "any amount" for end in (kind.below, kind.above))
        ends.append("exactly this" if kind.below == kind.above == 0 else f"from {below} below it to {above} above it")
    told = ", ".join(ends) or f"anything on {scale}"
    measured = f"; measured on {kind.texts:,} texts ({kind.data or 'not named'})" if kind.texts is not None else ""
    because = f"; {kind.because.rstrip('.')}" if kind.because else ""
    right = ", ".join(f"{verdict} {share:.0%}" for verdict, share in kind.right.items())
    agreed = f"; people agreed with verdicts by its points: {right}" if right else ""
    return phrase(Strong(kind.kind), *when, f": {told}{measured}{because}{agreed}.")


def condition(text: str, settings: Settings) -> Phrase:
    """A formula, with the values of the settings it reads: ``score >= deploy_at (deploy_at is 0.7)``."""
    try:
        read = [name for name in sorted(parse(text).names) if name in settings]
    except FormulaError:  # a rubric that was never compiled: its page still shows the formula as written
        read = []
    values = listed([phrase(Code(name), f" is {setting_value(settings[name])}") for name in read])
    return phrase(Code(text), " (", values, ")") if read else (Code(text),)


def setting_value(value: float | bool) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else figure(value)


def gate_phrase(gate: Gate, settings: Settings = NO_SETTINGS) -> Phrase:
    """``accuracy-ceiling: If accuracy < 5, the score is at most 40.``"""
    limit = gate.cap if gate.cap is not None else gate.floor
    number: Phrase = condition(limit, settings) if isinstance(limit, str) else (figure(limit),)
    if gate.verdict is not None:
        effect = phrase("the verdict is ", Strong(gate.verdict), ", whatever the score")
    else:
        effect = phrase("the score is at most " if gate.cap is not None else "the score is at least ", number)
    before: Phrase = (" This is checked before anything is scored.",) if gate.before is True else ()
    if isinstance(gate.before, str):
        before = phrase(" This is checked before anything is scored if ", condition(gate.before, settings), ".")
    because = f" Why: {gate.because.rstrip('.')}." if gate.because else ""
    return phrase(Strong(gate.name), ": If ", condition(gate.when, settings), ", ", effect, ".", because, *before)


def verdict_phrases(verdicts: Sequence[Verdict], settings: Settings = NO_SETTINGS) -> tuple[Phrase, ...]:
    """The verdict rules, in the order they are tried."""
    return tuple(_verdict(verdict, settings, first=number == 0) for number, verdict in enumerate(verdicts))


def _verdict(verdict: Verdict, settings: Settings, *, first: bool) -> Phrase:
    because = f" Why: {verdict.because.rstrip('.')}." if verdict.because else ""
    if verdict.when is None:
        return phrase(Strong(verdict.label), " always." if first else " in every other case.", because)
    return phrase(Strong(verdict.label), " if ", condition(verdict.when, settings), ".", because)


def profile_phrase(profiles: Profiles) -> Phrase:
    """What chooses among profiles, and what is done where it is not given."""
    unknown = "Without it, or with another value,"
    if profiles.classify is not None:
        otherwise = f" {unknown} it is found from the prompt."
        otherwise += f" Where there is no prompt, {profiles.default} is used." if profiles.default else ""
    else:
        otherwise = f" {unknown} {profiles.default} is used." if profiles.default else ""
    return phrase("Weights and threshold depend on ", Code(profiles.by), ".", otherwise)


def unscored_sentence(rubric: Rubric) -> str:
    """What follows when a dimension cannot be scored."""
    policy = rubric.on_unscored
    match policy.policy:
        case "neutral":
            value = "the middle of its scale" if policy.neutral is None else figure(policy.neutral)
            return f"A dimension that cannot be scored counts as {value}, at confidence 0, and the result says so."
        case "skip":
            return "A dimension that cannot be scored is left out, and its weight is shared out among the others."
        case "inconclusive":
            return (
                "Nothing is assumed about a dimension that cannot be scored: the verdict stands only where no possible "
                "value of it could change the verdict, and is inconclusive otherwise."
            )
        case _:
            assert_never(policy.policy)
