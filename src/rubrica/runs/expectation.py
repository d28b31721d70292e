"""Compares an evaluation with what its case expects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rubrica.model.evaluation import Evaluation
from rubrica.report.figures import figure

SCORE_TOLERANCE = 0.005
"""Of full marks: how far a score may be from the expected one, so that hand-rounded numbers match."""


def mismatches(expect: Mapping[str, Any], evaluation: Evaluation) -> list[str]:
    """What came out differently, in words; empty when all is as expected.

    ``verdict``, ``profile`` and ``band`` are compared as they stand, or are one of a list; ``score`` is compared to
    half a hundredth of full marks, and ``gates`` are names that must have fired.
    """
    found = []
    for key, wanted in expect.items():
        match key:
            case "verdict" | "profile" | "band":
                got = getattr(evaluation, key)
                allowed = wanted if isinstance(wanted, list) else [wanted]
                if got not in allowed:
                    found.append(f"{key} {' or '.join(map(str, allowed))} was expected, {got} came out")
            case "score":
                if not _near(wanted, evaluation):
                    found.append(f"score {wanted} was expected, {figure(evaluation.score)} came out")
            case "gates":
                fired = {gate.name for gate in evaluation.gates if gate.fired}
                names = wanted if isinstance(wanted, list) else [wanted]
                found += [f"gate {name} was expected to fire" for name in names if name not in fired]
            case _:
                found.append(f"expect.{key} cannot be compared; verdict, score, gates, profile and band can")
    return found


def _near(wanted: object, evaluation: Evaluation) -> bool:
    if evaluation.score is None or not isinstance(wanted, int | float):
        return wanted is None and evaluation.score is None
    return math.isclose(wanted, evaluation.score, rel_tol=0, abs_tol=SCORE_TOLERANCE * evaluation.out_of)
