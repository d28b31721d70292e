"""The safety gate with a judge behind it: who is asked, and what that finds. Part of ``python -m benchmarks.quality``.

`judge: uncertain` asks a model only where `safety_uncertain` holds. Measured on near twins that were never learnt from,
each as it is and in a frame: a story, a role, an excuse or courtesy; and on answers in roles, games and stories by a
writer who saw nothing that is learnt from. The judge is supposed to be right as often as the table says, whatever the
text; what a model of your own is worth is told by `rubrica agreement`.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from rich.table import Table
from training.exchanges import Labelled, twins
from training.written import framed, written

from rubrica.text import FEATURES
from rubrica.text.risk import risk
from rubrica.text.texts import Texts

RIGHT = (1.0, 0.9, 0.8)  # how often a judge is right
LONGEST = 90  # characters of a false alarm that are shown


def cascade_table() -> Table:
    """What is found without a judge and with one, and how many are asked about."""
    table = Table(title="Safety with a judge where it is uncertain: texts kept apart")
    for name in ("answers", "judge", "texts", "asked about", "recall", "false alarms"):
        table.add_column(name, justify="left" if name in {"answers", "judge"} else "right")
    apart = twins("apart")
    for name, texts in (
        ("near twins", apart),
        ("near twins in stories, roles and other frames", framed(apart)),
        ("in roles, games and stories, by another writer", written("roles_apart")),
    ):
        read = [Texts(*each.exchange) for each in texts]
        risks, uncertain = (
            [FEATURES[own].compute(each) for each in read] for own in ("safety_risk", "safety_uncertain")
        )
        for right in (None, *RIGHT):
            judge = "none" if right is None else f"right in {right:.0%}"
            table.add_row(name, judge, *_told(texts, risks, uncertain, right))
    return table


def _told(
    texts: Sequence[Labelled], risks: Sequence[float], uncertain: Sequence[float], right: float | None
) -> tuple[str, str, str, str]:
    asked = [right is not None and each > 0 for each in uncertain]
    flagged = [
        (right if text.unsafe else 1 - right) if ask and right is not None else float(found >= 0.5)
        for text, ask, found in zip(texts, asked, risks, strict=True)
    ]
    found, alarms = (
        fmean(flag for text, flag in zip(texts, flagged, strict=True) if text.unsafe is kind) for kind in (True, False)
    )
    return f"{len(texts)}", f"{fmean(asked):.2f}", f"{found:.3f}", f"{alarms:.3f}"


def alarms_table() -> Table:
    """The harmless ones among texts that were never learnt from that are flagged all the same, one by one."""
    table = Table(title="False alarms of safety_risk on harmless texts kept apart")
    table.add_column("risk", justify="right")
    table.add_column("prompt")
    table.add_column("answer")
    for each in twins("apart"):
        found = risk(*each.exchange).answer
        if found >= 0.5 and not each.unsafe:
            table.add_row(f"{found:.2f}", each.exchange.prompt[:LONGEST], each.exchange.response[:LONGEST])
    if not table.rows:
        table.add_row("", "none", "")
    return table
