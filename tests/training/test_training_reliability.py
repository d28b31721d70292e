"""Bounds of offline scores: how they are fitted, and that the bundled rubrics have what the script writes."""

from __future__ import annotations

from random import Random
from statistics import fmean

import pytest
from training.labelled import SETS
from training.reliability import KINDS, MeasuredKind, Observation, coverages, document, fit, holds, with_measured

import rubrica
from rubrica.engine.load import rubric_from_text
from rubrica.model.reliability import Reliability

SCALE = (0.0, 1.0)
RATED = MeasuredKind("pack", "worth", "rated", "word_count > 0", "dialogue_usr_topical", absolute=False)
CLASSED = MeasuredKind("pack", "worth", "classed", "word_count > 0", "routing_gsm8k", absolute=True)


def rated(count: int, spread: float, seed: int = 1) -> list[Observation]:
    """Offline values with people's scores around them, four texts to a group."""
    chance = Random(seed)  # noqa: S311
    values = [chance.uniform(0.2, 0.8) for _ in range(count)]
    people = [min(max(value + chance.gauss(0, spread), 0.0), 1.0) for value in values]
    return [
        Observation(str(at // 4), value, (said, said), "", "")
        for at, (value, said) in enumerate(zip(values, people, strict=True))
    ]


def classed(wrong: int, right: int) -> list[Observation]:
    """Texts that people call wrong (0 to 0.3) or right (0.7 to 1)."""
    ranges = [(0.0, 0.3)] * wrong + [(0.7, 1.0)] * right
    return [
        Observation(str(at), 0.2, ends, "fail", "fail" if ends[1] < 0.5 else "pass") for at, ends in enumerate(ranges)
    ]


@pytest.mark.parametrize("spread", [0.02, 0.1, 0.3])
def test_bounds_hold_nine_tenths_of_texts_that_they_were_not_taken_from(spread: float) -> None:
    found = fit(RATED, rated(400, spread), SCALE)
    fresh = rated(2_000, spread, seed=2)
    assert fmean(holds(found, one, SCALE) for one in fresh) == pytest.approx(0.9, abs=0.05)


def test_the_less_people_differ_from_the_value_the_narrower_the_bounds() -> None:
    near, far = (fit(RATED, rated(400, spread), SCALE).bounds(0.5, SCALE) for spread in (0.02, 0.2))
    assert near[1] - near[0] < 0.1 < far[1] - far[0]


def test_splits_keep_groups_apart_and_come_close_to_the_level() -> None:
    shares = coverages(RATED, rated(600, 0.1), SCALE, Random(3))  # noqa: S311
    assert fmean(shares) == pytest.approx(0.9, abs=0.04)


@pytest.mark.parametrize(
    ("wrong", "right", "ends"), [(96, 4, (0.0, 0.3)), (60, 40, (0.0, 1.0)), (4, 96, (0.2, 1.0)), (20, 0, (0.0, 1.0))]
)
def test_a_class_is_ruled_out_only_where_nine_of_ten_texts_are_not_of_it(
    wrong: int, right: int, ends: tuple[float, float]
) -> None:
    assert fit(CLASSED, classed(wrong, right), SCALE).bounds(0.2, SCALE) == ends  # few texts rule out nothing


def test_how_often_points_were_right_is_told_by_verdict() -> None:
    assert fit(CLASSED, classed(75, 25), SCALE).right == {"fail": 0.75}


def test_what_is_measured_is_written_between_the_marks_and_nowhere_else() -> None:
    text = "a:\n  # begin measured: worth\n  - old\n  # end measured\nb: 1\n"
    kinds = {"worth": [Reliability(kind="rated", when="word_count > 0", below=0.2, texts=40)]}
    once = with_measured(text, kinds)
    assert once == with_measured(once, kinds)
    assert once.startswith("a:\n  # begin measured: worth\n  - kind: rated\n    when: word_count > 0\n")
    assert once.endswith("  # end measured\nb: 1\n")
    with pytest.raises(SystemExit, match="0 places"):
        with_measured("a: 1\n", kinds)


@pytest.mark.parametrize("pack", sorted({kind.pack for kind in KINDS}))
def test_a_bundled_rubric_has_the_kinds_that_the_script_measures(pack: str) -> None:
    rubric = rubrica.load(pack)
    for kind in (kind for kind in KINDS if kind.pack == pack):
        offline = rubric.dimensions[kind.dimension].offline
        assert offline is not None
        found = [one for one in offline.reliability if one.kind == kind.kind]
        assert [(one.when, one.data) for one in found] == [(kind.when, SETS[kind.data].title)]
        assert found[0].texts
    text = document(pack).read_text(encoding="utf-8")
    assert rubric_from_text(text).hash == rubric.hash
