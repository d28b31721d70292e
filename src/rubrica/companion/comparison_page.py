"""Several candidates side by side as one self-contained HTML page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Template

from rubrica.report.charts import bar
from rubrica.report.figures import headline, price, signed
from rubrica.report.rendering import TEMPLATES, stylesheet
from rubrica.report.roles import SIGNS, Role
from rubrica.runs.compare.measure_comparison import MeasureComparison, Verdict

from .comparison import LETTERS, TrialComparison, score_line
from .judgement import OVERALL
from .page import LABEL_ROLES, latency_words
from .trial import Trial

WORDS: dict[Verdict, str] = {
    "improvement": "▲ better",
    "regression": "▼ worse",
    "same": "= same",
    "cannot tell": "? cannot tell",
}


@dataclass(frozen=True, slots=True)
class _CandidateRow:
    """One candidate as the page shows it."""

    letter: str
    trial: Trial
    role: Role
    sign: str
    drawn: str  # the mean as a bar
    difference: tuple[str, str, str]  # from the first: change, interval, in a word
    latency: str
    cost: str


@dataclass(frozen=True, slots=True)
class _MeanRow:
    """A scenario group or a dimension, with its mean for every candidate."""

    title: str
    cells: tuple[float | None, ...]


def comparison_html(found: TrialComparison) -> str:
    """The page of a comparison."""
    first = found.trials[0]
    lines = [None, *(score_line(pair) for pair in found.against_first)]
    groups = list(dict.fromkeys(group for trial in found.trials for group in trial.groups))
    names = first.dimensions
    titles = {name: spec.title or headline(name) for name, spec in first.rubric.dimensions.items()}
    return _template().render(
        title=f"Companion comparison of {len(found.trials)} candidates",
        style=stylesheet(),
        rows=[_row(LETTERS[at], trial, line) for at, (trial, line) in enumerate(zip(found.trials, lines, strict=True))],
        effects=[(one.before, one.after, difference_words(one.score)) for one in found.effects],
        vetoed=list(found.newly_vetoed.items()),
        means=[
            ("By scenario", [_means(found, group, group, OVERALL) for group in groups]),
            ("By dimension", [_means(found, titles[name], None, name) for name in names]),
        ],
        whole=_means(found, "All", None, OVERALL),
        letters=LETTERS[: len(found.trials)],
        floor=first.terms.floor,
        cases=found.against_first[0].cases,
        talks=len({reply.spoken.scenario.id for reply in first.replies}),
        repeats=first.repeats,
        judge=first.judge,
    )


def difference_words(line: MeasureComparison | None) -> tuple[str, str, str]:
    """A change of the score, its interval, and what it comes to."""
    if line is None:
        return "", "", ""
    interval = "–" if line.difference is None else f"{_signed(line.difference.low)} to {_signed(line.difference.high)}"
    return _signed(line.mean), interval, WORDS[line.verdict]


def _signed(value: float) -> str:
    return signed(float(f"{value:.3f}"))


def _row(letter: str, trial: Trial, line: MeasureComparison | None) -> _CandidateRow:
    mean, role = trial.decision.mean, LABEL_ROLES[trial.decision.label]
    drawn = bar(mean.value, (mean.low, mean.high), trial.terms.deploy_at, 1.0) if mean is not None else ""
    cost = price(trial.cost) if trial.cost.input_tokens else ""
    return _CandidateRow(letter, trial, role, SIGNS[role], drawn, difference_words(line), latency_words(trial), cost)


def _means(found: TrialComparison, title: str, group: str | None, dimension: str) -> _MeanRow:
    return _MeanRow(title, tuple(trial.mean(group, dimension) for trial in found.trials))


@cache
def _template() -> Template:
    return TEMPLATES.from_string((files("rubrica.companion") / "templates" / "comparison.html.j2").read_text("utf-8"))
