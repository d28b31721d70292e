"""Versions over HTTP: history, differences, restoring, forks, lineage, bundles and the readable page."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml

from rubrica.server.responses import encode_cursor
from servers import Client, Reply, Running

PATH = "/api/evaluations"
RULE = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}
SHORT: dict[str, Any] = {"name": "Brevity Wins", "scoring_type": "binary", "rules": [RULE]}
AT = f"{PATH}/brevity-wins"


def words(body: dict[str, Any], number: int) -> dict[str, Any]:
    return {**body, "rules": [{**RULE, "expression": f"1 if word_count < {number} else 0"}]}


def create(client: Client, **more: Any) -> Reply:
    reply = client.post(PATH, {**SHORT, **more})
    assert reply.status == 201, reply.text
    return reply


def change(client: Client, **more: Any) -> Reply:
    reply = client.put(AT, {**SHORT, **more}, If_Match="*")
    assert reply.status == 200, reply.text
    return reply


def test_every_change_is_in_the_history(server: Running) -> None:
    made = create(server.author).json
    for number in range(3, 8):
        change(server.author, **words({}, number), note=f"{number} words")
    history = server.author.get(f"{AT}/versions").json
    assert [item["version"] for item in history["items"]] == ["1.5", "1.4", "1.3", "1.2", "1.1", "1.0"]
    assert [item["note"] for item in history["items"]][:2] == ["7 words", "6 words"]
    first = server.author.get(f"{AT}/versions?limit=4").json
    rest = server.author.get(f"{AT}/versions?limit=4&cursor={first['next']}").json
    assert (first["items"] + rest["items"], rest["next"]) == (history["items"], None)
    for which in ("1", "1.0"):
        old = server.author.get(f"{AT}/versions/{which}")
        assert {**made, "updated_at": old.json["updated_at"], "changed": old.json["changed"]} == old.json
        assert (old.json["changed"]["revision"], old.json["hash"]) == (1, made["hash"])
        assert server.author.get(f"{AT}/versions/{which}", If_None_Match=old.headers["ETag"]).status == 304
    assert server.author.get(f"{AT}@1.2").json["revision"] == 3
    assert server.author.get(f"{AT}/versions/77").status == 404
    assert server.author.get(f"{AT}/versions?cursor=bad").status == 422


def test_a_made_up_cursor_does_no_harm(server: Running) -> None:
    create(server.author)
    for revision in (-1, 0, 2**31, 2**63, 2**64 - 1):
        assert server.author.get(f"{AT}/versions?cursor={encode_cursor([revision])}").status == 200
    assert server.author.get(f"{AT}/versions?cursor={encode_cursor(['x'])}").status == 422


def test_a_difference_is_told_by_place_and_in_words(server: Running) -> None:
    create(server.author, examples=[{"id": "a", "response": "x"}])
    penalty = {"type": "penalty", "patterns": [{"keywords": ["joke"], "penalty": -50}]}
    change(
        server.author,
        rules=[{**RULE, "expression": "2"}, penalty],
        description="Now with a penalty.",
        examples=[{"id": "a", "response": "y"}],
    )
    told = server.author.get(f"{AT}/versions/1/diff/1.1").json
    assert (told["from"]["version"], told["to"]["version"]) == ("1.0", "1.1")
    assert told["text"] == [
        'rules[0].expression: "1 if word_count < 9 else 0" → "2"',
        'rules[1] added: penalty {"patterns":[{"keywords":["joke"],"penalty":-50}]}',
        'examples[0].response: "x" → "y"',
        'description added: "Now with a penalty."',
    ]
    assert told["text"] == [change["text"] for change in told["changes"]]
    first = told["changes"][0]
    assert (first["change"], first["path"], first["to"]) == ("changed", ["rules", 0, "expression"], "2")
    assert "from" not in next(one for one in told["changes"] if one["change"] == "added")
    back = server.author.get(f"{AT}/versions/2/diff/1").json
    assert {one["change"] for one in back["changes"]} == {"changed", "removed"}
    assert server.author.get(f"{AT}/versions/1/diff/1").json["changes"] == []
    assert server.author.get(f"{AT}/versions/1/diff/9").status == 404


def test_an_old_version_comes_back_as_a_new_one(server: Running) -> None:
    made = create(server.author).json
    change(server.author, **words({}, 3))
    assert server.newcomer("author", "eve").post(f"{AT}/versions/1/restore").status == 404
    back = server.author.post(f"{AT}/versions/1/restore", {"note": "too strict"}, Idempotency_Key="k")
    assert (back.status, back.json["version"], back.json["rules"]) == (201, "1.2", made["rules"])
    again = server.author.post(f"{AT}/versions/1/restore", {"note": "too strict"}, Idempotency_Key="k")
    assert (again.status, again.json) == (201, back.json)
    same = server.author.post(f"{AT}/versions/1.0/restore")
    assert (same.status, same.json["revision"]) == (200, 3)
    assert [item["note"] for item in server.author.get(f"{AT}/versions").json["items"]] == ["too strict", "", ""]
    assert server.author.post(f"{AT}/versions/1/restore", {"note": "a\0b"}).status == 422
    assert server.author.post(f"{AT}/versions/1/restore", {"reason": "x"}).status == 422


def test_a_fork_remembers_where_it_comes_from(server: Running) -> None:
    made = create(server.author, is_public=True, tags=["a"], examples=[{"response": "x"}]).json
    other = server.newcomer("author", "eve")
    fork = other.post(f"{AT}/fork")
    assert fork.status == 201
    assert fork.headers["Location"] == f"{PATH}/{fork.json['id']}"
    parent = {"evaluation_id": made["id"], "name": "Brevity Wins", "version": "1.0"}
    assert (fork.json["forked_from"], fork.json["is_public"], fork.json["hash"]) == (parent, False, made["hash"])
    assert (fork.json["examples"], fork.json["tags"]) == (made["examples"], ["a"])
    named = other.post(f"{PATH}/{made['id']}/fork", {"name": "My Own", "version": "1"}).json
    assert (named["slug"], named["name"]) == ("my-own", "My Own")
    second = other.post(f"{PATH}/{fork.json['id']}/fork").json
    assert (second["slug"], second["name"]) == ("brevity-wins-2", "Brevity Wins 2")
    lineage = other.get(f"{PATH}/{second['id']}/lineage").json
    assert [one["evaluation_id"] for one in lineage["ancestors"]] == [fork.json["id"], made["id"]]
    of_theirs = other.get(f"{PATH}/{made['id']}/lineage").json
    assert [one["slug"] for one in of_theirs["forks"]] == ["brevity-wins", "my-own"]
    assert server.author.get(f"{AT}/lineage").json["forks"] == []
    bodies: list[Any] = [{"name": ""}, {"name": "a\0b"}, {"name": "a\nb"}, {"name": "x" * 256}, {"named": "x"}, []]
    for body in bodies:
        assert other.post(f"{PATH}/{made['id']}/fork", body).status == 422
    assert other.post(f"{PATH}/{made['id']}/fork", {"version": "9"}).status == 404


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_bundle_carries_an_evaluation_to_somebody_else(server: Running, form: str) -> None:
    examples = [{"id": "e", "response": "Hi.", "expect": {"verdict": "win"}}]
    made = create(server.author, category="style", tags=["a"], examples=examples, is_public=True).json
    exported = server.author.get(f"{AT}/export?format={form}")
    assert exported.headers["Content-Type"].startswith(f"application/{form}")
    assert f'filename="brevity-wins-1.0.{form}"' in exported.headers["Content-Disposition"]
    read = yaml.safe_load(exported.text) if form == "yaml" else exported.json
    assert (read["rubric"]["tags"], read["examples"], read["provenance"]["hash"]) == (["a"], examples, made["hash"])
    other = server.newcomer("author", "eve")
    taken = other.post(f"{PATH}/import", exported.body, Content_Type=f"application/{form}")
    assert taken.status == 201, taken.text
    same = ("name", "rules", "category", "tags", "examples", "hash", "version", "slug")
    assert {key: taken.json[key] for key in same} == {key: made[key] for key in same}
    assert (taken.json["is_public"], taken.json["forked_from"]) == (False, None)
    assert other.post(f"{PATH}/import", exported.body, Content_Type=f"application/{form}").status == 409
    renamed = other.post(f"{PATH}/import?rename=true", exported.body, Content_Type=f"application/{form}")
    assert (renamed.status, renamed.json["slug"]) == (201, "brevity-wins-2")


def test_an_older_version_is_exported_by_its_label(server: Running) -> None:
    create(server.author)
    change(server.author, **words({}, 3))
    assert server.author.get(f"{AT}@1.0/export?format=json").json["provenance"]["revision"] == 1
    assert server.author.get(f"{AT}/export?format=json").json["rubric"]["version"] == "1.1"
    assert server.author.get(f"{AT}/export?format=toml").status == 422


def test_a_bundle_is_data_and_a_bad_one_is_told(server: Running) -> None:
    def take(body: bytes, kind: str = "application/yaml") -> Reply:
        return server.author.post(f"{PATH}/import", body, Content_Type=kind)

    bomb = b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
    bomb += b"".join(b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 10))
    for hostile in (bomb, b"rubric: !!python/object/apply:os.system ['true']", b"[" * 100_000, b"a: [", b"", b"- x"):
        assert take(hostile).status == 422
    assert take(b"\xff\xfe").status == 400
    assert take(b"{", "application/json").status == 400
    assert take(b"[" * 100_000, "application/json").status == 400
    assert take(b"[]", "application/json").status == 422
    assert take(b"name: x", "text/plain").status == 415
    assert take(b"bundle: 9\nrubric: {}").status == 422
    broken = take(b"bundle: 1\nrubric:\n  name: X\n  scoring_type: odd\n  rules: []\n").json
    assert {(problem["where"], problem["line"]) for problem in broken["problems"]} >= {("rubric.scoring_type", 4)}
    assert server.author.get(PATH).json["items"] == []
    bare = take(b"name: Bare\nscoring_type: binary\nis_public: true\nrules: [{when: word_count < 9, add: 1}]\n")
    assert (bare.status, bare.json["is_public"]) == (201, False)


def test_the_page_says_it_in_words(full_server: Running) -> None:
    page = full_server.viewer.get(f"{PATH}/answer-quality/docs", Accept="text/html,*/*")
    assert page.headers["Content-Type"].startswith("text/html")
    assert "<h1" in page.text
    assert "script-src" not in page.headers["Content-Security-Policy"]
    for reply in (
        full_server.viewer.get(f"{PATH}/answer-quality/docs", Accept="text/markdown"),
        full_server.viewer.get(f"{PATH}/answer-quality/docs?format=markdown"),
    ):
        assert reply.headers["Content-Type"].startswith("text/markdown")
        assert reply.text.startswith("# ")
    assert full_server.viewer.get(f"{PATH}/answer-quality@9/docs").status == 404


def test_the_description_of_the_interface_holds_the_examples(server: Running) -> None:
    document = msgspec.json.decode(server.admin.get("/openapi.json").body)
    body = document["paths"][PATH]["post"]["requestBody"]["content"]["application/json"]
    assert [example["value"]["name"] for example in body["examples"].values()] == [
        "Speed Demon",
        "Norm MacDonald Classic",
        "Scientific Rigor Pro",
    ]
    for example in body["examples"].values():
        assert server.author.post(PATH, example["value"]).status == 201
