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

from rubrica.council.events import (
    AnswerReceived,
    Concluded,
    DebateStarted,
    Event,
    FinalWriting,
    Listener,
    MemberDropped,
    Ranked,
    ReviewerCancelled,
    ReviewFinished,
    Stage,
    StageFinished,
    StageStarted,
    ignore_event,
)
from rubrica.council.ranking import RankedAnswer
from rubrica.council.result import CouncilResult, name_of
from rubrica.council.review import AnswerReview
from rubrica.council.task_rubrics import review_rubric
from rubrica.report.figures import count_of, dollars, duration, figure
from rubrica.report.titles import dimension_title

from .figures_table import figures_table
from .screen import err, safe, short
from .verdict_style import bar, share_style

TITLES: Mapping[Stage, str] = {"answers": "answering", "reviews": "reviewing", "final": "writing the final answer"}
MARKS = {"holistic": "≈", "ranked": "#", "inconclusive": "?", "abstained": "–"}
LINES_SHOWN = 12  # of the final answer while it is written
"""How a review that is not by the rubric is marked in the matrix."""


# --- while it works ---------------------------------------------------------------------------------------


class SessionBoard:
    """Who is doing what, redrawn as events come in."""

    def __init__(self) -> None:
        self.stage: Stage | None = None
        self.rows: dict[str, Text | None] = {}  # by model; None: under way
        self.past: list[Text] = []
        self.written = ""  # of the final answer
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
            case ReviewerCancelled():
                self.rows[event.model] = Text(short(event.reason, 80), "dim")
            case DebateStarted():
                self.past.append(Text(f"debate, round {event.round}", "dim"))
                self.rows |= dict.fromkeys(event.models)
            case FinalWriting():
                self.written = event.text if event.anew else self.written + event.text
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
            if self.written:
                parts.append(Text(safe("\n".join(self.written.splitlines()[-LINES_SHOWN:])), "dim"))
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
    parts: list[RenderableType] = []
    if result.ranking.standings:
        parts += [_ranking(result), Text()]
    parts += [_means(result), Text()] if result.evaluations else []
    parts += [_matrix(result), Text()] if result.opinions else []
    parts += [Text(safe(f"incomplete: {one.told}"), "bold yellow") for one in result.missing]
    parts += [Text(safe(f"{name_of(one.label)} is {one.cut}"), "yellow") for one in result.answers if one.cut]
    parts += [
        Text(safe(f"{name_of(one.label)} breaks an instruction: {what}"), "yellow")
        for one in result.answers
        for what in one.broken
    ]
    parts += [Text(safe(f"ceiling: {told}"), "yellow") for told in _ceilings(result)]
    parts += [
        Text(
            safe(f"changed in debate: {one.reviewer} on {one.label}: {figure(one.before)} → {figure(one.after)}"), "dim"
        )
        for one in result.changes
    ]
    parts += [Text(safe(f"{one.model}: {one.reason}"), "dim") for one in result.cancelled]
    parts += [Text(safe(f"dropped: {one.model} ({one.stage}): {one.reason}"), "yellow") for one in result.dropped]
    parts += [
        Text(safe(f"unsafe: {result.labels[label]}: {'; '.join(reasons)}"), "bold red")
        for label, reasons in result.safety.failed.items()
    ]
    parts += [Text(safe(told), "yellow") for told in result.notes]
    parts.append(Text(_bill(result), "dim"))
    by_chair = result.final.chair is not None and not result.final.fallback
    written = f"Final answer, by {result.final.author}" if by_chair else f"Answer of {result.final.author}"
    parts += [Text(), answer_block(written, result.final.text)]
    return Group(*parts)


def answer_block(title: str, text: str) -> RenderableType:
    """An answer under its title, set in."""
    return Group(Text(safe(title), "bold"), Padding(Text(safe(text)), (0, 0, 0, 2), expand=False))


def _ranking(result: CouncilResult) -> Table:
    counted = any(one.points is not None for one in result.ranking.standings)
    extra = (["Borda", "share"] if counted else []) + (["whole"] if result.holistic else [])
    table = figures_table(("", "answer", "model"), (_valued(result), "", *extra))
    tied = {label for group in result.ranking.ties for label in group}
    whole = {one.label: one.value for one in result.holistic.standings} if result.holistic else {}
    for ranked_answer in result.ranking.standings:
        share = _drawn_share(ranked_answer, result)
        place = "—" if ranked_answer.rank is None else f"{ranked_answer.rank}{'=' * (ranked_answer.label in tied)}"
        table.add_row(
            place,
            name_of(ranked_answer.label),
            Text(safe(result.labels[ranked_answer.label])),
            Text(figure(ranked_answer.value), share_style(share)),
            bar(share),
            *([_borda(ranked_answer), figure(ranked_answer.share)] if counted else []),
            *([figure(whole.get(ranked_answer.label))] if result.holistic else []),
        )
    return table


def _drawn_share(ranked_answer: RankedAnswer, result: CouncilResult) -> float | None:
    """How long an answer's bar is: what it is ranked by, which for z has no ends, so its mean score is drawn."""
    if result.ranking.pool == "borda":
        return ranked_answer.value
    overall = result.overall(ranked_answer.label)
    return None if overall is None else overall / result.out_of


def _borda(ranked_answer: RankedAnswer) -> str:
    """Borda's points and the most there were."""
    return (
        "—"
        if ranked_answer.points is None
        else f"{figure(ranked_answer.points)} of {figure(ranked_answer.most_points)}"
    )


def _ceilings(result: CouncilResult) -> list[str]:
    """Which answers a gate holds down, and why."""
    found = {label: result.ceiling(label) for label in result.labels}
    return [
        f"{name_of(label)} cannot pass {figure(held['score'])}: {held['reason'] or held['gate']}"
        for label, held in found.items()
        if held is not None
    ]


def _means(result: CouncilResult) -> Table:
    """What reviewers gave each dimension on average."""
    rubric = review_rubric(result.rubric)
    table = figures_table(("",), [dimension_title(one, rubric) for one in result.tops])
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
        "ranked": "a place in a ranking without scores",
        "inconclusive": "open, something is missing",
        "abstained": "no score",
    }
    legend = ", ".join(f"{mark} {words[status]}" for status, mark in MARKS.items() if status in used)
    return Group(table, Text(legend, "dim")) if legend else table


def _cell(opinion: AnswerReview | None, result: CouncilResult) -> Text:
    if opinion is None:
        return Text("·", "dim")
    if opinion.place is not None:
        return Text(f"#{opinion.place}", "yellow")
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
    return f"{stages}{spent}; rubric {result.rubric}; seed {result.seed}"
