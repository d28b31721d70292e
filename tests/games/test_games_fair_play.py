"""Fair play on both databases: what is reported, timed, voided, hidden, left out, and judged again."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from databases import Opened
from games_table import Table, plan_of
from rubrica.engine.plan import Plan
from rubrica.errors import ConflictError, DeniedError, InputError, MissingError, RubricError
from rubrica.games import fair_play, game_export, games, leaderboard_access, rating_access, rounds, starts
from rubrica.games.attachments import AttachmentRequest
from rubrica.games.judging import RoundJudging, judge_turns
from rubrica.games.open_scores import next_try
from rubrica.games.submission import read_submission
from rubrica.games.turns import open_retry, open_turn
from rubrica.model.evaluation import Score
from rubrica.store import scores as score_store
from rubrica.workspace import scores
from rubrica.workspace.access import Caller

ADDRESS = "http://10.0.0.7:8000/v1 said no"
THRIFTY = {
    "name": "Thrifty",
    "scoring_type": "cumulative",
    "max_score": 10,
    "is_public": True,
    "rules": [
        {"type": "custom_expression", "name": "brief", "expression": "8 if word_count < 9 else 0"},
        {  # a metric that no formula names
            "type": "metric_threshold",
            "metric": "token_count",
            "thresholds": [{"operator": ">", "value": 100, "score": -6}, {"default": True, "score": 0}],
        },
    ],
}
WISE = {
    "name": "wise",
    "on_unscored": "inconclusive",
    "is_public": True,
    "dimensions": {"wise": {"weight": 1, "asks": "Is it wise?", "scorer": "judge", "scale": {"min": 0, "max": 10}}},
    "verdicts": [{"label": "pass", "when": "score >= 0.5"}, {"label": "fail"}],
}


@pytest.fixture
def table(database: Opened) -> Table:
    found = Table(database)
    for name in ("ann", "eve"):
        found.person(name, "author")
    for name in ("pat", "pia", "pol"):
        found.person(name, "player")
    found.person("vic", "viewer")
    found.bundled(found.people["ann"])
    for definition in (THRIFTY, WISE):
        found.rubric(found.people["ann"], definition)
    return found


def board(table: Table, game: Any, **who: Any) -> dict[str, float | None]:
    found = table.database.read(leaderboard_access.of_game, table.people["ann"], game, "composite", None)
    return {entry.player: entry.score for entry in found.items}


def test_a_typo_in_a_round_is_refused_with_what_was_meant() -> None:
    with pytest.raises(RubricError, match=r"round\.respnse: is not a known key \(did you mean 'response'\?\)"):
        read_submission({"round": {"respnse": "A moth."}})
    with pytest.raises(RubricError, match="custom_metrics"):
        read_submission({"round": {"response": "A moth.", "wisdom": 3}})
    with pytest.raises(RubricError, match=r"rond: is not a known key \(did you mean 'round'\?\)"):
        read_submission({"rond": {}})


def test_leaving_out_a_metric_never_helps(table: Table) -> None:
    ann, pat, pia = (table.people[name] for name in ("ann", "pat", "pia"))
    game = table.game(ann, rules={})
    table.attach(ann, game, AttachmentRequest("thrifty"))
    spent = table.say(pat, game, "A moth.", metadata={"token_count": 500}).scores[0]
    silent = table.say(pia, game, "A moth.").scores[0]
    thrifty = table.say(pat, game, "A moth.", metadata={"token_count": 5}).scores[0]
    assert (spent.raw_score, silent.raw_score, thrifty.raw_score) == (2, 2, 8)
    assert silent.reason == "token_count was not reported: the lowest score that leaves counts"
    for looker in (ann, pia):  # what is kept says the same, and claims no points for a number that nobody gave
        kept = table.database.read(rounds.view_round, looker, game, "pia", 1).scores[0]
        assert kept.reason == silent.reason
        lines = [(line["points"], line.get("error")) for line in kept.rule_breakdown]
        assert lines == [(8, None), (0, "token_count was not reported")]
        assert "token_count was not reported" in kept.dimension_scores["points"]["reason"]
    strict = table.game(ann, rules={"missing": "refuse"})
    table.attach(ann, strict, AttachmentRequest("thrifty"))
    with pytest.raises(InputError, match="round 1 lacks token_count"):
        table.say(pat, strict, "A moth.")
    unasked = table.game(ann, rules={"reports": []})  # nobody may report it: all are alike
    table.attach(ann, unasked, AttachmentRequest("thrifty"))
    assert table.say(pat, unasked, "A moth.").scores[0].raw_score == 8
    with pytest.raises(RubricError, match=r"token_count: is not for players to report .* players report nothing"):
        table.say(pat, unasked, "A moth.", metadata={"token_count": 5})
    table.play(ann, unasked, {"player": "bot", "round": {"response": "x", "metadata": {"token_count": 500}}})


def test_the_server_measures_time_where_a_rubric_reads_it(table: Table) -> None:
    ann, pat, pia = (table.people[name] for name in ("ann", "pat", "pia"))
    game = table.game(ann, rules={})
    table.attach(ann, game, AttachmentRequest("speed-demon"))
    with pytest.raises(RubricError, match="the server measures time in this game"):
        table.say(pat, game, "Done.", metadata={"response_time": 0.1})
    first = table.database.write(starts.start_round, pat, game, None, None, table.now)
    table.time += timedelta(seconds=14)
    again = table.database.write(starts.start_round, pat, game, None, None, table.now)
    assert again == first  # the clock is not turned back
    judged = table.say(pat, game, "Done.", token=str(first.token))
    kept = table.database.read(rounds.view_round, pat, game, "pat", judged.round_number)
    assert kept.content["metadata"]["response_time"] == 16  # 14, a second for beginning again, one for submitting
    assert judged.scores[0].raw_score == pytest.approx(70)
    assert table.say(pia, game, "Done.").scores[0].raw_score == 0  # never begun: as slow as can be
    with pytest.raises(InputError, match="not of a round that pia began"):
        table.say(pia, game, "Done.", token=str(first.token))
    with pytest.raises(ConflictError, match="already"):
        table.say(pat, game, "Done.", token=str(first.token))
    with pytest.raises(ConflictError, match="already"):
        table.database.write(starts.start_round, pat, game, None, 1, table.now)


def test_a_voided_round_is_kept_and_shown_and_counts_no_more(table: Table) -> None:
    ann, pat = table.people["ann"], table.people["pat"]
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest("norm-macdonald-classic"))
    table.say(pat, game, "In 1974 I met Gerald, a doctor.")
    table.say(pat, game, "Hm.")
    assert board(table, game) == {"pat": pytest.approx(0.125)}
    void = (game, ("pat", 1), "copied", table.now)
    with pytest.raises(DeniedError):
        table.database.write(rounds.void_round, table.people["eve"], *void)
    shown = table.database.write(rounds.void_round, ann, *void)
    assert shown.voided is not None
    assert (shown.voided.by, shown.voided.reason, shown.content["response"][:7]) == (ann.user_id, "copied", "In 1974")
    assert board(table, game) == {"pat": 0}
    assert table.say(pat, game, "Gerald came back.").scores[0].raw_score == 0  # no callback to what does not count
    with pytest.raises(InputError, match="reason is blank"):
        table.database.write(rounds.void_round, ann, game, ("pat", 2), " ", table.now)
    table.database.write(rounds.void_round, ann, game, ("pat", 1), None, table.now)
    assert board(table, game)["pat"] == pytest.approx(0.25 / 3)


@pytest.mark.parametrize(
    ("reveal", "read"), [("never", []), ("after_submit", [1]), ("after_close", []), ("always", [1, 2])]
)
def test_rivals_answers_are_hidden_until_the_rule_reveals_them(table: Table, reveal: str, read: list[int]) -> None:
    ann, pat, pia = (table.people[name] for name in ("ann", "pat", "pia"))
    game = table.game(ann, rules={"reveal": reveal})
    table.attach(ann, game, AttachmentRequest("norm-macdonald-classic"))
    for text in ("In 1974.", "In 1975."):
        table.say(pat, game, text)
    table.say(pia, game, "Mine.")

    def texts(caller: Caller) -> list[int]:
        found = table.database.read(rounds.list_rounds, caller, game, None, None, 9)
        return [line.round_number for line in found if line.player == "pat" and line.content.get("response")]

    assert texts(pia) == read
    assert texts(ann) == texts(pat) == [1, 2]
    view = table.database.read(rounds.view_round, pia, game, "pat", 2)
    assert view.hidden is (2 not in read)
    assert bool(view.scores[0].rule_breakdown) is (2 in read)
    assert view.composite.score == 0.1


def test_a_sham_game_does_not_top_the_global_board(table: Table) -> None:
    ann, eve, admin = table.people["ann"], table.people["eve"], table.person("root", "admin")
    people = [table.people[name] for name in ("pat", "pia", "pol")]
    honest, sham = table.game(ann), table.game(eve)
    table.rubric(eve, {**THRIFTY, "name": "Mine", "is_public": False})
    table.attach(ann, honest, AttachmentRequest("norm-macdonald-classic"))
    table.attach(eve, sham, AttachmentRequest("mine"))
    for place, person in enumerate(people):
        table.say(person, honest, "In 1974 a doctor." if place == 0 else "Hm.")
    table.play(ann, honest, {"round": {"response": "In 1974 a doctor."}})
    table.play(eve, sham, {"round": {"response": "I win."}})
    table.play(eve, sham, {"player": "puppet", "round": {"response": "I lose. " * 9}})
    found = table.database.read(leaderboard_access.across_games, admin, None)
    assert [(entry.player, entry.rank) for entry in found.items] == [("pat", 1), ("pia", 2), ("pol", 2)]
    assert [(game.game_id, game.reason) for game in found.uncounted] == [(sham, "mine is not published")]
    with pytest.raises(DeniedError):
        table.database.write(games.vouch, eve, sham, True, table.now)


def test_ratings_and_the_export_are_read_from_the_rounds(table: Table) -> None:
    ann, pat = table.people["ann"], table.people["pat"]
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest("norm-macdonald-classic"))
    for name, text in (("=bo", "In 1974."), ("cy", "Hm."), ("di", "Hm.")):
        table.play(ann, game, {"player": name, "rounds": [{"response": text}] * 2})
    found = rating_access.rated(table.database.read(rating_access.results_of_game, pat, game))
    assert [(each.player, each.wins, each.ties, each.losses) for each in found.items] == [
        ("=bo", 4, 0, 0),
        ("cy", 0, 2, 2),
        ("di", 0, 2, 2),
    ]
    assert all(each.provisional and each.mean is not None for each in found.items)
    assert found.items[1].elo == found.items[2].elo < 1500 < found.items[0].elo
    with pytest.raises(DeniedError):
        table.database.read(game_export.lines, table.people["eve"], game)
    read = list(csv.DictReader(io.StringIO(game_export.as_csv(table.database.read(game_export.lines, ann, game)))))
    assert [(line["player"], line["round_number"], line["raw_score"]) for line in read[:2]] == [
        ("'=bo", "1", "10.0"),
        ("'=bo", "2", "10.0"),
    ]
    assert len(read) == 6


# --- open scores --------------------------------------------------------------------------------------------


class Judge:
    """Fails until it is back, and counts how often it is asked."""

    def __init__(self) -> None:
        self.back, self.asked = False, 0

    async def __call__(self, axes: Mapping[str, Any], context: Any) -> Mapping[str, Score]:
        self.asked += 1
        if not self.back:
            raise ConnectionError(ADDRESS)
        return {name: Score(8.0, "wise", 1.0, "llm") for name in axes}

    def plan(self, definition: Mapping[str, Any], hash_: str) -> Plan:
        return replace(plan_of(definition, hash_), judge=self)


def play_judged(table: Table, caller: Caller, game: Any, judge: Judge) -> None:
    submission = read_submission({"round": {"response": "A moth."}})
    turn = table.database.read(open_turn, caller, game, submission, table.now)
    judged = asyncio.run(judge_turns([turn], RoundJudging(judge.plan, caller, table.now)))
    assert ADDRESS not in str(judged.told)
    table.database.write(rounds.keep_rounds, judged)


def judge_again(table: Table, caller: Caller, game: Any, judge: Judge, *chosen: Any) -> int:
    turns, complete = table.database.read(open_retry, caller, game, *chosen)
    judged = asyncio.run(judge_turns(turns, RoundJudging(judge.plan, caller, table.now)))
    assert complete
    return len(table.database.write(rounds.keep_judged_again, judged))


def test_only_open_scores_are_judged_again_when_the_judge_is_back(table: Table) -> None:
    ann, pat, vic = table.people["ann"], table.people["pat"], table.people["vic"]
    judge, game = Judge(), table.game(ann)
    table.attach(ann, game, AttachmentRequest("wise"))
    judge.back = True
    play_judged(table, pat, game, judge)
    judge.back = False
    play_judged(table, pat, game, judge)
    (entry,) = table.database.read(leaderboard_access.of_game, vic, game, "composite", None).items
    assert (entry.score, entry.open) == (0.8, 1)
    assert entry.bounds == pytest.approx((0.4, 0.9))
    views = {who.name: table.database.read(rounds.view_round, who, game, "pat", 2) for who in (ann, pat, vic)}
    assert [ADDRESS in str(views[name]) for name in ("ann", "pat", "vic")] == [True, False, False]
    score_id = views["ann"].scores[0].id
    assert ADDRESS not in str(table.database.read(scores.view_score, pat, score_id))
    with pytest.raises(DeniedError):
        table.database.read(open_retry, table.people["eve"], game)
    judge.asked = 0
    assert judge_again(table, ann, game, judge) == 1  # still out
    judge.back = True
    assert judge_again(table, ann, game, judge) == 1
    assert (judge.asked, judge_again(table, ann, game, judge)) == (2, 0)
    (entry,) = table.database.read(leaderboard_access.of_game, vic, game, "composite", None).items
    assert (entry.score, entry.open, entry.rounds) == (0.8, 0, 2)


def test_what_is_due_is_claimed_once_and_later_and_later(table: Table) -> None:
    ann, pat = table.people["ann"], table.people["pat"]
    judge, game = Judge(), table.game(ann)
    table.attach(ann, game, AttachmentRequest("wise"))
    play_judged(table, pat, game, judge)

    def claim() -> list[Any]:
        return table.database.write(score_store.claim_due, table.now, 9, next_try)

    assert claim() == []  # not before its time
    table.time = next_try(0, table.now) or table.time
    (due,) = claim()
    assert (due.tries, due.created_by, claim()) == (0, pat.user_id, [])  # nobody else is given it
    assert judge_again(table, pat, game, judge, [due]) == 1
    table.time = next_try(0, table.now) or table.time
    assert claim() == []  # two minutes now
    table.time = next_try(0, table.now) or table.time
    (due,) = claim()
    judge.back = True
    assert (due.tries, judge_again(table, pat, game, judge, [due])) == (1, 1)
    assert board(table, game) == {"pat": 0.8}
    table.time = next_try(11, table.now) or table.time
    assert claim() == []


def test_rules_are_read_and_changed_key_by_key(table: Table) -> None:
    ann = table.people["ann"]
    game = table.game(ann, rules={"reveal": "never"})
    changed = table.database.write(games.change_game, ann, game, {"fair_play": {"clock": "reported"}}, table.now)
    assert changed.game.fair_play == {"reveal": "never", "reports": None, "clock": "reported", "missing": "worst"}
    with pytest.raises(RubricError, match=r"fair_play\.reveal: 'sometimes' is not a choice \(one of never, "):
        fair_play.good_rules({"reveal": "sometimes"})
    with pytest.raises(MissingError):
        table.database.read(rounds.view_round, ann, game, "nobody", 1)
