"""Panels, choices and raters: what is learned from labels, and what is done with it."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from datetime import date
from statistics import fmean

import pytest

from rubrica.errors import ContextError
from rubrica.judges.calibration import CalibrationOutcome, calibrate, expected_rating
from rubrica.judges.labels import ChoiceLabel, Label, UnlabelledScore, read_labels
from rubrica.judges.panel import Panel, Pooling
from rubrica.judges.panel_fit import learn_choices
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score, Vote
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale

SCALES = {"tone": Scale(min=1, max=10), "passes": Scale(min=0, max=1)}
TODAY = date(2026, 11, 15)
FOOLED = ("b", "c", "d", "e", "f")


def learn(labels: Sequence[Label], choices: Sequence[ChoiceLabel] = ()) -> CalibrationOutcome:
    return calibrate([*labels, *choices], SCALES, version=1, on=TODAY)


def one_right(count: int, seed: int = 3) -> list[Label]:
    """Judge a is right nine times in ten; the others share a view that is wrong seven times in ten."""
    chance = random.Random(seed)  # noqa: S311
    labels = []
    for number in range(count):
        true = float(chance.random() < 0.5)
        surface = true if chance.random() < 0.3 else 1 - true
        said = {"a": true if chance.random() < 0.9 else 1 - true}
        said |= {judge: surface if chance.random() < 0.9 else 1 - surface for judge in FOOLED}
        labels += [Label("passes", value, true, f"i{number}", judge) for judge, value in said.items()]
    return labels


def rubric_with(found: CalibrationOutcome) -> Rubric:
    assert found.calibration is not None
    dimensions = {name: {"weight": 1, "asks": "?", "scale": SCALES[name].model_dump()} for name in SCALES}
    document = {"name": "r", "dimensions": dimensions, "verdicts": [{"label": "done"}]}
    return Rubric.model_validate({**document, "calibration": found.calibration.model_dump(mode="json")})


def share_right(pooling: Pooling, labels: Sequence[Label]) -> float:
    items: dict[str, list[Label]] = {}
    for label in labels:
        items.setdefault(label.item, []).append(label)
    right = []
    for own in items.values():
        value = pooling.value("passes", [Vote(label.judge, label.score) for label in own])
        right.append(value is not None and (value > 0.5) == (own[0].human > 0.5))
    return fmean(right)


def test_one_judge_who_is_right_is_heard_among_many_who_are_fooled() -> None:
    found = learn(one_right(40))
    pooling, new = Pooling.of(rubric_with(found)), one_right(400, seed=2)
    assert share_right(Pooling("mean"), new) < 0.5
    assert share_right(pooling, new) > 0.8
    assert found.calibration is not None
    panel = found.calibration.dimensions["passes"].panel
    assert panel is not None
    assert panel.judges["a"].weight > 0.5 > max(panel.judges[judge].weight for judge in FOOLED)


def test_judges_alike_are_not_weighed_by_luck() -> None:
    chance = random.Random(4)  # noqa: S311
    labels = []
    for number in range(40):
        true = chance.uniform(2, 9)
        labels += [
            Label("tone", min(max(true + chance.gauss(0, 1), 1), 10), true, f"i{number}", judge) for judge in "abc"
        ]
    found = learn(labels)
    assert found.calibration is not None
    assert found.calibration.panels == {}


def test_judges_that_guess_are_refused_whatever_their_weights() -> None:
    chance = random.Random(4)  # noqa: S311
    labels = [
        Label("tone", chance.uniform(1, 10), chance.uniform(1, 10), f"i{number}", judge)
        for number in range(60)
        for judge in "abcdef"
    ]
    found = learn(labels)
    assert not found.helps
    assert found.calibration is not None
    assert found.calibration.dimensions == {}
    assert set(found.calibration.reliability["tone"]) == set("abcdef")  # how little they know is worth knowing


def test_a_panel_says_that_its_value_was_learned_and_keeps_its_votes_as_given() -> None:
    rubric = rubric_with(learn(one_right(60)))

    async def says(value: float) -> dict[str, Score]:
        return {"passes": Score(value, source="llm")}

    values = {"a": 1.0, **dict.fromkeys(FOOLED, 0.0)}
    judges = {name: [lambda _axes, _context, value=value: says(value)] for name, value in values.items()}
    panel = Panel(judges, {"passes": SCALES["passes"]}, Pooling.of(rubric))
    polled = asyncio.run(panel({"passes": Axis()}, Context()))["passes"]
    assert isinstance(polled, Score)
    assert polled.value > 0.5
    assert "learned panel" in polled.reason
    assert {vote.judge: vote.value for vote in polled.votes} == values


def test_without_the_judges_that_count_the_panel_pools_as_usual_and_says_so() -> None:
    pooling = Pooling.of(rubric_with(learn(one_right(60))))
    votes = [Vote("b", 0.0), Vote("new", 1.0)]
    assert pooling.value("passes", votes) == 0.5
    assert "too few judges of the learned panel" in pooling.called("passes", ["b", "new"])


def test_every_judges_own_reliability_is_kept() -> None:
    found = learn(one_right(60)).calibration
    assert found is not None
    alone = found.reliability["passes"]
    assert (alone["a"].spearman or 0) > 0.6 > 0 > (alone["b"].spearman or 0)
    assert alone["a"].rmse < alone["b"].rmse


# --- choices ----------------------------------------------------------------------------------------------


def chosen(labels: Sequence[Label], *, labelled: bool = True) -> list[ChoiceLabel]:
    sides = ("first", "second")
    return [
        ChoiceLabel(x.item, x.judge, sides[int(x.score)], sides[int(x.human)] if labelled else None) for x in labels
    ]


def test_choices_are_weighed_by_labels_and_held_against_majority_and_best() -> None:
    fit = learn_choices(chosen(one_right(40)))
    assert fit.weights is not None
    assert fit.right is not None
    assert fit.right.learned > fit.right.mean
    assert fit.weights.judges["a"] > 0.5
    assert min(fit.weights.judges[judge] for judge in FOOLED) < 0.05


def test_judges_that_are_as_good_as_each_other_mostly_stay_alike() -> None:
    weighed = 0
    for seed in range(20):
        chance = random.Random(seed)  # noqa: S311
        labels = [
            ChoiceLabel(f"{item}", judge, "first" if chance.random() < 0.75 else "second", "first")
            for item in range(40)
            for judge in "abcde"
        ]
        fit = learn_choices(labels)
        weighed += fit.weights is not None
        assert fit.weights is not None or "no clear gain" in fit.reason
    assert weighed <= 4


def test_without_labels_judges_are_held_against_each_other_and_it_is_said() -> None:
    chance = random.Random(3)  # noqa: S311
    labels = []
    for number in range(60):
        true = float(chance.random() < 0.5)
        for judge, skill in (("good", 0.95), ("fair", 0.8), ("also", 0.8), ("coin", 0.5)):
            labels.append(Label("passes", true if chance.random() < skill else 1 - true, true, f"{number}", judge))
    fit = learn_choices(chosen(labels, labelled=False))
    assert fit.weights is not None
    weights = fit.weights.judges
    assert weights["good"] > weights["coin"]
    assert abs(weights["coin"]) < 1
    assert "Dawid and Skene" in fit.reason
    assert fit.weights.labels == 0


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (chosen(one_right(10)), "20 in 5 groups are the fewest"),
        (chosen([x for x in one_right(30) if x.judge in "ab"], labelled=False), "takes 3 judges"),
        ([ChoiceLabel(str(n), "a", option, "x") for n, option in enumerate("xyz")], "between two: found x, y, z"),
    ],
)
def test_choices_that_teach_nothing_are_refused_with_the_reason(labels: list[ChoiceLabel], says: str) -> None:
    fit = learn_choices(labels)
    assert fit.weights is None
    assert says in fit.reason


# --- verdicts without labels ------------------------------------------------------------------------------


SKILLS = {"good": 0.95, "also": 0.9, "coin": 0.5, "toss": 0.5}


def judged(count: int, seed: int = 3, passes: float = 0.5) -> list[Label]:
    """Two judges who know, and two who guess."""
    chance = random.Random(seed)  # noqa: S311
    labels = []
    for number in range(count):
        true = float(chance.random() < passes)
        for judge, skill in SKILLS.items():
            labels.append(Label("passes", true if chance.random() < skill else 1 - true, true, f"{number}", judge))
    return labels


def unlabelled(labels: Sequence[Label]) -> list[UnlabelledScore]:
    return [UnlabelledScore(x.dimension, x.score, x.item, x.judge, x.group) for x in labels]


@pytest.mark.parametrize("passes", [0.5, 0.8])
def test_without_labels_judges_of_a_verdict_who_agree_by_skill_are_heard(passes: float) -> None:
    found = calibrate(unlabelled(judged(60, passes=passes)), SCALES, version=1, on=TODAY)
    pooling, new = Pooling.of(rubric_with(found)), judged(400, seed=2, passes=passes)
    assert share_right(pooling, new) > share_right(Pooling("mean"), new) + 0.08
    assert found.calibration is not None
    panel = found.calibration.dimensions["passes"].panel
    assert panel is not None
    weights = {judge: known.weight for judge, known in panel.judges.items()}
    assert min(weights["good"], weights["also"]) > 2 * max(weights["coin"], weights["toss"])


def test_what_no_label_stands_behind_has_no_figures_and_says_so() -> None:
    found = calibrate(unlabelled(judged(60)), SCALES, version=1, on=TODAY)
    assert found.calibration is not None
    correction = found.calibration.dimensions["passes"]
    assert (correction.labels, correction.before, correction.after) == (0, None, None)
    assert found.calibration.reliability == {}
    assert Pooling.of(rubric_with(found)).called("passes", list(SKILLS)) == "learned panel (without people's labels)"
    assert Pooling.of(rubric_with(learn(judged(60)))).called("passes", list(SKILLS)) == "learned panel"


def test_a_judge_that_passes_everything_does_not_drown_those_who_look() -> None:
    labels = judged(60, passes=0.6)
    always = [Label("passes", 1.0, x.human, x.item, f"yes{n}") for x in labels if x.judge == "good" for n in (1, 2)]
    known = [x for x in labels if x.judge in ("good", "also")]
    pooling = Pooling.of(rubric_with(calibrate(unlabelled([*known, *always]), SCALES, version=1, on=TODAY)))
    votes = [Vote("good", 0.0), Vote("also", 0.0), Vote("yes1", 1.0), Vote("yes2", 1.0)]
    assert (pooling.value("passes", votes) or 0) < 0.5


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (judged(19), "takes 3 judges and 20 responses that several of them judged, here are 4 and 19"),
        ([x for x in judged(40) if x.judge in ("good", "coin")], "here are 2 and 40"),
        ([Label(x.dimension, x.score, 0, f"{n}", x.judge) for n, x in enumerate(judged(40))], "here are 4 and 0"),
        ([Label("passes", 1.0, 1.0, x.item, x.judge) for x in judged(40)], "every judge says pass of everything"),
        ([Label("passes", 0.7, 1.0, x.item, x.judge) for x in judged(40)], "its scores are not verdicts"),
        ([Label("tone", 1.0, 1.0, x.item, x.judge) for x in judged(40)], "its scores are not verdicts"),
    ],
)
def test_scores_without_labels_that_teach_nothing_are_refused_with_a_way_out(given: list[Label], says: str) -> None:
    found = calibrate(unlabelled(given), SCALES, version=1, on=TODAY)
    assert found.calibration is None
    (refused,) = found.refused.values()
    assert says in refused.reason
    assert "has no label by people; " in refused.reason
    assert "Give what people gave as `human`, of 20 responses at least" in refused.reason


def test_a_single_label_by_people_switches_to_learning_from_labels() -> None:
    rows = [{"id": x.item, "judge": x.judge, "scores": {"passes": x.score}} for x in judged(60)]
    alone = read_labels(map(json.dumps, rows), SCALES)
    assert (len(alone.unlabelled), alone.scores, alone.left_out) == (240, [], 0)
    one = read_labels(map(json.dumps, [{**rows[0], "human": {"passes": "pass"}}, *rows[1:]]), SCALES)
    assert (one.unlabelled, len(one.scores), one.left_out) == ([], 1, 239)
    refused = calibrate([*one.scores, *one.unlabelled], SCALES, version=1, on=TODAY).refused["passes"]
    assert "1 labelled item; 20 are the fewest" in refused.reason
    whole = calibrate([*judged(60), *alone.unlabelled], SCALES, version=1, on=TODAY).calibration
    assert whole is not None
    assert whole.dimensions["passes"].labels == 60
    elsewhere = read_labels(map(json.dumps, [*rows, {"scores": {}, "human": {"tone": 4}}]), SCALES)
    assert (elsewhere.unlabelled, elsewhere.left_out) == ([], 241)


def test_verdicts_without_labels_are_read_from_lines_and_tables() -> None:
    read = [UnlabelledScore("passes", 1.0, "1", "m", "g"), UnlabelledScore("passes", 0.0, "2", "m")]
    lines = [
        '{"id": 1, "judge": "m", "group": "g", "dimension": "passes", "score": "pass"}',
        '{"id": 2, "judge": "m", "scores": {"passes": false}, "human": null}',
        '{"id": 3, "judge": "m", "scores": {"passes": null}}',
    ]
    found = read_labels(lines, SCALES)
    assert (found.unlabelled, found.left_out) == (read, 1)
    assert (
        read_labels(["id,judge,group,judge_passes,passes", "1,m,g,pass,", "2,m,,no,"], SCALES, "l.csv").unlabelled
        == read
    )
    long = ["id,judge,group,dimension,score", "1,m,g,passes,yes", "2,m,,passes,0"]
    assert read_labels(long, SCALES, "l.csv").unlabelled == read
    with pytest.raises(ContextError, match=r"l\.csv:2: passes: 'maybe' is not a number"):
        read_labels([*long[:1], "1,m,g,passes,maybe"], SCALES, "l.csv")


# --- raters -----------------------------------------------------------------------------------------------


def rated(count: int = 60) -> list[Label]:
    """A fair judge, and three people of whom one is harsh and one kind; each rates two of three items."""
    chance = random.Random(8)  # noqa: S311
    people = {"harsh": -2.0, "even": 0.0, "kind": 2.0}
    labels = []
    for number in range(count):
        true = chance.uniform(3, 8)
        score = min(max(true + chance.gauss(0, 0.5), 1), 10)
        for rater in chance.sample(sorted(people), 2):
            human = min(max(true + people[rater] + chance.gauss(0, 0.5), 1), 10)
            labels.append(Label("tone", score, human, f"i{number}", "j", rater=rater))
    return labels


def test_harshness_of_people_is_learned_and_agreement_is_told_with_and_without_it() -> None:
    known = learn(rated()).people["tone"]
    assert known.raters["harsh"].offset < -1 < 1 < known.raters["kind"].offset
    assert abs(known.raters["even"].offset) < 0.5
    figures = known.figures
    assert (figures.adjusted or 0) > (figures.spearman or 1) + 0.1
    assert (figures.alpha_adjusted or 0) > (figures.alpha or 1) + 0.2


def test_a_person_is_expected_to_rate_as_before_and_a_stranger_like_people_do() -> None:
    labels = [Label(x.dimension, min(x.score + 2, 10), x.human, x.item, x.judge, rater=x.rater) for x in rated()]
    found = learn(labels)
    people = found.people["tone"]
    assert expected_rating(people, "harsh", 6) < 5 < 7 < expected_rating(people, "kind", 6)
    assert expected_rating(people, "nobody", 6) == 6
    assert found.calibration is not None
    assert "harsh" not in found.calibration.model_dump_json()  # a rubric is read by others


def test_labels_without_raters_have_no_people() -> None:
    assert learn(one_right(30)).people == {}


def test_a_panel_that_was_tried_and_is_not_used_is_told() -> None:
    chance = random.Random(3)  # noqa: S311
    labels = [
        Label("tone", chance.randint(1, 10), chance.randint(1, 10), f"{n}", judge) for n in range(30) for judge in "ab"
    ]
    refused = calibrate(labels, SCALES, version=1, on=TODAY).refused["tone"]
    assert "nor does a learned panel of the judges clearly help there: " in refused.reason
    alone = [label for label in labels if label.judge == "a"]
    assert "panel" not in calibrate(alone, SCALES, version=1, on=TODAY).refused["tone"].reason


# --- reading ----------------------------------------------------------------------------------------------


def test_a_table_of_reviews_is_read_as_labels_with_their_rater() -> None:
    text = '\ufeffitem,case,judge,judge_tone,reviewer,tone (1–10),note\n1,q1,m,7,ann,"6,5",fine\n2,q2,m,8,bob,n/a,\n'
    found = read_labels(text.splitlines(), SCALES, "l.csv")
    assert found.scores == [Label("tone", 7.0, 6.5, "1", "m", None, "ann")]
    assert found.left_out == 1


@pytest.mark.parametrize("columns", ["id,judge,tone", "id,judge,judge_tone", "id,rater,tune"])
def test_a_table_without_columns_for_both_says_once_what_it_lacks(columns: str) -> None:
    with pytest.raises(ContextError) as caught:
        read_labels([columns, "1,a,4", "2,a,5"], SCALES, "l.csv")
    (told,) = str(caught.value).splitlines()
    assert told.startswith(f"l.csv:1: the columns {columns.replace(',', ', ')} hold no label")
    assert "tone for people's scores and judge_tone for a judge's" in told


def test_choices_between_responses_with_names_of_their_own_count_by_place() -> None:
    rows = [
        {"id": 1, "responses": {"old": "x", "new": "y"}, "human": "new", "votes": [_vote("new")]},
        {"id": 2, "responses": {"first": "x", "second": "y"}, "human": "first", "votes": [_vote(None)]},
    ]
    assert read_labels(map(json.dumps, rows), SCALES).choices == [
        ChoiceLabel("1", "m", "new", "new"),
        ChoiceLabel("2", "m", None, "first"),
    ]
    rows.append({"id": 3, "responses": {"a": "x", "b": "y"}, "human": "b", "votes": [_vote("a"), _vote("b")]})
    assert [(own.choice, own.human) for own in read_labels(map(json.dumps, rows), SCALES).choices] == [
        ("second", "second"),
        (None, "first"),
        ("first", "second"),
        ("second", "second"),
    ]


def _vote(choice: str | None) -> dict[str, object]:
    return {"judge": "m", "choice": choice, "ranks": {}}


def test_a_long_table_and_a_table_of_choices_are_read() -> None:
    long = ["id;dimension;score;human;rater", "1;tone;7;6;ann"]
    assert read_labels(long, SCALES, "l.csv").scores == [Label("tone", 7.0, 6.0, "1", rater="ann")]
    choices = ["id,judge,choice,human", "1,m,A,B", "2,m,tie,a"]
    assert read_labels(choices, SCALES, "l.csv").choices == [
        ChoiceLabel("1", "m", "a", "b"),
        ChoiceLabel("2", "m", None, "a"),
    ]


def test_a_verdict_may_be_written_as_a_word_on_a_scale_from_0_to_1() -> None:
    rows = ["id,judge,passes,judge_passes", "1,m,pass,Yes", "2,m,no,true"]
    assert [(own.score, own.human) for own in read_labels(rows, SCALES, "l.csv").scores] == [(1, 1), (1, 0)]
    with pytest.raises(ContextError, match="'pass' is not a number on its scale 1–10"):
        read_labels(["id,judge,tone,judge_tone", "1,m,pass,7"], SCALES, "l.csv")


def test_choices_stand_beside_scores_in_one_file() -> None:
    lines = [
        json.dumps({"choice": 1, "human": 2, "judge": "m", "id": 3, "group": "g"}),
        json.dumps({"dimension": "tone", "score": 5, "human": 4, "reviewer": "ann"}),
    ]
    found = read_labels(lines, SCALES)
    assert found.choices == [ChoiceLabel("3", "m", "1", "2", "g")]
    assert found.scores == [Label("tone", 5.0, 4.0, "line 2", rater="ann")]
    with pytest.raises(ContextError, match="is no choice"):
        read_labels(['{"choice": ["a"], "human": "a"}'], SCALES)


def test_a_correction_is_held_against_how_the_rubric_pools() -> None:
    """The median of five equal judges errs more than their mean does: weights help one and not the other."""
    chance = random.Random(8)  # noqa: S311
    labels = []
    for number in range(200):
        human = chance.uniform(2, 9)
        given = {judge: float(round(min(max(human + chance.gauss(0, 1.5), 1), 10))) for judge in "abcde"}
        labels += [Label("tone", score, human, f"i{number}", judge) for judge, score in given.items()]
    by_median = calibrate(labels, SCALES, version=1, on=TODAY).calibration
    assert by_median is not None
    correction = by_median.dimensions["tone"]
    assert correction.panel is not None
    assert correction.before is not None
    assert correction.after is not None
    assert correction.after.rmse < 0.9 * correction.before.rmse
    by_mean = calibrate(labels, SCALES, version=1, on=TODAY, how="mean")
    assert "does not clearly help" in by_mean.refused["tone"].reason


def test_judges_who_all_guess_stay_alike() -> None:
    chance = random.Random(4)  # noqa: S311
    weighed, told = 0, set()
    for _ in range(40):
        labels = [
            ChoiceLabel(f"i{number}", judge, chance.choice(("first", "second")), human)
            for number in range(40)
            for human in [chance.choice(("first", "second"))]
            for judge in "abcde"
        ]
        found = learn([], labels).choices
        weighed += found.weights is not None
        told.add("no more than a coin would be" in found.reason)
    assert weighed < 10
    assert True in told


def test_a_table_is_read_as_people_write_it() -> None:
    table = ["Id;Judge;Rater;Tone;Judge Tone", "1;m;Ann;8/10;6", "2;m;ann;7,5;6", "3;m;Bob;;6"]
    read = read_labels(table, SCALES, "labels.csv")
    assert [(label.human, label.score, label.rater) for label in read.scores] == [(8.0, 6.0, "Ann"), (7.5, 6.0, "Ann")]
    assert read.left_out == 1
    with pytest.raises(ContextError, match=r"tone: '4/5' is not a number on its scale 1–10"):
        read_labels(["id,tone,judge_tone", "1,4/5,6"], SCALES, "labels.csv")
    both = read_labels(["id,tone,Tone,judge_tone", "1,4,5,6"], SCALES, "labels.csv")
    assert [label.human for label in both.scores] == [4.0]  # of two columns, the one that is named so
