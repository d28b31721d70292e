"""Matching questions: two columns and the pairs of the key, as people write them, and what can be wrong with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.worked_words import worked_value
from rubrica.text.questions.options import normal, option_index, plain_text, read_options

MOST_PAIRS = 50
_COLUMNS = (
    ("left", "right"), ("left_items", "right_items"), ("column_a", "column_b"), ("items", "matches"),
    ("premises", "responses"), ("prompts", "responses"), ("terms", "definitions"), ("items", "targets"),
    ("prompt", "match"), ("term", "definition"), ("item", "match"),
)  # fmt: skip
_SHARED = lazy_pattern(r"more than once|may be used|can be used|reused|used again|several times", re.IGNORECASE)
_PAIR = lazy_pattern(r"\s*(?P<left>.+?)\s*(?:->|→|⇒|=>|=|:|\s[-–]\s)\s*(?P<right>.+?)\s*", re.DOTALL)
_NUMBERED = lazy_pattern(r"(?:^|(?<=\s))\(?(\d{1,2})[.)]\s+(?=\S)")
_LABELS = lazy_pattern(r"\s*\(?(?P<left>\d{1,2}|[A-Za-z])\)?\s*[-–:]?\s*\(?(?P<right>[A-Za-z]|\d{1,2})\)?\s*")

Item = tuple[str, str]  # its label and its text


class MatchingParts(msgspec.Struct, frozen=True):
    """The two columns of a question, as far as it has any, and the pairs of its key as they are written."""

    left: tuple[Item, ...] = ()
    right: tuple[Item, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def places(self) -> list[tuple[int | None, int | None]]:
        """The pairs as places in the columns; None for what is in none."""
        return [(option_index(one, self.left), option_index(two, self.right)) for one, two in self.pairs]


def read_matching(found: Mapping[str, object], stem: str, listed: object, answer: object) -> MatchingParts:
    """The parts of a matching question, from its fields, its options and its answer; the left may stand in the stem.

    >>> parts = read_matching({"left": ["cow", "hen"], "right": ["chick", "calf"]}, "", None, "1-B, 2-A")
    >>> parts.places
    [(0, 1), (1, 0)]
    """
    sides = next((pair for source in (found, listed) if (pair := _columns(source)) is not None), None)
    pairs = _pairs(answer) or _pairs(found.get("pairs")) or _pairs(listed if isinstance(listed, list) else None)
    if sides is None:
        left = numbered_items(stem)
        right = read_options(listed) if left and isinstance(listed, list) and _pairs(answer) else ()
        return MatchingParts(left if right else (), right, pairs)
    return MatchingParts(_items(sides[0], numbered=True), _items(sides[1]), pairs)


def numbered_items(stem: str) -> tuple[Item, ...]:
    """The items of a left column that stand in the question itself, numbered from 1.

    >>> numbered_items("Match the young to their mothers. 1. cow 2. hen")
    (('1', 'cow'), ('2', 'hen'))
    """
    marks = list(_NUMBERED.finditer(stem[:5000]))
    if len(marks) < 2 or any(int(mark[1]) != place for place, mark in enumerate(marks, start=1)):
        return ()
    ends = [*(mark.start() for mark in marks[1:]), len(stem)]
    return tuple((mark[1], stem[mark.end() : end].strip(" \n.,;")) for mark, end in zip(marks, ends, strict=True))


def _columns(source: object) -> tuple[list[object], list[object]] | None:
    if not isinstance(source, Mapping):
        return None
    for one, two in _COLUMNS:
        left, right = source.get(one), source.get(two)
        if isinstance(left, list | dict) and isinstance(right, list | dict):
            return _listed(left), _listed(right)
    return None


def _listed(column: list[object] | dict[object, object]) -> list[object]:
    if isinstance(column, dict):
        return [f"{name}) {plain_text(item)}" for name, item in list(column.items())[:MOST_PAIRS]]
    return column[:MOST_PAIRS]


def _items(column: Sequence[object], *, numbered: bool = False) -> tuple[Item, ...]:
    items = read_options(list(column))
    named = all(plain_text(item) != text for item, (_, text) in zip(column, items, strict=False))
    if not numbered or named:
        return items
    return tuple((str(place), text) for place, (_, text) in enumerate(items, start=1))


def _pairs(raw: object) -> tuple[tuple[str, str], ...]:
    if isinstance(raw, str):
        return _written_pairs(raw[:5000])
    if isinstance(raw, Mapping):
        return tuple((str(one), plain_text(two)) for one, two in list(raw.items())[:MOST_PAIRS])
    if not isinstance(raw, list):
        return ()
    found = [_pair(item) for item in raw[:MOST_PAIRS]]
    return tuple(pair for pair in found if pair is not None) if None not in found else ()


def _pair(item: object) -> tuple[str, str] | None:
    if isinstance(item, list) and len(item) == 2:
        return plain_text(item[0]), plain_text(item[1])
    if isinstance(item, str):
        written = _LABELS.fullmatch(item) or _PAIR.fullmatch(item)
        return (written["left"], written["right"]) if written else None
    if isinstance(item, Mapping):
        names = next(((one, two) for one, two in _COLUMNS if one in item and two in item), None)
        if names is not None:
            return plain_text(item[names[0]]), plain_text(item[names[1]])
        if len(item) == 1:
            return next((str(one), plain_text(two)) for one, two in item.items())
    return None


def _written_pairs(text: str) -> tuple[tuple[str, str], ...]:
    parts = [part for part in re.split(r"[;\n]|,(?!\d)", text) if part.strip()]
    found = [_pair(part) for part in parts]
    return tuple(pair for pair in found if pair is not None) if found and None not in found else ()


# --- checks -----------------------------------------------------------------------------------------------


def pairing_faults(parts: MatchingParts, stem: str) -> Iterator[str]:
    """What is wrong with the form of a key of pairs: something is left out, named twice, or on neither side."""
    if not parts.pairs:
        if parts.left:
            yield "no pairs are given"
        return
    if not parts.left or not parts.right:
        return
    for side in (parts.left, parts.right):
        if len({normal(text) for _, text in side}) < len(side):
            yield "an item stands twice in one column"
    places = parts.places
    lefts, rights = Counter(one for one, _ in places), Counter(two for _, two in places)
    if None in lefts or None in rights:
        yield "a pair names something that is in neither column"
    elif len(lefts) < len(parts.left):
        yield "the pairs leave out an item of the left column"
    elif max(lefts.values()) > 1:
        yield "an item of the left column is paired twice"
    elif max(rights.values()) > 1 and len(parts.right) >= len(parts.left) and not _SHARED.search(stem):
        yield "an item of the right column is paired twice"


def mispaired(parts: MatchingParts) -> str:
    """Why pairs of calculations and results do not belong together; nothing where they do, or where one cannot tell."""
    texts = [_texts(parts, *pair) for pair in zip(parts.pairs, parts.places, strict=True)]
    values = [(worked_value(one), worked_value(two)) for one, two in texts]
    lefts, rights = Counter(one for one, _ in values), Counter(two for _, two in values)
    if len(values) < 2 or None in lefts or lefts != rights or all(one == two for one, two in values):
        return ""
    return "a pair of the key is not equal, though every result is there"


def _texts(parts: MatchingParts, pair: tuple[str, str], places: tuple[int | None, int | None]) -> tuple[str, str]:
    one, two = places
    return pair[0] if one is None else parts.left[one][1], pair[1] if two is None else parts.right[two][1]
