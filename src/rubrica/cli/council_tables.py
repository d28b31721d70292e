"""A council in the terminal: progress, then the ranking, the reviews and the final answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from rubrica.council.audit import Audit, LengthTrend, ScoringContrast
from rubrica.council.bias import EFFECTS
from rubrica.council.events import (
    AnswerReceived,
    Concluded,
    Event,
    Listener,
    MemberDropped,
    Ranked,
    ReviewFinished,
    Stage,
    StageFinished,
    StageStarted,
    ignore_event,
)
from rubrica.council.result import CouncilResult, name_of
from rubrica.council.review import AnswerReview
from rubrica.report.figures import count_of, dollars, duration, figure, signed

from .figures_table import figures_table
from .screen import err, safe, short
from .verdict_style import bar, share_style

TITLES: Mapping[Stage, str] = {"answers": "answering", "reviews": "reviewing", "final": "writing the final answer"}
MARKS = {"holistic": "≈", "inconclusive": "?", "abstained": "–"}
"""How a review that is not by the rubric is marked in the matrix."""


# --- while it works ---------------------------------------------------------------------------------------


class SessionBoard:
    """Who is doing what, redrawn as events come in."""

    def __init__(self) -> None:
        self.stage: Stage | None = None
        self.rows: dict[str, Text | None] = {}  # by model; None: under way
        self.past: list[Text] = []
        self._spinner = Spinner("dots")

    def take(self, event: Event) -> None:
        match event:
            case StageStarted():
                self.stage, self.rows = event.stage, dict.fromkeys(event.models)
            case AnswerReceived():
                told = f"{count_of(event.words, 'word')}, {duration(event.seconds * 1000)}"
                self.rows[event.model] = Text(told, "green")
            case ReviewFinished():
                told = f"{event.scored} of {count_of(event.answers, 'answer')}, {duration(event.seconds * 1000)}"
                self.rows[event.model] = Text(told, "green" if event.scored else "yellow")
            case MemberDropped():
                self.rows[event.model] = Text(short(event.reason, 80), "yellow")
            case StageFinished():
                done = sum(row is not None and row.style == "green" for row in self.rows.values())
                share = f" {done} of {len(self.rows)}," if event.stage != "final" else ""
                self.past.append(Text(f"{TITLES[event.stage]}:{share} {duration(event.seconds * 1000)}", "dim"))
                self.stage, self.rows = None, {}
            case Ranked() | Concluded():
                pass

    def __rich__(self) -> RenderableType:
        parts: list[RenderableType] = list(self.past)
        if self.stage is not None:
            parts.append(Text(TITLES[self.stage], "bold"))
            table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
            for model, told in self.rows.items():
                table.add_row(Text(safe(model)), told if told is not None else self._spinner)
            parts.append(table)
        return Group(*parts)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Listener]:
    """A listener that shows the session as it goes, on standard error; nothing where nobody would see it."""
    console = err()
    if quiet or not console.is_terminal:
        yield ignore_event
        return
    board = SessionBoard()
    with Live(board, console=console, refresh_per_second=8, transient=True, redirect_stdout=False) as live:

        def listen(event: Event) -> None:
            board.take(event)
            live.refresh()

        yield listen


# --- what it came to --------------------------------------------------------------------------------------


def session_page(result: CouncilResult) -> RenderableType:
    """The ranking, who gave what, and the final answer."""
    parts: list[RenderableType] = [_ranking(result), Text()]
    parts += [_means(result), Text()] if result.evaluations else []
    parts += [_matrix(result), Text()]
    parts += [Text(safe(f"dropped: {one.model} ({one.stage}): {one.reason}"), "yellow") for one in result.dropped]
    parts += [
        Text(safe(f"unsafe: {result.labels[label]}: {'; '.join(reasons)}"), "bold red")
        for label, reasons in result.safety.failed.items()
    ]
    parts += [Text(safe(told), "yellow") for told in result.notes]
    parts.append(Text(_bill(result), "dim"))
    written = (
        f"Final answer, by {result.final.author}" if not result.final.fallback else f"Answer of {result.final.author}"
    )
    parts += [Text(), Text(safe(written), "bold"), Padding(Text(safe(result.final.text)), (0, 0, 0, 2), expand=False)]
    return Group(*parts)


def _ranking(result: CouncilResult) -> Table:
    table = figures_table(("", "answer", "model"), (_valued(result), "", *(["whole"] if result.holistic else [])))
    tied = {label for group in result.ranking.ties for label in group}
    whole = {one.label: one.value for one in result.holistic.standings} if result.holistic else {}
    for standing in result.ranking.standings:
        overall = result.overall(standing.label)
        share = None if overall is None else overall / result.out_of
        place = "—" if standing.rank is None else f"{standing.rank}{'=' * (standing.label in tied)}"
        table.add_row(
            place,
            name_of(standing.label),
            Text(safe(result.labels[standing.label])),
            Text(figure(standing.value), share_style(share)),
            bar(share),
            *([figure(whole.get(standing.label))] if result.holistic else []),
        )
    return table


def _means(result: CouncilResult) -> Table:
    """What reviewers gave each dimension on average."""
    table = figures_table(("",), result.tops)
    for label, evaluation in result.evaluations.items():
        means = [figure(None if one.value is None else round(one.value, 1)) for one in evaluation.dimensions.values()]
        table.add_row(label, *means)
    return table


def _valued(result: CouncilResult) -> str:
    return {"mean": f"of {result.out_of:g}", "borda": "beaten", "z": "z"}[result.ranking.pool]


def _matrix(result: CouncilResult) -> RenderableType:
    """Reviewers by row, answers by column; a mark stands where a score is not by the rubric."""
    labels = list(result.labels)
    table = figures_table(("reviewer",), labels)
    cells: dict[str, dict[str, AnswerReview]] = {}
    for opinion in result.opinions:
        cells.setdefault(opinion.reviewer, {})[opinion.label] = opinion
    for reviewer, row in cells.items():
        table.add_row(Text(safe(reviewer)), *(_cell(row.get(label), result) for label in labels))
    asked = result.settings.scoring != "holistic"
    used = {
        opinion.status
        for opinion in result.opinions
        if opinion.status in MARKS and (asked or opinion.status != "holistic")
    }
    words = {
        "holistic": "one score for the whole",
        "inconclusive": "open, something is missing",
        "abstained": "no score",
    }
    legend = ", ".join(f"{mark} {words[status]}" for status, mark in MARKS.items() if status in used)
    return Group(table, Text(legend, "dim")) if legend else table


def _cell(opinion: AnswerReview | None, result: CouncilResult) -> Text:
    if opinion is None:
        return Text("·", "dim")
    mark = MARKS.get(opinion.status, "") if result.settings.scoring != "holistic" or opinion.score is None else ""
    if opinion.score is None:
        return Text(mark, "yellow")
    return Text(f"{mark}{figure(opinion.score)}", share_style(opinion.score / result.out_of))


def _bill(result: CouncilResult) -> str:
    stages = ", ".join(f"{one.stage} {duration(one.seconds * 1000)}" for one in result.stages)
    cost = result.cost
    spent = (
        "" if cost is None else f"; {dollars(cost.usd)}, {cost.input_tokens:,} tokens in, {cost.output_tokens:,} out"
    )
    return f"{stages}{spent}; seed {result.seed}"


# --- an audit ---------------------------------------------------------------------------------------------


def audit_page(found: Audit) -> RenderableType:
    """What saved councils show, with what is not known said so."""
    parts: list[RenderableType] = [
        Text(
            f"{count_of(found.sessions, 'session')}, {count_of(len(found.reviewers), 'reviewer')}, "
            f"{count_of(found.reviews, 'review')}"
        ),
        Text(),
        Text("Rubric against one score for the whole", "bold"),
        _contrasts(found),
        *_reasons({"agreement": found.agreement.why, "stability": found.stability.why}),
        Text(),
        Text("Variance between reviewers, by dimension", "bold"),
        _variances(found),
        Text(),
        Text("Length", "bold"),
        _trends(found),
        *_reasons({"conciseness": found.conciseness.why, "score": found.score.why}),
        Text(),
        Text("What reviewers favour, beside the other reviewers", "bold"),
        _biases(found),
        *(Text(f"{kind}: {means}", "dim") for kind, means in EFFECTS.items()),
        Text("p by Holm's correction over all that could be tested; below 0.05 it is marked.", "dim"),
    ]
    return Group(*parts)


def _contrasts(found: Audit) -> Table:
    table = figures_table(("",), ("rubric", "whole", "better by", "sessions", "p"))
    rows: Mapping[str, ScoringContrast] = {
        "variance between reviewers, score": found.agreement,
        "variance between reviewers, mean of dimensions": found.dimensions,
        "stability of the ranking (tau without one reviewer)": found.stability,
    }
    for name, own in rows.items():
        better = "—" if own.difference is None else signed(round(own.difference, 3))
        sessions = f"{own.rubric.sessions} / {own.holistic.sessions}"
        table.add_row(name, _rounded(own.rubric.value), _rounded(own.holistic.value), better, sessions, _p(own.p))
    return table


def _variances(found: Audit) -> Table:
    table = figures_table(("dimension",), ("variance", "sessions"))
    for name, own in found.variance.items():
        table.add_row(safe(name), _rounded(own.value), f"{own.sessions}")
    return table


def _trends(found: Audit) -> Table:
    table = figures_table(("",), ("points per doubling", "correlation", "sessions", "p"))
    rows: Mapping[str, LengthTrend] = {"conciseness": found.conciseness, "score": found.score}
    for name, own in rows.items():
        gain = "—" if own.gain is None else signed(round(own.gain, 3))
        table.add_row(name, gain, _rounded(own.correlation), f"{own.sessions}", _p(own.p))
    return table


def _biases(found: Audit) -> Table:
    table = figures_table(("reviewer", "bias"), ("effect", "sessions", "p"))
    shown = ""
    for bias in found.biases:
        effect = "—" if bias.effect is None else signed(round(bias.effect, 3))
        told = _p(bias.corrected) if bias.corrected is not None else Text("too few", "dim")
        table.add_row(
            "" if bias.reviewer == shown else safe(bias.reviewer), bias.kind, effect, f"{bias.sessions}", told
        )
        shown = bias.reviewer
    return table


def _reasons(reasons: Mapping[str, str]) -> list[Text]:
    return [Text(f"{name}: {why}", "yellow") for name, why in reasons.items() if why]


def _p(p: float | None) -> Text:
    if p is None:
        return Text("too few", "dim")
    shown = "under 0.001" if p < 0.001 else figure(round(p, 3))
    return Text(f"{shown} *", "bold yellow") if p < 0.05 else Text(shown)


def _rounded(value: float | None) -> str:
    return figure(None if value is None else round(value, 3))
