"""Evaluations over HTTP: create, list, read, change, delete and try out, by those who may."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from servers import Client, Reply, Running

PATH = "/api/evaluations"
RULE = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}
SHORT: dict[str, Any] = {"name": "Brevity Wins", "scoring_type": "binary", "rules": [RULE]}
LONG: dict[str, Any] = {
    "name": "brevity-long",
    "version": "1.0.0",
    "dimensions": {"brief": {"weight": 1, "formula": "1 if word_count < 9 else 0"}},
    "verdicts": [{"label": "short", "when": "score >= 0.5"}, {"label": "long"}],
}


def words(body: dict[str, Any], number: int) -> dict[str, Any]:
    return {**body, "rules": [{**RULE, "expression": f"1 if word_count < {number} else 0"}]}


def create(client: Client, body: dict[str, Any] = SHORT, **more: Any) -> Reply:
    reply = client.post(PATH, {**body, **more})
    assert reply.status == 201, reply.text
    return reply


def wheres(reply: Reply) -> set[str]:
    assert reply.status == 422, reply.text
    assert reply.headers["Content-Type"].startswith("application/problem+json")
    return {problem["where"] for problem in reply.json["problems"]}


def test_the_three_kinds_of_definitions_come_back_as_they_were_written(full_server: Running) -> None:
    author = full_server.author
    for slug in ("speed-demon", "norm-macdonald-classic", "scientific-rigor-pro"):
        bundled = author.get(f"{PATH}/{slug}").json
        definition = {
            key: bundled[key]
            for key in ("name", "scoring_type", "rules", "normalization_config", "max_score")
            if key in bundled
        }
        made = create(author, definition, category="games", tags=["a", "b"])
        assert made.headers["Location"] == f"{PATH}/{made.json['id']}"
        again = author.get(made.headers["Location"])
        assert again.json == made.json
        assert {key: again.json[key] for key in definition} == definition
        assert (again.json["version"], again.json["revision"], again.json["slug"]) == ("1.0", 1, slug)
        assert (again.json["category"], again.json["tags"], again.json["is_public"]) == ("games", ["a", "b"], False)
        assert again.headers["ETag"] == made.headers["ETag"]
        assert UUID(again.json["created_by"])
        assert again.json["created_at"].endswith("Z")


def test_an_invalid_definition_comes_back_with_every_problem(server: Running) -> None:
    body = {
        "name": "Bad",
        "scoring_type": "cumulative",
        "rules": [
            {"type": "pattern_detection", "patterns": [{"regex": "(a+)+(?=b)", "score": 1}]},
            {"type": "custom_expression", "expression": "open('/etc/passwd')"},
            {"type": "dance"},
        ],
        "colour": "red",
        "tags": ["x\0y"],
    }
    found = wheres(server.author.post(PATH, {**body, "tags": ["fine", 3]}))
    assert found >= {"rules[0].patterns[0].regex", "rules[1].expression", "rules[2].type", "colour", "tags[1]"}
    assert wheres(server.author.post(PATH, body)) == {"tags[0]"}
    assert wheres(server.author.post(PATH, {})) >= {"name", "dimensions", "verdicts"}
    assert server.author.get(PATH).json["items"] == []


def test_a_body_that_is_no_object_is_refused(server: Running) -> None:
    for body in ([], "x", 3, None, [SHORT]):
        for reply in (server.author.post(PATH, body), server.author.put(f"{PATH}/x", body)):
            assert reply.status == 422
    assert server.author.post(PATH, b'{"name": ', Content_Type="application/json").status == 400


def test_too_much_is_refused(server: Running) -> None:
    assert "bytes" in server.author.post(PATH, {**SHORT, "description": "x" * 300_000}).json["detail"]
    assert "rules" in server.author.post(PATH, {**SHORT, "rules": [RULE] * 1_001}).json["detail"]
    assert server.author.post(PATH, {**SHORT, "description": "x" * 3_000_000}).status == 413


def test_each_role_may_do_its_part(server: Running) -> None:
    made = create(server.author, is_public=True)
    at = f"{PATH}/{made.json['id']}"
    for client in (server.viewer, server.player):
        assert client.get(at).status == 200
        assert client.post(f"{at}/test", {"response": "Hi."}).status == 200
        for reply in (
            client.post(PATH, SHORT),
            client.put(at, SHORT, If_Match="*"),
            client.delete(at),
            client.post(f"{at}/fork"),
            client.post(f"{PATH}/import", SHORT),
        ):
            assert (reply.status, "author" in reply.json["detail"]) == (403, True)
    other = server.newcomer("author", "eve")
    assert other.put(at, SHORT, If_Match="*").status == 403
    assert other.delete(at).status == 403
    assert server.anyone.get(at).status == 401
    assert server.admin.put(at, words(SHORT, 5), If_Match="*").json["version"] == "1.1"


def test_somebody_elses_private_evaluation_does_not_exist(server: Running) -> None:
    made = create(server.author, examples=[{"response": "a"}]).json
    other = server.newcomer("author", "eve")
    for reference in (made["id"], "brevity-wins", "brevity-wins@1.0"):
        at = f"{PATH}/{reference}"
        for path in ("", "/versions", "/versions/1", "/versions/1/diff/1", "/lineage", "/export", "/docs"):
            assert other.get(at + path).status == 404
        for path in ("/test", "/fork", "/versions/1/restore"):
            assert other.post(at + path, {}).status == 404
        assert other.put(at, SHORT, If_Match="*").status == 404
        assert other.delete(at).status == 404
        assert server.admin.get(at).status == 200
    assert other.get(PATH).json["items"] == []
    assert other.get(f"{PATH}/{uuid4()}").json["type"] == "urn:rubrica:problem:missing"


@pytest.mark.parametrize("document", [SHORT, LONG])
def test_what_get_gives_can_be_put_back(server: Running, document: dict[str, Any]) -> None:
    made = create(server.author, document, tags=["a"], is_public=True, examples=[{"response": "a"}])
    at = f"{PATH}/{made.json['slug']}"
    got = server.author.get(at)
    same = server.author.put(at, got.json)
    assert (same.status, same.json, same.headers["ETag"]) == (200, got.json, got.headers["ETag"])
    assert server.author.get(at).json == got.json
    old = server.author.get(f"{at}/versions/1").json
    assert server.author.put(at, old).json == got.json


def test_a_change_needs_to_say_what_it_changes(server: Running) -> None:
    made = create(server.author)
    at = f"{PATH}/brevity-wins"
    assert server.author.put(at, words(SHORT, 5)).status == 428
    changed = server.author.put(at, words(SHORT, 5), If_Match=made.headers["ETag"])
    assert (changed.status, changed.json["version"], changed.json["revision"]) == (200, "1.1", 2)
    assert changed.headers["ETag"] != made.headers["ETag"]
    for stale in (made.headers["ETag"], "W/" + changed.headers["ETag"], '"x"', "garbage", ""):
        reply = server.author.put(at, words(SHORT, 6), If_Match=stale)
        assert (reply.status, reply.json["type"]) == (412, "urn:rubrica:problem:stale")
    assert server.author.put(at, {**words(SHORT, 6), "revision": 1}).status == 412
    assert server.author.put(at, {**words(SHORT, 6), "revision": 2}).json["version"] == "1.2"
    assert server.author.put(at, words(SHORT, 7), If_Match="*").json["version"] == "1.3"
    assert server.author.put(at, {**words(SHORT, 8), "version": "1.0"}, If_Match="*").status == 409
    assert server.author.put(at, {**words(SHORT, 8), "version": "2.0"}, If_Match="*").json["version"] == "2.0"


def test_two_editors_with_the_same_etag_do_not_overwrite_each_other(server: Running) -> None:
    made = create(server.author)
    bodies = [words(SHORT, number) for number in range(2, 12)]
    requests = [("PUT", f"{PATH}/brevity-wins", body) for body in bodies]
    replies = server.author.together(requests, {"If-Match": made.headers["ETag"]})
    assert sorted(reply.status for reply in replies) == [200] + [412] * 9
    winner = next(reply for reply in replies if reply.status == 200)
    assert server.author.get(f"{PATH}/brevity-wins").json == winner.json
    assert len(server.author.get(f"{PATH}/brevity-wins/versions").json["items"]) == 2


def test_of_twenty_creations_of_one_name_one_succeeds(server: Running) -> None:
    replies = server.author.together([("POST", PATH, SHORT)] * 20)
    assert sorted(reply.status for reply in replies) == [201] + [409] * 19
    assert len(server.author.get(PATH).json["items"]) == 1


def test_a_creation_that_is_repeated_with_its_key_happens_once(server: Running) -> None:
    first = server.author.post(PATH, SHORT, Idempotency_Key="one")
    again = server.author.post(PATH, SHORT, Idempotency_Key="one")
    assert (first.status, again.status, again.json) == (201, 201, first.json)
    assert again.headers["ETag"] == first.headers["ETag"]
    assert server.author.post(PATH, SHORT).status == 409


def test_what_did_not_change_is_not_sent_again(server: Running) -> None:
    made = create(server.author)
    at, tag = f"{PATH}/brevity-wins", made.headers["ETag"]
    for header in (tag, "W/" + tag, f'"x", {tag}', "*"):
        reply = server.author.get(at, If_None_Match=header)
        assert (reply.status, reply.body, reply.headers["ETag"]) == (304, b"", tag)
    server.author.put(at, {**SHORT, "tags": ["new"]}, If_Match="*")
    fresh = server.author.get(at, If_None_Match=tag)
    assert (fresh.status, fresh.json["tags"], fresh.json["revision"]) == (200, ["new"], 1)


def test_what_is_deleted_is_gone(server: Running) -> None:
    made = create(server.author, is_public=True)
    at = f"{PATH}/{made.json['id']}"
    assert server.author.delete(at, If_Match='"1-0000000000000000"').status == 412
    gone = server.author.delete(at, If_Match=made.headers["ETag"])
    assert (gone.status, gone.body) == (204, b"")
    assert server.author.get(at).status == server.admin.get(at).status == 404
    assert server.author.delete(at).status == 404
    assert server.author.get(PATH).json["items"] == []
    assert create(server.author).json["id"] != made.json["id"]


def test_lists_are_narrowed_sorted_and_paged(server: Running) -> None:
    author, other = server.author, server.newcomer("author", "eve")
    for number in range(5):
        create(author, {**SHORT, "name": f"Own {number}"}, tags=["own", f"n{number}"], category="mine")
        create(other, {**SHORT, "name": f"Theirs {number}"}, is_public=number % 2 == 0)
    create(author, LONG, description="Says 100% in words")

    def names(query: str) -> list[str]:
        return [item["slug"] for item in author.get(f"{PATH}?{query}").json["items"]]

    assert names("sort=name") == ["brevity-long", *(f"own-{n}" for n in range(5)), "theirs-0", "theirs-2", "theirs-4"]
    assert names("mine=true&sort=name") == ["brevity-long", *(f"own-{n}" for n in range(5))]
    assert names("tag=own&tag=n3") == ["own-3"]
    assert names("category=mine&limit=2") == ["own-4", "own-3"]
    assert names("q=100%25") == names("q=WORDS%20says") == ["brevity-long"]
    assert names("scoring_type=cumulative") == []
    for sort in ("newest", "name"):
        paged: list[Any] = []
        cursor: str | None = ""
        while cursor is not None:
            page = author.get(f"{PATH}?sort={sort}&limit=2{cursor and '&cursor=' + cursor}").json
            paged += page["items"]
            cursor = page["next"]
        whole = author.get(f"{PATH}?sort={sort}").json
        assert (paged, whole["next"]) == (whole["items"], None)
    assert set(whole["items"][0]) == {
        *("id", "slug", "name", "description", "version", "revision", "scoring_type", "category", "tags"),
        *("is_public", "created_by", "created_at", "updated_at"),
    }


def test_a_list_that_cannot_be_is_refused(server: Running) -> None:
    queries = ["cursor=x", "cursor=e30", "limit=0", "limit=201", "limit=x", "sort=age", "scoring_type=odd"]
    queries += ["q=" + "x" * 201, "category=" + "x" * 101, "tag=" + "x" * 51, "mine=perhaps"]
    queries.append("&".join(f"tag={n}" for n in range(21)))
    for query in queries:
        reply = server.author.get(f"{PATH}?{query}")
        assert (reply.status, bool(reply.json["detail"])) == (422, True), query


def test_trying_out_stores_nothing_and_explains_everything(full_server: Running) -> None:
    at = f"{PATH}/norm-macdonald-classic/test"
    context = {
        "prompt": "Tell me about the moth.",
        "response": "In 1974 my doctor, Gerald Fitzwilliam, knew a moth. What a joke.",
        "metadata": {"round_number": 2, "response_time": 3.5},
        "round_history": [{"round_number": 1, "response": "Gerald Fitzwilliam was a podiatrist."}],
        "game_config": {"mode": "norm"},
        "player_info": {"name": "x"},
        "session_id": "s",
        "custom_metrics": {"m": 1},
    }
    tried = full_server.viewer.post(at, context)
    assert tried.status == 200, tried.text
    told = tried.json
    points = {line["rule"]: line["points"] for line in told["rule_breakdown"]}
    assert points["year_mention_1970s"] == 10
    assert points["medical_reference"] == 15
    assert sum(points.values()) == pytest.approx(told["raw_score"])
    assert told["normalized_score"] == pytest.approx(told["raw_score"] / 100)
    assert told["dimension_scores"]["points"]["value"] == told["raw_score"]
    assert told["evaluation"]["verdict"] == told["verdict"] == "scored"
    assert told["slug"] == "norm-macdonald-classic"
    assert full_server.viewer.post(at, {"context": context}).json["raw_score"] == told["raw_score"]
    scores = full_server.admin.get("/api/scores")
    assert scores.status == 404 or scores.json["items"] == []


def test_a_context_brings_its_own_criteria_or_is_refused_with_the_way_out(server: Running) -> None:
    definition = {
        "name": "by-expert",
        "dimensions": {"answer": {"from": "criteria"}},
        "score": {"points": True},
        "verdicts": [{"label": "good", "when": "score >= 0.6"}, {"label": "poor"}],
    }
    at = f"{PATH}/{create(server.author, definition).json['id']}/test"
    context = {"response": "Pull it out.", "criteria": [{"criterion": "Says how.", "points": 5, "tags": ["care"]}]}
    told = server.author.post(at, context).json
    part = told["dimension_scores"]["answer"]["parts"]["c1"]
    assert (part["points"], part["tags"], part["asks"]) == (5, ["care"], "Says how.")
    assert told["evaluation"]["tags"]["care"]["unscored"] == 1
    twice = server.author.post(at, {"response": "x", "criteria": ["A", "a"]})
    assert (twice.status, "given twice" in twice.text) == (422, True)
    other = server.author.post(f"{PATH}/{create(server.author).json['id']}/test", context)
    assert (other.status, "from: criteria" in other.text) == (422, True)


def test_an_unsaved_definition_is_tried_out(server: Running) -> None:
    create(server.author)
    at = f"{PATH}/brevity-wins/test"
    context = {"response": "one two three four five six"}
    assert server.author.post(at, context).json["raw_score"] == 1
    strict = server.author.post(
        at, {"context": context, "definition": {**words(SHORT, 3), "version": "9.0", "id": "x"}}
    )
    assert (strict.json["raw_score"], strict.json["version"]) == (0, "9.0")
    assert wheres(server.author.post(at, {"context": context, "definition": {**SHORT, "rules": [{"type": "x"}]}}))
    assert server.author.get(f"{PATH}/brevity-wins").json["revision"] == 1


def test_a_context_that_cannot_be_read_is_refused(server: Running) -> None:
    create(server.author)
    bodies: list[Any] = [{"metadata": {"response_time": -1}}, {"response": 5}, {"context": 5}, [], "x"]
    bodies += [{"context": {"response": 5}}, {"definition": "x"}, {"round_history": "x"}]
    for body in bodies:
        assert server.author.post(f"{PATH}/brevity-wins/test", body).status == 422, body


def test_a_context_that_lacks_a_metric_is_told_and_not_guessed(full_server: Running) -> None:
    told = full_server.author.post(f"{PATH}/speed-demon/test", {"response": "Done."}).json
    assert "error" in told["rule_breakdown"][0]
    assert told["raw_score"] == 0


def test_odd_references_are_missing_and_nothing_worse(server: Running) -> None:
    for reference in ("%F0%9F%98%80", "%ED%A0%80", "%FF", "@", "x@", "@1", "..%2F..", "a" * 3_000, "%25", "x%20y"):
        assert server.author.get(f"{PATH}/{reference}").status in (400, 404)
    assert server.author.get(f"{PATH}/x%00y").status in (400, 404)


def test_what_a_name_or_text_may_hold_comes_back_unharmed(server: Running) -> None:
    name = "Ünï 😀 <b>&'\""
    made = create(server.author, name=name, description="a\r\nb\t\u2028", examples=[{"response": "nul \0 here"}]).json
    got = server.author.get(f"{PATH}/{made['id']}").json
    assert (got["name"], got["description"], got["examples"][0]["response"]) == (name, "a\r\nb\t\u2028", "nul \0 here")
    page = server.author.get(f"{PATH}/{made['id']}/docs").text
    assert ("<b>&" in page, "&lt;b&gt;" in page) == (False, True)
    assert server.author.post(PATH, b'{"name": "\\ud800"}', Content_Type="application/json").status == 400
