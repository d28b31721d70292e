"""The audit of saved councils in the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubrica.council.audit import Audit, LengthTrend, ScoringContrast
from rubrica.council.bias import EFFECTS
from rubrica.report.figures import count_of, figure, headline, signed

from .figures_table import figures_table
from .screen import safe


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
        table.add_row(safe(headline(name)), _rounded(own.value), f"{own.sessions}")
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
