"""Trends as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from rubrica.report.excerpt import visible
from rubrica.report.figures import counted, figure
from rubrica.report.rendering import TEMPLATES, stylesheet

from .trend import Point, Trend

WIDTH, HEIGHT, LEFT = 400, 120, 44


def trend_page(points: Sequence[Point], found: Sequence[Trend], title: str) -> str:
    """A chart for each figure, and under it what it came to."""
    head = TEMPLATES.get_template("head.html.j2").render(title=title, style=stylesheet())
    span = f"{counted(len(points), 'run')} from {points[0].at} to {points[-1].at}"
    charts = Markup("").join(_figure(points, own) for own in found)
    body = Markup('<section class="card"><p class="quiet">{}</p><div class="charts">{}</div></section>').format(
        visible(span), charts
    )
    return f"{head}\n{body}\n</main>\n</body>\n</html>\n"


def _figure(points: Sequence[Point], found: Trend) -> Markup:
    known = found.known
    told = f"{found.name}: {figure(known[0])} to {figure(known[-1])}, {found.direction}; the latest: {found.latest}"
    return Markup("<figure><figcaption>{}</figcaption>{}</figure>").format(visible(told), _chart(points, found))


def _chart(points: Sequence[Point], found: Trend) -> Markup:
    low, high = min(found.known), max(found.known)
    span = high - low or 1.0

    def at(place: int, value: float) -> tuple[float, float]:
        across = LEFT + (WIDTH - LEFT - 8) * (place / (len(points) - 1) if len(points) > 1 else 0.5)
        return across, 10 + (HEIGHT - 20) * ((high - value) / span if high > low else 0.5)

    drawing = Markup("")
    run: list[str] = []
    for place, value in enumerate(found.values):
        if value is None:
            drawing += _path(run)
            run = []
            continue
        x, y = at(place, value)
        run.append(f"{x:.1f},{y:.1f}")
        label = f"{points[place].at} {points[place].label}: {figure(value)}"
        drawing += Markup('<circle class="point" cx="{:.1f}" cy="{:.1f}" r="3"><title>{}</title></circle>').format(
            x, y, visible(label)
        )
    drawing += _path(run)
    for value, y in ((high, 14.0), (low, HEIGHT - 6.0)) if high > low else ((high, HEIGHT / 2),):
        drawing += Markup('<text class="tick" x="0" y="{:.1f}">{}</text>').format(y, figure(float(f"{value:.4g}")))
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, visible(found.name), drawing
    )


def _path(run: Sequence[str]) -> Markup:
    return Markup('<path class="edge" d="M{}"/>').format("L".join(run)) if len(run) > 1 else Markup("")
