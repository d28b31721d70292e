"""The classes of error: what kind of thing an issue is, decided by its words. The words are data (`taxonomy.yaml`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

import yaml

from rubrica.text.patterns import PatternSet, Regex, compile_keywords, compile_regex

from .results import Issue

Category = Literal["mathematical", "pedagogical", "linguistic", "format", "query_mismatch"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
UNCLASSIFIED = "unclassified"
"""An issue that nobody can place. It counts in the total, so that the total is the number of issues."""
TOTAL = "total_errors"


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

    rules: _Sorter
    sections: _Sorter
    gates: Mapping[str, str]
    dimensions: Mapping[str, str]
    nothing: frozenset[str]

    def category(self, text: str, *, dimension: str = "", gate: str = "") -> str:
        """The class of an issue: by its gate, by its words, by the dimension it was found under, or unclassified."""
        return self.gates.get(gate) or self.rules.first(text) or self.dimensions.get(dimension) or UNCLASSIFIED

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
        _Sorter(_Rule.of(rule["category"], rule["words"], rule.get("regex", ())) for rule in data["rules"]),
        _Sorter(_Rule.of(name, words) for name, words in data["sections"].items()),
        data["gates"],
        data["dimensions"],
        frozenset([*map(str, data["nothing"]), ""]),
    )


def classify(issue: str) -> str:
    """The class of an issue by its words alone.

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
