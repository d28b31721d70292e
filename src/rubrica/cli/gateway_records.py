"""``rubrica gateway stats``, ``tune`` and ``labels``: what the records of a gateway show."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Annotated

import msgspec
import typer

from rubrica.errors import RubricaError
from rubrica.gateway.analytics import analytics
from rubrica.gateway.feedback import labels
from rubrica.gateway.learned_gate.holder import read_samples
from rubrica.gateway.learned_gate.learn import GateTerms, learn_gate
from rubrica.gateway.parts import graded_by, made_for
from rubrica.gateway.retention import RetentionPeriods, prunable, read_period
from rubrica.gateway.retention import prune as prune_records
from rubrica.gateway.setting_groups import GradingSettings
from rubrica.gateway.settings import settings_from_text
from rubrica.gateway.spend_report import LONGEST, spend_report
from rubrica.gateway.thresholds import fragment, with_thresholds_in
from rubrica.gateway.tuning import TOLERANCE, Proposal, TuningTerms, propose
from rubrica.gateway.variants import with_thresholds
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.report.figures import count_of
from rubrica.report.printable import printable_json
from rubrica.store.gateway import compared_requests, gate_samples, opinions_of_sent, rated_requests

from .db import DEFAULT_DATABASE, DatabasePlace, on_database, with_database
from .gateway_tables import print_figures, print_gate, print_proposals, print_spending
from .options import AsJson
from .screen import echo_json, note, out

MADE_BY = "rubrica gateway"
SEED = 0
Days = Annotated[float, typer.Option("--days", min=0.01, max=3650, help="The period to look back over.")]
Kind = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help="Only questions of one type, such as FACTUAL.")
]
Config = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="The gateway.yaml that the gateway runs with."),
]
Apply = Annotated[bool, typer.Option("--apply", help="Write the proposed thresholds into the --config file.")]
Tolerance = Annotated[
    float, typer.Option("--tolerance", min=0.0, max=100.0, help="Points of 100 that answers may lose on average.")
]
Points = Annotated[
    float,
    typer.Option("--points", min=0.1, max=50.0, help="Of 100 that answers may lose on average against tier-1's."),
]
Confidence = Annotated[
    float, typer.Option("--confidence", min=0.5, max=0.999, help="The probability with which that must hold.")
]
OlderThan = Annotated[
    str | None, typer.Option("--older-than", metavar="TIME", help="How old: 12h, 90d or 4w, counted from now.")
]
TextsOnly = Annotated[bool, typer.Option("--texts-only", help="Delete prompts, answers and comments; keep figures.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count what would be deleted.")]
StandsFor = Annotated[
    str | None,
    typer.Option(
        "--stands-for", metavar="DIMENSION", help="Take a rating of the whole answer as one of this dimension."
    ),
]


def stats(
    days: Days = 7.0, kind: Kind = None, place: DatabasePlace = DEFAULT_DATABASE, as_json: AsJson = False
) -> None:
    """Show pass rates, costs, savings, who spent what, waiting times and what people think."""
    until = datetime.now(UTC)
    since = until - timedelta(days=days)
    found = on_database(place, MADE_BY, analytics, since, until, kind.upper() if kind else None)
    spent = on_database(place, MADE_BY, spend_report, max(since, until - LONGEST), until) if kind is None else None
    if as_json:
        told = {**msgspec.to_builtins(found), **({} if spent is None else {"spending": spent})}
        typer.echo(printable_json(msgspec.json.format(msgspec.json.encode(told)).decode()))
    elif not found.all.requests:
        note(f"no requests in the last {days:g} days")
    else:
        print_figures(out(), found)
        if spent is not None:
            print_spending(out(), spent)


def tune(
    config: Config = None,
    days: Days = 30.0,
    tolerance: Tolerance = TOLERANCE,
    apply: Apply = False,
    place: DatabasePlace = DEFAULT_DATABASE,
    as_json: AsJson = False,
) -> None:
    """Propose thresholds from answers that tier-1 gave too (the setting shadow.share makes them)."""
    if apply and config is None:
        raise typer.BadParameter("say which file: --config gateway.yaml", param_hint="--apply")
    text = config.read_text(encoding="utf-8") if config is not None else ""
    rubric = _rubric(settings_from_text(text, str(config)).grading)
    until = datetime.now(UTC)
    rows = on_database(place, MADE_BY, compared_requests, until - timedelta(days=days), until, rubric=rubric.reference)
    found = propose(rows, _thresholds(rubric), Random(SEED), TuningTerms(tolerance=tolerance))  # noqa: S311 - no secret
    if as_json:
        typer.echo(printable_json(msgspec.json.format(msgspec.json.encode(found)).decode()))
    else:
        print_proposals(out(), found)
    if apply and config is not None:
        _apply(config, text, rubric, found)


def gate(
    config: Config = None,
    points: Points = 1.0,
    confidence: Confidence = 0.95,
    days: Days = 30.0,
    place: DatabasePlace = DEFAULT_DATABASE,
    as_json: AsJson = False,
) -> None:
    """Show what a gate learnt from the records would do and save (the setting learned_gate.points turns it on)."""
    text = config.read_text(encoding="utf-8") if config is not None else ""
    settings = settings_from_text(text, str(config))
    rubric = graded_by(settings.grading)
    since = datetime.now(UTC) - timedelta(days=days)
    rows = on_database(place, MADE_BY, gate_samples, since, made_for(settings, rubric))
    found = learn_gate(read_samples(rows), GateTerms(points / 100, confidence))
    liked, disliked = on_database(place, MADE_BY, opinions_of_sent, since)
    if as_json:
        told = {**msgspec.to_builtins(found), "opinions_of_sent": {"liked": liked, "disliked": disliked}}
        typer.echo(printable_json(msgspec.json.format(msgspec.json.encode(told)).decode()))
    else:
        print_gate(out(), found, liked, disliked)


def prune(
    config: Config = None,
    older_than: OlderThan = None,
    texts_only: TextsOnly = False,
    dry_run: DryRun = False,
    place: DatabasePlace = DEFAULT_DATABASE,
) -> None:
    """Delete old records, or only their prompts, answers and comments.

    Without --older-than the file says how long: records.days and records.text_days.
    """
    text = config.read_text(encoding="utf-8") if config is not None else ""
    kept = settings_from_text(text, str(config)).records
    periods = RetentionPeriods.of_days(kept.days, kept.text_days)
    if older_than is not None:
        period = read_period(older_than)
        periods = RetentionPeriods(None, period) if texts_only else RetentionPeriods(period, period)
    elif texts_only:
        periods = RetentionPeriods(None, periods.texts)
    if not periods:
        raise typer.BadParameter("say how old: --older-than 90d, or --config with records.days", param_hint="prune")
    now, work = datetime.now(UTC), prunable if dry_run else prune_records
    found = with_database(place, MADE_BY, lambda database: work(database, periods, now))
    done = "would be" if dry_run else "was" if found.records == 1 else "were"
    shared = f", and {count_of(found.answers, 'shared answer')}" if found.answers else ""
    note(f"{count_of(found.records, 'record')} {done} deleted, and the texts of {found.texts:,}{shared}")


def print_labels(
    config: Config = None,
    stands_for: StandsFor = None,
    days: Days = 90.0,
    place: DatabasePlace = DEFAULT_DATABASE,
) -> None:
    """Print what people gave beside what judges gave, for `rubrica calibrate`."""
    text = config.read_text(encoding="utf-8") if config is not None else ""
    rubric = _rubric(settings_from_text(text, str(config)).grading)
    until = datetime.now(UTC)
    rated = on_database(place, MADE_BY, rated_requests, until - timedelta(days=days), until)
    scales = {name: rubric.scale_of(name) for name in rubric.dimensions}
    found = labels(rated, rubric.reference, scales, stands_for=stands_for)
    for row in found.rows:
        echo_json(row, indent=None)
    for reason, count in found.left_out.items():
        note(f"{count} left out: {reason}")
    if not rated:
        note(f"nobody rated an answer in the last {days:g} days (POST /v1/feedback)")


def _rubric(grading: GradingSettings) -> Rubric:
    return with_thresholds(load(grading.rubric), grading.thresholds)


def _thresholds(rubric: Rubric) -> dict[str, float]:
    """The thresholds of a rubric by question type, of 100."""
    named = rubric.profiles.named if rubric.profiles is not None else {}
    per_hundred = 100 / rubric.score.out_of
    return {name: one.threshold * per_hundred for name, one in named.items() if one.threshold is not None}


def _apply(config: Path, text: str, rubric: Rubric, found: list[Proposal]) -> None:
    own = rubric.score.out_of / 100
    wanted = {one.question_type: one.threshold * own for one in found if one.advice == "change" and one.threshold}
    if not wanted:
        note("nothing to apply")
        return
    changed = with_thresholds_in(text, wanted)
    if changed is None:
        raise RubricaError(f"{config} is written so that this has to be put in by hand:\n{fragment(wanted)}")
    config.write_text(changed, encoding="utf-8")
    note(f"wrote {config}; a running gateway reads it on SIGHUP, or when it starts again")
