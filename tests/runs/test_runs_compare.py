"""Comparing two runs: what is told, that it is right, and that noise is not called a regression."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import fmean

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_rows import row, seeded, twins

from rubrica.errors import InputError
from rubrica.runs.compare.comparison import Comparison, compare
from rubrica.runs.compare.measure_comparison import ComparisonTerms, MeasureComparison
from rubrica.runs.files.rows import RunRow
from rubrica.runs.summary.grading import Grading

QUICK = ComparisonTerms(replicates=200)


def line(found: Comparison, name: str) -> MeasureComparison:
    return next(own for own in found.lines if own.measure.name == name)


def moved(by: float, count: int = 12) -> tuple[list[RunRow], list[RunRow]]:
    """Every case changes by the same, more or less."""
    before = [row(f"{n}", 60.0 + n) for n in range(count)]
    return before, [row(f"{n}", 60.0 + n + by + (n % 3) / 10) for n in range(count)]


def test_a_run_that_is_worse_throughout_is_a_regression() -> None:
    found = compare(*moved(-10))
    assert found.verdict == "regression"
    score = line(found, "score")
    assert score.mean == pytest.approx(-9.9)
    assert score.test.p == pytest.approx(2 / 2**12)
    assert score.p == pytest.approx(4 / 2**12)  # of two in its family: the pass rate is the other
    assert score.difference is not None
    assert score.difference.high < 0


def test_a_run_compared_with_itself_is_the_same() -> None:
    run, _ = moved(0)
    found = compare(run, run)
    assert found.verdict == "same"
    assert {own.test.p for own in found.lines} == {1.0}
    assert line(found, "score").description == "equal on all 12 cases"


@given(st.integers(0, 10_000), st.integers(2, 25), st.sampled_from([None, 3, 8]), st.floats(-1, 1))
def test_swapping_the_runs_swaps_the_sign_and_nothing_else(
    seed: int, cases: int, groups: int | None, drop: float
) -> None:
    a, b = twins(seeded(seed), cases, drop=drop, groups=groups, dimensions=2)
    there, back = compare(a, b, terms=QUICK), compare(b, a, terms=QUICK)
    opposite = {"improvement": "regression", "regression": "improvement"}
    for own in there.lines:
        other = line(back, own.measure.name)
        assert 0 <= own.test.p <= own.p <= 1
        assert (own.test.p, own.p, own.more, own.bound) == (other.test.p, other.p, other.more, other.bound)
        assert own.mean == pytest.approx(-other.mean)
        assert other.verdict == opposite.get(own.verdict, own.verdict)
        if own.difference is not None and other.difference is not None:
            assert own.difference.low == pytest.approx(-other.difference.high)


def test_the_order_of_the_rows_does_not_matter() -> None:
    a, b = twins(seeded(1), 30, drop=0.4, groups=10)
    shuffled = sorted(b, key=lambda own: own.score or 0)
    assert compare(a, b, terms=QUICK).to_dict() == compare(a[::-1], shuffled, terms=QUICK).to_dict()


@pytest.mark.parametrize("groups", [None, 12])
def test_noise_is_called_a_regression_in_at_most_one_of_twenty(groups: int | None) -> None:
    chance = seeded(11)
    tries = 300
    told = [
        compare(*twins(chance, 36, groups=groups), terms=ComparisonTerms(replicates=50)).verdict for _ in range(tries)
    ]
    assert told.count("regression") / tries <= 0.05
    assert told.count("improvement") / tries <= 0.05


def test_cases_that_share_their_luck_are_not_taken_for_independent_ones() -> None:
    chance = seeded(12)
    runs = [twins(chance, 60, groups=6) for _ in range(60)]
    naive = [compare(*own, terms=ComparisonTerms(grouped=False, replicates=50)).verdict == "regression" for own in runs]
    heeded = [compare(*own, terms=ComparisonTerms(replicates=50)).verdict == "regression" for own in runs]
    assert fmean(naive) > 0.15
    assert fmean(heeded) <= 0.05


def test_a_drop_of_a_tenth_of_the_scale_is_found() -> None:
    chance = seeded(13)
    told = [compare(*twins(chance, 40, drop=1.0), terms=ComparisonTerms(replicates=50)).verdict for _ in range(60)]
    assert told.count("regression") / 60 > 0.9


def test_as_many_more_cases_as_told_do_tell() -> None:
    chance = seeded(14)
    told = []
    for _ in range(40):
        a, b = twins(chance, 12, drop=0.5)
        score = line(compare(a, b, terms=ComparisonTerms(replicates=50)), "score")
        if score.verdict == "cannot tell" and score.more is not None and score.mean < -3:
            again = compare(*twins(chance, 12 + score.more, drop=0.5), terms=ComparisonTerms(replicates=50))
            told.append(line(again, "score").verdict == "regression")
    assert len(told) >= 8
    assert fmean(told) > 0.5  # what few cases suggest is itself unsure; no more than 0.8 is promised


def test_a_difference_that_is_surely_small_is_told_with_its_bound() -> None:
    before = [row(f"{n}", 80.0) for n in range(60)]
    after = [row(f"{n}", 80.0 + (-1) ** n) for n in range(60)]
    score = line(compare(before, after, terms=ComparisonTerms(margin=0.02)), "score")
    assert score.verdict == "same"
    assert score.bound == pytest.approx(0.27, abs=0.04)
    assert score.description == f"no difference larger than {score.bound:.2g}"
    assert line(compare(before, after, terms=ComparisonTerms(margin=0.002)), "score").verdict == "cannot tell"


def test_one_large_loss_against_many_small_gains_is_not_told_either_way() -> None:
    before = [row(f"{n}", 70.0) for n in range(30)]
    after = [row(f"{n}", 71.0 + n / 100) for n in range(29)] + [row("29", 0.0)]
    score = line(compare(before, after), "score")
    assert score.p < 0.05
    assert score.verdict == "cannot tell"
    assert score.more is None


def test_three_cases_cannot_tell_and_say_how_many_would() -> None:
    score = line(compare(*moved(-10, 3)), "score")
    assert score.verdict == "cannot tell"
    assert score.more is not None
    assert score.more >= 3


def test_one_common_case_has_no_interval() -> None:
    score = line(compare([row("1", 80.0)], [row("1", 70.0)]), "score")
    assert score.difference is None
    assert score.description == "cannot tell; at least 6 more cases would"


def test_verdicts_are_compared_by_mcnemars_test() -> None:
    before = [row(f"{n}", 80.0) for n in range(40)]
    after = [row(f"{n}", 60.0 if n < 9 else 80.0) for n in range(40)]
    passed = line(compare(before, after), "pass rate")
    assert passed.test.method == "mcnemar"
    assert passed.test.p == pytest.approx(2 / 2**9)
    assert passed.verdict == "regression"
    assert compare(before, after).changes == {("pass", "fail"): 9}


def test_an_inconclusive_verdict_is_not_a_pass_and_is_told() -> None:
    before = [row(f"{n}", 80.0) for n in range(12)]
    found = compare(before, [row(f"{n}", None) for n in range(12)])
    assert line(found, "pass rate").verdict == "regression"
    assert "12 evaluations of B are inconclusive, which is not a pass" in found.notes
    assert "score has no value for the same case in both runs: left out" in found.notes


def test_verdicts_that_offline_scores_left_open_are_told_from_others() -> None:
    before = [row(f"{n}", 80.0) for n in range(12)]
    after = [row(f"{n}", 80.0, verdict="inconclusive", offline=n < 5) for n in range(12)]
    note = "12 evaluations of B are inconclusive, which is not a pass: 5 scored offline, where a judge may settle the"
    assert f"{note} verdict" in compare(before, after).notes
    changed = compare(before, [row(f"{n}", 80.0, rubric="essay@2.0.0") for n in range(12)])
    assert "`rubrica rejudge` applies a changed rubric to stored scores" in changed.notes[0]


def test_repeats_are_averaged_before_they_are_paired() -> None:
    before = [row(f"{n}", 80.0, repeat=k) for n in range(8) for k in range(3)]
    after = [row(f"{n}", 70.0 + 5 * k, repeat=k) for n in range(8) for k in range(3)]
    score = line(compare(before, after), "score")
    assert (score.cases, score.after) == (8, 75.0)


def test_cases_of_one_run_only_are_told() -> None:
    a, b = moved(-5)
    found = compare([*a, row("old")], [*b, row("new")])
    assert (found.cases, found.only_a, found.only_b) == (12, ["old"], ["new"])


def test_runs_without_a_common_case_are_refused_with_a_way_out() -> None:
    with pytest.raises(InputError, match=r"no case in common .*judge the same cases in both runs, with the same ids"):
        compare([row("1")], [row("2")])
    with pytest.raises(InputError, match="B holds no evaluation"):
        compare([row("1")], [])
    with pytest.raises(InputError, match="give cases an id"):
        compare([row("")], [row("")])


def test_a_dimension_on_another_scale_is_left_out_and_told() -> None:
    a = [row(f"{n}", dimensions={"tone": 4.0, "facts": 3.0}) for n in range(9)]
    b = [row(f"{n}", dimensions={"tone": 8.0, "facts": 2.0}, rubric="essay@2.0.0") for n in range(9)]
    gradings = tuple(Grading(scales={"essay": {"tone": (1.0, end), "facts": (1.0, 5.0)}}) for end in (5.0, 10.0))
    found = compare(a, b, gradings=gradings)  # type: ignore[arg-type]
    assert "tone" not in {own.measure.name for own in found.lines}
    assert line(found, "facts").verdict == "regression"
    assert "tone is on 1–5 in one run and 1–10 in the other: left out" in found.notes
    assert any("changed from essay@1.0.0 to essay@2.0.0" in note for note in found.notes)


def test_several_rubrics_are_compared_each_with_its_own() -> None:
    a, b = moved(-10)
    other = [msgspec.structs.replace(own, rubric="letter@1.0.0") for own in a]
    found = compare([*a, *other], [*b, *other])
    assert {(own.rubric, own.verdict) for own in found.lines if own.measure.kind == "score"} == {
        ("essay", "regression"),
        ("letter", "same"),
    }


def test_a_rubric_says_what_its_verdicts_mean() -> None:
    before = [row(f"{n}", verdict="gold") for n in range(9)]
    after = [row(f"{n}", verdict="tin") for n in range(9)]
    grading = Grading(roles={"essay": {"gold": "good", "tin": "bad"}})
    assert line(compare(before, after, gradings=(grading, grading)), "pass rate").verdict == "regression"
    assert "pass rate" not in {own.measure.name for own in compare(before, after).lines}


def test_a_comparison_is_plain_data() -> None:
    found = compare(*twins(seeded(2), 20, groups=5), terms=QUICK)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["groups"] == 5
    assert {own["verdict"] for own in plain["lines"]} <= {"improvement", "regression", "same", "cannot tell"}
    assert replace(found, lines=()).verdict == "cannot tell"


def test_cases_are_paired_by_id_whatever_their_order() -> None:
    before, after = moved(-10, count=60)
    found = compare(before, after[::-1], terms=QUICK)
    assert (found.cases, found.verdict) == (60, "regression")
    assert found.to_dict() == compare(before, after, terms=QUICK).to_dict()


def test_cases_that_share_an_id_are_averaged_and_told() -> None:
    rest = [row(f"q{n}", 50.0 + n) for n in range(10)]
    one, other = [row("x", 90.0), row("x#2", 10.0)], [row("x", 10.0), row("x#2", 90.0)]
    found = compare([*one, *rest], [*rest, *other], terms=QUICK)
    assert (found.cases, found.verdict, found.worse, found.better) == (11, "same", [], [])
    assert not found.changes
    told = [text for text in found.notes if "belongs to several cases (x)" in text]
    assert len(told) == 2
    lost = compare([*one, *rest], [*rest, row("x", 20.0)], terms=QUICK)
    assert [(case.case, case.before, case.after) for case in lost.worse] == [("x", 50.0, 20.0)]
    assert not any("several" in text for text in compare(rest, [*rest, row("y#2", 5.0)], terms=QUICK).notes)


def test_numbers_that_may_be_lines_are_told() -> None:
    numbered = [row(str(n), 50.0 + n) for n in range(1, 9)]
    assert any("if those are lines" in text for text in compare(numbered, numbered, terms=QUICK).notes)
    named = [row(f"q{n}", 50.0 + n) for n in range(1, 9)]
    assert not any("lines" in text for text in compare(named, named, terms=QUICK).notes)


def test_a_rubric_that_changed_and_kept_its_version_is_told() -> None:
    run, _ = moved(0)
    name = run[0].rubric.partition("@")[0]
    kept, changed = Grading(hashes={name: "a" * 8}), Grading(hashes={name: "b" * 8})
    told = f"the rubric changed and kept its version, {run[0].rubric}; what both call the same is compared"
    assert compare(run, run, gradings=(kept, changed)).notes[0].startswith(told)
    for gradings in ((kept, kept), (kept, Grading())):  # Grading(): of a bare file, whose rubric nobody knows
        assert compare(run, run, gradings=gradings).notes == []
