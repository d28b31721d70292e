"""Criteria that ask the same, or that cannot both be met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import nlargest

from rubrica.errors import Problem
from rubrica.text.sentence_model import SentenceModel
from rubrica.text.words import stem

from .criterion_text import CriterionText
from .criterion_words import criterion_words
from .gist import Gist
from .lint_warning import LintWarning

MOST_COMPARED = 1_000
"""Criteria that are compared each with each; of more, only those that stand side by side."""
ALIKE = 0.75
"""Words that two criteria share, of all they have, where there is no sentence model."""
WORTH_A_LOOK = 0.12
"""The same, where the sentence model has the last word."""
SAME_MEANING = 0.75
"""How near two criteria are, by the sentence model."""
SAME_REST = 0.84
"""How near the words are in which they differ, by the sentence model: doctor and physician are."""
MOST_LEFT = 0.6
"""Words that two criteria share, of all they have, where one has all words of the other."""
MOST_READ = 300
"""Pairs that the sentence model reads, those first that share most words; words alone tell of the others."""


def pair_warnings(criteria: Sequence[CriterionText], model: SentenceModel | None = None) -> Iterator[LintWarning]:
    """Overlaps and contradictions, each told at the later criterion; without a model, by the words they share."""
    gists = [Gist.of(criterion.text) for criterion in criteria]
    is_large = len(criteria) > MOST_COMPARED
    exclusive, alike = [], []
    least = ALIKE if model is None else WORTH_A_LOOK
    for one, other in _related(gists, least):
        first, second = criteria[one], criteria[other]
        if second.within(first) or (is_large and first.path[:-2] != second.path[:-2]):
            continue
        if first.wanted and second.wanted and _exclude_each_other(gists[one], gists[other]):
            exclusive.append((one, other))
        elif gists[one].shared(gists[other]) >= least and not _numbers_differ(gists[one], gists[other]):
            alike.append((one, other))
    same = _same_meaning(alike, criteria, gists, model)
    for one, other in sorted([*exclusive, *same], key=lambda pair: (pair[1], pair[0])):
        first, second = criteria[one], criteria[other]
        is_same_side = (gists[one].denies != first.wanted) == (gists[other].denies != second.wanted)
        is_overlap = is_same_side and (one, other) not in exclusive
        yield _overlap(first, second) if is_overlap else _contradiction(first, second)


def _related(gists: Sequence[Gist], least: float) -> Iterator[tuple[int, int]]:
    """Pairs that have enough words in common, or words that are opposites: others need no closer look."""
    opposites: dict[str, set[str]] = {}
    for pair in criterion_words().opposites:
        for word in pair:
            opposites.setdefault(word, set()).update(pair - {word})
    having: dict[str, list[int]] = {}
    in_language: list[int] = []
    for at, gist in enumerate(gists):
        shared = Counter(other for word in gist.words for other in having.get(word, ()))
        near = {
            other
            for other, count in shared.items()
            if count >= least * (len(gist.words) + len(gists[other].words) - count)
            or (gist.bounds and gists[other].bounds)
            or gist.denies != gists[other].denies
        }
        if gist.language:
            near.update(other for other in in_language if gists[other].words & gist.words - {stem(gist.language)})
            in_language.append(at)
        near.update(other for word in gist.words for key in opposites.get(word, ()) for other in having.get(key, ()))
        yield from ((other, at) for other in sorted(near))
        for word in gist.words:
            having.setdefault(word, []).append(at)


def _exclude_each_other(one: Gist, other: Gist) -> bool:
    """Whether numbers, languages or ways of saying it rule each other out, or one wants none of what the other does."""
    if one.denies_all_of(other) or other.denies_all_of(one):
        return True
    if one.language and other.language and one.language != other.language and one.denies == other.denies:
        return one.words - {stem(one.language)} == other.words - {stem(other.language)}
    if any(bound.excludes(against) for bound in one.bounds for against in other.bounds):
        units = {bound.unit for bound in (*one.bounds, *other.bounds)}
        rest_one, rest_other = one.words - units, other.words - units
        return rest_one <= rest_other or rest_other <= rest_one
    if one.says or other.says or one.denies != other.denies:
        return False
    differ = (one.words - other.words, other.words - one.words)
    return len(differ[0]) == len(differ[1]) == 1 and differ[0] | differ[1] in criterion_words().opposites


def _same_meaning(
    pairs: Sequence[tuple[int, int]],
    criteria: Sequence[CriterionText],
    gists: Sequence[Gist],
    model: SentenceModel | None,
) -> list[tuple[int, int]]:
    """The pairs that are about the same, whether or not one denies it."""
    shared = {pair: gists[pair[0]].shared(gists[pair[1]]) for pair in pairs}
    if model is None:
        return [pair for pair in pairs if shared[pair] >= ALIKE]
    unclear = nlargest(MOST_READ, (pair for pair in pairs if shared[pair] < 1), key=shared.__getitem__)
    texts = [(criteria[one].text, criteria[other].text) for one, other in unclear]
    near = [
        pair
        for pair, likeness in zip(unclear, _similarities(model, texts), strict=True)
        if likeness >= SAME_MEANING or gists[pair[0]].denies != gists[pair[1]].denies  # a denial is far by itself
    ]
    rests = [(_rest(gists[one], gists[other]), _rest(gists[other], gists[one])) for one, other in near]
    read = {
        pair: likeness >= SAME_REST if all(rest) else shared[pair] >= MOST_LEFT
        for pair, rest, likeness in zip(near, rests, _similarities(model, rests), strict=True)
    }
    of_words = set(pairs) - set(unclear)
    return [pair for pair in pairs if read.get(pair) or (pair in of_words and shared[pair] >= ALIKE)]


def _similarities(model: SentenceModel, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """How near the two texts of each pair are; all are read at once, which is much faster than one by one."""
    if not pairs:
        return []
    vectors = model.encode([text for pair in pairs for text in pair])
    return [float(vectors[2 * at] @ vectors[2 * at + 1]) for at in range(len(pairs))]


def _rest(one: Gist, other: Gist) -> str:
    """The words that only one of two has."""
    return " ".join(sorted(one.words - other.words))


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
