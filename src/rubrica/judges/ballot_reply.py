"""What a reviewer of several responses wrote beside scores: a ranking, and the names it used, as they stand.

Who counts votes cleans them; here nothing is dropped, so that the cleaning can be told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rubrica.jsontext import closed_json

from .fence import JudgedTexts
from .order_reply import ReplyOrder, read_order
from .reply import answers

LONGEST_NAME, MOST_NAMES = 80, 100
_LISTS = ("ranking", "rankings", "order", "ranked")


def read_ranking(text: str, labels: Sequence[str], quoted: JudgedTexts) -> tuple[str, ...]:
    """The names of a ranking from best to worst, as they are written; nothing where there is none.

    >>> read_ranking('{"ranking": ["Response B", "Response A", "Response B"]}', "AB", JudgedTexts())
    ('Response B', 'Response A', 'Response B')
    >>> read_ranking("B > A > C", "ABC", JudgedTexts())
    ('B', 'A', 'C')
    """
    for candidate in answers(text, quoted):
        for key in _LISTS:
            listed = candidate.get(key)
            if isinstance(listed, list) and (names := [name for name in listed if isinstance(name, str)]):
                return tuple(name[:LONGEST_NAME] for name in names[:MOST_NAMES])
    found = read_order(text, labels, quoted) if len(labels) > 1 else None
    if not isinstance(found, ReplyOrder) or len(set(found.ranks.values())) < len(labels):
        return ()
    return tuple(sorted(labels, key=lambda label: found.ranks[label]))


def read_entries(text: str, quoted: JudgedTexts) -> tuple[str, ...]:
    """The names under which a reply has scores, as they are written."""
    for candidate in answers(text, quoted):
        for key in ("evaluations", "scores"):
            if isinstance(rows := candidate.get(key), Mapping) and rows:
                return tuple(str(name)[:LONGEST_NAME] for name in list(rows)[:MOST_NAMES])
    return ()


def completed(text: str) -> str:
    """A reply that was cut off, closed behind its last complete value so that it can be read."""
    return closed_json(text) or text
