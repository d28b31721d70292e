"""The small talk that is learnt from: its ratings, and that nothing of it is measured with."""

from __future__ import annotations

import json
from pathlib import Path

from training.conversation import BY_MEANING, BY_SURFACE, OWN_COUNTS, own_replies

from rubrica.text.conversation import weights

SETS = Path(__file__).parents[2] / "benchmarks" / "sets"


def test_every_talk_has_replies_from_good_to_bad() -> None:
    ratings: dict[str, list[float]] = {}
    for each in own_replies():
        assert each.reply, each.context
        assert not each.apart
        assert each.counts == OWN_COUNTS < 1
        ratings.setdefault(each.context, []).append(each.rating)
    assert len(ratings) >= 50
    for context, own in ratings.items():
        assert 0 <= min(own) <= 0.25 < 0.5 < max(own) <= 1, context


def test_no_talk_is_both_learnt_from_and_measured_with() -> None:
    rows = [json.loads(line) for line in (SETS / "rated_replies.jsonl").read_text(encoding="utf-8").splitlines()]
    measured = {" ".join(row["before"]).lower() for row in rows}
    assert len(measured) == len(rows)
    learnt = {each.context.replace("\n", " ").lower() for each in own_replies()}
    assert measured.isdisjoint(learnt)
    assert {
        reply["text"].lower() for row in rows for reply in row["replies"] if len(reply["text"].split()) > 5
    }.isdisjoint(each.reply.lower() for each in own_replies())


def test_the_weights_are_of_the_signs_that_are_learnt() -> None:
    model = weights()
    assert (tuple(model.by_meaning.signs), tuple(model.by_surface.signs)) == (BY_MEANING, BY_SURFACE)
