"""What judges prefer, as the studio shows it: places, votes in both orders, ties, cost, and no markup of others."""

from __future__ import annotations

from rubrica.judges.preference import Preference, PreferenceVote
from rubrica.model.evaluation import Cost, Unscored
from rubrica.studio.preferences.result import cost_text, outcome, standings, votes

HOSTILE = "<script>alert(1)</script>"


def vote(ranks: dict[str, float] | None, *shown: str, reason: str = "so it is") -> PreferenceVote:
    return PreferenceVote("ann", ranks, reason, 0.9, shown)


def preferred(choice: str | None, merits: dict[str, float], *given: PreferenceVote, usd: float | None) -> Preference:
    order = tuple(sorted(merits, key=lambda name: -merits[name]))
    return Preference(choice, order, merits, 0.8, "", given, Cost(usd))


def test_a_choice_is_told_with_both_orders_and_its_cost() -> None:
    given = vote({"a": 1, "b": 2}, "a", "b"), vote({"a": 1, "b": 2}, "b", "a")
    found = preferred("a", {"a": 1.0, "b": -1.0}, *given, usd=0.25)
    assert outcome(found) == "The better one is a."
    assert "$0.25" in cost_text(found)
    assert "2 of 2" in standings(found)
    assert "a · b" in votes(found)
    assert "b · a" in votes(found)


def test_responses_of_equal_merit_share_a_place_and_nobody_wins() -> None:
    given = vote({"a": 1, "b": 2}, "a", "b"), vote({"a": 2, "b": 1}, "b", "a"), vote(None, "a", "b", reason="garbled")
    found = preferred(None, {"a": 0.0, "b": 0.0}, *given, usd=None)
    assert outcome(found).startswith("A tie")
    assert cost_text(found) == "What it cost is not known."
    assert standings(found).count(">1<") == 2
    assert "no answer" in votes(found)


def test_why_nobody_could_tell_is_said() -> None:
    assert outcome(Unscored("no judge answered")) == "Nobody could tell: no judge answered"


def test_names_and_reasons_are_shown_without_markup() -> None:
    given = vote({HOSTILE: 1, "b": 2}, HOSTILE, "b", reason=HOSTILE)
    found = preferred(HOSTILE, {HOSTILE: 1.0, "b": -1.0}, given, usd=0.0)
    assert "<script" not in standings(found) + votes(found)
