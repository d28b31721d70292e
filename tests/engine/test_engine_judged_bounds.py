"""Judges' scores that count as all that people may have given in their place."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pytest

import rubrica
from rubrica import Context, Evaluation, Score, Unscored
from rubrica.engine.rejudge import rejudge
from rubrica.judges.calibration import CalibratedJudge, calibrate
from rubrica.judges.judge_reliability import judged_bounds
from rubrica.judges.labels import Label
from rubrica.judges.panel import Panel, Pooling
from rubrica.model.calibration import Calibration
from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale

TEN = Scale(min=0, max=10)


def labels(count: int, *, judges: str = "a", kind: float = 0.0, seed: int = 1) -> list[Label]:
    """Judges that lie up to 1 off what people gave, and are too kind by `kind`."""
    chance = random.Random(seed)  # noqa: S311
    found = []
    for number in range(count):
        human = chance.uniform(1, 8)
        found += [
            Label("tone", TEN.clamp(human + kind + chance.uniform(-1, 1)), human, f"i{number}", judge)
            for judge in judges
        ]
    return found


def calibration(given: Sequence[Label]) -> Calibration:
    found = calibrate(given, {"tone": TEN}, version=1, on=date(2026, 11, 15)).calibration
    assert found is not None
    return found


def rubric(known: Calibration | None, **judging: Any) -> Rubric:
    document: dict[str, Any] = {
        "name": "tone",
        "scale": {"min": 0, "max": 10},
        "dimensions": {"tone": {"asks": "Is it kind?", "offline": {"formula": "5"}}},
        "score": {"weighted": True, "out_of": 100},
        "verdicts": [{"label": "pass", "when": "score >= 50"}, {"label": "fail"}],
        "judging": judging,
    }
    if known is not None:
        document["calibration"] = known.model_dump(mode="json", exclude_none=True)
    return rubrica.load(document)


class Saying:
    """A judge that gives every axis the same score."""

    def __init__(self, value: float, name: str = "a") -> None:
        self.value, self.name = value, name

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        return {axis: Score(self.value, "so", 1.0, "llm", judge=self.name) for axis in axes}


def judged(by: Rubric, value: float, name: str = "a") -> Evaluation:
    judge: rubrica.Judge = Saying(value, name)
    if by.calibration is not None:
        judge = CalibratedJudge(judge, name, by.calibration)
    return asyncio.run(rubrica.aevaluate(by, response="Thanks!", judge=judge))


def test_a_judges_score_near_the_threshold_is_inconclusive_and_far_from_it_decides() -> None:
    by = rubric(calibration(labels(60)), judged="bounds")
    near, far = judged(by, 5.3), judged(by, 8.5)
    assert near.verdict == "inconclusive"
    assert near.score == pytest.approx(53)
    low, high = near.dimensions["tone"].bounds or (0, 0)
    assert 4.2 <= low < 4.6
    assert 6 < high <= 6.4
    assert "judges' scores are only known within bounds (tone " in near.reason
    assert "--judge" not in near.reason
    assert near.dimensions["tone"].kind == "calibration 1 of 2026-11-15"
    assert (far.verdict, far.dimensions["tone"].bounds is not None) == ("pass", True)


def test_as_a_point_it_decides_and_a_note_says_what_is_known_of_the_judge() -> None:
    by = rubric(calibration(labels(60)), judged="point", offline="bounds")
    found = judged(by, 5.3)
    assert (found.verdict, found.dimensions["tone"].bounds) == ("pass", None)
    assert any(note.startswith("judges' scores decided as they are; nine in ten") for note in found.notes)


@pytest.mark.parametrize(("offline", "verdict"), [("bounds", "inconclusive"), ("point", "pass"), (None, "pass")])
def test_left_out_judged_scores_count_as_offline_ones_do(offline: str | None, verdict: str) -> None:
    assert judged(rubric(calibration(labels(60)), offline=offline), 5.3).verdict == verdict


def test_a_judge_that_nobody_measured_decides_and_the_result_says_so() -> None:
    found = judged(rubric(calibration(labels(60)), judged="bounds"), 5.3, name="stranger")
    assert (found.verdict, found.dimensions["tone"].bounds) == ("pass", None)
    assert found.notes == ("how far people's scores lie from the judge's was not measured for tone",)
    assert judged(rubric(None, judged="bounds"), 5.3).notes == ()


def test_bounds_lie_around_the_corrected_score() -> None:
    known = calibration(labels(80, kind=1.5))
    found = judged(rubric(known, judged="bounds"), 8.5)
    tone = found.dimensions["tone"]
    assert known.dimensions
    assert tone.value is not None
    assert tone.value < 7.6
    assert tone.bounds is not None
    assert tone.bounds[0] < tone.value < tone.bounds[1]
    assert tone.bounds[1] - tone.bounds[0] < 3


def test_nine_in_ten_of_new_peoples_scores_lie_within_the_bounds() -> None:
    known = calibration(labels(100))
    inside = 0
    for new in labels(400, seed=2):
        ends = judged_bounds(known, "tone", Score(new.score, source="llm", judge="a"), TEN.ends)
        assert ends is not None
        inside += ends[0] <= new.human <= ends[1]
    assert 0.82 < inside / 400 < 0.98


def test_a_panel_has_the_mean_spread_of_its_judges_and_none_where_one_is_a_stranger() -> None:
    known = calibration(labels(60, judges="ab"))
    by = rubric(known, judged="bounds")
    panel = Panel({"a": [Saying(5, "a")], "b": [Saying(6, "b")]}, {"tone": TEN}, Pooling.of(by))
    found = asyncio.run(rubrica.aevaluate(by, response="Thanks!", judge=panel)).dimensions["tone"]
    spreads = known.reliability["tone"]
    assert found.bounds is not None
    assert found.value is not None
    assert found.value - found.bounds[0] == pytest.approx(
        ((spreads["a"].below or 0) + (spreads["b"].below or 0)) / 2, abs=1e-4
    )
    strange = Panel({"a": [Saying(5, "a")], "c": [Saying(6, "c")]}, {"tone": TEN}, Pooling.of(by))
    assert asyncio.run(rubrica.aevaluate(by, response="Hi", judge=strange)).dimensions["tone"].bounds is None


def test_stored_scores_get_the_bounds_of_the_rubric_they_are_judged_under() -> None:
    known = calibration(labels(60))
    first = judged(rubric(known, judged="bounds"), 5.3)
    as_points = rejudge(rubrica.compile(rubric(known, judged="point")), first)
    again = rejudge(rubrica.compile(rubric(known, judged="bounds")), as_points)
    assert (first.verdict, as_points.verdict, again.verdict) == ("inconclusive", "pass", "inconclusive")
    assert as_points.dimensions["tone"].bounds is None
    assert again.dimensions["tone"].bounds == first.dimensions["tone"].bounds
