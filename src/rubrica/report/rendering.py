"""The HTML templates. Everything that comes from outside is escaped, and control characters are made visible."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from .excerpt import visible
from .figures import SOURCE_WORDS, counted, figure, percent


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
TEMPLATES.filters |= {"figure": figure, "percent": percent, "counted": counted}
TEMPLATES.globals |= {"SOURCE_WORDS": SOURCE_WORDS}


def stylesheet() -> Markup:
    """Our own stylesheet, as it stands between the style tags."""
    return Markup(TEMPLATES.get_template("style.css").render())  # noqa: S704 - our own file, nothing is filled in
