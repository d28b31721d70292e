"""Spans that are looked for when they are read."""

from __future__ import annotations

import copy
import pickle

import msgspec
import pytest

from rubrica.model.evaluation import RuleHit
from rubrica.model.evidence import Span, SpansOnDemand, spans_on_demand


class Vowels:
    """Finds vowels, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def spans_in(self, text: str) -> tuple[Span, ...]:
        self.asked += 1
        return tuple(Span("response", i, i + 1, c) for i, c in enumerate(text) if c in "aeiou")


FOUND = (Span("response", 1, 2, "o"), Span("response", 3, 4, "a"))


def test_spans_are_looked_for_once_and_only_when_read() -> None:
    finder = Vowels()
    hit = RuleHit("vowel", "pattern_detection", 2.0, count=2, spans=spans_on_demand(finder, "total"))
    assert (hit.points, hit.count) == (2.0, 2)
    assert finder.asked == 0
    assert [span.text for span in hit.spans] == ["o", "a"]
    assert (len(hit.spans), hit.spans[0], hit.spans[1:], FOUND[1] in hit.spans) == (2, FOUND[0], FOUND[1:], True)
    assert finder.asked == 1


def test_spans_on_demand_equal_the_tuple_they_stand_for() -> None:
    late = spans_on_demand(Vowels(), "total")
    assert late == FOUND
    assert late == spans_on_demand(Vowels(), "total")
    assert late != FOUND[:1]  # type: ignore[comparison-overlap]
    assert hash(late) == hash(FOUND)
    assert repr(late) == repr(FOUND)
    assert RuleHit("a", "penalty", 1.0, spans=late) == RuleHit("a", "penalty", 1.0, spans=FOUND)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])  # noqa: S301
def test_a_copy_holds_the_spans_themselves(copied: object) -> None:
    assert callable(copied)
    late = copied(spans_on_demand(Vowels(), "total"))
    assert type(late) is tuple
    assert late == FOUND
    hit = copied(RuleHit("a", "penalty", 1.0, spans=spans_on_demand(Vowels(), "total")))
    assert hit.spans == FOUND


def test_a_changed_hit_keeps_its_spans() -> None:
    hit = RuleHit("a", "penalty", 1.0, spans=spans_on_demand(Vowels(), "total"))
    changed = msgspec.structs.replace(hit, points=3.0)
    assert isinstance(changed.spans, SpansOnDemand)
    assert changed.spans == FOUND
