"""What lists of rubrics can be narrowed down by: words that occur, and tags."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, column, func, select, type_coerce
from sqlalchemy.dialects.postgresql import JSONB

from .tables import rubrics

MOST_WORDS = 16
"""Words of a query that are looked for; each costs a look at every row."""


def searched(name: str, description: str, category: str, tags: Sequence[str]) -> str:
    """What the column `search` holds: everything a query may find, one thing a line, without regard to case.

    Python folds it, on writing and on asking, because databases do not agree on what a small letter is.

    >>> searched("Übung", "", "German", ["Schule", "B1"])
    'übung\\n\\ngerman\\nschule\\nb1'
    """
    return "\n".join((name, description, category, *tags)).casefold()


def matches(query: str) -> ColumnElement[bool]:
    """Every word of the query occurs in the name, the description, the category or a tag; any part of a word will do.

    Hyphens part words, so that a rubric is found by its slug, too.

    >>> print(matches("50%").compile(compile_kwargs={"literal_binds": True}))
    (rubrics.search LIKE '%' || '50/%' || '%' ESCAPE '/')
    """
    words = query.casefold().replace("-", " ").split()[:MOST_WORDS]
    return and_(*(rubrics.c.search.contains(word, autoescape=True) for word in words))


def tagged(conn: Connection, tags: Sequence[str]) -> ColumnElement[bool]:
    """Every one of the tags is there, spelled like this."""
    if conn.dialect.name == "postgresql":
        return type_coerce(rubrics.c.tags, JSONB).contains(list(tags))
    each = func.json_each(rubrics.c.tags).table_valued(column("value"))
    return and_(*(select(1).select_from(each).where(each.c.value == tag).exists() for tag in tags))
