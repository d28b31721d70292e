"""Search facets for lists of rubrics: words, category and tags, in the address and as chips."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from fastapi.datastructures import QueryParams
from nicegui import ui

from rubrica.store.rubrics import RubricListing
from rubrica.workspace.draft import LONGEST_CATEGORY, LONGEST_TAG, MOST_TAGS
from rubrica.workspace.rubric_search import LONGEST_QUERY

Narrow = Callable[..., Awaitable[None]]
"""Looks for something else: takes `category` or `tags`."""


class Facets(NamedTuple):
    """What a list of rubrics is searched by."""

    q: str
    category: str
    tags: tuple[str, ...]


def facets_from(asked: QueryParams) -> Facets:
    """What an address searches by, without what no database takes.

    >>> facets_from(QueryParams("q=fluff&tag=&tag=short"))
    Facets(q='fluff', category='', tags=('short',))
    """
    tags = [tag for tag in asked.getlist("tag") if tag.strip()][:MOST_TAGS]
    return Facets(
        _plain(asked.get("q", ""), LONGEST_QUERY),
        _plain(asked.get("category", ""), LONGEST_CATEGORY),
        tuple(_plain(tag, LONGEST_TAG) for tag in tags),
    )


def _plain(text: str, longest: int) -> str:
    return text[:longest].replace("\0", "")


def draw_facets(listing: RubricListing, tags: Sequence[str], narrow: Narrow) -> None:
    """The category and the tags of a rubric; a tag is added to those that are looked for."""
    with ui.element("div").classes("row"):
        if category := listing.category:
            _chip(category, f"Only category {category}").on_click(lambda: narrow(category=category))
        for tag in listing.tags:
            if tag != listing.category:
                wanted = tuple(dict.fromkeys((*tags, tag)))
                _chip(tag, f"Only tag {tag}").on_click(lambda wanted=wanted: narrow(tags=wanted))


def draw_chosen_category(category: str, narrow: Narrow) -> None:
    """The category that a list is narrowed down to."""
    _taken_off(f"category {category}").on_click(lambda: narrow(category=""))


def draw_chosen_tags(tags: Sequence[str], narrow: Narrow) -> None:
    """The tags that a list is narrowed down to."""
    for tag in tags:
        others = tuple(other for other in tags if other != tag)
        _taken_off(f"tag {tag}").on_click(lambda others=others: narrow(tags=others))


def _taken_off(text: str) -> ui.button:
    return _chip(text, f"Remove {text}").props("icon=close")


def _chip(text: str, label: str) -> ui.button:
    button = ui.button(text, color=None).props("dense flat no-caps").classes("chip")
    button.props["aria-label"] = label
    return button
