"""Tables of two raters: bias, limits of agreement and kappa of their scores, kappa and F1 of their labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rubrica.report.figures import figure, signed
from rubrica.scoring.intervals import Estimate
from rubrica.scoring.rater_pairs import LabelAgreement, ScoreAgreement

from .figures_table import figures_table
from .screen import safe


def legend(first: str = "the first", second: str = "the second") -> str:
    """What the columns of `scores_table` are, with words for whose scores they compare."""
    return (
        f"Bias is {first} minus {second}, with its 95 % interval; 95 of 100 differences lie within the limits "
        "(Bland and Altman). Kappa is Cohen's."
    )


def scores_table(words: Sequence[str], rows: Iterable[tuple[Sequence[str], ScoreAgreement]]) -> Table:
    """A row for every two raters; `words` name what it begins with."""
    table = figures_table(words, ("n", "bias", "limits", "kappa, quadratic", "linear", "unweighted"))
    for names, own in rows:
        limits = own.limits
        within = "—" if limits is None else f"{signed(round(limits.low, 2))} to {signed(round(limits.high, 2))}"
        quadratic = own.quadratic_interval
        weighted = _two_places(own.quadratic.value) if quadratic is None else interval(quadratic)
        kappas = weighted, _two_places(own.linear.value), _two_places(own.kappa.value)
        bias = "—" if own.bias is None else interval(own.bias, with_sign=True)
        table.add_row(*map(safe, names), f"{own.count:,}", bias, within, *kappas)
    return table


def labels_lines(found: LabelAgreement) -> list[RenderableType]:
    """Kappa and F1 of two raters' labels; nothing where nothing was rated by both."""
    if not found.count:
        return []
    kappa = found.kappa.why or (
        interval(found.kappa_interval) if found.kappa_interval is not None else _two_places(found.kappa.value)
    )
    table = figures_table(("label",), ("n", "precision", "recall", "F1"))
    for label, own in found.labels.items():
        shares = _two_places(own.precision), _two_places(own.recall), _two_places(own.f1)
        table.add_row(safe(label), f"{own.count:,}", *shares)
    return [Text(f"kappa {kappa}; macro F1 {_two_places(found.macro_f1)}"), table]


def interval(found: Estimate, *, with_sign: bool = False) -> str:
    """A figure and its interval to two places.

    >>> interval(Estimate(0.6182, 0.41, 0.8049))
    '0.62 (0.41 to 0.8)'
    """
    shown = signed if with_sign else figure
    value, low, high = (shown(round(number, 2)) for number in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})"


def _two_places(value: float | None) -> str:
    return figure(None if value is None else round(value, 2))
