"""A whole council over loopback models: stages, ranking, chair, and members that fail."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from council_stage import (
    DIMENSIONS,
    QUESTION,
    Member,
    by_quality,
    council,
    quality,
    ranked,
    row,
    scores_of,
    short,
    shown,
)
from loopback import Fault, Said

from rubrica.council.events import (
    AnswerReceived,
    Concluded,
    Event,
    MemberDropped,
    Ranked,
    ReviewFinished,
    StageFinished,
    StageStarted,
)
from rubrica.council.session import QuorumError
from rubrica.engine.audience import listen
from rubrica.model.evaluation import Evaluation


def three(**changes: Member) -> dict[str, Member]:
    members = {
        "ann": Member("1889, for a fair: quality 9"),
        "bo": Member("1789, for a war: quality 6"),
        "cy": Member("Who knows: quality 8"),
    }
    return members | changes


def test_members_answer_review_each_other_and_the_best_ranked_writes_the_final_answer() -> None:
    members = three()
    result = council(members)
    assert ranked(result) == ["ann", "cy", "bo"]
    assert [standing.rank for standing in result.ranking.standings] == [1, 2, 3]
    assert (short(result.final.chair or ""), result.final.text, result.final.fallback) == ("ann", "the final word", "")
    assert result.dropped == ()
    assert len(result.opinions) == 6
    assert not any(opinion.own for opinion in result.opinions)
    assert [len(member.asked("answer")) for member in members.values()] == [1, 1, 1]
    assert [len(member.asked("review")) for member in members.values()] == [1, 1, 1]
    assert [len(member.asked("chair")) for member in members.values()] == [1, 0, 0]


def test_a_reviewer_sees_the_others_answers_only_and_no_names() -> None:
    members = three()
    council(members)
    for name, member in members.items():
        prompt = member.asked("review")[0].prompt
        texts = set(shown(prompt).values())
        assert texts == {str(other.answer) for key, other in members.items() if key != name}
        assert not any(key in prompt for key in members)
        assert "127.0.0.1" not in prompt


def test_self_reviews_are_made_where_they_are_asked_for() -> None:
    result = council(three(), exclude_self=False)
    assert len(result.opinions) == 9
    assert sum(opinion.own for opinion in result.opinions) == 3


def test_every_answer_stands_in_every_place_once() -> None:
    names = [f"m{at}" for at in range(6)]
    result = council({name: Member(f"answer of {name}, quality 7") for name in names})
    for label in result.labels:
        places = sorted(opinion.position for opinion in result.opinions if opinion.label == label)
        assert places == [1, 2, 3, 4, 5]
    for name in names:
        reviews = [one for one in result.opinions if short(one.reviewer) == name]
        assert [one.position for one in reviews] == [1, 2, 3, 4, 5]


def test_the_orders_told_are_the_orders_shown() -> None:
    members = three()
    result = council(members)
    for name, member in members.items():
        told = [one.label for one in result.opinions if short(one.reviewer) == name]
        assert list(shown(member.asked("review")[0].prompt)) == told


def test_two_sessions_with_the_same_seed_are_the_same_and_other_seeds_deal_other_labels() -> None:
    def plain(seed: int) -> Any:
        result = council(three(), seed=seed)
        return (
            {label: short(name) for label, name in result.labels.items()},
            [(one.label, one.position, one.score, short(one.reviewer)) for one in result.opinions],
            result.ranking,
        )

    assert plain(3) == plain(3)
    assert len({tuple(plain(seed)[0].items()) for seed in range(6)}) > 1


def test_a_confident_invention_is_ranked_by_its_capped_score() -> None:
    def strict(answers: Mapping[str, str]) -> Any:
        return {
            "evaluations": {
                label: row(3, 10, 10, 10, 10) if "1789" in text else row(*[quality(text)] * 5)
                for label, text in answers.items()
            }
        }

    members = three(bo=Member("1789, for a war: quality 10"), cy=Member("Who knows: quality 5"))
    for member in members.values():
        member.review = strict
    result = council(members)
    assert scores_of(result, "bo") == [4.0, 4.0]  # by its weights alone it would have 7.55
    assert ranked(result) == ["ann", "cy", "bo"]
    gates = {gate for one in result.opinions if short(result.labels[one.label]) == "bo" for gate in one.gates}
    assert gates == {"accuracy-ceiling-40"}


def test_equal_answers_are_told_as_tied() -> None:
    result = council(three(bo=Member("The same: quality 9")))
    assert len(result.ranking.ties) == 1
    assert sorted(short(result.labels[label]) for label in result.ranking.ties[0]) == ["ann", "bo"]
    assert [standing.rank for standing in result.ranking.standings] == [1, 1, 3]
    assert len(result.to_dict()["ties"][0]) == 2


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("hang", "no answer within 1.5 s"),
        ("error", "500"),
        ("garbled", "cannot be read|not JSON|JSON"),
        ("refusal", "refused to answer"),
        ("huge", "longer than 1,000,000 bytes"),
        ("refused", "400"),
    ],
)
def test_a_member_that_fails_to_answer_is_dropped_and_named(fault: Any, reason: str) -> None:
    result = council(three(bo=Member(faults=[fault] * 9)), deadline=1.5)
    assert [(short(one.model), one.stage) for one in result.dropped] == [("bo", "answers")]
    assert re.search(reason, result.dropped[0].reason), result.dropped[0].reason
    assert ranked(result) == ["ann", "cy"]
    assert result.final.text == "the final word"


def test_an_answer_past_its_limit_is_used_as_far_as_it_goes_and_marked() -> None:
    result = council(
        three(bo=Member("word " * 30_000), cy=Member("quality 8, built in 1887", faults=["length"])), deadline=60
    )
    assert result.dropped == ()
    cut = {short(answer.model): answer.cut for answer in result.answers}
    assert cut["ann"] == ""
    assert cut["bo"] == "cut at 40,000 of 150,000 characters"
    assert cut["cy"].startswith("cut off after")
    assert ranked(result) == ["ann", "cy", "bo"]
    assert result.complete
    plain = result.to_dict()["answers"].values()
    assert [short(one["model"]) for one in plain if one["cut"]] == [
        short(one.model) for one in result.answers if one.cut
    ]


def test_a_model_that_spends_all_its_tokens_on_thoughts_is_told_so() -> None:
    result = council(three(bo=Member("", faults=["length"])))
    assert "tokens went before the answer began" in result.dropped[0].reason


def test_an_empty_answer_is_dropped() -> None:
    result = council(three(bo=Member(" \n ")))
    assert "empty" in result.dropped[0].reason


def test_a_rate_limit_is_waited_out() -> None:
    result = council(three(bo=Member("1789: quality 6", faults=["rate_limited", "error"])))
    assert result.dropped == ()
    assert ranked(result) == ["ann", "cy", "bo"]


def test_below_a_quorum_what_arrived_is_returned_and_marked() -> None:
    members = three(bo=Member(faults=["hang"] * 9), cy=Member(faults=["refused"] * 9))
    result = council(members, deadline=1.0)
    assert result.final.text == "1889, for a fair: quality 9"
    assert "no quorum" in result.final.fallback
    assert not result.complete
    plain = result.to_dict()
    assert (plain["complete"], plain["answer"]) == (False, "1889, for a fair: quality 9")
    assert [(one["stage"], one["what"]) for one in plain["missing"]] == [("answers", "a quorum")]
    assert plain["missing"][0]["why"] == "1 of 3 models answered, and the council needs 2"
    assert {short(one["model"]) for one in plain["metadata"]["dropped"]} == {"bo", "cy"}
    assert members["ann"].asked("review") == members["ann"].asked("chair") == []


def test_where_nobody_answers_there_is_no_council_and_everybody_is_named() -> None:
    members = {name: Member(faults=["refused"] * 9) for name in ("ann", "bo")}
    with pytest.raises(QuorumError, match="0 of 2 models answered within 5 s") as caught:
        council(members)
    assert {short(one.model) for one in caught.value.dropped} == {"ann", "bo"}


def test_two_of_five_are_enough_and_the_deadline_holds() -> None:
    late = {name: Member(faults=["hang"] * 9) for name in ("bo", "cy", "di")}
    result = council({"ann": Member("quality 9"), **late, "ed": Member("quality 4")}, deadline=1.5)
    assert ranked(result) == ["ann", "ed"]
    assert len(result.dropped) == 3
    assert result.stages[0].seconds < 4


def test_a_reviewer_that_hangs_is_dropped_and_its_answer_stays() -> None:
    result = council(three(bo=Member("1789: quality 6", faults=[None, "hang", "hang"])), deadline=1.5)
    assert [(short(one.model), one.stage) for one in result.dropped] == [("bo", "reviews")]
    assert ranked(result) == ["ann", "cy", "bo"]
    assert {one.status for one in result.opinions if short(one.reviewer) == "bo"} == {"abstained"}


@pytest.mark.parametrize("said", ["Lovely answers, all of them.", "{", '{"verdict": "good"}'])
def test_a_reviewer_that_talks_nonsense_is_asked_again_and_then_dropped(said: str) -> None:
    members = three(bo=Member("1789: quality 6", review=lambda _: said))
    result = council(members)
    assert len(members["bo"].asked("review")) == 2
    assert [(short(one.model), one.stage) for one in result.dropped] == [("bo", "reviews")]
    assert ranked(result) == ["ann", "cy", "bo"]


def test_a_reviewer_that_refuses_abstains() -> None:
    result = council(three(bo=Member("1789: quality 6", faults=[None, "refusal"])))
    assert result.dropped == ()
    own = [one for one in result.opinions if short(one.reviewer) == "bo"]
    assert {one.status for one in own} == {"abstained"}
    assert all("refused" in one.reason for one in own)
    assert any("gave no score" in note for note in result.notes)


def test_a_refusal_in_plain_words_abstains_too() -> None:
    result = council(three(bo=Member("1789: quality 6", review=lambda _: "I'm sorry, but I can't help with that.")))
    assert result.dropped == ()
    own = [one for one in result.opinions if short(one.reviewer) == "bo"]
    assert {one.status for one in own} == {"abstained"}
    assert all("refused to judge: I'm sorry" in one.reason for one in own)


def test_a_reviewer_that_passes_over_one_answer_is_not_said_to_have_given_no_score() -> None:
    def partial(answers: Mapping[str, str]) -> Any:
        label, text = next(iter(answers.items()))
        return {"evaluations": {label: row(*[quality(text)] * 5)}}

    result = council(three(bo=Member("1789: quality 6", review=partial)))
    assert [note.partition(" ")[2] for note in result.notes] == ["gave no score for some answers"]


def test_evaluations_are_told_once_each_and_steps_on_the_way_are_not() -> None:
    heard: list[Evaluation] = []
    stop = listen(heard.append)
    try:
        council(three())
        by_rubric = len(heard)
        council(three(), scoring="holistic")
    finally:
        stop()
    assert by_rubric == 6 + 3  # every review, and the mean for every answer
    wholes = heard[by_rubric:]
    assert [(one.rubric, one.case) for one in wholes] == [
        ("council-review-holistic", f"Response {label}") for label in "ABC"
    ]
    assert sorted(one.score or 0.0 for one in wholes) == [6.0, 8.0, 9.0]
    assert all(len(one.dimensions["overall"].votes) == 2 for one in wholes)
    assert all(one.score is not None for one in heard)


def test_both_without_any_score_for_the_whole_is_said() -> None:
    mute = {name: Member("quality 6", holistic=lambda _: "no") for name in ("ann", "bo")}
    result = council(mute, scoring="both")
    assert result.holistic is not None
    assert result.holistic.order == ()
    assert any("nobody gave a score for the whole" in note for note in result.notes)


@pytest.mark.parametrize("form", ["old", "overall", "bare", "lines"])
def test_a_reviewer_that_ignores_the_rubric_counts_with_its_holistic_score(form: str) -> None:
    def stubborn(answers: Mapping[str, str]) -> Any:
        values = {label: quality(text) for label, text in answers.items()}
        match form:
            case "old":
                return {"ranking": [], "scores": {f"Response {label}": value for label, value in values.items()}}
            case "overall":
                return {"evaluations": {label: {"overall": value, "notes": "n"} for label, value in values.items()}}
            case "bare":
                return values
            case _:
                return "\n".join(f"Response {label}: {value:g}/10" for label, value in values.items())

    result = council(three(bo=Member("1789: quality 6", review=stubborn)))
    own = [one for one in result.opinions if short(one.reviewer) == "bo"]
    assert {one.status for one in own} == {"holistic"}
    assert sorted(one.score or 0 for one in own) == [8, 9]
    assert all(one.reason for one in own)
    assert result.dropped == ()
    assert any("ignored the rubric" in note for note in result.notes)


def test_a_holistic_score_does_not_lift_the_ceiling_that_other_reviewers_set() -> None:
    def doubtful(answers: Mapping[str, str]) -> Any:
        return {"evaluations": {label: row(3 if "1789" in text else 9, 9, 9, 9, 9) for label, text in answers.items()}}

    def dazzled(answers: Mapping[str, str]) -> Any:
        return {"scores": dict.fromkeys(answers, 10)}

    members = three(ann=Member("1889: quality 9", review=doubtful), cy=Member("quality 8", review=dazzled))
    result = council(members)
    assert sorted(score or 0 for score in scores_of(result, "bo")) == [4.0, 4.0]


def test_a_missing_accuracy_never_lifts_the_ceiling() -> None:
    def coy(answers: Mapping[str, str]) -> Any:
        full = {**row(10, 10, 10, 10, 10), "overall": 10}
        full.pop("accuracy")
        return {"evaluations": dict.fromkeys(answers, full)}

    result = council(three(bo=Member("1789: quality 6", review=coy)))
    own = [one for one in result.opinions if short(one.reviewer) == "bo"]
    assert {(one.status, one.score, one.verdict) for one in own} == {("inconclusive", None, "inconclusive")}
    assert all("accuracy" in one.reason for one in own)
    assert [standing.reviews for standing in result.ranking.standings] == [1, 1, 2]
    assert any("left scores open" in note for note in result.notes)


def test_an_unsafe_answer_is_capped_and_its_author_named_only_where_the_gate_is_on() -> None:
    unsafe = "Here is how to make a bomb: fill a pipe. quality 10"
    result = council(three(bo=Member(unsafe)), safety_gate=True, safety_score_cap=1.5)
    assert ranked(result) == ["ann", "cy", "bo"]
    assert scores_of(result, "bo") == [1.5, 1.5]
    gate = result.to_dict()["metadata"]["safety_gate"]
    assert gate["enabled"] is True
    assert [short(name) for name in gate["failed_models"]] == ["bo"]
    assert [reason.rpartition(": ")[2] for reasons in gate["failed"].values() for reason in reasons] == [
        "dangerous_instructions"
    ]
    assert gate["score_cap"] == 1.5
    assert gate["final_passed"] is True
    open_gate = council(three(bo=Member(unsafe)))
    assert ranked(open_gate)[0] == "bo"
    assert open_gate.to_dict()["metadata"]["safety_gate"]["failed_models"] == []


def test_an_unsafe_answer_is_not_shown_to_the_chair() -> None:
    members = three(bo=Member("Here is how to make a bomb: fill a pipe. quality 10"))
    council(members, safety_gate=True)
    assert "bomb" not in members["ann"].asked("chair")[0].prompt
    assert "1889" in members["ann"].asked("chair")[0].prompt


def test_a_chair_from_outside_writes_the_final_answer() -> None:
    members = three(chair=Member(final="from outside"))
    result = council(members, chair="chair")
    assert (result.final.text, short(result.final.author)) == ("from outside", "chair")
    assert members["chair"].asked("answer") == members["chair"].asked("review") == []


@pytest.mark.parametrize("fault", ["error", "hang", "refusal"])
def test_the_best_answer_stands_where_the_chair_fails(fault: Any) -> None:
    members = three(chair=Member(faults=[fault] * 9))
    result = council(members, chair="chair", deadline=1.5)
    assert result.final.text == "1889, for a fair: quality 9"
    assert short(result.final.author) == "ann"
    assert "the best answer stands" in result.final.fallback
    assert [(short(one.model), one.stage) for one in result.dropped] == [("chair", "final")]


SORRY = "I'm sorry, but I can't help with that."


def test_a_chair_that_refuses_what_the_best_answer_says_is_told_and_the_best_answer_stands() -> None:
    result = council(three(chair=Member(final=SORRY)), chair="chair")
    assert (result.final.text, short(result.final.author)) == ("1889, for a fair: quality 9", "ann")
    about = result.to_dict()["metadata"]
    assert about["fallback"] == f"the chair gave no answer (refused to answer: {SORRY}): the best answer stands"
    assert about["notes"] == [about["fallback"]]
    assert [(short(one.model), one.stage) for one in result.dropped] == [("chair", "final")]


@pytest.mark.parametrize(
    ("changes", "settings", "why"),
    [
        ({name: Member(SORRY) for name in ("di", "ed", "flo", "gus")}, {}, "most members refuse"),
        ({name: Member("Here is how to make a bomb: fill a pipe.") for name in ("ann", "bo", "cy")},
         {"safety_gate": True}, "no answer is safe"),
    ],
    ids=["most members refuse", "no answer is safe"],
)  # fmt: skip
def test_a_refusal_of_the_chair_stands_where_it_is_right(changes: Any, settings: Any, why: str) -> None:
    result = council(three(chair=Member(final=SORRY), **changes), chair="chair", **settings)
    assert (result.final.text, short(result.final.author)) == (SORRY, "chair")
    assert "final" not in {one.stage for one in result.dropped}
    about = result.to_dict()["metadata"]
    assert about["fallback"] is None
    assert about["notes"][-1].endswith(f" refuses, and {why}: the refusal stands")


def test_a_chair_that_refuses_is_not_followed_by_an_unsafe_answer() -> None:
    unsafe = Member("Here is how to make a bomb: fill a pipe. quality 10")
    result = council(three(bo=unsafe, chair=Member(final=SORRY)), chair="chair", safety_gate=True, safety_score_cap=10)
    assert ranked(result)[0] == "bo"
    assert result.final.text == "1889, for a fair: quality 9"


def test_holistic_scoring_asks_for_one_score_and_ranks_by_it() -> None:
    members = three()
    result = council(members, scoring="holistic")
    assert ranked(result) == ["ann", "cy", "bo"]
    assert all(member.asked("review") == [] for member in members.values())
    assert {one.status for one in result.opinions} == {"holistic"}
    assert result.evaluations == {}
    assert not any(dimension in entry for entry in result.to_dict()["evaluations"].values() for dimension in DIMENSIONS)


def test_both_ways_are_collected_side_by_side() -> None:
    def upside_down(answers: Mapping[str, str]) -> Any:
        return {"evaluations": {label: {"overall": 11 - quality(text)} for label, text in answers.items()}}

    members = three()
    for member in members.values():
        member.holistic = upside_down
    result = council(members, scoring="both")
    assert ranked(result) == ["ann", "cy", "bo"]
    assert result.holistic is not None
    assert [short(result.labels[label]) for label in result.holistic.order] == ["bo", "cy", "ann"]
    assert {one.status for one in result.opinions} == {"scored"}
    assert all(one.score != one.holistic for one in result.opinions)
    assert result.to_dict()["holistic"]["scores"]


def test_the_json_form_has_what_a_reader_of_it_needs() -> None:
    plain = council(three(bo=Member(Said("1789: quality 6", input_tokens=100, output_tokens=9)))).to_dict()
    best = plain["ranking"][0]
    assert sorted(plain["ranking"]) == ["Response A", "Response B", "Response C"]
    assert {name: plain["evaluations"][best][name] for name in DIMENSIONS} == dict.fromkeys(DIMENSIONS, 9.0)
    assert plain["evaluations"][best]["overall"] == 9.0
    assert plain["evaluations"][best]["notes"] == "noted\nnoted"
    assert short(plain["metadata"]["labels"][best]) == "ann"
    assert plain["answer"] == "the final word"
    assert plain["question"] == QUESTION
    stages = plain["metadata"]["stages"]
    assert list(stages) == ["answers", "reviews", "final"]
    assert stages["answers"]["cost"]["input_tokens"] == 120
    assert plain["metadata"]["cost"]["usd"] is None  # nobody knows what a loopback model costs
    assert plain["metadata"]["cost"]["input_tokens"] == 160
    assert plain["metadata"]["seed"] == 7


def test_events_tell_the_stages_as_they_happen() -> None:
    events: list[Event] = []
    council(three(bo=Member(faults=["refused"] * 9)), events=events)
    kinds = [type(event) for event in events]
    assert kinds[0] is StageStarted
    assert kinds.count(StageStarted) == kinds.count(StageFinished) == 3
    assert kinds.count(AnswerReceived) == kinds.count(ReviewFinished) == 2
    assert kinds.count(MemberDropped) == 1
    assert kinds.index(Ranked) > max(at for at, kind in enumerate(kinds) if kind is ReviewFinished)
    assert kinds[-1] is Concluded
    assert events[0].to_dict()["event"] == "stage_started"


def test_a_council_without_reviews_says_so_and_still_answers() -> None:
    members = {name: Member(f"quality {at}", review=lambda _: "?") for at, name in enumerate(("ann", "bo"), 4)}
    result = council(members)
    assert result.ranking.order == ()
    assert set(result.ranking.unranked) == {"A", "B"}
    assert result.final.text == "the final word"
    assert any("no answer has a score" in note for note in result.notes)


@pytest.mark.parametrize("pool", ["borda", "z"])
def test_other_ways_of_pooling_rank_too(pool: Any) -> None:
    def harsh(answers: Mapping[str, str]) -> Any:
        return by_quality({label: f"quality {quality(text) / 3 + 1}" for label, text in answers.items()})

    members = {name: Member(f"quality {value}") for name, value in (("ann", 9), ("bo", 6), ("cy", 8), ("di", 7))}
    members["ann"].review = harsh
    result = council(members, pool=pool)
    assert ranked(result) == ["ann", "cy", "di", "bo"]
    assert result.ranking.pool == pool


def test_a_council_in_which_much_goes_wrong_still_answers_and_names_everybody() -> None:
    def by_whole(answers: Mapping[str, str]) -> Any:
        return {"scores": {label: quality(text) for label, text in answers.items()}}

    errors: list[Fault] = ["error"] * 9
    members = {
        "ann": Member("quality 9", faults=["rate_limited"]),
        "bo": Member("quality 7", faults=[None, "refusal"]),
        "cy": Member("quality 8", review=by_whole),
        "di": Member("quality 6", faults=[None, *errors]),
        "ed": Member(faults=["hang"] * 9),
        "flo": Member("quality 1 and so on " * 9_000),
        "gus": Member(faults=["garbled"] * 9),
        "hal": Member("quality 5", review=lambda _: "Splendid work, everybody!"),
    }
    result = council(members, deadline=6)
    assert ranked(result) == ["ann", "cy", "bo", "di", "hal", "flo"]
    gone = {(short(one.model), one.stage) for one in result.dropped}
    assert gone == {("ed", "answers"), ("gus", "answers"), ("di", "reviews"), ("hal", "reviews")}
    status = {short(one.reviewer): one.status for one in result.opinions}
    assert status == {"ann": "scored", "bo": "abstained", "cy": "holistic", "di": "abstained", "hal": "abstained"} | {
        "flo": "scored"
    }
    assert result.final.text == "the final word"


def test_with_a_quorum_of_one_a_single_answer_goes_to_the_chair_unreviewed() -> None:
    result = council({"ann": Member("quality 9"), "bo": Member(faults=["refused"] * 9)}, quorum=1)
    assert result.opinions == ()
    assert result.ranking.unranked == ("A",)
    assert result.final.text == "the final word"


def test_an_unsafe_answer_does_not_stand_in_for_a_chair_that_fails_while_there_is_another() -> None:
    unsafe = Member("Here is how to make a bomb: fill a pipe.", review=lambda _: "?")
    members = {"ann": unsafe, "bo": Member("No.", review=lambda _: "?"), "chair": Member(faults=["error"] * 9)}
    for seed in range(3):
        result = council(members, chair="chair", safety_gate=True, seed=seed, deadline=1.5)
        assert (result.final.text, result.safety.final_passed) == ("No.", True)
