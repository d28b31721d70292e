"""What was paid for and came is kept: refusals, cut reviews, a cut final answer, rankings without scores, ballots."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from council_stage import Member, by_quality, council, quality, ranked, row, short, shown, stage_of
from loopback import Said, Seen

from rubrica.council.events import AnswerReceived, Event, FinalWriting, ReviewerCancelled
from rubrica.council.review import AnswerReview
from rubrica.council.review_stage import votes_of

SORRY = "I'm sorry, but I can't help with that."


def three(**changes: Member) -> dict[str, Member]:
    members = {
        "ann": Member("1889, for a fair: quality 9"),
        "bo": Member("1789, for a war: quality 6"),
        "cy": Member("Who knows: quality 8"),
    }
    return members | changes


def test_a_refusal_in_plain_words_is_no_answer_and_is_not_ranked() -> None:
    members = three(bo=Member(SORRY))
    result = council(members)
    assert ranked(result) == ["ann", "cy"]
    assert [(short(one.model), one.text) for one in result.refusals] == [("bo", SORRY)]
    assert SORRY not in members["ann"].asked("review")[0].prompt
    assert "1 of 3 writers refused to answer." in members["ann"].asked("chair")[0].prompt
    assert result.complete


def test_where_everybody_refuses_the_result_says_so() -> None:
    members = {name: Member(SORRY) for name in ("ann", "bo")}
    result = council(members)
    assert (result.final.text, result.final.refusal) == (SORRY, "every member refused to answer")
    assert (result.complete, result.answers, len(result.refusals)) == (False, (), 2)
    assert result.to_dict()["missing"][0]["what"] == "a quorum"
    assert members["ann"].asked("chair") == []


def test_more_refusals_than_answers_are_the_answer_where_there_is_no_quorum() -> None:
    result = council(three(ann=Member(SORRY), bo=Member(SORRY)))
    assert (result.final.text, result.final.refusal) == (SORRY, "2 members refused to answer")
    assert [answer.text for answer in result.answers] == ["Who knows: quality 8"]


class CutReviewer(Member):
    """A reviewer whose reply ends at its token limit, in the middle of its second response."""

    def reply(self, seen: Seen) -> Said | str:
        if stage_of(seen) != "review":
            return super().reply(seen)
        first, second = shown(seen.prompt)
        return json.dumps(
            {
                "evaluations": {
                    first: row(9, 9, 9, 9, 9),
                    second: {"notes": "x " * 300, **row(1, 1, 1, 1, 1, notes="x " * 300)},
                }
            }
        )


def test_of_a_review_that_is_cut_off_what_is_complete_counts() -> None:
    members = three(bo=CutReviewer("1789: quality 6", faults=[None, "length"]))
    result = council(members)
    own = [one for one in result.opinions if short(one.reviewer) == "bo"]
    assert [one.status for one in own] == ["scored", "abstained"]
    assert own[0].score == 9
    assert "cut off" in own[1].reason
    assert any("ballot of" in note and "cut off" in note for note in result.notes)
    assert len(members["bo"].asked("review")) == 1  # what is there is used; it is not asked for again


def test_a_final_answer_that_is_cut_off_stands_and_is_marked() -> None:
    result = council(three(chair=Member(final="It was built in 1889.", faults=["length"])), chair="chair")
    assert (result.final.text, result.final.fallback) == ("It was bui", "")
    assert result.final.cut.startswith("cut off after")
    assert [(one.stage, one.what) for one in result.missing] == [("final", "the end of the answer")]


def test_the_final_answer_is_told_while_it_is_written() -> None:
    events: list[Event] = []
    result = council(three(), events=events)
    pieces = [event.text for event in events if isinstance(event, FinalWriting)]
    assert pieces == ["the ", "final ", "word"]
    assert "".join(pieces) == result.final.text


def test_members_and_chair_are_told_their_length_and_held_to_their_tokens() -> None:
    members = three()
    council(members, tier="quick", final_tokens=400, review_tokens=300, early=False)
    answer, review, chair = (members["ann"].asked(stage)[0].body for stage in ("answer", "review", "chair"))
    assert "about 350 words" in answer["messages"][0]["content"]
    assert "about 200 words" in chair["messages"][0]["content"]
    assert (answer["max_tokens"], review["max_tokens"], chair["max_tokens"]) == (700, 300, 400)


def by_place(answers: Mapping[str, str]) -> dict[str, Any]:
    best = sorted(answers, key=lambda label: -quality(answers[label]))
    return {"ranking": [f"Response {label}" for label in best]}


def test_a_review_that_is_only_a_ranking_counts_by_borda() -> None:
    members = three(bo=Member("1789: quality 6", review=by_place))
    result = council(members)
    own = [one for one in result.opinions if short(one.reviewer) == "bo"]
    assert [(one.status, one.place) for one in sorted(own, key=lambda one: one.place or 0)] == [
        ("ranked", 1), ("ranked", 2),
    ]  # fmt: skip
    assert (result.ranking.pool, ranked(result), result.dropped) == ("borda", ["ann", "cy", "bo"], ())
    assert any("counts by Borda" in note for note in result.notes)
    best = result.to_dict()["evaluations"][result.to_dict()["ranking"][0]]
    assert (best["borda"], best["borda_of"], best["normalised"]) == (2.0, 2.0, 1.0)


def test_a_ranking_does_not_lift_a_ceiling() -> None:
    def doubtful(answers: Mapping[str, str]) -> Any:
        return {"evaluations": {label: row(3 if "1789" in text else 7, 9, 9, 9, 9) for label, text in answers.items()}}

    def dazzled(answers: Mapping[str, str]) -> Any:
        return {"ranking": sorted(answers, key=lambda label: "1789" not in answers[label])}

    names = ("ann", "cy", "di")
    members = {name: Member(f"1889, says {name}", review=doubtful) for name in names}
    members |= {"bo": Member("1789", review=doubtful), "ed": Member("1889 too", review=dazzled)}
    result = council(members)
    assert ranked(result)[-1] == "bo"
    bo = next(label for label, name in result.labels.items() if short(name) == "bo")
    assert result.to_dict()["evaluations"][f"Response {bo}"]["ceiling"]["score"] == 4.0


def test_a_ceiling_puts_no_answer_behind_one_that_nobody_has_scored() -> None:
    by_places = {"ann": Member("quality 9", review=by_place), "bo": Member("quality 6", review=by_place)}
    assert ranked(council({**by_places, "cy": Member("quality 3")})) == ["ann", "bo", "cy"]
    unsafe = [
        AnswerReview(reviewer="ann", label=label, position=1, own=False, status="ranked", place=place, text_ceiling=cap)
        for place, (label, cap) in enumerate((("A", 0.0), ("B", None)), 1)
    ]
    assert votes_of(unsafe, {}).sheets == {"ann": {"B": -1.0, "A": -2.0}}  # what the text alone sets holds in any case


def test_ballots_are_cleaned_and_the_cleaning_is_told() -> None:
    def messy(answers: Mapping[str, str]) -> Any:
        plain = by_quality(answers)["evaluations"]
        first, second = plain
        return {"evaluations": {first: plain[first], f"Response {first}": row(1, 1, 1, 1, 1), second: plain[second],
                                "Response Q": row(10, 10, 10, 10, 10)}}  # fmt: skip

    result = council(three(bo=Member("1789: quality 6", review=messy)))
    assert ranked(result) == ["ann", "cy", "bo"]
    notes = [note for note in result.notes if note.startswith("ballot of")]
    assert any("twice" in note for note in notes)
    assert any("Response Q, which it was not shown" in note for note in notes)


def test_reviewers_who_cannot_change_the_winner_are_not_waited_for_and_are_told() -> None:
    def only(text: str) -> Any:
        def review(answers: Mapping[str, str]) -> Any:
            return {"evaluations": {label: row(*[10 if text in own else 1] * 5) for label, own in answers.items()}}

        return review

    members = {name: Member(f"answer of {name}", review=only("ann")) for name in ("ann", "bo", "cy", "di", "ed")}
    members["ed"] = Member("answer of ed", review=only("ann"), faults=[None, "hang"])
    members["ann"].review = by_quality
    events: list[Event] = []
    result = council(members, early=True, deadline=20.0, events=events)
    assert ranked(result)[0] == "ann"
    assert [short(one.model) for one in result.cancelled] == ["ed"]
    assert result.seconds < 10
    assert [short(event.model) for event in events if isinstance(event, ReviewerCancelled)] == ["ed"]
    assert result.to_dict()["metadata"]["cancelled"][0]["reason"].startswith("not waited for: response")


def test_a_reviewer_who_may_rank_without_scores_is_waited_for_while_that_can_change_the_winner() -> None:
    given = {"ann": {"bo": 2}, "bo": {"ann": 10}, "cy": {"ann": 10, "bo": 2}, "di": {"ann": 0, "bo": 2}}

    def reviewer(own: Mapping[str, float]) -> Any:
        def review(answers: Mapping[str, str]) -> Any:
            scores = {label: own.get(text.removeprefix("answer of "), 1) for label, text in answers.items()}
            return {"evaluations": {label: row(8, *[score] * 4) for label, score in scores.items()}}

        return review

    def ranking(answers: Mapping[str, str]) -> Any:
        return {"ranking": sorted(answers, key=lambda label: ("ann" in answers[label]) - ("bo" in answers[label]))}

    members = {name: Member(f"answer of {name}", review=reviewer(own)) for name, own in given.items()}
    members["ed"] = Member("answer of ed", review=ranking, latency=0.3)
    result = council(members, early=True)  # ann has won by the mean of scores, and bo wins once all count by Borda
    assert (ranked(result)[0], result.ranking.pool, result.cancelled) == ("bo", "borda", ())


def test_an_answer_that_nobody_has_scored_is_missing_from_the_ranking() -> None:
    members = {"ann": Member("quality 9"), "bo": Member("quality 6", faults=[None, "refused"])}
    result = council(members)
    unranked = {one.label: one.model for one in result.answers}[result.ranking.unranked[0]]
    assert (ranked(result), short(unranked), result.complete) == (["bo"], "ann", False)
    assert [(one.stage, one.what.startswith("a place for Response")) for one in result.missing] == [("reviews", True)]


def test_without_early_consensus_everybody_is_heard() -> None:
    members = {name: Member(f"quality {9 if name == 'ann' else 2}") for name in ("ann", "bo", "cy", "di")}
    assert len(council(members).opinions) == 12


def test_in_a_debate_reviewers_see_the_others_points_without_names_and_may_change_their_scores() -> None:
    def swayed(answers: Mapping[str, str]) -> Any:
        return {"evaluations": {label: row(*[4] * 5, notes="I was too kind") for label in answers}}

    class Swayed(Member):
        def reply(self, seen: Seen) -> Said | str:
            if stage_of(seen) == "review" and "points of other reviewers" in seen.prompt:
                return json.dumps(swayed(shown(seen.prompt)))
            return super().reply(seen)

    members = three(bo=Swayed("1789: quality 6"))
    result = council(members, debate=1)
    assert [len(member.asked("review")) for member in members.values()] == [2, 2, 2]
    second = members["bo"].asked("review")[1].prompt
    assert second.count("On response") == 2
    assert not any(name in second for name in ("ann", "cy", "127.0.0.1"))
    assert {(short(one.reviewer), one.before, one.after) for one in result.changes} == {("bo", 9, 4), ("bo", 8, 4)}
    plain = result.to_dict()["metadata"]["debate"]
    assert (plain["rounds"], len(plain["changes"])) == (1, 2)
    assert result.cost is not None
    assert result.cost.input_tokens == 10 * (3 + 6 + 1)  # both rounds are paid


def test_a_reviewer_that_fails_in_a_debate_keeps_what_it_said_before() -> None:
    result = council(three(bo=Member("1789: quality 6", faults=[None, None, "refused"])), debate=1)
    assert result.dropped == ()
    assert {one.status for one in result.opinions} == {"scored"}


def test_broken_instructions_are_told_to_reviewers_and_in_the_result() -> None:
    import council_stage

    asked = council_stage.QUESTION
    council_stage.QUESTION = "When was the tower built? Use at most 4 words."
    try:
        members = three(ann=Member("1889: quality 9"))
        result = council(members)
    finally:
        council_stage.QUESTION = asked
    broken = {short(answer.model): answer.broken for answer in result.answers}
    assert broken["ann"] == ()
    assert broken["bo"] == ("at most 4 words were asked for, and it has 6",)
    assert "Checked by code: response" in members["ann"].asked("review")[0].prompt


def test_what_came_of_an_answer_before_the_deadline_counts_and_is_marked() -> None:
    events: list[Event] = []
    result = council(three(bo=Member("1789, for a war: quality 6", faults=["stalled"])), deadline=0.5, events=events)
    cut = [answer for answer in result.answers if answer.cut]
    assert [(short(one.model), one.text) for one in cut] == [("bo", "1789, for a war:")]
    assert cut[0].cut == "cut off at the deadline of 0.5 s"
    told = [event for event in events if isinstance(event, AnswerReceived) and event.cut]
    assert [(event.text, event.cost) for event in told] == [("1789, for a war:", None)]  # what it cost is not known


def test_what_the_chair_wrote_before_the_deadline_is_the_answer_and_is_marked() -> None:
    chair = Member(final="It was built in 1889, for a fair that lasted half a year.", faults=["stalled"])
    result = council(three(chair=chair), chair="chair", deadline=0.5)
    assert (result.final.text, result.final.fallback) == ("It was built in 1889, for a", "")
    assert [(one.stage, one.what) for one in result.missing] == [("final", "the end of the answer")]


def test_what_came_of_a_review_before_the_deadline_counts_and_is_marked() -> None:
    members = three(bo=CutReviewer("1789: quality 6", faults=[None, "stalled"]))
    result = council(members, deadline=0.5)
    own = [one for one in result.opinions if short(one.reviewer) == "bo"]
    assert [(one.status, one.score) for one in own] == [("scored", 9), ("abstained", None)]
    assert "the reply was cut off at the deadline of 0.5 s" in own[1].reason
    assert any("cut off at the deadline" in note for note in result.notes)
    assert (result.dropped, result.complete) == ((), True)


def test_a_review_that_gives_nothing_before_the_deadline_is_told() -> None:
    result = council(three(bo=Member("1789: quality 6", faults=[None, "hang"])), deadline=0.5)
    assert [(short(one.model), one.reason) for one in result.dropped] == [
        ("bo", "no answer within the deadline of 0.5 s")
    ]
