"""Trends as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from rubrica.report.charts import svg, trail
from rubrica.report.excerpt import visible
from rubrica.report.figures import count_of, figure
from rubrica.report.rendering import TEMPLATES, stylesheet

from .trend import Trend, TrendPoint, trend_title

WIDTH, HEIGHT, LEFT = 400, 120, 44


def trend_page(points: Sequence[TrendPoint], found: Sequence[Trend], title: str) -> str:
    """A chart for each figure, and under it what it came to."""
    head = TEMPLATES.get_template("head.html.j2").render(title=title, style=stylesheet())
    span = f"{count_of(len(points), 'run')} from {points[0].at} to {points[-1].at}"
    charts = Markup("").join(_figure(points, own) for own in found)
    body = Markup('<section class="card"><p class="quiet">{}</p><div class="charts">{}</div></section>').format(
        visible(span), charts
    )
    return f"{head}\n{body}\n</main>\n</body>\n</html>\n"


def _figure(points: Sequence[TrendPoint], found: Trend) -> Markup:
    known = found.known
    title = trend_title(found.name)
    text = f"{title}: {figure(known[0])} to {figure(known[-1])}, {found.direction}; the latest: {found.latest}"
    return Markup("<figure><figcaption>{}</figcaption>{}</figure>").format(visible(text), _chart(points, found))


def _chart(points: Sequence[TrendPoint], found: Trend) -> Markup:
    low, high = min(found.known), max(found.known)
    span = high - low or 1.0

    def at(place: int, value: float) -> tuple[float, float]:
        across = LEFT + (WIDTH - LEFT - 8) * (place / (len(points) - 1) if len(points) > 1 else 0.5)
        return across, 10 + (HEIGHT - 20) * ((high - value) / span if high > low else 0.5)

    places = [None if value is None else at(place, value) for place, value in enumerate(found.values)]
    text = [
        "" if value is None else f"{point.at} {point.label}: {figure(value)}"
        for point, value in zip(points, found.values, strict=True)
    ]
    drawing = trail(places, text, 3)
    for value, y in ((high, 14.0), (low, HEIGHT - 6.0)) if high > low else ((high, HEIGHT / 2),):
        drawing += Markup('<text class="tick" x="0" y="{:.1f}">{}</text>').format(y, figure(float(f"{value:.4g}")))
    return svg("trend", HEIGHT, trend_title(found.name), drawing, WIDTH)
