"""Rules, gates and verdicts of a rubric in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import assert_never

from rubrica.errors import FormulaError
from rubrica.formula import parse
from rubrica.model.rubric import Check, Gate, Recipe, Rubric, Verdict
from rubrica.model.rules import (
    Adjust,
    Amount,
    CrossRoundAnalysis,
    CustomExpression,
    MetricThreshold,
    Pattern,
    PatternDetection,
    PenalisedPattern,
    Penalty,
    Rule,
    ScoredPattern,
    Threshold,
)
from rubrica.model.scale import Scale

from .figures import figure, percent, signed
from .prose import Code, Phrase, Strong, listed, phrase

Settings = Mapping[str, float | bool]
NO_SETTINGS: Settings = MappingProxyType({})
KEYWORDS_SHOWN = 40
MATCH_WORDS = {"word": "as whole words", "prefix": "as the beginning of words", "substring": "anywhere"}


def recipe_phrases(recipe: Recipe, scale: Scale) -> tuple[Phrase, tuple[Phrase, ...]]:
    """How a score is made without a model: a sentence that opens the list, and the list."""
    if recipe.formula is not None:
        return phrase(
            "The score is ", Code(recipe.formula), f", kept between {figure(scale.min)} and {figure(scale.max)}."
        ), ()
    if recipe.checks:
        opening = f"The score is the share of these checks that hold, spread over {scale}:"
        return (opening,), tuple(_check(check) for check in recipe.checks)
    return phrase(_opening(recipe, scale)), tuple(line for rule in recipe.rules for line in rule_phrases(rule))


def _check(check: Check) -> Phrase:
    weight = f", weight {figure(check.weight)}" if check.weight != 1 else ""
    otherwise = f"; otherwise: {check.otherwise}" if check.otherwise else ""
    return phrase(Strong(check.name), ": ", Code(check.that), weight, otherwise)


def _opening(recipe: Recipe, scale: Scale) -> str:
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


def rule_phrases(rule: Rule) -> Iterator[Phrase]:
    """One rule in words; a rule with several patterns gives a line for each."""
    match rule:
        case PatternDetection() | Penalty():
            for pattern in rule.patterns:
                yield _pattern_points(pattern)
        case MetricThreshold():
            rows = [_threshold(row) for row in rule.thresholds]
            yield phrase("By ", Code(rule.metric), ", the first that fits: ", listed(rows, "; "), ".")
        case CrossRoundAnalysis():
            yield from _cross_round(rule)
        case CustomExpression():
            needs = phrase(" (needs ", listed([Code(name) for name in rule.required_context]), ")")
            yield phrase(
                Strong(rule.name or "Formula"),
                ": as many points as ",
                Code(rule.expression),
                needs if rule.required_context else "",
                ".",
            )
        case Adjust():
            condition = phrase("when ", Code(rule.when)) if rule.when != "True" else ("always",)
            told = phrase(f": {rule.because} (", condition, ").") if rule.because else phrase(" ", condition, ".")
            yield phrase(_amount(rule.add), told)
        case _:
            assert_never(rule)


def _pattern_points(pattern: ScoredPattern | PenalisedPattern) -> Phrase:
    points = pattern.score if isinstance(pattern, ScoredPattern) else pattern.penalty
    match pattern.count:
        case "once":
            often = ""
        case "each":
            often = " for each match"
        case "capped":
            often = f" for each match, {pattern.at_most} at most"
    reason = pattern.reason if isinstance(pattern, PenalisedPattern) else ""
    name = pattern.name.replace("_", " ")
    told = "; ".join(part for part in (name, reason) if part)
    return phrase(
        Strong(signed(points)),
        f"{often} when the {pattern.field} has ",
        pattern_phrase(pattern),
        f" ({told})." if told else ".",
    )


def pattern_phrase(pattern: Pattern) -> Phrase:
    """What a pattern looks for."""
    if pattern.regex is not None:
        return phrase("a match of ", Code(pattern.regex), ", in capitals or not" if pattern.ignore_case else "")
    shown = ", ".join(f"“{word}”" for word in pattern.keywords[:KEYWORDS_SHOWN])
    more = f" and {len(pattern.keywords) - KEYWORDS_SHOWN} more" if len(pattern.keywords) > KEYWORDS_SHOWN else ""
    if len(pattern.keywords) == 1:
        return (f"{shown} {MATCH_WORDS[pattern.match].replace('words', 'word')}",)
    return (f"any of {shown}{more} ({MATCH_WORDS[pattern.match]})",)


def _threshold(row: Threshold) -> Phrase:
    worth: Phrase = (figure(row.score),) if row.score is not None else (Code(row.score_formula or ""),)
    if row.default or row.operator is None:
        return phrase("otherwise ", worth)
    return phrase(Code(f"{row.operator} {row.value:g}"), " gives ", worth)


def _cross_round(rule: CrossRoundAnalysis) -> Iterator[Phrase]:
    track, scoring = Code(rule.track), rule.scoring
    if scoring.callback_detected:
        back = "an earlier round" if rule.callback_gap == 1 else f"a round at least {rule.callback_gap} rounds back"
        items = "something" if rule.callback_items == 1 else f"at least {rule.callback_items} things"
        yield phrase(
            Strong(signed(scoring.callback_detected)), f" when {items} from {back} comes up again (by ", track, ")."
        )
    if scoring.escalation_detected:
        rounds = f" when it rose over each of the last {rule.escalation_rounds} rounds (by "
        yield phrase(Strong(signed(scoring.escalation_detected)), rounds, track, ").")
    if scoring.consistency_bonus:
        alike = (
            f" when at least {percent(rule.consistency_share)} of the earlier rounds share something with this one (by "
        )
        if rule.track not in ("entity_mentions", "year_mentions"):
            alike = f" when it lies within {percent(rule.consistency_tolerance)} of its earlier mean (by "
        yield phrase(Strong(signed(scoring.consistency_bonus)), alike, track, ").")


def _amount(amount: Amount) -> Phrase:
    return phrase("Add ", Code(amount)) if isinstance(amount, str) else (Strong(signed(amount)),)


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
