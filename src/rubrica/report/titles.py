"""What a dimension is called on every page and table: its title, or its name as words. Documents keep the name."""

from __future__ import annotations

from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric

from .figures import headline


def title_of(name: str, axis: Axis | None) -> str:
    """The title of a dimension or a part, or its name as words where it has none or nobody knows it.

    >>> title_of("query_relevance", None)
    'Query relevance'
    """
    return (axis.title if axis is not None else "") or headline(name)


def dimension_title(name: str, *rubrics: Rubric | None) -> str:
    """What a dimension, or a part of one, is called by the first of some rubrics that has it."""
    for rubric in rubrics:
        if (title := dimension_titles(rubric).get(name)) is not None:
            return title
    return headline(name)


def dimension_titles(rubric: Rubric | None) -> dict[str, str]:
    """What every dimension of a rubric, and every part of one, is called."""
    found: dict[str, str] = {}
    for name, dimension in rubric.dimensions.items() if rubric is not None else ():
        found |= {names[-1]: title_of(names[-1], axis) for names, axis in dimension.every(name)}
    return found


def section_title(name: str, rubric: Rubric | None) -> str:
    """What a section is called."""
    section = rubric.sections.get(name) if rubric is not None else None
    return (section.title if section is not None else "") or headline(name)
