"""Listings of the marketplace in words and symbols, escaped."""

from __future__ import annotations

from datetime import datetime

from markupsafe import Markup

from rubrica.report.figures import count_of, figure
from rubrica.store.listings import MarketListing
from rubrica.workspace import trending
from rubrica.workspace.market_search import OwnRubric

DESCRIPTION_SHOWN = 170
"""Characters of a description in a list."""
LIVELY = 0.1
"""Imports; what moves less is not said to move."""


def stars(rating: float | None) -> Markup:
    """A rating as stars, filled as far as it goes.

    >>> stars(4.5)
    Markup('<span class="stars" role="img" aria-label="4.5 of 5 stars" style="--share:90.0%"></span>')
    """
    if rating is None:
        return Markup('<span class="stars" role="img" aria-label="not rated yet" style="--share:0%"></span>')
    return Markup('<span class="stars" role="img" aria-label="{} of 5 stars" style="--share:{:.1f}%"></span>').format(
        figure(rating), 20 * rating
    )


def listing_status(offer: MarketListing, now: datetime) -> Markup:
    """How an offer stands: its rating, whether it moves, whether it is recommended."""
    rated = Markup("<b>{}</b> <span>({})</span>").format(figure(offer.rating), f"{offer.reviews:,}")
    moves = trending.current_trend(offer.trend, now)
    lively = Markup('<span class="lively" title="{}">↗ {}</span>').format(
        f"Trending: worth {figure(round(moves, 2))} imports made now", figure(round(moves, 1))
    )
    return Markup('<p class="standing">{}{}{}{}</p>').format(
        stars(offer.rating),
        rated if offer.reviews else Markup('<span class="quiet">no ratings</span>'),
        lively if moves >= LIVELY else "",
        Markup('<span class="chip is-featured">featured</span>') if offer.featured else "",
    )


def listing_card(offer: MarketListing, now: datetime) -> Markup:
    """An offer in a list: what it is called, whose it is, what it is for, how it stands."""
    listing = offer.listing
    return Markup(
        '<h2><a href="/market/{}">{}</a></h2><p class="quiet">{} · version {} · {}</p><p class="about">{}</p>{}'
    ).format(
        listing.id,
        listing.name,
        author_text(offer.author),
        listing.version,
        count_of(offer.downloads, "import"),
        shortened(listing.description),
        listing_status(offer, now),
    )


def own_rubric_card(own: OwnRubric, now: datetime) -> Markup:
    """A rubric of one's own: where it comes from, and whether others see it."""
    listing, origin = own.listing, own.origin
    if origin is not None:
        place = f"/market/{origin.rubric_id}" if origin.is_public else f"/rubrics/{origin.rubric_id}"
        whence = Markup('from <a href="{}">{}@{}</a> {}').format(
            place, origin.name, origin.version, author_text(own.author or None)
        )
    elif listing.forked_from is not None:
        whence = Markup("copied from something that you may not see, or that is gone")
    else:
        whence = Markup("written by you")
    seen = Markup('<a href="/market/{}">on the marketplace</a>').format(listing.id) if own.offer else "private"
    return Markup(
        '<h2><a href="/rubrics/{}">{}</a></h2><p class="quiet">version {} · {} · {}</p><p class="about">{}</p>{}'
    ).format(
        listing.id,
        listing.name,
        listing.version,
        seen,
        whence,
        shortened(listing.description),
        listing_status(own.offer, now) if own.offer else "",
    )


def author_text(author: str | None) -> str:
    """Whose something is.

    >>> author_text("ann"), author_text(None)
    ('by ann', 'comes with Rubrica')
    """
    return "comes with Rubrica" if author is None else f"by {author}"


def shortened(text: str) -> str:
    """The beginning of a description.

    >>> shortened("Is it brief?")
    'Is it brief?'
    """
    return text if len(text) <= DESCRIPTION_SHOWN else text[: DESCRIPTION_SHOWN - 1].rstrip() + "…"
