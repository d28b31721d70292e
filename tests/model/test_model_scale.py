"""Scales and anchors."""

from __future__ import annotations

import pytest

from rubrica.model.scale import Scale, anchor_gaps, read_anchors


@pytest.mark.parametrize(
    ("ranges", "scale", "gaps"),
    [
        (["9-10", "7-8", "5-6", "1-4"], (1, 10), 0),
        (["0.9-1", "0.7-0.9", "0-0.7"], (0, 1), 0),
        (["0", "1"], (0, 1), 0),
        (["-5..0", "1..5"], (-5, 5), 0),
        (["9-10", "5-7", "1-4"], (1, 10), 1),
        (["0.8-1", "0-0.7"], (0, 1), 1),
        (["5-10", "1-5"], (1, 10), 1),
        (["2-9"], (1, 10), 2),
    ],
)
def test_anchors_cover_the_scale_once(ranges: list[str], scale: tuple[float, float], gaps: int) -> None:
    anchors = read_anchors(dict.fromkeys(ranges, "x"))
    assert len(anchor_gaps(anchors, Scale(min=scale[0], max=scale[1]))) == gaps


def test_a_scale_below_zero_has_its_lowest_value_as_zero() -> None:
    assert Scale(min=-5, max=5).share(0) == 0.5
    assert Scale(min=1, max=10).share(5) == 0.5
