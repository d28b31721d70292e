"""Corners of the API where two rules meet: entity tags, pages that move, weights at their bounds, what is gone."""

from __future__ import annotations

import itertools
from typing import Any
from uuid import uuid4

import pytest

from servers import Client, Running

NUMBERS = itertools.count()


def short(**more: Any) -> dict[str, Any]:
    rule = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}
    return {"name": f"Brief {next(NUMBERS)}", "scoring_type": "binary", "rules": [rule], **more}


@pytest.fixture
def ann(shared_server: Running) -> Client:
    """An author of whom nothing is there yet."""
    return shared_server.newcomer("author", f"ann {uuid4().hex[:8]}")


def create(client: Client, **more: Any) -> str:
    made = client.post("/api/evaluations", short(**more))
    assert made.status == 201, made.text
    return str(made.json["id"])


def new_game(client: Client, *attached: dict[str, Any], **more: Any) -> str:
    path = client.post("/api/games", {"name": "Moth night", **more}).headers["Location"]
    if attached:
        assert client.post(f"{path}/evaluations", {"evaluations": list(attached)}).status == 201
    return str(path)


# --- entity tags ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "get", "put"),
    [
        ("{tag}", 304, 200),
        ("W/{tag}", 304, 412),  # a weak tag is enough to save a reply, and not to overwrite
        ('"other", {tag}', 304, 200),
        ('"other"', 200, 412),
        ("*", 304, 200),
        ("", 200, 412),
        ("{bare}", 304, 200),  # forgotten quotes are forgiven
        ("{tag}-x", 200, 412),
        ("x" * 3_000, 200, 412),
        (",,,", 200, 412),
    ],
)
def test_entity_tags_are_compared_as_the_standard_says(ann: Client, form: str, get: int, put: int) -> None:
    path = f"/api/evaluations/{create(ann)}"
    tag = ann.get(path).headers["ETag"]
    header = form.format(tag=tag, bare=tag.strip('"'))
    read = ann.get(path, If_None_Match=header)
    assert (read.status, read.headers["ETag"], bool(read.body)) == (get, tag, get == 200)
    assert ann.put(path, short(), If_Match=header).status == put
    if put == 412:
        assert ann.delete(path, If_Match=header).status == 412


def test_a_tag_changes_with_everything_that_is_shown(ann: Client) -> None:
    path = f"/api/evaluations/{create(ann)}"
    seen = {ann.get(path).headers["ETag"]}
    for change in (
        {"tags": ["a"]},
        {"category": "games"},
        {"is_public": True},
        {"examples": [{"response": "x"}]},
        {"description": "Short."},
        {"name": f"Renamed {uuid4().hex[:6]}"},
        {"version": "3.0"},
    ):
        before = ann.get(path)
        after = ann.put(path, {**before.json, **change}, If_Match=before.headers["ETag"])
        assert after.status == 200, after.text
        assert after.headers["ETag"] == ann.get(path).headers["ETag"]
        assert after.headers["ETag"] not in seen
        seen.add(after.headers["ETag"])


def test_a_revision_in_the_body_stands_for_the_tag_and_the_header_comes_first(ann: Client) -> None:
    path = f"/api/evaluations/{create(ann)}"
    read = ann.get(path)
    assert ann.put(path, {**read.json, "description": "one"}).status == 200
    assert ann.put(path, {**read.json, "description": "two"}).status == 412
    assert ann.put(path, {**read.json, "description": "two", "version": "1.1"}, If_Match="*").status == 200
    without = {key: value for key, value in read.json.items() if key != "revision"}
    assert ann.put(path, without).status == 428


# --- pages ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", ["newest", "name"])
def test_pages_neither_repeat_nor_skip_while_others_add(ann: Client, sort: str) -> None:
    made = [create(ann, name=f"{letter} {uuid4().hex[:6]}") for letter in "bdfhj"]
    found: list[str] = []
    cursor, letters = "", iter("aceg")
    while True:
        page = ann.get(f"/api/evaluations?mine=true&sort={sort}&limit=2{cursor}").json
        found += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
        create(ann, name=f"{next(letters)} {uuid4().hex[:6]}")  # before and behind the place where the page ended
    assert len(found) == len(set(found))
    assert [id for id in found if id in made] == (made[::-1] if sort == "newest" else made)


def test_a_page_goes_on_behind_something_that_was_deleted(ann: Client) -> None:
    made = [create(ann) for _ in range(4)]
    page = ann.get("/api/evaluations?mine=true&limit=2").json
    assert ann.delete(f"/api/evaluations/{made[2]}").status == 204  # the last one of that page
    rest = ann.get(f"/api/evaluations?mine=true&limit=2&cursor={page['next']}").json
    assert ([item["id"] for item in rest["items"]], rest["next"]) == ([made[1], made[0]], None)


# --- weights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "status"),
    [
        ([1], 201),
        ([0.999], 201),
        ([0.9989], 422),
        ([0.5, 0.501], 201),
        ([0.5, 0.5011], 422),
        ([0.1] * 10, 201),
        ([1 / 3] * 3, 201),
        ([1, 0, 0], 201),
        ([0, 0], 422),
        ([1.1], 422),
        ([-0.1, 1.1], 422),
        ([0.5, 0.6], 422),
    ],
)
def test_weights_sum_to_one_within_a_thousandth(ann: Client, weights: list[float], status: int) -> None:
    made = create(ann)
    game = new_game(ann)
    wanted = [{"evaluation_id": made, "weight": weight, "dimension": f"d{n}"} for n, weight in enumerate(weights)]
    reply = ann.post(f"{game}/evaluations", {"evaluations": wanted})
    assert reply.status == status, reply.text
    attached = ann.get(f"{game}/evaluations").json
    assert len(attached["evaluations"]) == (len(weights) if status == 201 else 0)
    if status == 201:
        assert attached["sum"] == pytest.approx(1, abs=0.001 + 1e-9)


@pytest.mark.parametrize(
    ("weights", "scaled"),
    [
        ([0.2, 0.2], [0.5, 0.5]),
        ([1, 1, 0.5], [0.4, 0.4, 0.2]),
        ([0, 0.3], [0, 1]),
        ([1e-9, 1e-9], [0.5, 0.5]),
        ([1] * 7, [1 / 7] * 7),
        ([0, 0], None),
        ([0], None),
        ([2], None),
    ],
)
def test_weights_are_scaled_where_that_is_asked_for(
    ann: Client, weights: list[float], scaled: list[float] | None
) -> None:
    made = create(ann)
    game = new_game(ann)
    wanted = [{"evaluation_id": made, "weight": weight, "dimension": f"d{n}"} for n, weight in enumerate(weights)]
    reply = ann.post(f"{game}/evaluations", {"evaluations": wanted, "weights": "renormalise"})
    if scaled is None:
        assert reply.status == 422
        return
    assert [each["weight"] for each in reply.json["evaluations"]] == pytest.approx(scaled, abs=1e-9)
    assert reply.json["sum"] == pytest.approx(1, abs=1e-8)


def test_taking_one_off_needs_the_rest_to_sum_to_one_or_to_be_scaled(ann: Client) -> None:
    made = create(ann)
    game = new_game(
        ann, *({"evaluation_id": made, "weight": w, "dimension": f"d{n}"} for n, w in enumerate((0.5, 0.25, 0.25)))
    )
    first, *_ = ann.get(f"{game}/evaluations").json["evaluations"]
    assert ann.delete(f"{game}/evaluations/{first['id']}").status == 422
    left = ann.delete(f"{game}/evaluations/{first['id']}?weights=renormalise")
    assert ([each["weight"] for each in left.json["evaluations"]], left.json["sum"]) == ([0.5, 0.5], 1)
    assert ann.delete(f"{game}/evaluations/{first['id']}?weights=renormalise").status == 404
    assert ann.put(f"{game}/evaluations", {"evaluations": []}).json == {"evaluations": [], "sum": 0}


# --- games ------------------------------------------------------------------------------------------------


def test_a_game_with_nothing_attached_keeps_rounds_without_a_score(ann: Client) -> None:
    game = new_game(ann)
    (round_,) = ann.post(f"{game}/evaluate", {"player": "m", "round": {"response": "Hello."}}).json["rounds"]
    assert (round_["scores"], round_["composite"]["score"]) == ([], None)
    assert ann.post(f"{game}/evaluate").json["rounds"] == []
    board = ann.get(f"{game}/leaderboard")
    assert (board.status, [entry for entry in board.json["items"] if entry["score"] is not None]) == (200, [])
    assert ann.post(f"{game}/evaluations", {"evaluation_id": create(ann)}).status == 201
    (late,) = ann.post(f"{game}/evaluate").json["rounds"]
    assert (late["round_number"], late["composite"]["score"]) == (1, 1)


def test_having_what_was_kept_judged_twice_changes_nothing_the_second_time(ann: Client) -> None:
    game = new_game(ann)
    for _ in range(3):
        ann.post(f"{game}/evaluate", {"player": "m", "round": {"response": "Hello."}})
    assert ann.post(f"{game}/evaluations", {"evaluation_id": create(ann)}).status == 201
    replies = ann.together([("POST", f"{game}/evaluate", None)] * 4)
    assert {reply.status for reply in replies} == {200}
    assert sorted(len(reply.json["rounds"]) for reply in replies) == [0, 0, 0, 3]
    assert ann.post(f"{game}/evaluate", {}).json["rounds"] == []
    game_id = game.rpartition("/")[2]
    assert len(ann.get(f"/api/scores?game_id={game_id}").json["items"]) == 3


def test_a_game_goes_on_with_an_evaluation_that_was_deleted(ann: Client) -> None:
    made = create(ann)
    game = new_game(ann, {"evaluation_id": made})
    assert ann.post(f"{game}/evaluate", {"player": "m", "round": {"response": "Hello."}}).status == 200
    assert ann.delete(f"/api/evaluations/{made}").status == 204
    (round_,) = ann.post(f"{game}/evaluate", {"player": "m", "round": {"response": "Hello."}}).json["rounds"]
    assert (round_["round_number"], round_["composite"]["score"]) == (2, 1)
    attached = ann.get(f"{game}/evaluations").json
    assert [each["evaluation_id"] for each in attached["evaluations"]] == [made]
    assert ann.put(f"{game}/evaluations", attached).json == attached  # what is attached may stay
    assert ann.post(f"{game}/evaluations", {"evaluation_id": made, "weights": "renormalise"}).status == 404
    assert ann.get(f"{game}/leaderboard").json["items"][0]["score"] == 1
    score = ann.get(f"{game}/rounds/m/1").json["scores"][0]["id"]
    assert ann.get(f"/api/scores/{score}").json["evaluation_id"] == made


def test_what_is_deleted_frees_its_name_and_is_not_on_the_marketplace(ann: Client) -> None:
    name = f"Freed {uuid4().hex[:6]}"
    first = create(ann, name=name, is_public=True)
    assert ann.post("/api/evaluations", short(name=name)).status == 409
    assert ann.delete(f"/api/evaluations/{first}").status == 204
    second = create(ann, name=name, is_public=True)
    slug = ann.get(f"/api/evaluations/{second}").json["slug"]
    assert ann.get(f"/api/evaluations/{slug}").json["id"] == second
    assert ann.get(f"/api/marketplace/{slug}").json["id"] == second
    assert ann.get(f"/api/marketplace/{first}").status == 404
    assert ann.delete(f"/api/evaluations/{first}").status == 404


def test_scores_are_told_apart_by_the_players_own_history_only(ann: Client, shared_server: Running) -> None:
    """Two people in one game, at the same time: each is judged beside their own rounds, and sees a public game's."""
    counting = short(scoring_type="cumulative", max_score=100)
    counting["rules"] = [{"type": "custom_expression", "name": "earlier", "expression": "round_count"}]
    made = ann.post("/api/evaluations", counting).json["id"]
    game = new_game(ann, {"evaluation_id": made}, is_public=True)
    people = [shared_server.newcomer("player", f"{name} {uuid4().hex[:8]}") for name in ("bo", "cy")]
    for _ in range(3):
        for person in people:
            assert person.post(f"{game}/evaluate", {"round": {"response": "Hi."}}).status == 200
    items = ann.get(f"{game}/rounds?limit=200").json["items"]
    assert [(item["round_number"], item["composite"]["score"]) for item in items] == [(1, 0), (2, 0.01), (3, 0.02)] * 2


@pytest.mark.parametrize("timestamp", ["2026-05-01T14:00:00+02:00", "2026-05-01T12:00:00Z", "2026-05-01T12:00:00"])
def test_a_moment_in_a_context_comes_back_as_the_same_moment(ann: Client, timestamp: str) -> None:
    made = create(ann)
    body = {"response": "Hello.", "metadata": {"timestamp": timestamp}}
    score = ann.post(f"/api/evaluations/{made}/execute", body)
    assert score.status == 201
    kept = ann.get(score.headers["Location"]).json["context_snapshot"]["metadata"]["timestamp"]
    assert kept.replace("+02:00", "").startswith(timestamp[:19])
