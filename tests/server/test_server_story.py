"""The whole story over HTTP: definitions, sandbox, execution, marketplace, games, versions, bundles, pages."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
import yaml
from sqlalchemy import Connection, func, select

from rubrica.server.rubric_shapes import NORM, RIGOR, SPEED
from rubrica.store.tables import metadata
from rubrica.workspace.trending import HALF_LIFE
from servers import Client, Running

DEFINITIONS = pytest.mark.parametrize("definition", [SPEED, NORM, RIGOR], ids=lambda definition: definition["name"])
CONTEXT: dict[str, Any] = {
    "prompt": "Tell me about the doctor.",
    "response": "In 1974 Gerald, my podiatrist, measured it at 95% CI with a method of his own.",
    "metadata": {
        "response_time": 20.0,
        "token_count": 21,
        "model_used": "gpt-x",
        "timestamp": "2026-05-01T14:00:00+02:00",
        "round_number": 2,
    },
    "round_history": [
        {
            "round_number": 1,
            "prompt": "Begin.",
            "response": "Gerald is a podiatrist.",
            "scores": {"style": 0.15},
            "entities_mentioned": ["Gerald"],
            "patterns_detected": {"medical_reference": 1},
        }
    ],
    "game_config": {"mode": "norm"},
    "player_info": {"name": "ann"},
    "session_id": "s-1",
    "custom_metrics": {"assumptions_stated": 2, "expected_assumptions": 4},
}


def author(server: Running) -> Client:
    """Somebody new, so that nothing on the server is theirs yet."""
    return server.newcomer("author", f"author {uuid4().hex[:8]}")


def create(client: Client, definition: dict[str, Any], **more: Any) -> str:
    made = client.post("/api/evaluations", {**definition, **more})
    assert made.status == 201, made.text
    return str(made.json["id"])


def rows(conn: Connection) -> dict[str, int]:
    """How many rows each table has; when keys were used is noted at any time, in a table that does not grow."""
    return {
        name: conn.execute(select(func.count()).select_from(table)).scalar_one()
        for name, table in metadata.tables.items()
    }


@DEFINITIONS
def test_a_definition_is_created_listed_read_changed_and_deleted(
    shared_server: Running, definition: dict[str, Any]
) -> None:
    ann = author(shared_server)
    made = ann.post("/api/evaluations", definition)
    path = made.headers["Location"]
    assert (made.status, path) == (201, f"/api/evaluations/{made.json['id']}")
    assert [item["id"] for item in ann.get("/api/evaluations?mine=true").json["items"]] == [made.json["id"]]
    read = ann.get(path)
    assert {key: read.json[key] for key in definition} == definition
    assert read.json["is_public"] is False
    changed = ann.put(path, {**read.json, "description": "Now it says so."}, If_Match=read.headers["ETag"])
    assert (changed.status, changed.json["version"], changed.json["revision"]) == (200, "1.1", 2)
    assert ann.get(path).json["description"] == "Now it says so."
    assert ann.put(path, definition, If_Match=read.headers["ETag"]).status == 412
    assert ann.delete(path).status == 204
    assert ann.get(path).status == 404
    assert ann.get("/api/evaluations?mine=true").json["items"] == []


@pytest.mark.parametrize(
    ("definition", "raw", "normalized", "points"),
    [
        (SPEED, 50, 0.5, [50]),
        (NORM, 100, 1, [10, 15, 25, 30, 20]),
        (RIGOR, 50, 50 / 65, [20, 15, 15]),
    ],
    ids=lambda value: value["name"] if isinstance(value, dict) else "",
)
def test_the_sandbox_stores_nothing_and_says_what_executing_then_stores(
    shared_server: Running, definition: dict[str, Any], raw: float, normalized: float, points: list[float]
) -> None:
    ann = author(shared_server)
    path = f"/api/evaluations/{create(ann, definition)}"
    before = shared_server.read(rows)
    tried = ann.post(f"{path}/test", CONTEXT)
    assert tried.status == 200
    assert (tried.json["raw_score"], tried.json["normalized_score"]) == (raw, pytest.approx(normalized, abs=1e-9))
    assert [line["points"] for line in tried.json["rule_breakdown"]] == points
    assert shared_server.read(rows) == before
    made = ann.post(f"{path}/execute", CONTEXT)
    assert made.status == 201
    kept = ann.get(made.headers["Location"]).json
    for key in ("raw_score", "normalized_score", "verdict", "rule_breakdown", "dimension_scores"):
        assert kept[key] == made.json[key] == tried.json[key]
    assert kept["round_number"] == 2
    assert (kept["evaluation_id"], kept["version"]) == (path.rpartition("/")[2], "1.0")
    snapshot = kept["context_snapshot"]
    told, meant = (datetime.fromisoformat(each["metadata"].pop("timestamp")) for each in (snapshot, _copy(CONTEXT)))
    assert told == meant  # the same moment, however it is written
    assert snapshot == _without_timestamp(CONTEXT)
    assert shared_server.read(rows) == before | {"evaluation_scores": before["evaluation_scores"] + 1}


def test_the_marketplace_is_browsed_and_what_people_take_up_trends(shared_server: Running) -> None:
    ann, bo = author(shared_server), author(shared_server)
    tag = f"tag-{uuid4().hex[:8]}"
    speed = create(ann, SPEED, is_public=True, tags=[tag, "quick"], category="games")
    norm = create(ann, NORM, is_public=True, tags=[tag], description="Dry as a podiatrist")
    create(ann, RIGOR, tags=[tag])  # private

    def browse(query: str) -> list[str]:
        return [item["id"] for item in bo.get(f"/api/marketplace/evaluations?tag={tag}&{query}").json["items"]]

    assert browse("sort=name") == [norm, speed]
    assert browse("q=PODIATRIST") == [norm]
    assert browse("category=games&tag=quick") == [speed]
    assert browse("scoring_type=cumulative") == [norm]
    first = bo.get(f"/api/marketplace/evaluations?tag={tag}&limit=1&sort=newest").json
    assert [item["id"] for item in first["items"]] == [norm]
    assert browse(f"limit=1&sort=newest&cursor={first['next']}") == [speed]

    taken = bo.post(f"/api/marketplace/{norm}/import")
    assert (taken.status, taken.json["rules"]) == (201, NORM["rules"])
    assert taken.json["forked_from"] == {"evaluation_id": norm, "name": NORM["name"], "version": "1.0"}
    for reader, stars, mean in (("one", 5, 5.0), ("two", 4, 4.5), ("three", 4, 4.33)):
        rated = shared_server.newcomer("player", f"{reader} {tag}").post(
            f"/api/marketplace/{norm}/rate", {"rating": stars, "review": f"Says {reader}."}
        )
        assert (rated.status, rated.json["rating"]) == (200, mean)
    reviews = bo.get(f"/api/marketplace/{norm}/reviews").json["items"]
    assert [review["review"] for review in reviews] == ["Says three.", "Says two.", "Says one."]
    assert browse("min_rating=4.33") == [norm]
    assert browse("sort=trending") == [norm, speed]
    trending = {item["id"]: item for item in bo.get("/api/marketplace/trending?limit=200").json["items"]}
    assert speed not in trending
    assert trending[norm]["trend"] == pytest.approx(1 + 2 + 1 + 1, rel=1e-3)
    assert trending[norm]["downloads"] == 1
    assert shared_server.admin.put(f"/api/marketplace/{speed}/featured", {"featured": True}).status == 200
    assert browse("featured=true") == [speed]
    assert HALF_LIFE.days == 7


def test_a_session_of_several_rounds_and_players_is_judged_and_compared(shared_server: Running) -> None:
    host = author(shared_server)
    norm, speed, rigor = (create(host, definition) for definition in (NORM, SPEED, RIGOR))
    game = host.post("/api/games", {"name": "Moth night", "config": {"mode": "norm"}}).headers["Location"]
    attached = host.post(
        f"{game}/evaluations",
        {
            "evaluations": [
                {"evaluation_id": norm, "weight": 0.5, "dimension": "humour", "config_overrides": {"max_score": 50}},
                {"evaluation_id": speed, "weight": 0.3, "dimension": "speed"},
                {"evaluation_id": rigor, "weight": 0.2, "dimension": "reasoning"},
            ]
        },
    )
    assert attached.status == 201
    listed = host.get(f"{game}/evaluations").json
    assert listed == attached.json
    assert listed["sum"] == 1
    assert [(each["weight"], each["dimension"], each["config_overrides"]) for each in listed["evaluations"]] == [
        (0.5, "humour", {"max_score": 50}),
        (0.3, "speed", {}),
        (0.2, "reasoning", {}),
    ]
    assumptions = {"assumptions_stated": 2, "expected_assumptions": 4}
    told = host.post(
        f"{game}/evaluate",
        {
            "player": "ann",
            "rounds": [
                {
                    "prompt": "Begin.",
                    "response": "In 1974 Gerald, a podiatrist, used a method at 95% CI.",
                    "metadata": {"response_time": 20},
                    "custom_metrics": assumptions,
                },
                {"response": "Gerald came back.", "metadata": {"response_time": 5}, "custom_metrics": assumptions},
            ],
        },
    ).json
    first, second = told["rounds"]
    assert [score["normalized_score"] for score in first["scores"]] == pytest.approx([0.5, 0.5, 50 / 65], abs=1e-9)
    assert first["composite"]["score"] == pytest.approx(0.5 * 0.5 + 0.3 * 0.5 + 0.2 * 50 / 65, abs=1e-8)
    assert first["composite"]["by_dimension"] == pytest.approx(
        {"humour": 0.5, "speed": 0.5, "reasoning": 50 / 65}, abs=1e-9
    )
    callback = [line["rule"] for line in second["scores"][0]["rule_breakdown"]]
    assert callback == ["entity_mentions: callback", "entity_mentions: consistency"]
    assert second["composite"]["score"] == pytest.approx(0.5 * 0.9 + 0.3 * 1 + 0.2 * 15 / 65, abs=1e-8)

    # the same words of another player call nothing back: only one's own rounds count
    again = {"response": "Gerald came back.", "metadata": {"response_time": 5}, "custom_metrics": assumptions}
    (others,) = host.post(f"{game}/evaluate", {"player": "bo", "round": again}).json["rounds"]
    assert others["scores"][0]["rule_breakdown"] == []
    assert others["composite"]["score"] == pytest.approx(0.3 + 0.2 * 15 / 65, abs=1e-8)
    (late,) = host.post(
        f"{game}/evaluate",
        {"player": "cy", "round": {"response": "In 1974 I saw a doctor.", "metadata": {"response_time": 30}}},
    ).json["rounds"]
    assert [score["raw_score"] for score in late["scores"]] == [25, 0, 0]
    faults = [line["error"] for line in late["scores"][2]["rule_breakdown"] if "error" in line]
    assert len(faults) == 1  # a name that is missing is an error worth nothing

    board = host.get(f"{game}/leaderboard").json["items"]
    assert [(entry["rank"], entry["player"]) for entry in board] == [(1, "ann"), (2, "bo"), (3, "cy")]
    assert [entry["score"] for entry in board] == pytest.approx(
        [0.5 * 0.7 + 0.3 * 0.75 + 0.2 * 0.5, 0.3 + 0.2 * 15 / 65, 0.5 * 0.5], abs=1e-8
    )

    korgym = {entry["player"]: entry for entry in host.get(f"{game}/leaderboard?by=korgym").json["items"]}
    humour, pace, reasoning = math.log(26) / math.log(36), math.log(76) / math.log(101), math.log(16) / math.log(33.5)
    expected = {"ann": (1, pace, 1), "bo": (0, 1, reasoning), "cy": (humour, 0, 0)}
    for player, values in expected.items():
        wanted = dict(zip(("humour", "speed", "reasoning"), values, strict=True))
        assert korgym[player]["by_dimension"] == pytest.approx(wanted, abs=1e-8)
        assert korgym[player]["score"] == pytest.approx(sum(values) / 3, abs=1e-8)

    # a second game: a dimension is the mean over its games
    other = host.post("/api/games", {"name": "Another night"}).headers["Location"]
    assert host.post(f"{other}/evaluations", {"evaluation_id": norm, "dimension": "humour"}).status == 201
    for player, words in (("ann", "Hm."), ("bo", "In 1974.")):
        assert host.post(f"{other}/evaluate", {"player": player, "round": {"response": words}}).status == 200
    for each in (game, other):  # few play them, so that they count across games only because an admin says so
        assert shared_server.admin.put(f"{each}/vouched", {"vouched": True}).status == 200
    across = {entry["player"]: entry for entry in host.get("/api/leaderboard?dimension=humour").json["items"]}
    assert {player: across[player]["score"] for player in expected} == pytest.approx(
        {"ann": (1 + 0) / 2, "bo": (0 + 1) / 2, "cy": humour}, abs=1e-8
    )


def test_scores_name_the_version_they_used_and_old_versions_come_back(shared_server: Running) -> None:
    ann = author(shared_server)
    path = f"/api/evaluations/{create(ann, SPEED)}"
    context = {"response": "Done.", "metadata": {"response_time": 8}}
    game = ann.post("/api/games", {"name": "Race"}).headers["Location"]
    assert ann.post(f"{game}/evaluations", {"evaluation_id": path.rpartition("/")[2]}).status == 201
    assert ann.post(f"{path}/execute", context).json["raw_score"] == 100

    quick, *slower = SPEED["rules"][0]["thresholds"]
    strict = {**SPEED, "rules": [{**SPEED["rules"][0], "thresholds": [{**quick, "score": 80}, *slower]}]}
    changed = ann.put(path, {**strict, "note": "nobody is that quick"}, If_Match="*")
    assert (changed.status, changed.json["version"]) == (200, "1.1")
    second = ann.post(f"{path}/execute", context).json
    assert (second["version"], second["raw_score"]) == ("1.1", 80)
    (round_,) = ann.post(f"{game}/evaluate", {"round": context}).json["rounds"]
    assert (round_["scores"][0]["version"], round_["scores"][0]["raw_score"]) == ("1.0", 100)

    history = ann.get(f"{path}/versions").json["items"]
    assert [(one["revision"], one["version"], one["note"]) for one in history] == [
        (2, "1.1", "nobody is that quick"),
        (1, "1.0", ""),
    ]
    changes = ann.get(f"{path}/versions/1.0/diff/1.1").json
    assert [(change["change"], change["where"]) for change in changes["changes"]] == [
        ("changed", "rules[0].thresholds[0].score")
    ]
    restored = ann.post(f"{path}/versions/1.0/restore", {"note": "too strict"})
    assert (restored.status, restored.json["version"], restored.json["rules"]) == (201, "1.2", SPEED["rules"])
    assert ann.get(f"{path}/versions/2").json["rules"] == strict["rules"]  # nothing is lost
    versions = [
        line["version"] for line in ann.get(f"/api/scores?evaluation_id={path.rpartition('/')[2]}").json["items"]
    ]
    assert sorted(versions) == ["1.0", "1.0", "1.1"]


def test_a_fork_of_a_fork_knows_where_it_comes_from(shared_server: Running) -> None:
    ann, bo, cy = (author(shared_server) for _ in range(3))
    first = create(ann, NORM, is_public=True)
    made = bo.post(f"/api/evaluations/{first}/fork", {"name": "Drier Norm"})
    assert (made.status, made.json["forked_from"]["evaluation_id"]) == (201, first)
    second = made.json["id"]
    assert bo.put(f"/api/evaluations/{second}", {**made.json, "is_public": True}, If_Match="*").status == 200
    third = cy.post(f"/api/evaluations/{second}/fork").json["id"]
    lineage = cy.get(f"/api/evaluations/{third}/lineage").json
    assert [one["evaluation_id"] for one in lineage["ancestors"]] == [second, first]
    assert [one["id"] for one in ann.get(f"/api/evaluations/{first}/lineage").json["forks"]] == [second]


@pytest.mark.parametrize("form", ["yaml", "json"])
@DEFINITIONS
def test_a_bundle_goes_out_and_comes_in_again(shared_server: Running, definition: dict[str, Any], form: str) -> None:
    ann, bo = author(shared_server), author(shared_server)
    examples = [{"id": "short", "response": "In 1974.", "metadata": {"response_time": 3}, "expect": {}}]
    source = create(ann, definition, examples=examples, tags=["fun"], category="games")
    out = ann.get(f"/api/evaluations/{source}/export?format={form}")
    assert (out.status, out.headers["Content-Type"].partition(";")[0]) == (200, f"application/{form}")
    bundle = yaml.safe_load(out.body)  # JSON is YAML, too
    assert {key: bundle["rubric"][key] for key in definition} == definition
    assert (bundle["examples"], bundle["provenance"]["evaluation_id"]) == (examples, source)
    taken = bo.post("/api/evaluations/import", out.body, Content_Type=f"application/{form}")
    assert (taken.status, taken.json["created_by"]) == (201, str(bo.issued.key.user_id) if bo.issued else None)
    assert {key: taken.json[key] for key in definition} == definition
    assert (taken.json["examples"], taken.json["tags"], taken.json["category"]) == (examples, ["fun"], "games")
    assert taken.json["hash"] == ann.get(f"/api/evaluations/{source}").json["hash"]
    assert taken.json["forked_from"] is None  # what a file says about its origin is not believed


@DEFINITIONS
def test_a_page_says_a_definition_in_words(shared_server: Running, definition: dict[str, Any]) -> None:
    ann = author(shared_server)
    path = f"/api/evaluations/{create(ann, definition)}/docs"
    page = ann.get(path)
    assert (page.status, page.headers["Content-Type"].partition(";")[0]) == (200, "text/html")
    assert definition["name"] in page.text
    words = ann.get(path, Accept="text/markdown")
    assert (words.headers["Content-Type"].partition(";")[0], words.text.splitlines()[0]) == (
        "text/markdown",
        f"# {definition['name']}",
    )


def test_moments_are_told_in_utc_wherever_the_database_is(shared_server: Running) -> None:
    ann = author(shared_server)
    before = datetime.now(UTC)
    made = ann.get(f"/api/evaluations/{create(ann, SPEED)}").json
    assert made["created_at"].endswith("Z")
    assert before.replace(microsecond=0) <= datetime.fromisoformat(made["created_at"]) <= datetime.now(UTC)
    read = ann.get(f"/api/evaluations/{made['id']}").json
    assert read["created_at"] == made["created_at"]


def _copy(context: dict[str, Any]) -> dict[str, Any]:
    return {**context, "metadata": dict(context["metadata"])}


def _without_timestamp(context: dict[str, Any]) -> dict[str, Any]:
    copied = _copy(context)
    del copied["metadata"]["timestamp"]
    return copied
