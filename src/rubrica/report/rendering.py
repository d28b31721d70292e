"""The HTML templates. Everything that comes from outside is escaped, and control characters are made visible."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from .excerpt import visible
from .figures import SOURCE_WORDS, count_of, figure, percent


def _finalize(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


TEMPLATES = Environment(
    loader=PackageLoader("rubrica.report"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_finalize,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {"figure": figure, "percent": percent, "counted": count_of}
TEMPLATES.globals |= {"SOURCE_WORDS": SOURCE_WORDS}


def stylesheet() -> Markup:
    """Our own stylesheet, as it stands between the style tags."""
    return _own_file("style.css")


def chart_styles() -> Markup:
    """What gives the drawings their colours; pages of others that show them bring the colours' values."""
    return _own_file("charts.css")


def _own_file(name: str) -> Markup:
    return Markup(TEMPLATES.get_template(name).render())  # noqa: S704 - our own file, nothing is filled in
