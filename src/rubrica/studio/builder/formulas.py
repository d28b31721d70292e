"""Help with formulas: suggestions, errors with their column, and the value on a sample."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from rubrica.engine.vocabulary import Scope
from rubrica.errors import FormulaError, FormulaFault, PatternError
from rubrica.formula import FUNCTIONS, Formula, name_hint, never_a_name, parse
from rubrica.model.answers import label_name
from rubrica.model.context import Context, Metadata
from rubrica.model.decisions import Profiles
from rubrica.model.evaluation import Evaluation
from rubrica.model.rules import Pattern
from rubrica.scorers.namespace import CONTEXT_COUNTS, NameSources, Namespace
from rubrica.scorers.pattern_table import PatternTable
from rubrica.scoring.decision_plan import share_name
from rubrica.text import text_features
from rubrica.text.texts import Texts

from .document import Data, at, mapping_at

MOST_OFFERED = 8
WIDEST = 56
"""Characters of a formula that are shown above the caret."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$", re.ASCII)
_WORD_ON = re.compile(r"[A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class NameSuggestion:
    """A name that a formula may read, or a function it may call."""

    name: str
    says: str
    call: bool = False


@dataclass(frozen=True, slots=True)
class FormulaProblem:
    """What is wrong with a formula, and the column (from 1) where it is."""

    message: str
    column: int = 1
    fix: str = ""


@dataclass(slots=True)
class FormulaSample:
    """A sample on which formulas are tried: its context, and what the draft made of it where it could.

    Many formulas read the same features of the same texts: each is worked out once.
    """

    context: Context = field(default_factory=Context)
    evaluation: Evaluation | None = None
    _texts: Texts = field(init=False, repr=False)
    _features: dict[str, float] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        context = self.context
        self._texts = Texts(context.prompt, context.response, context.history, context.asked)

    def feature(self, name: str) -> float:
        """A text feature of the sample."""
        if name not in self._features:
            self._features[name] = text_features()[name].compute(self._texts)
        return self._features[name]


def _labels(document: Data, dimension: str, axis: str) -> list[str]:
    """The answers of a dimension, or of a part of it."""
    inner = () if axis == dimension else ("parts", axis)
    return list(mapping_at(document, ("dimensions", dimension, *inner, "answers")))


def suggestions(document: Data, scope: Scope) -> list[NameSuggestion]:
    """Everything that a formula of the document may read, the document's own names first."""
    own: list[NameSuggestion] = []
    if scope == "reliability":
        own.append(NameSuggestion("offline_value", "the score that the rules gave"))
    elif scope != "context":
        for name, dimension in mapping_at(document, ("dimensions",)).items():
            title = dimension.get("title") if isinstance(dimension, Mapping) else ""
            own.append(NameSuggestion(name, f"score of the dimension {title or name}"))
            parts = mapping_at(dimension, ("parts",))
            own += [NameSuggestion(part, f"score of a part of {name}") for part in parts]
            own.append(NameSuggestion(share_name(name), f"{name} as a share of full marks, 0 to 1"))
            for axis, spec in ((name, dimension), *parts.items()):
                labels = mapping_at(spec, ("answers",))
                own += [NameSuggestion(label_name(axis, label), f"whether the answer is {label}") for label in labels]
    if scope in ("gates", "section"):
        own.append(NameSuggestion("score", "the score so far"))
    if scope == "section":
        own.append(NameSuggestion("section", "the section's own score"))
    if has_threshold(document):
        own.append(NameSuggestion("threshold", "the threshold, of the profile where there is one"))
    own += [NameSuggestion(name, f"a setting, {value}") for name, value in mapping_at(document, ("settings",)).items()]
    own += [NameSuggestion(name, "matches of a named pattern") for name in mapping_at(document, ("patterns",))]
    for name, given in mapping_at(document, ("context",)).items():
        says = given if isinstance(given, str) else at(given, ("says",), "")
        own.append(NameSuggestion(name, says or "given with the context"))
    known = {offer.name for offer in own}
    own += [NameSuggestion(name, feature.says) for name, feature in text_features().items() if name not in known]
    own += [NameSuggestion(name, says) for name, (says, _) in CONTEXT_COUNTS.items()]
    own += [
        NameSuggestion(name, "of the response's metadata") for name in ("response_time", "token_count", "round_number")
    ]
    return own + [NameSuggestion(name, f"{call.usage}: {call.says}", call=True) for name, call in FUNCTIONS.items()]


def has_threshold(document: Data) -> bool:
    """Whether formulas may read `threshold`."""
    profiles = [
        profile for key, profile in mapping_at(document, ("profiles",)).items() if key not in Profiles.model_fields
    ]
    return at(document, ("threshold",)) is not None or (
        bool(profiles) and all(at(profile, ("threshold",)) is not None for profile in profiles)
    )


def completions(text: str, caret: int, offered: Sequence[NameSuggestion]) -> list[NameSuggestion]:
    """What the word before the caret may become; nothing where no word is begun or it is whole already.

    >>> known = [NameSuggestion(name, "") for name in ("word_count", "a_word", "x")]
    >>> [suggestion.name for suggestion in completions("wor", 3, known)]
    ['word_count', 'a_word']
    """
    found = _WORD.search(text[:caret])
    if found is None:
        return []
    word = found[0].lower()
    starts = [offer for offer in offered if offer.name.lower().startswith(word)]
    holds = [offer for offer in offered if word in offer.name.lower() and offer not in starts]
    near = (*starts, *holds)[: MOST_OFFERED + 1]
    if any(offer.name == found[0] for offer in near[:1]) and len(starts) == 1:
        return []
    return list(near[:MOST_OFFERED])


def completed(text: str, caret: int, offer: NameSuggestion) -> tuple[str, int]:
    """The text with the word at the caret replaced by an offer, and where the caret is then.

    >>> completed("2 * wo + 1", 6, NameSuggestion("word_count", ""))
    ('2 * word_count + 1', 14)
    """
    found = _WORD.search(text[:caret])
    start = caret if found is None else found.start()
    rest = _WORD_ON.match(text, caret)
    end = caret if rest is None else rest.end()
    word = f"{offer.name}(" if offer.call and text[end : end + 1] != "(" else offer.name
    return text[:start] + word + text[end:], start + len(word)


def fault_of(text: str, document: Data, scope: Scope) -> FormulaProblem | None:
    """What is wrong with a formula at its place: its grammar, or a name that has no value there."""
    try:
        formula = parse(text)
    except FormulaError as error:
        column = error.column + sum(len(line) + 1 for line in text.split("\n")[: error.line - 1])
        return FormulaProblem(error.message, column, error.fix)
    names = {offer.name for offer in suggestions(document, scope) if not offer.call} | set(Metadata.model_fields)
    later = {offer.name for offer in suggestions(document, "section")}
    closed = "context" in document
    for name in sorted(formula.names, key=lambda name: _column(text, name)):
        if name in names or not (
            name in later or name in ("score", "section", "threshold") or closed or never_a_name(name)
        ):
            continue
        column = _column(text, name)
        if name in later or name in ("score", "section"):
            return FormulaProblem(f"{name!r} has no value here: it is known only after scoring", column)
        if name == "threshold":
            return FormulaProblem("there is no threshold", column, "set one for the rubric, or for every profile")
        hint = name_hint(name, names)
        return FormulaProblem(f"the name {name!r} is not known", column, hint or "declare it among the context names")
    return None


def _column(text: str, name: str) -> int:
    found = re.search(rf"\b{re.escape(name)}\b", text)
    return 1 if found is None else found.start() + 1


def pointed(text: str, column: int) -> tuple[str, str]:
    """The stretch of a formula around a column, and a line with a caret under that column.

    >>> pointed("a > 3 && b", 7)
    ('a > 3 && b', '      ^')
    """
    flat = text.replace("\n", " ").replace("\t", " ")
    start = max(0, min(column - 1 - WIDEST // 2, len(flat) - WIDEST))
    shown = flat[start : start + WIDEST]
    ahead = "…" if start else ""
    behind = "…" if start + WIDEST < len(flat) else ""
    return ahead + shown + behind, " " * (column - 1 - start + len(ahead)) + "^"


def value_of(text: str, document: Data, scope: Scope, formula_sample: FormulaSample) -> tuple[float | None, str]:
    """The value of a formula on the sample; without one, why there is none."""
    try:
        formula = parse(text)
    except FormulaError:
        return None, ""
    try:
        return float(formula.value(_names(formula, document, scope, formula_sample))), ""
    except FormulaFault as fault:
        return None, str(fault)


def shown_value(value: float, text: str) -> str:
    """A value as it is told: a condition is true or false.

    >>> shown_value(1.0, "a > 2"), shown_value(0.123456, "a / b")
    ('true', '0.1235')
    """
    if _is_condition(text):
        return "true" if value else "false"
    return f"{value:.4g}" if math.isfinite(value) else str(value)


def _is_condition(text: str) -> bool:
    kind = type(parse(text).root).__name__
    return kind in ("Compare", "Logic", "Not")


def _names(formula: Formula, document: Data, scope: Scope, formula_sample: FormulaSample) -> Namespace:
    """The sample as a formula reads it: what is half-written in the document is left out."""
    lexicon = PatternTable()
    for name, pattern in mapping_at(document, ("patterns",)).items():
        if name in formula.names:
            try:
                lexicon.named[name] = lexicon.add(Pattern.model_validate(pattern))
            except (PatternError, ValidationError):
                continue
    lexicon.build()
    known: dict[str, Any] = {name: formula_sample.feature(name) for name in formula.names if name in text_features()}
    known |= mapping_at(document, ("settings",))
    threshold = at(document, ("threshold",))
    judged = formula_sample.evaluation
    if judged is not None and judged.threshold is not None:
        threshold = judged.threshold
    if threshold is not None:
        known["threshold"] = threshold
    if judged is not None and scope != "context":
        for name, result in judged.dimensions.items():
            known |= {name: result.value, share_name(name): result.share}
            known |= {part: inner.value for part, inner in (result.parts or {}).items()}
            for axis, own in ((name, result), *(result.parts or {}).items()):
                known |= {label_name(axis, label): float(label == own.label) for label in _labels(document, name, axis)}
        if scope != "score" and judged.score is not None:
            known["score"] = judged.score
    defaults = {
        name: at(given, ("default",))
        for name, given in mapping_at(document, ("context",)).items()
        if at(given, ("default",)) is not None or at(given, ("optional",))
    }
    return Namespace(formula_sample.context, NameSources(lexicon, tuple(sorted(formula.names)), defaults), known)
