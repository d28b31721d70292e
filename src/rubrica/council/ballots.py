"""A reviewer's ballot made clean: every answer once, nobody unknown, and what was cleaned told."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

SHOWN = 40  # characters of a name in a note
_DRESS = re.compile(r"^(?:the\s+)?(?:response|answer|candidate|option)\s*[:#]?\s*", re.IGNORECASE)


class Ballot(msgspec.Struct, frozen=True):
    """One vote: labels from best to worst, and what had to be cleaned."""

    order: tuple[str, ...]
    notes: tuple[str, ...] = ()


def clean_ballot(names: Iterable[str], labels: Collection[str]) -> Ballot:
    """A ranking as one vote: a name counts where it stands first, and what is no label is left out.

    >>> clean_ballot(["Response B", "A", "response b", "Zed"], "ABC")
    Ballot(order=('B', 'A'), notes=('named B twice', 'named Zed, which it was not shown', 'left out C'))
    """
    order, repeated, unknown = _sorted_out(names, labels)
    left_out = [label for label in labels if label not in order]
    return Ballot(
        tuple(order), (*_notes(repeated, unknown), *([f"left out {', '.join(left_out)}"] if left_out else []))
    )


def stray_names(names: Iterable[str], labels: Collection[str]) -> tuple[str, ...]:
    """What is odd about the names under which scores were given; each answer has one vote, whatever is repeated.

    >>> stray_names(["A", "Response A", "Response Q"], "AB")
    ('named A twice', 'named Response Q, which it was not shown')
    """
    _, repeated, unknown = _sorted_out(names, labels)
    return _notes(repeated, unknown)


def hold_ceilings(order: Sequence[str], ceilings: Mapping[str, float]) -> tuple[str, ...]:
    """A ranking in which what others' scores hold down stands behind what they do not: it lifts no ceiling.

    `ceilings` has infinity for an answer without one. An answer that is not in it, because nobody has scored it, keeps
    its place: it may have a ceiling, too.

    >>> from math import inf
    >>> hold_ceilings(["B", "A", "C"], {"B": 4.0, "A": inf, "C": inf}), hold_ceilings(["B", "A"], {"B": 4.0})
    (('A', 'C', 'B'), ('B', 'A'))
    """
    held = iter(sorted((label for label in order if label in ceilings), key=lambda label: -ceilings[label]))
    return tuple(next(held) if label in ceilings else label for label in order)


def _sorted_out(names: Iterable[str], labels: Collection[str]) -> tuple[list[str], list[str], list[str]]:
    known = {label.casefold(): label for label in labels}
    order: list[str] = []
    repeated: list[str] = []
    unknown: list[str] = []
    for name in names:
        plain = _DRESS.sub("", name.strip().strip("*_`\"'[]().")).casefold().strip()
        label = known.get(plain)
        if label is None:
            unknown.append(name.strip()[:SHOWN])
        elif label in order:
            repeated.append(label)
        else:
            order.append(label)
    return order, repeated, unknown


def _notes(repeated: Sequence[str], unknown: Sequence[str]) -> tuple[str, ...]:
    again = [f"named {label} twice" for label in dict.fromkeys(repeated)]
    return (*again, *(f"named {name or 'nobody'}, which it was not shown" for name in dict.fromkeys(unknown)))
