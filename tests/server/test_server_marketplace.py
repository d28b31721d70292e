"""The marketplace over HTTP: paths, statuses, pages and what a client is told."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import pytest

from servers import Client, Running

RULE = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}
ROOT = "/api/marketplace"


def publish(author: Client, name: str, **listed: Any) -> dict[str, Any]:
    given = {"name": name, "scoring_type": "binary", "rules": [RULE], "is_public": True} | listed
    reply = author.post("/api/evaluations", given)
    assert reply.status == 201, reply.text
    return dict(reply.json)


def names(client: Client, query: str = "") -> list[str]:
    reply = client.get(f"{ROOT}/evaluations{query}")
    assert reply.status == 200, reply.text
    return [item["name"] for item in reply.json["items"]]


def test_an_offer_says_what_it_is_and_how_it_stands(server: Running) -> None:
    made = publish(server.author, "Brevity", category="style", tags=["short"], description="Under nine words")
    [item] = server.viewer.get(f"{ROOT}/evaluations").json["items"]
    assert {key: item[key] for key in ("id", "slug", "name", "version", "scoring_type", "category", "tags")} == {
        "id": made["id"], "slug": "brevity", "name": "Brevity", "version": made["version"],
        "scoring_type": "binary", "category": "style", "tags": ["short"],
    }  # fmt: skip
    assert {key: item[key] for key in ("author", "downloads", "rating", "reviews", "featured", "trend")} == {
        "author": server.author.user, "downloads": 0, "rating": None, "reviews": 0, "featured": False, "trend": 0.0,
    }  # fmt: skip
    assert server.viewer.get(f"{ROOT}/brevity").json == item


def test_private_evaluations_are_listed_for_nobody(server: Running) -> None:
    publish(server.author, "Hidden", is_public=False)
    assert names(server.author) == names(server.admin) == []
    assert server.admin.get(f"{ROOT}/hidden").status == 404


def test_lists_are_narrowed_down_and_ordered(server: Running) -> None:
    publish(server.author, "beta", category="style", tags=["a", "b"])
    publish(server.author, "Alpha", category="speed", tags=["a"], scoring_type="cumulative")
    publish(server.author, "Gamma", category="speed", description="100% of beta")
    viewer = server.viewer
    assert names(viewer, "?sort=name") == ["Alpha", "beta", "Gamma"]
    assert names(viewer, "?sort=newest") == ["Gamma", "Alpha", "beta"]
    assert names(viewer, "?q=BETA&sort=name") == ["beta", "Gamma"]
    assert names(viewer, "?q=" + quote("0% beta")) == ["Gamma"]
    assert names(viewer, "?q=" + quote("%")) == ["Gamma"]
    assert names(viewer, "?category=speed&sort=name") == ["Alpha", "Gamma"]
    assert names(viewer, "?tag=a&tag=b") == ["beta"]
    assert names(viewer, "?scoring_type=cumulative") == ["Alpha"]
    assert names(viewer, "?min_rating=1") == names(viewer, "?featured=true") == []


@pytest.mark.parametrize("sort", ["trending", "downloads", "rating", "newest", "name"])
def test_every_order_can_be_paged_through(server: Running, sort: str) -> None:
    rated = [publish(server.author, f"Rubric {number}")["id"] for number in range(5)]
    for number, stars in ((1, 5), (3, 2)):
        assert server.player.post(f"{ROOT}/{rated[number]}/rate", {"rating": stars}).status == 200
    assert server.admin.post(f"{ROOT}/{rated[2]}/import").status == 201
    whole = names(server.viewer, f"?sort={sort}")
    found, cursor = [], ""
    while cursor is not None:
        reply = server.viewer.get(f"{ROOT}/evaluations?sort={sort}&limit=2&cursor={cursor}" if cursor else
                                  f"{ROOT}/evaluations?sort={sort}&limit=2")  # fmt: skip
        found += [item["name"] for item in reply.json["items"]]
        cursor = reply.json["next"]
    assert found == whole
    assert len(found) == 5


@pytest.mark.parametrize(
    "query",
    [
        "sort=best",
        "limit=0",
        "limit=201",
        "min_rating=6",
        "scoring_type=odd",
        "featured=perhaps",
        "cursor=garbage",
        "sort=name&cursor=WzEsMl0",
        "sort=downloads&cursor=" + "WzFlMzAsIjAwMDAwMDAwLTAwMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwMCJd",
        "q=" + "x" * 201,
    ],
)
def test_a_query_that_makes_no_sense_is_a_problem_of_the_client(shared_server: Running, query: str) -> None:
    reply = shared_server.viewer.get(f"{ROOT}/evaluations?{query}")
    assert (reply.status, reply.headers["Content-Type"]) == (422, "application/problem+json")


@pytest.mark.parametrize("query", ["q=a%00b", "category=a%00b", "tag=a%00b"])
def test_a_query_that_no_database_can_hold_is_a_problem_of_the_client(shared_server: Running, query: str) -> None:
    assert shared_server.viewer.get(f"{ROOT}/evaluations?{query}").status in (400, 422)


def test_an_import_says_where_the_copy_is(server: Running) -> None:
    made = publish(server.author, "Brevity")
    ben = server.newcomer("author", "ben")
    reply = ben.post(f"{ROOT}/{made['id']}/import")
    assert reply.status == 201
    assert reply.headers["Location"] == f"/api/evaluations/{reply.json['id']}"
    assert reply.json["is_public"] is False
    assert reply.json["forked_from"] == {"evaluation_id": made["id"], "name": "Brevity", "version": made["version"]}
    read = ben.get(reply.headers["Location"])
    assert (read.json["rules"], read.headers["ETag"]) == ([RULE], reply.headers["ETag"])
    assert server.viewer.get(f"{ROOT}/brevity").json["downloads"] == 1


def test_an_import_sent_twice_with_one_idempotency_key_makes_one_copy(server: Running) -> None:
    publish(server.author, "Brevity")
    ben = server.newcomer("author", "ben")
    first, second = (ben.post(f"{ROOT}/brevity/import", Idempotency_Key="once") for _ in range(2))
    assert (first.status, second.status) == (201, 201)
    assert first.json["id"] == second.json["id"]
    assert [item["slug"] for item in ben.get("/api/evaluations?mine=true").json["items"]] == ["brevity"]


def test_rating_answers_with_the_mean_of_all(server: Running) -> None:
    publish(server.author, "Brevity")
    path = f"{ROOT}/brevity/rate"
    assert server.player.post(path, {"rating": 5, "review": "Spots fluff."}).json == {"rating": 5.0, "reviews": 1}
    assert server.admin.post(path, {"rating": 2}).json == {"rating": 3.5, "reviews": 2}
    assert server.player.post(path, {"rating": 3, "review": None}).json == {"rating": 2.5, "reviews": 2}
    assert names(server.viewer, "?min_rating=2.5") == ["Brevity"]
    assert names(server.viewer, "?min_rating=2.6") == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"rating": 0},
        {"rating": 6},
        {"rating": 4.5},
        {"rating": "5"},
        {"rating": True},
        {"rating": None},
        {"rating": 5, "review": "x" * 4_001},
        {"rating": 5, "review": "a\0b"},
        {"rating": 5, "stars": 5},
        [],
    ],
    ids=repr,
)
def test_a_rating_that_makes_no_sense_is_refused(shared_server: Running, body: Any) -> None:
    if shared_server.viewer.get(f"{ROOT}/brevity").status == 404:
        publish(shared_server.author, "Brevity")
    assert shared_server.player.post(f"{ROOT}/brevity/rate", body).status == 422
    assert shared_server.viewer.get(f"{ROOT}/brevity").json["reviews"] == 0


def test_reviews_are_shown_with_names_newest_first_in_pages(server: Running) -> None:
    publish(server.author, "Brevity")
    writers = [server.newcomer("player", f"reader {number}") for number in range(5)]
    for number, writer in enumerate(writers):
        assert writer.post(f"{ROOT}/brevity/rate", {"rating": 4, "review": f"no. {number}"}).status == 200
    first = server.viewer.get(f"{ROOT}/brevity/reviews?limit=3").json
    second = server.viewer.get(f"{ROOT}/brevity/reviews?limit=3&cursor={first['next']}").json
    assert [(item["user"], item["review"]) for item in first["items"] + second["items"]] == [
        (f"reader {number}", f"no. {number}") for number in (4, 3, 2, 1, 0)
    ]
    assert second["next"] is None
    assert server.viewer.get(f"{ROOT}/brevity/reviews?cursor=garbage").status == 422


def test_who_may_not_is_told_who_may(server: Running) -> None:
    publish(server.author, "Brevity")
    refused = [
        server.author.post(f"{ROOT}/brevity/rate", {"rating": 5}),  # their own
        server.viewer.post(f"{ROOT}/brevity/rate", {"rating": 5}),
        server.player.post(f"{ROOT}/brevity/import"),
        server.author.put(f"{ROOT}/brevity/featured", {"featured": True}),
    ]
    assert [reply.status for reply in refused] == [403] * 4
    assert server.anyone.get(f"{ROOT}/evaluations").status == 401
    assert server.player.post(f"{ROOT}/nowhere/rate", {"rating": 5}).status == 404


def test_admins_feature(server: Running) -> None:
    publish(server.author, "Brevity")
    publish(server.author, "Other")
    assert server.admin.put(f"{ROOT}/brevity/featured", {"featured": True}).json["featured"] is True
    assert names(server.viewer, "?featured=true") == ["Brevity"]
    assert names(server.viewer, "?featured=false") == ["Other"]
    assert server.admin.put(f"{ROOT}/brevity/featured", {"featured": "yes"}).status == 422
    assert server.admin.put(f"{ROOT}/nowhere/featured", {"featured": True}).status == 404


def test_trending_shows_what_people_take_up(server: Running) -> None:
    for name in ("Quiet", "Liked", "Taken"):
        publish(server.author, name)
    ben = server.newcomer("author", "ben")
    ben.post(f"{ROOT}/taken/import")
    server.player.post(f"{ROOT}/liked/rate", {"rating": 5})
    items = server.viewer.get(f"{ROOT}/trending").json["items"]
    assert [(item["name"], item["trend"]) for item in items] == [
        ("Liked", pytest.approx(2, abs=0.01)),
        ("Taken", pytest.approx(1, abs=0.01)),
    ]
    assert len(server.viewer.get(f"{ROOT}/trending?limit=1").json["items"]) == 1
    assert [server.viewer.get(f"{ROOT}/trending?{bad}").status for bad in ("days=0", "days=nan", "limit=0")] == [
        422
    ] * 3


def test_the_bundled_rubrics_are_listed_and_can_be_imported_and_rated(full_server: Running) -> None:
    listed = full_server.viewer.get(f"{ROOT}/evaluations?sort=name&limit=200").json["items"]
    assert "answer-quality" in [item["slug"] for item in listed]
    assert {item["created_by"] for item in listed} == {None}
    assert full_server.author.post(f"{ROOT}/answer-quality/import").status == 201
    assert full_server.player.post(f"{ROOT}/answer-quality/rate", {"rating": 4}).status == 200
    again = full_server.viewer.get(f"{ROOT}/answer-quality").json
    assert (again["downloads"], again["rating"]) == (1, 4.0)


def test_people_who_rate_at_once_over_http_are_all_counted(server: Running) -> None:
    publish(server.author, "Brevity")
    stars = [1 + number % 5 for number in range(12)]
    readers = [server.newcomer("player", f"reader {number}") for number in range(12)]

    async def all_at_once() -> list[int]:
        sent = (
            reader.send("POST", f"{ROOT}/brevity/rate", {"rating": rating})
            for reader, rating in zip(readers, stars, strict=True)
        )
        return [reply.status for reply in await asyncio.gather(*sent)]

    assert server.run(all_at_once()) == [200] * 12
    item = server.viewer.get(f"{ROOT}/brevity").json
    assert (item["reviews"], item["rating"]) == (12, pytest.approx(sum(stars) / 12))
