"""The classes of error: what kind of thing an issue is, as its judge says, or by its words, which are data
(`taxonomy.yaml`), and its meaning."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

import yaml

from rubrica.text.patterns import PatternSet, Regex, compile_keywords, compile_regex

from .issue_class import class_by_meaning
from .results import Issue

Category = Literal["mathematical", "pedagogical", "linguistic", "format", "query_mismatch"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
UNCLASSIFIED = "unclassified"
"""An issue that nobody can place. It counts in the total, so that the total is the number of issues."""
TOTAL = "total_errors"
_CLASS = re.compile(
    r"\s*[\[(*]{0,3}\s*(mathematical|pedagogical|linguistic|format|query[ _-]mismatch)\s*(?:[\])*]+:?|:)", re.I
)


@dataclass(frozen=True, slots=True)
class _Rule:
    """Something that a text may be about, and the words that tell."""

    means: str
    patterns: tuple[Regex, ...]

    @classmethod
    def of(cls, means: str, words: Sequence[str], regexes: Sequence[str] = ()) -> _Rule:
        whole = [word for word in words if not word.endswith("*")]
        begun = [word.rstrip("*") for word in words if word.endswith("*")]
        patterns = [compile_keywords(whole)] if whole else []
        patterns += [compile_keywords(begun, "prefix")] if begun else []
        patterns += [compile_regex(regex, ignore_case=True) for regex in regexes]
        return cls(means, tuple(patterns))


class _Sorter:
    """Rules in the order in which they are tried, all matched in one pass."""

    def __init__(self, rules: Iterable[_Rule]) -> None:
        pairs = [(rule.means, pattern) for rule in rules for pattern in rule.patterns]
        self._means = [means for means, _ in pairs]
        self._set = PatternSet([pattern for _, pattern in pairs])

    def first(self, text: str) -> str | None:
        found = self._set.matching(text)
        return self._means[found[0]] if found else None


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """The classes of error, and the sections of a question that remarks are about."""

    phrases: _Sorter  # that settle it
    words: _Sorter  # that hint at it
    sections: _Sorter
    gates: Mapping[str, str]
    dimensions: Mapping[str, str]
    nothing: frozenset[str]

    def category(self, text: str, *, dimension: str = "", gate: str = "") -> str:
        """The class of an issue: by its gate, by its words and meaning, by its dimension, or unclassified."""
        if gate in self.gates:
            return self.gates[gate]
        settled, hinted = self.phrases.first(text), self.words.first(text)
        meant = None if dimension else class_by_meaning(text, settled, hinted)
        return meant or settled or hinted or self.dimensions.get(dimension) or UNCLASSIFIED

    def judged(self, text: str) -> tuple[str, str]:
        """A judge's issue and its class: the one that the judge put in front of it, or that of its words.

        >>> taxonomy().judged("[format] option D is missing")
        ('option D is missing', 'format')
        """
        given = _CLASS.match(text)
        if given is not None:
            name = given[1].lower().replace(" ", "_").replace("-", "_")
            rest = text[given.end() :].strip()
            if name in CATEGORIES and rest:
                return rest, name
        return text, self.category(text)

    def section(self, text: str, category: str = "") -> str:
        """The section that a remark is about."""
        return self.sections.first(text) or ("scaffolding" if category == "pedagogical" else "question")

    def says_nothing(self, text: str) -> bool:
        """Whether a remark only says that there is none."""
        return " ".join(text.lower().split()).strip(" .!-") in self.nothing


@cache
def taxonomy() -> Taxonomy:
    """The bundled one."""
    data: dict[str, Any] = yaml.safe_load((resources.files("rubrica.education") / "taxonomy.yaml").read_text("utf-8"))
    return Taxonomy(
        _sorter(data["phrases"]),
        _sorter(data["words"]),
        _Sorter(_Rule.of(name, words) for name, words in data["sections"].items()),
        data["gates"],
        data["dimensions"],
        frozenset([*map(str, data["nothing"]), ""]),
    )


def _sorter(rules: Iterable[Mapping[str, Any]]) -> _Sorter:
    return _Sorter(_Rule.of(rule["category"], rule["words"], rule.get("regex", ())) for rule in rules)


def classify(issue: str) -> str:
    """The class of an issue by what it says alone.

    >>> classify("calculation error in step 2"), classify("DI format not followed"), classify("incorrect format")
    ('mathematical', 'pedagogical', 'format')
    >>> classify("xyzzy")
    'unclassified'
    """
    return taxonomy().category(issue)


def count_errors(issues: Iterable[Issue]) -> dict[str, int]:
    """Issues by class. `unclassified` is one of them, and `total_errors` is the sum of all.

    >>> count_errors([Issue(text="grammar error", category="linguistic", section="question")])["total_errors"]
    1
    """
    return taxonomy_counts(Counter(issue.category for issue in issues))


def taxonomy_counts(errors: Mapping[str, int], total: str = TOTAL) -> dict[str, int]:
    """Counts of classes of error with none left out, and their sum under the name `total`."""
    counts = {**dict.fromkeys((*CATEGORIES, UNCLASSIFIED), 0), **errors}
    return {**counts, total: sum(counts.values())}
