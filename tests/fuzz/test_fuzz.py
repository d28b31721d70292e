"""Whatever is written to it, Rubrica reads it or refuses it: nothing crashes, hangs, or gives a number that is none.

Here each target is tried with the same few examples every time; `make fuzz MINUTES=10` tries others for as long as one
likes, and keeps what failed.
"""

from __future__ import annotations

import pytest
from fuzz_target import Target, bounded
from fuzz_targets import TARGETS
from hypothesis import HealthCheck, Phase, example, given, settings

REPEATABLE = settings(
    derandomize=True,
    database=None,
    deadline=None,  # what an example may take is told by `bounded`, in CPU time
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name.replace(" ", "-"))
def test_whatever_is_written_is_read_or_refused(target: Target) -> None:
    with target.opened() as check:

        @settings(REPEATABLE, max_examples=max(10, target.share // 2))
        @given(target.examples)
        def holds(tried: object) -> None:
            with bounded():
                check(tried)

        for once_failed in target.begins_with:
            holds = example(once_failed)(holds)
        holds()
