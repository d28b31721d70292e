"""Early consensus against brute force: no ballot that is out can change a winner that is called decided."""

from __future__ import annotations

from itertools import permutations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from rubrica.council.early_consensus import OpenBallot, VoteTally, decided_winner
from rubrica.council.order import reviewing_orders
from rubrica.council.ranking import CouncilVotes, rank

LABELS = "ABC"


def borda(ballots: list[tuple[str, ...]]) -> dict[str, int]:
    return {label: sum(len(ballot) - 1 - ballot.index(label) for ballot in ballots) for label in LABELS}


def winner(points: dict[str, int]) -> str | None:
    top = [label for label, own in points.items() if own == max(points.values())]
    return top[0] if len(top) == 1 else None


@given(st.lists(st.permutations(LABELS), min_size=1, max_size=5), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_a_decided_winner_is_the_winner_of_every_completion_and_only_then(
    cast: list[tuple[str, ...]], left: int
) -> None:
    tallies = {label: VoteTally(own, len(cast)) for label, own in borda(cast).items()}
    found = decided_winner(tallies, [OpenBallot(LABELS)] * left, (0, 2))
    ends = {winner(borda([*cast, *more])) for more in product(permutations(LABELS), repeat=left)}
    assert (found is not None) == (len(ends) == 1 and None not in ends)
    assert found is None or ends == {found}


def test_the_documented_examples() -> None:
    def after(ballots: int, *points: float) -> dict[str, VoteTally]:
        return {label: VoteTally(own, ballots) for label, own in zip(LABELS, points, strict=True)}

    assert decided_winner(after(4, 8, 4, 0), [OpenBallot(LABELS)], (0, 2)) == "A"
    assert decided_winner(after(3, 6, 3, 0), [OpenBallot(LABELS)] * 2, (0, 2)) is None
    assert decided_winner(after(2, 4, 2, 0), [OpenBallot(LABELS)], (0, 2)) is None  # a tie is no winner


SCORES = st.integers(0, 4)


@given(
    st.dictionaries(
        st.sampled_from("ABCD"), st.fixed_dictionaries(dict.fromkeys("ABCD", SCORES)), min_size=1, max_size=3
    ),
    st.fixed_dictionaries({x: st.sampled_from([0.5, 1.0, 2.0]) for x in "ABCD"}),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_no_scores_of_reviewers_still_out_change_a_winner_by_mean(
    heard: dict[str, dict[str, int]], weights: dict[str, float], chance: object
) -> None:
    orders = reviewing_orders("ABCD")
    sheets = {own: {label: float(row[label]) for label in orders[own]} for own, row in heard.items()}
    tallies = {
        label: VoteTally(
            sum(sheet[label] * weights[own] for own, sheet in sheets.items() if label in sheet),
            sum(weights[own] for own, sheet in sheets.items() if label in sheet),
        )
        for label in "ABCD"
    }
    out = [own for own in "ABCD" if own not in sheets]
    found = decided_winner(tallies, [OpenBallot(orders[own], weights[own]) for own in out], (0, 4), 2)
    if found is None:
        return
    for _ in range(20):
        late = {
            own: {label: float(chance.choice([0, 4, 2])) for label in orders[own] if chance.random() < 0.8}  # type: ignore[attr-defined]
            for own in out
        }
        ranking = rank("ABCD", CouncilVotes({**sheets, **late}, weights=weights))
        assert (ranking.order[0], ranking.standings[1].rank) == (found, 2)
