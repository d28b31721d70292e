"""Rows of made-up runs, for tests."""

from __future__ import annotations

from random import Random

from rubrica.runs.files.rows import RunRow

RUBRIC = "essay@1.0.0"


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311


def row(case: str, score: float | None = 80.0, **own: object) -> RunRow:
    """One evaluation that passes from 70."""
    verdict = "inconclusive" if score is None else "pass" if score >= 70 else "fail"
    known: dict[str, object] = {"case": case, "rubric": RUBRIC, "verdict": verdict, "score": score, "out_of": 100.0}
    return RunRow(**(known | own))  # type: ignore[arg-type]


def twins(
    chance: Random, cases: int, *, drop: float = 0.0, groups: int | None = None, dimensions: int = 6
) -> tuple[list[RunRow], list[RunRow]]:
    """The same cases judged twice, the second time `drop` points (of 10) worse; groups share a part of their luck."""
    runs: tuple[list[RunRow], list[RunRow]] = ([], [])
    luck = [(chance.gauss(0, 0.7), chance.gauss(0, 0.7)) for _ in range(groups or 0)]
    for n in range(cases):
        level = chance.gauss(7, 1.5)
        for side, run in enumerate(runs):
            off = chance.gauss(0, 0.7) - drop * side + (luck[n % groups][side] if groups else 0)
            values = {
                f"d{k}": float(min(10, max(1, round(level + off + chance.gauss(0, 0.7))))) for k in range(dimensions)
            }
            score = 10 * sum(values.values()) / dimensions
            group = f"g{n % groups}" if groups else None
            run.append(row(f"case-{n}", score, dimensions=values, group=group))
    return runs
