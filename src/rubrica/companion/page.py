"""A trial as one self-contained HTML page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Template

from rubrica.report.charts import bar, radar
from rubrica.report.figures import count_of, duration, headline, price
from rubrica.report.plots import Layer, PlotLine, histogram, linear
from rubrica.report.rendering import TEMPLATES, stylesheet
from rubrica.report.roles import SIGNS, Role
from rubrica.runs.summary.page_tables import PageTable

from .decision import Label
from .judgement import FAR_APART, FLAGS, OVERALL
from .trial import Trial

SHOWN = 4
"""Replies shown as the best, and as many as the worst."""
BINS = 20
LABEL_ROLES: dict[Label, Role] = {
    "deploy": "good",
    "ab_test": "middle",
    "revise": "bad",
    "inconclusive": "inconclusive",
}


@dataclass(frozen=True, slots=True)
class _Row:
    """One scenario group of the table: overall first, then the dimensions."""

    title: str
    cells: tuple[float | None, ...]
    count: int


def trial_html(trial: Trial) -> str:
    """The page of a trial."""
    names = trial.dimensions
    titles = {name: spec.title or headline(name) for name, spec in trial.rubric.dimensions.items()} | {
        OVERALL: "Overall"
    }
    means = [trial.decision.dimensions.get(name) for name in names]
    role = LABEL_ROLES[trial.decision.label]
    mean = trial.decision.mean
    drawn = bar(mean.value, (mean.low, mean.high), trial.terms.deploy_at, 1.0) if mean is not None else ""
    best, worst = trial.extremes(SHOWN)
    return _template().render(
        title=f"Companion trial: {trial.prompt}",
        style=stylesheet(),
        trial=trial,
        role=role,
        sign=SIGNS[role],
        bar=drawn,
        radar=radar(
            [titles[name] for name in names],
            means,
            ["scored" if value is not None else "not_applicable" for value in means],
        ),
        histogram=_scores(trial),
        rows=[_row(trial, group) for group in [*trial.groups, None]],
        titles=titles,
        flags=FLAGS,
        far_apart=FAR_APART,
        scenarios=len({reply.spoken.scenario.id for reply in trial.replies}),
        cost=price(trial.cost) if trial.cost.input_tokens else "",
        unscored=[(reply.spoken.case, *item) for reply in trial.replies for item in reply.unscored.items()],
        extremes=[("Best", best), ("Worst", worst)],
        scores=trial.scenario_scores,
        latency=latency_words(trial),
    )


def latency_words(trial: Trial) -> str:
    """How long replies took; nothing where nobody measured it."""
    return "" if trial.latency is None else "replies took {}, the longest {}".format(*map(duration, trial.latency))


def trial_tables(trial: Trial) -> list[PageTable]:
    """The decision, the scenarios and the assertions of a trial, for the page of its run."""
    decision, mean = trial.decision, trial.decision.mean
    told = ("–", "–") if mean is None else (f"{mean.value:.3f}", f"{mean.low:.3f} to {mean.high:.3f}")
    first = PageTable(
        "Decision", ("system prompt", "decision", "mean", "95 % interval"), ((trial.prompt, decision.words, *told),),
        f"{decision.reason}.",
    )  # fmt: skip
    rows = tuple(
        (
            score.scenario,
            f"{score.mean:.3f}",
            "–" if score.interval is None else f"{score.interval.low:.3f} to {score.interval.high:.3f}",
            f"{score.repeats}",
            f"{score.failed}",
        )
        for score in trial.scenario_scores
    )
    columns = ("scenario", "mean", "95 % interval over repeats", "repeats", "failed assertions")
    tables = [first, PageTable("Scenarios", columns, rows)]
    if trial.assertions:
        held = tuple(
            (spoken.case, one.words, "passed" if one.passed else "failed", f"it {one.why}")
            for spoken, one in trial.assertions
        )
        tables.append(PageTable("Assertions", ("reply", "assertion", "result", "because"), held))
    return tables


def _row(trial: Trial, group: str | None) -> _Row:
    cells = tuple(trial.mean(group, name) for name in (OVERALL, *trial.dimensions))
    count = sum(group in (None, reply.spoken.scenario.title) for reply in trial.replies)
    return _Row(group or "All", cells, count)


def _scores(trial: Trial) -> str:
    counts = [0] * BINS
    for reply in trial.ranked:
        counts[min(int((reply.score or 0.0) * BINS), BINS - 1)] += 1
    lines = [PlotLine(trial.terms.deploy_at, "deploy"), PlotLine(trial.terms.test_at, "A/B")]
    return histogram(
        [Layer(counts)], linear(0.0, 1.0), f"Scores of {count_of(len(trial.ranked), 'reply', 'replies')}", lines=lines
    )


@cache
def _template() -> Template:
    return TEMPLATES.from_string((files("rubrica.companion") / "templates" / "trial.html.j2").read_text("utf-8"))
