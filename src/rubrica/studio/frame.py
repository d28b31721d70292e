"""The frame around every page: top bar, navigation, light and dark mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from nicegui import ElementFilter, ui

from rubrica.errors import RubricaError
from rubrica.report.rendering import chart_styles

from .parts import UNFORESEEN, error_text
from .studio import Visitor


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of the menu."""

    path: str
    title: str
    icon: str


PLACES = (
    MenuEntry("/rubrics", "Rubrics", "rule"),
    MenuEntry("/sandbox", "Sandbox", "science"),
    MenuEntry("/preferences", "Preferences", "balance"),
    MenuEntry("/runs", "Runs", "stacked_bar_chart"),
    MenuEntry("/reviews", "Review queue", "rate_review"),
    MenuEntry("/market", "Marketplace", "storefront"),
    MenuEntry("/games", "Games", "emoji_events"),
    MenuEntry("/council", "Council", "groups"),
    MenuEntry("/gateway", "Gateway", "alt_route"),
)

LONGEST_DRAWING = 60.0
"""Seconds that a page may take before its visitor is told that it failed: a machine may be busy, and a run large."""

# Dark or light is the browser's business: it is remembered there, and set before the page is drawn.
_THEME = """
<script>
  const wanted = localStorage.getItem('rubrica-theme');
  window.rubricaDark = wanted ? wanted === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
</script>
"""
_SKIP = '<a class="skip" href="#content">Skip to content</a>'
_SIGN_OUT = '<form method="post" action="/signout"><button class="chip">Sign out</button></form>'


def page(path: str) -> ui.page:
    """A page of the studio, by its path."""
    return ui.page(path, response_timeout=LONGEST_DRAWING)


@contextmanager
def frame(visitor: Visitor, title: str, here: str) -> Iterator[None]:
    """Draw the frame; what is made inside becomes the page's content. `here` is the path of its place."""
    ui.page_title(f"{title} · Rubrica")
    ui.add_css(style())
    ui.add_head_html(_THEME)
    ui.add_head_html(f"<script>{_script('press.js')}{_script('upload_names.js')}</script>")
    dark = ui.dark_mode(None)
    ui.colors(primary="#3156c4", positive="#17713f", negative="#b3261e", warning="#8a5800")
    ui.on_exception(_unforeseen)
    # The browser knows whether there is room for the menu; asking it would cost every page a round trip.
    with ui.left_drawer(value=False).classes("side").props("width=220 breakpoint=900 show-if-above") as drawer:
        with ui.element("nav").props('aria-label="Places"'):
            for place in PLACES:
                with ui.link(target=place.path).classes("place" + (" here" if place.path == here else "")):
                    ui.icon(place.icon).props("aria-hidden=true")
                    ui.label(place.title)
        ui.space()
        ui.link("API reference", "/docs").classes("place")
    with ui.header().classes("bar items-center q-px-md q-py-sm").props("reveal=false"):
        ui.html(_SKIP, sanitize=False).classes("skipping")
        menu = ui.button(icon="menu", color=None).props('flat round dense aria-label="Menu"')
        menu.on("click", js_handler=f"() => getElement({drawer.id}).toggle()")
        ui.link("Rubrica", "/rubrics").classes("brand")
        ui.space()
        ui.label(visitor.caller.name).classes("quiet").tooltip(f"role: {visitor.caller.role}")
        ui.button(icon="contrast", on_click=_switch, color=None).props('flat round dense aria-label="Light or dark"')
        if visitor.signed_in:
            ui.html(_SIGN_OUT, sanitize=False)
    ui.on("theme", lambda event: dark.set_value(event.args))
    ui.run_javascript("emitEvent('theme', window.rubricaDark)")
    with ui.element("div").classes("content").props('id="content" tabindex="-1"'):  # in the framework's own <main>
        yield


def _unforeseen(error: Exception) -> None:
    """Tell an error that nothing on the page was made for: nobody is left in front of a page that waits for nothing."""
    for spinner in ElementFilter(kind=ui.spinner):
        spinner.set_visibility(False)
    said = error_text(error) if isinstance(error, RubricaError) else UNFORESEEN
    ui.notify(said, type="negative", multi_line=True, timeout=0, close_button="Close")


def _switch() -> None:
    ui.run_javascript(
        "window.rubricaDark = !window.rubricaDark;"
        "localStorage.setItem('rubrica-theme', window.rubricaDark ? 'dark' : 'light');"
        "emitEvent('theme', window.rubricaDark)"
    )


@cache
def _script(name: str) -> str:
    """What every page does by itself: no click is lost when it is drawn anew, and uploads have names."""
    return (files("rubrica.studio") / name).read_text("utf-8")


@cache
def style() -> str:
    """The studio's style sheet, and that of the report's drawings."""
    return str(chart_styles()) + (files("rubrica.studio") / "style.css").read_text("utf-8")
