"""The words by which lint reads a criterion: verbs, qualities, words that two readers take differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from rubrica.text.words import stem


@dataclass(frozen=True, slots=True)
class CriterionWords:
    """Word lists. Verbs are in two forms, `states` and `state`; from `saying` on, words are cut to their stems, but
    for languages."""

    auxiliaries: frozenset[str]
    determiners: frozenset[str]
    openers: frozenset[str]  # what begins an object or a clause after a verb
    asking: frozenset[str]
    clauses: frozenset[str]  # what begins a condition
    relatives: frozenset[str]
    linking: frozenset[str]  # verbs that say what something is
    before_but: frozenset[str]  # after these, but joins nothing: nothing but, not this but that
    verbs: frozenset[str]
    noun_verbs: frozenset[str]  # verbs that are nouns as well
    all_verbs: frozenset[str]
    third_persons: frozenset[str]  # what begins a criterion: Names the author
    qualities: Mapping[str, int]  # an adjective, and which of the groups that mean the same it is in
    fixed_pairs: tuple[str, ...]
    relations: frozenset[str]
    vague: Mapping[str, str]  # a word, and what could be asked instead
    vague_at_end: Mapping[str, str]
    open_ended: tuple[str, ...]
    saying: frozenset[str]
    withholding: frozenset[str]
    actors: frozenset[str]
    languages: frozenset[str]
    opposites: frozenset[frozenset[str]]


@cache
def criterion_words() -> CriterionWords:
    """The lists, read once."""
    data = yaml.safe_load(files(__package__).joinpath("criterion_words.yaml").read_text(encoding="utf-8"))
    nouns = data["also_nouns"].split()
    verbs = [verb for verb in data["verbs"].split() if verb not in nouns]
    grammar = {name: frozenset(words.split()) for name, words in data["grammar"].items()}
    return CriterionWords(
        **grammar,
        verbs=_both_forms(verbs),
        noun_verbs=_both_forms(nouns),
        all_verbs=_both_forms([*verbs, *nouns]),
        third_persons=frozenset(map(third_person, [*verbs, *nouns])),
        qualities={word: at for at, line in enumerate(data["qualities"]) for word in line.split()},
        fixed_pairs=tuple(data["fixed_pairs"]),
        relations=frozenset(data["relations"].split()),
        vague=data["vague"],
        vague_at_end=data["vague_at_end"],
        open_ended=tuple(data["open_ended"]),
        saying=frozenset(map(stem, data["saying"].split())),
        withholding=frozenset(map(stem, data["withholding"].split())),
        actors=frozenset(map(stem, data["actors"].split())),
        languages=frozenset(data["languages"].split()),
        opposites=frozenset(frozenset(map(stem, pair)) for pair in data["opposites"]),
    )


def third_person(verb: str) -> str:
    """The form of a verb that stands after "it".

    >>> [third_person(verb) for verb in ("say", "deny", "address", "teach", "state")]
    ['says', 'denies', 'addresses', 'teaches', 'states']
    """
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _both_forms(verbs: list[str]) -> frozenset[str]:
    return frozenset(form for verb in verbs for form in (verb, third_person(verb)))
