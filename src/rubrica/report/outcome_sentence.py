"""Why an evaluation came out as it did, as one sentence: points, what a verdict needs, and where most was lost.

``16 points; send needs 70. Most lost: Solves the problem.`` An evaluation's own reason repeats the conditions of the
verdicts with the values they met, which reads the same on every row of a table.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from rubrica.errors import FormulaError
from rubrica.formula import parse
from rubrica.formula.nodes import Compare, Logic, Name, Node, Number
from rubrica.model.evaluation import INCONCLUSIVE
from rubrica.model.rubric import Rubric
from rubrica.scoring.conclude import KNOWN_WITHIN_BOUNDS

from .figures import figure, headline
from .roles import Role, role_of
from .titles import dimension_titles

LEAST_LOST = 0.005
"""Shares of full marks below which nothing counts as lost."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt,
}  # fmt: skip
_WORDS = {">=": "", ">": "more than ", "<=": "at most ", "<": "less than "}
_RANKS: Mapping[Role, int] = {"bad": 0, "middle": 1, "good": 2}


class OutcomeFacts(msgspec.Struct, frozen=True):
    """What the sentence is made of; values of dimensions are on their own scale."""

    verdict: str
    score: float | None
    out_of: float
    reason: str = ""
    profile: str | None = None
    dimensions: Mapping[str, float | None] | None = None


class _Need(msgspec.Struct, frozen=True):
    """One comparison that a verdict needs: a name, and a number or the name of one."""

    name: str
    op: str
    bound: float | str


class OutcomeSentences:
    """The sentences of one rubric; its verdicts are read once."""

    def __init__(self, rubric: Rubric | None) -> None:
        self._rubric = rubric
        self._needs = [(rule.label, rule.because, _needs(rule.when)) for rule in rubric.verdicts] if rubric else []
        self._ranks = {label: _RANKS.get(role_of(label, rubric)) for label, _, _ in self._needs}
        self._titles = dimension_titles(rubric)
        self._settings = {name: float(value) for name, value in rubric.settings.items()} if rubric else {}

    def of(self, facts: OutcomeFacts) -> str:
        """Why it came out so."""
        rubric = self._rubric
        gated = facts.reason.startswith("gate ")
        if rubric is None or facts.score is None or gated or facts.verdict == INCONCLUSIVE:
            return self._as_it_says(facts)
        said = [self._points(facts)]
        own = [told for label, told, _ in self._needs if label == facts.verdict and told]
        because = next((told for told in own if facts.reason.startswith(told)), own[0] if own else "")
        if because:
            said.insert(0, sentence(because))
        if lost := self._most_lost(facts):
            said.append(sentence(f"Most lost: {lost}"))
        return " ".join(said)

    def in_table(self, facts: OutcomeFacts) -> str:
        """The same for a row of a table: the bounds that leave a verdict open are not listed on every row."""
        before, bounded, _ = facts.reason.partition(f" {KNOWN_WITHIN_BOUNDS}")
        if facts.verdict != INCONCLUSIVE or not bounded:
            return self.of(facts)
        lost = self._most_lost(facts)
        told = self._as_it_says(replace(facts, reason=f"{before} leave it open"))
        return f"{told} {sentence(f'Most lost: {lost}')}" if lost else told

    def _as_it_says(self, facts: OutcomeFacts) -> str:
        """The reason as it is kept, dimensions by their titles where it is not a formula that names them."""
        if facts.verdict != INCONCLUSIVE or self._rubric is None:
            return sentence(facts.reason)
        return sentence(_NAME.sub(lambda found: self.title(found[0], found[0]), facts.reason))

    def _points(self, facts: OutcomeFacts) -> str:
        score = figure(round(facts.score or 0.0, 1 if facts.out_of > 1 else 2))
        told = f"{score} points" if facts.out_of == 100 else f"{score} of {figure(facts.out_of)}"
        need = self._nearest(facts)
        return f"{told}; {need}." if need else f"{told}."

    def _nearest(self, facts: OutcomeFacts) -> str:
        """What the verdict above would have needed, or what this one did where there is no better one above."""
        values = {"score": facts.score, **(facts.dimensions or {})}
        nearest = ""
        for label, _, needs in self._needs:
            if label == facts.verdict:
                return nearest or self._held(label, needs, facts)
            if self._is_worse(label, facts.verdict):
                continue
            for need in needs:
                value, bound = values.get(need.name), self._bound(need, facts)
                if value is not None and bound is not None and not _HOLDS[need.op](value, bound):
                    nearest = self._told(label, need, facts) or nearest
                    break
        return nearest

    def _is_worse(self, label: str, other: str) -> bool:
        """Whether a verdict is worse than another one; a list of verdicts may begin with the worst."""
        mine, its = self._ranks.get(label), self._ranks.get(other)
        return mine is not None and its is not None and mine < its

    def _held(self, label: str, needs: list[_Need], facts: OutcomeFacts) -> str:
        """What brought about a verdict: the score it needs, or else how low a dimension is."""
        for need in needs:
            if need.name == "score" and need.op in (">=", ">"):
                return self._told(label, need, facts)
        for need in needs:
            bound = self._bound(need, facts)
            if need.name in (facts.dimensions or {}) and need.op in ("<=", "<") and bound is not None:
                return (
                    f"{label.replace('_', ' ')}: {self.title(need.name)} is {_WORDS[need.op]}{figure(round(bound, 2))}"
                )
        return ""

    def _told(self, label: str, need: _Need, facts: OutcomeFacts) -> str:
        bound = self._bound(need, facts)
        if bound is None:
            return ""
        what = "" if need.name == "score" else f"{self.title(need.name)} "
        return f"{label.replace('_', ' ')} needs {what}{_WORDS[need.op]}{figure(round(bound, 2))}"

    def _bound(self, need: _Need, facts: OutcomeFacts) -> float | None:
        if not isinstance(need.bound, str):
            return need.bound
        rubric = self._rubric
        if need.bound != "threshold" or rubric is None:
            return self._settings.get(need.bound)
        own = rubric.profiles.named.get(facts.profile or "") if rubric.profiles is not None else None
        return own.threshold if own is not None and own.threshold is not None else rubric.threshold

    def _most_lost(self, facts: OutcomeFacts) -> str:
        """The dimension that cost most of the score, by its weight where there are weights."""
        rubric = self._rubric
        if rubric is None or len(rubric.dimensions) < 2:
            return ""
        own = rubric.profiles.named.get(facts.profile or "") if rubric.profiles is not None else None
        weights = own.weights if own is not None and own.weights else {}
        lost: list[tuple[float, str]] = []
        for name, dimension in rubric.dimensions.items():
            value = (facts.dimensions or {}).get(name)
            if value is not None:
                weight = weights.get(name, 0.0) if weights else dimension.weight
                lost.append(((1 - rubric.scale_of(name).share(value)) * (1.0 if weight is None else weight), name))
        most = max(lost, key=lambda one: one[0], default=(0.0, ""))
        return self.title(most[1]) if most[0] > LEAST_LOST else ""

    def title(self, name: str, other: str | None = None) -> str:
        """What a dimension, or a part of one, is called; `other` where the rubric has none of that name."""
        return self._titles.get(name, headline(name) if other is None else other)


def sentence(text: str) -> str:
    """Words that begin with a capital and end with a full stop; names in formulas stay as they are.

    >>> sentence("it is late"), sentence("word_count > 5")
    ('It is late.', 'word_count > 5.')
    """
    words = text.strip()
    if not words:
        return ""
    first = words.split()[0]
    begun = words if "_" in first else words[:1].upper() + words[1:]
    return begun if begun.endswith((".", "!", "?", "…")) else f"{begun}."


def _needs(when: str | None) -> list[_Need]:
    """The plain comparisons among what a condition asks for, of those that must all hold."""
    try:
        root = parse(when).root if when is not None else None
    except FormulaError:
        return []
    parts: tuple[Node, ...] = root.operands if isinstance(root, Logic) and root.op == "and" else (root,) if root else ()
    found = []
    for part in parts:
        if isinstance(part, Compare) and len(part.rest) == 1 and isinstance(part.first, Name):
            op, right = part.rest[0]
            if op in _HOLDS and isinstance(right, Number | Name):
                found.append(_Need(part.first.name, op, right.value if isinstance(right, Number) else right.name))
    return found
