"""The page of a run: what was run, how the scores are spread, what failed, and evaluations to look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from random import Random
from typing import TextIO

import msgspec

from rubrica.jsontext import UNREADABLE
from rubrica.model.evaluation import Cost, Evaluation
from rubrica.model.rubric import Rubric
from rubrica.report.card import card_of
from rubrica.report.figures import count_of, dollars, duration, price
from rubrica.report.outcome_sentence import sentence
from rubrica.report.plots import share_text
from rubrica.report.rendering import TEMPLATES, stylesheet
from rubrica.report.roles import SIGNS
from rubrica.runs.files.append_only import finished_lines
from rubrica.runs.files.folder import ERRORS
from rubrica.runs.stored import StoredRun

from .certainty import certainty_sentences, undecided_sentence
from .page_data import RunPageData, collect_page_data
from .page_parts import outliers, rubric_part, time_and_cost
from .page_tables import read_tables

Key = tuple[str, str, int]
"""A row's rubric, case and repeat."""

CARDS = 10
"""Evaluations drawn as cards from the bottom, and as many from a fair sample."""
OPEN_CARDS = 1
SHOWN_ERRORS = 20
SHOWN_OUTLIERS = 24
_TEMPLATES = ("head.html.j2", "run.html.j2", "run_divider.html.j2", "card.html.j2")


@dataclass(frozen=True, slots=True)
class FailedRecord:
    """A record that could not be judged."""

    case: str
    error: str


def write_page(run: StoredRun, out: TextIO, *, title: str | None = None, cards: int = CARDS, seed: int = 0) -> int:
    """Write the page of a run; returns how many evaluations there were.

    The rows are read once; full records are read only until those that are drawn as cards are found.
    """
    draw = Random(seed)  # noqa: S311 - a sample, not a secret
    return draw_page(run, collect_page_data(run.rows(), run.rubrics(), draw, cards), out, title=title)


def load_templates() -> None:
    """Compile the templates of a page, which takes longer than filling them in."""
    for name in _TEMPLATES:
        TEMPLATES.get_template(name)


def draw_page(run: StoredRun, found: RunPageData, out: TextIO, *, title: str | None = None) -> int:
    """Write the page of a run whose rows were gathered."""
    rubrics = run.rubrics()
    shown = title or f"Run {run.name}"
    out.write(TEMPLATES.get_template("head.html.j2").render(title=shown, style=stylesheet(), eyebrow="Rubrica run"))
    failures, failed = _failures(run)
    out.write(
        TEMPLATES.get_template("run.html.j2").render(
            facts=list(_facts(run, found)),
            found=found,
            undecided=undecided_sentence(found.undecided, found.total) if found.undecided else "",
            certainty=[sentence(told) for told in certainty_sentences(found.certainty)],
            signs=SIGNS,
            parts=[rubric_part(figures) for figures in found.rubrics.values()],
            plots=list(time_and_cost(found)),
            outliers=list(islice(outliers(found), SHOWN_OUTLIERS)),
            failures=failures,
            failed=failed,
            tables=read_tables(run.path),
        )
    )
    _write_cards(run, out, found, rubrics)
    out.write("</main>\n</body>\n</html>\n")
    return found.total


# --- what was run -----------------------------------------------------------------------------------------


def _facts(run: StoredRun, found: RunPageData) -> Iterator[tuple[str, str]]:
    manifest = run.manifest
    yield "Rubric" if len(found.rubrics) == 1 else "Rubrics", ", ".join(found.rubrics) or "—"
    repeats = f" of {count_of(found.cases, 'case')}" if found.cases != found.total else ""
    yield "Evaluations", f"{found.total:,}{repeats}"
    if manifest is not None:
        yield "Judged by", ", ".join(manifest.judges) or "rules and formulas, no model"
        yield "Cases", manifest.source or "—"
        yield "Started", _moment(manifest.started)
        yield "Finished", _moment(manifest.finished) if manifest.finished else "not yet, or stopped before its end"
        if manifest.commit:
            yield "Commit", manifest.commit[:12] + ("+ (files differ from it)" if manifest.commit.endswith("+") else "")
    if found.paid:
        usd = found.usd if found.priced == found.paid else None
        known = f"; {dollars(found.usd)} of what is known" if usd is None and found.priced else ""
        yield "Cost", price(Cost(usd, found.input_tokens, found.output_tokens)) + known
    if found.durations.count:
        yield "Time in judging", duration(found.milliseconds)
    if found.offline:
        yield "Scored offline", share_text(found.offline, found.total)
    if found.undecided:
        yield "Left open without a judge", share_text(found.undecided, found.total)


def _moment(text: str) -> str:
    try:
        return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M %Z}".strip()
    except ValueError:
        return text


# --- what failed, and what is shown in full ---------------------------------------------------------------


def _failures(run: StoredRun) -> tuple[list[FailedRecord], int]:
    """The first records that could not be judged, and how many there are."""
    if run.manifest is None:
        return [], 0
    shown: list[FailedRecord] = []
    count = 0
    for line in finished_lines(run.path / ERRORS):
        count += 1
        if len(shown) < SHOWN_ERRORS:
            shown.append(_failure(line))
    return shown, count


def _failure(line: bytes) -> FailedRecord:
    try:
        found = msgspec.json.decode(line)
        case = found["case"] if found["case"] is not None else f"line {found['line']}"
        return FailedRecord(str(case), str(found["error"]))
    except (*UNREADABLE, TypeError, KeyError):
        return FailedRecord("—", line.decode(errors="replace"))


def _write_cards(run: StoredRun, out: TextIO, found: RunPageData, rubrics: Mapping[str, Rubric]) -> None:
    """The worst evaluations and a fair sample in full, where the run has full records."""
    if run.path.suffix == ".parquet":
        return
    worst = {(row.rubric, *row.key): None for row in found.worst}
    sample = {key: None for row in found.sample.items if (key := (row.rubric, *row.key)) not in worst}
    records = _records(run, {*worst, *sample})
    number = 0
    for title, note, keys in (
        ("To look at first", "what failed, was left open, or has the lowest scores", worst),
        ("A fair sample", "drawn at random from all the others", sample),
    ):
        shown = [records[key] for key in keys if key in records]
        if not shown:
            continue
        out.write(TEMPLATES.get_template("run_divider.html.j2").render(title=title, note=note))
        for evaluation in shown:
            number += 1
            rubric = rubrics.get(evaluation.rubric)
            card = card_of(evaluation, number, rubric)
            out.write(TEMPLATES.get_template("card.html.j2").render(card=card, open=number <= OPEN_CARDS))


def _records(run: StoredRun, wanted: set[Key]) -> dict[Key, Evaluation]:
    """Full records of some rows; the others are not read in full, and reading stops when all are found."""
    found: dict[Key, Evaluation] = {}
    for evaluation in run.records({(case, repeat) for _, case, repeat in wanted}) if wanted else ():
        key = (f"{evaluation.rubric}@{evaluation.version}", evaluation.case or "", evaluation.repeat)
        if key in wanted:
            found[key] = evaluation
            if len(found) == len(wanted):
                break
    return found
