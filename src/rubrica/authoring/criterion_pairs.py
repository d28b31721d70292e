"""Criteria that ask the same, or that cannot both be met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from rubrica.errors import Problem
from rubrica.text.sentence_model import SentenceModel, sentence_model

from .criterion_text import CriterionText
from .criterion_words import criterion_words
from .gist import Gist
from .lint_warning import LintWarning

MOST_COMPARED = 1_000
"""Criteria that are compared each with each; of more, only those that stand side by side."""
ALIKE = 0.75
"""Words that two criteria share, of all they have, where there is no sentence model."""
WORTH_A_LOOK = 0.3
"""The same, where the sentence model has the last word."""
SAME_MEANING = 0.75
"""How near two criteria are, by the sentence model."""
SAME_REST = 0.6
"""How near the words are in which they differ, by the sentence model: adults and children are not."""


def pair_warnings(criteria: Sequence[CriterionText], model: SentenceModel | None = None) -> Iterator[LintWarning]:
    """Overlaps and contradictions, each told at the later criterion. `model`: left out, the one that is installed."""
    gists = [Gist.of(criterion.text) for criterion in criteria]
    is_large = len(criteria) > MOST_COMPARED
    for one, other in combinations(range(len(criteria)), 2):
        first, second = criteria[one], criteria[other]
        if second.within(first) or (is_large and first.path[:-2] != second.path[:-2]):
            continue
        if _exclude_each_other(gists[one], gists[other]) and first.wanted and second.wanted:
            yield _contradiction(first, second)
        elif _ask_the_same(gists[one], gists[other], first.text, second.text, model):
            is_same_side = (gists[one].denies != first.wanted) == (gists[other].denies != second.wanted)
            yield _overlap(first, second) if is_same_side else _contradiction(first, second)


def _exclude_each_other(one: Gist, other: Gist) -> bool:
    """Whether numbers or ways of saying it rule each other out."""
    if any(bound.excludes(against) for bound in one.bounds for against in other.bounds):
        units = {bound.unit for bound in (*one.bounds, *other.bounds)}
        rest_one, rest_other = one.words - units, other.words - units
        return rest_one <= rest_other or rest_other <= rest_one
    if one.says or other.says or one.denies != other.denies:
        return False
    differ = (one.words - other.words, other.words - one.words)
    return len(differ[0]) == len(differ[1]) == 1 and differ[0] | differ[1] in criterion_words().opposites


def _ask_the_same(one: Gist, other: Gist, first: str, second: str, model: SentenceModel | None) -> bool:
    """Whether two criteria are about the same, whether or not they deny it."""
    shared = one.shared(other)
    if shared < WORTH_A_LOOK or _numbers_differ(one, other):
        return False
    if shared == 1:
        return True
    model = sentence_model() if model is None else model
    if model is None:
        return shared >= ALIKE
    if one.denies == other.denies and model.similarity(first, second) < SAME_MEANING:
        return False
    rest = (" ".join(sorted(one.words - other.words)), " ".join(sorted(other.words - one.words)))
    return model.similarity(*rest) >= SAME_REST if all(rest) else shared >= SAME_REST


def _numbers_differ(one: Gist, other: Gist) -> bool:
    if one.bounds != other.bounds:
        return True
    return {word for word in one.words if word.isdigit()} != {word for word in other.words if word.isdigit()}


def _overlap(first: CriterionText, second: CriterionText) -> LintWarning:
    why = f"asks the same as {Problem('', first.path).where}: {first.text!r}, so it counts twice"
    longer = max(first.text, second.text, key=len)
    return LintWarning("overlap", Problem(why, second.path), f"only one of them: {longer}")


def _contradiction(first: CriterionText, second: CriterionText) -> LintWarning:
    why = f"cannot be met together with {Problem('', first.path).where}: {first.text!r}"
    return LintWarning("contradiction", Problem(why, second.path), f"only one of them: {first.text}")
