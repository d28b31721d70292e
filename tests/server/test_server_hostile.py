"""What somebody may send who means harm: it is refused with a reason, never runs, never breaks, and keeps nobody else
waiting."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import re
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from rubrica.server.connection import HEAD_SECONDS, LARGEST_HEAD, Connection
from rubrica.server.connection_limits import ConnectionLimits
from rubrica.server.responses import encode_cursor
from servers import Client, Reply, Running, serving

NUMBERS = itertools.count()
RULE = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}


def short(**more: Any) -> dict[str, Any]:
    return {"name": f"Brief {next(NUMBERS)}", "scoring_type": "binary", "rules": [RULE], **more}


def pattern(regex: str) -> dict[str, Any]:
    rule = {"type": "pattern_detection", "patterns": [{"name": "p", "regex": regex, "score": 1}]}
    return short(scoring_type="cumulative", max_score=10, rules=[rule])


def formula(expression: str) -> dict[str, Any]:
    return short(rules=[{**RULE, "expression": expression}])


def refused(reply: Reply, *statuses: int) -> Any:
    assert reply.status in statuses, reply.text
    assert reply.headers["Content-Type"] == "application/problem+json"
    return reply.json


# --- definitions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "regex",
    [
        "(?=a)b",
        "(?!a)b",
        "(?<=a)b",
        "(?<!a)b",
        r"(a)\1",
        r"(?P<x>a)(?P=x)",
        "(" * 10_000 + ")" * 10_000,
        "[" * 10_000,
        "(((a{100}){100}){100})",
        "a{1000}{1000}",
        "x{1001}",
        r"\C",
        "",
        "a" * 100_000,
        "(?i)(?#comment)a",
        "a\0b",
    ],
    ids=lambda regex: f"{regex[:20]!r}",
)
def test_a_pattern_that_could_run_for_ever_is_refused_with_its_place(shared_server: Running, regex: str) -> None:
    (problem,) = refused(shared_server.author.post("/api/evaluations", pattern(regex)), 422)["problems"]
    assert problem["path"] == ["rules", 0, "patterns", 0, "regex"]


@pytest.mark.parametrize("regex", ["(a+)+$", "(a|aa)+b", "(a*)*c", "([a-z]+)*[0-9]", "(x+x+)+y"])
def test_a_pattern_that_only_looks_dangerous_takes_linear_time(shared_server: Running, regex: str) -> None:
    body = {"definition": pattern(regex), "context": {"response": "a" * 200_000 + "!"}}
    made = shared_server.author.post("/api/evaluations", short()).json["id"]
    begun = time.process_time()
    assert shared_server.viewer.post(f"/api/evaluations/{made}/test", body).status == 404  # private
    assert shared_server.author.post(f"/api/evaluations/{made}/test", body).status == 200
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "10**400",
        "1e999",
        "(" * 10_000 + "1" + ")" * 10_000,
        "-" * 5_000 + "1",
        "+".join(["1"] * 5_000),
        "1 if " * 300 + "1" + " else 0" * 300,
        "__import__('os')",
        "().__class__.__bases__",
        "word_count.__class__",
        "[x for x in y]",
        "lambda: 1",
        "(a := 1)",
        "f'{1}'",
        "'a' * 10**9",
        "1; 2",
        "１+１",
        "\u202e1",
        "a\0",
    ],
    ids=lambda expression: f"{expression[:20]!r}",
)
def test_a_formula_that_is_more_than_arithmetic_is_refused_with_its_place(
    shared_server: Running, expression: str
) -> None:
    (problem,) = refused(shared_server.author.post("/api/evaluations", formula(expression)), 422)["problems"]
    assert problem["path"] == ["rules", 0, "expression"]


@pytest.mark.parametrize(
    "expression", ["2 ** word_count", "word_count ** word_count", "1 / 0", "1 // (word_count - 2)"]
)
def test_a_formula_without_a_value_is_an_error_worth_nothing(shared_server: Running, expression: str) -> None:
    made = shared_server.author.post("/api/evaluations", formula(expression)).json["id"]
    text = "word " * 5_000 if "**" in expression else "two words"
    found = shared_server.author.post(f"/api/evaluations/{made}/execute", {"response": text}).json
    assert [(line["points"], bool(line["error"])) for line in found["rule_breakdown"]] == [(0, True)]


def test_keys_that_mean_something_elsewhere_mean_nothing_here(shared_server: Running) -> None:
    strange = {"__proto__": {"is_admin": True}, "constructor": 1, "__class__": "Caller", "$where": "1"}
    problems = refused(shared_server.author.post("/api/evaluations", short(**strange)), 422)["problems"]
    assert {problem["where"] for problem in problems} == strange.keys()


def test_a_thousand_rules_are_taken_and_one_more_is_not(shared_server: Running) -> None:
    rules = [{**RULE, "name": f"r{number}"} for number in range(1_000)]
    assert shared_server.author.post("/api/evaluations", short(rules=rules)).status == 201
    told = refused(shared_server.author.post("/api/evaluations", short(rules=[*rules, RULE])), 422)
    assert "1,001 rules" in told["detail"]


def test_an_admins_powers_are_not_taken_from_a_body(shared_server: Running) -> None:
    wanted = {"created_by": None, "id": str(uuid4()), "slug": "speed-demon", "revision": 99, "hash": "0" * 64}
    made = shared_server.author.post("/api/evaluations", short(**wanted)).json
    assert made["created_by"] == shared_server.author.get("/api/whoami").json["user_id"]
    assert (made["id"] == wanted["id"], made["slug"] == "speed-demon", made["revision"]) == (False, False, 1)


# --- bodies -----------------------------------------------------------------------------------------------

JSON = {"Content_Type": "application/json"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"name": "A", "name": "B", "scoring_type": "binary", "rules": []}', 400),
        (b'{"name": "A", "rules": [{"type": "adjust", "add": 1, "add": 2}]}', 400),
        (b"\xef\xbb\xbf{}", 400),
        ('{"name": "x"}'.encode("utf-16"), 400),
        (b'{"name": "\xff"}', 400),
        (b'{"name": "\\ud800"}', 400),
        (b'{"name": NaN}', 400),
        (b'{"name": 1e999}', 400),
        (b"[" * 100_000 + b"]" * 100_000, 400),
        (b'{"a":' * 1_000 + b"1" + b"}" * 1_000, 400),
        (b'{"name": "x", "rules": ' + b"[" * 70 + b"]" * 70 + b"}", 422),
        (b'{"name": "a\\u0000b", "scoring_type": "binary", "rules": []}', 422),
        (b"null", 422),
        (b"[]", 422),
        (b"", 422),
        (b"{} {}", 400),
    ],
    ids=lambda value: f"{value[:24]!r}" if isinstance(value, bytes) else None,
)
def test_a_body_that_is_not_plain_json_is_refused(shared_server: Running, body: bytes, status: int) -> None:
    for method, path in (("POST", "/api/evaluations"), ("PUT", f"/api/evaluations/{uuid4()}")):
        refused(shared_server.author.ask(method, path, body, JSON | {"If_Match": "*"}), status)


def test_a_key_that_is_given_twice_is_named(shared_server: Running) -> None:
    body = b'{"evaluations": [{"evaluation_id": "x", "weight": 0.1, "weight": 0.9}]}'
    game = shared_server.author.post("/api/games", {"name": "Moth night"}).headers["Location"]
    assert "'weight' twice" in refused(shared_server.author.post(f"{game}/evaluations", body, **JSON), 400)["detail"]


@pytest.mark.parametrize("media", ["text/plain", "multipart/form-data; boundary=x", "application/json, text/html", "x"])
def test_a_body_of_another_kind_is_refused(shared_server: Running, media: str) -> None:
    for path in ("/api/evaluations", "/api/evaluations/x/test", "/api/evaluations/import", "/api/games"):
        body = json.dumps(short()).encode()
        refused(shared_server.author.post(path, body, Content_Type=media), 415)


YAML = {"Content_Type": "application/yaml"}
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join(['*' + old] * 9)}]\n" for old, new in itertools.pairwise("abcdefgh")
)


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system ['touch /tmp/rubrica-was-here']",
        "rubric: !!python/name:os.system",
        "rubric: !!python/object/new:os.system ['id']",
        "rubric: {name: !!python/module:os x, scoring_type: binary}",
        BOMB,
        f"{BOMB}rubric: *h",
        "a: &a [*a]\nrubric: *a",
        "rubric: {name: x}\n1: a\nfoo: b\n? [q]\n: r",
        "--- a\n--- b",
        "%YAML 9.9\n---\nrubric: {}",
        "rubric: !!binary aGVsbG8=",
        "rubric: {<<: {name: x}}",
        "bundle: 99999999999999999999999\nrubric: {}",
        "bundle: 1\nrubric: {name: x, max_score: .nan, scoring_type: binary, rules: [{}]}",
        "[" * 50_000,
        "{a: " * 20_000,
        "- " * 20_000,
        "'" + "x" * 1_900_000,
        "",
        "\0",
    ],
    ids=lambda text: f"{text[:24]!r}",
)
def test_a_bundle_that_wants_to_run_or_unfold_is_refused_quickly(shared_server: Running, text: str) -> None:
    begun = time.process_time()
    refused(shared_server.author.post("/api/evaluations/import", text.encode(), **YAML), 422)
    assert time.process_time() - begun < 5


def test_a_tag_in_a_bundle_runs_nothing(shared_server: Running) -> None:
    text = (
        f"rubric: !!python/object:os.system\n  name: Tagged {uuid4().hex[:6]}\n  scoring_type: binary\n"
        "  rules: [{type: custom_expression, expression: 1 if word_count < 9 else 0}]\n"
    )
    made = shared_server.author.post("/api/evaluations/import", text.encode(), **YAML)
    assert made.status in (201, 422)  # as data, or not at all
    if made.status == 201:
        assert made.json["scoring_type"] == "binary"


# --- names, ids and headers ---------------------------------------------------------------------------------

EVIL = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"><svg/onload=alert(1)>', "javascript:alert(1)"]
TAGS = re.compile(r"<(script|img|svg|iframe|object|embed|link|form)\b", re.IGNORECASE)


@pytest.mark.parametrize("text", EVIL)
def test_what_an_author_writes_is_text_on_every_page(shared_server: Running, text: str) -> None:
    rule = {**RULE, "name": text}
    penalty = {"type": "penalty", "patterns": [{"keywords": [text], "penalty": -1, "reason": text}]}
    body = short(description=text, category=text, tags=[text], rules=[rule, penalty], note=text, max_score=5)
    body |= {"name": f"{text} {next(NUMBERS)}", "scoring_type": "cumulative"}
    body["examples"] = [{"id": text, "response": text}]
    made = shared_server.author.post("/api/evaluations", body)
    assert made.status == 201, made.text
    path = f"/api/evaluations/{made.json['id']}"
    page = shared_server.author.get(f"{path}/docs")
    assert not TAGS.search(page.text)
    assert "script-src" not in page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    words = shared_server.author.get(f"{path}/docs?format=markdown")
    assert not TAGS.search(words.text)
    assert words.headers["Content-Type"].startswith("text/markdown")
    for reply in (shared_server.author.get(path), shared_server.author.get(f"{path}/export?format=json")):
        assert reply.headers["Content-Type"].startswith("application/json")
    assert not TAGS.search(shared_server.anyone.get("/docs").text.replace("<link rel=", ""))


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "a/../b", 'x"; filename="y', "a\tb", "x" * 255, "..", "🦋", "%0d%0aX: 1", "c\\d"],
)
def test_a_name_comes_into_no_header_as_it_is(shared_server: Running, name: str) -> None:
    made = shared_server.author.post("/api/evaluations", short(name=name))
    if made.status == 422:
        assert "cannot be shown" in made.json["detail"]
        return
    assert re.fullmatch(r"/api/evaluations/[0-9a-f-]{36}", made.headers["Location"])
    assert re.fullmatch(r"[a-z0-9-]{1,64}", made.json["slug"])
    out = shared_server.author.get(f"{made.headers['Location']}/export")
    assert re.fullmatch(r'attachment; filename="[a-z0-9-]{1,64}-1\.0\.yaml"', out.headers["Content-Disposition"])


@pytest.mark.parametrize(
    "reference",
    [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "..%5c..%5cwin.ini",
        "%ff%fe",
        "a%0d%0aX-Evil:1",
        "x" * 5_000,
        "%F0%9F%A6%8B",
        "@",
        "@1",
        "a@@1",
        "-1",
        "*",
        "null",
        "{id}",
        "0",
        "018f0000-0000-7000-8000-00000000000g",
    ],
    ids=lambda reference: reference[:24],
)
def test_an_odd_reference_is_missing_and_nothing_worse(shared_server: Running, reference: str) -> None:
    for path in (
        f"/api/evaluations/{reference}",
        f"/api/evaluations/{reference}/docs",
        f"/api/marketplace/{reference}",
    ):
        reply = shared_server.viewer.get(path)
        refused(reply, 404)
        assert "X-Evil" not in reply.headers


def test_an_id_of_another_kind_is_missing(shared_server: Running) -> None:
    author = shared_server.author
    made = author.post("/api/evaluations", short()).json
    game = author.post("/api/games", {"name": "Moth night"}).json
    player = author.post("/api/players", {"name": f"model {next(NUMBERS)}"}).json
    score = author.post(f"/api/evaluations/{made['id']}/execute", {"response": "x"}).json
    (key,) = author.get("/api/keys").json["items"]
    version = author.post(f"/api/games/{game['id']}/evaluations", {"evaluation_id": made["id"]}).json["evaluations"][0]
    ids = {made["id"], game["id"], player["id"], score["id"], key["id"], key["user_id"], version["version_id"]}
    for path, own in (
        ("/api/evaluations/{}", made["id"]),
        ("/api/games/{}", game["id"]),
        ("/api/players/{}", player["id"]),
        ("/api/scores/{}", score["id"]),
    ):
        assert {id: author.get(path.format(id)).status for id in ids} == {id: 200 if id == own else 404 for id in ids}
    body = {"response": "x", "game_id": player["id"], "player_id": game["id"]}
    refused(author.post(f"/api/evaluations/{made['id']}/execute", body), 404)


LISTS = [
    "/api/evaluations?",
    "/api/evaluations?sort=name&",
    "/api/evaluations/{evaluation}/versions?",
    "/api/marketplace/evaluations?sort=trending&",
    "/api/marketplace/evaluations?sort=downloads&",
    "/api/marketplace/evaluations?sort=rating&",
    "/api/marketplace/evaluations?sort=newest&",
    "/api/marketplace/evaluations?sort=name&",
    "/api/marketplace/trending?",
    "/api/marketplace/{evaluation}/reviews?",
    "/api/games?",
    "/api/games/{game}/rounds?",
    "/api/players?",
    "/api/scores?",
    "/api/keys?",
]
CURSORS = [
    "x",
    "=",
    "W10",
    "bnVsbA",
    "A" * 3_000,
    "é",
    *(
        encode_cursor(values)
        for values in (
            [None],
            [None, None],
            [None, None, None],
            [1],
            [-1],
            [2**70],
            [1e308],
            [-1e308, str(uuid4())],
            [2**31, str(uuid4())],
            [10**16, str(uuid4())],
            ["a\0b", str(uuid4())],
            ["\ud83e", str(uuid4())][1:],
            ["'; DROP TABLE games; --", str(uuid4())],
            [str(uuid4()), -1],
            [str(uuid4()), 2**62],
            [4.5, 2**31, str(uuid4())],
            [dict[str, Any](), list[Any]()],
        )
    ),
]


@pytest.mark.parametrize("path", LISTS)
def test_a_made_up_cursor_is_refused_or_harmless(shared_server: Running, path: str) -> None:
    author = shared_server.author
    ids = {
        "evaluation": author.post("/api/evaluations", short(is_public=True)).json["id"],
        "game": author.post("/api/games", {"name": "Moth night"}).json["id"],
    }
    asked = [("GET", f"{path.format(**ids)}cursor={cursor}", None) for cursor in CURSORS]
    replies = author.together(asked)
    assert {reply.status for reply in replies} <= {200, 422}
    assert 422 in {reply.status for reply in replies}


@pytest.mark.parametrize("key", ["k" * 256, "k" * 10_000, "with space", "", "ké"])
def test_an_idempotency_key_that_is_too_much_is_refused(shared_server: Running, key: str) -> None:
    refused(shared_server.author.post("/api/games", {"name": "g"}, Idempotency_Key=key), 400)


def test_a_request_id_comes_back_only_if_it_is_one(shared_server: Running) -> None:
    for sent in ("a" * 65, "a b", "<script>", "ü"):
        assert shared_server.anyone.get("/healthz", X_Request_ID=sent).headers["X-Request-ID"] != sent
    assert shared_server.anyone.get("/healthz", X_Request_ID="trace-1").headers["X-Request-ID"] == "trace-1"


# --- slowly, and too much -----------------------------------------------------------------------------------


OFTEN = ConnectionLimits(check_seconds=0.05)


class Hasty(Connection):
    """A connection that waits a moment only."""

    head_seconds = 0.3
    body_seconds = 0.3


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(
        str(tmp_path_factory.mktemp("hasty") / "rubrica.db"), keyless=True, http=Hasty, limits=OFTEN
    ) as running:
        yield running


def sent(running: Running, *parts: bytes, pause: float = 0.1) -> bytes:
    """What comes back until the server hangs up."""

    async def exchange() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(running.url.rpartition(":")[2]))

        async def write() -> None:
            for part in parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(pause)

        writing = asyncio.create_task(write())
        found = bytearray()
        try:
            async with asyncio.timeout(20):
                while data := await reader.read(65_536):
                    found += data
        except ConnectionResetError:  # it hung up on what was still being sent
            pass
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            writer.close()
        return bytes(found)

    return running.run(exchange())


def test_a_head_that_comes_byte_by_byte_is_given_up(hasty: Running) -> None:
    begun = time.monotonic()
    drops = [b"GET /healthz HTTP/1.1\r\n", *(bytes([byte]) for byte in b"X-Slow: " + b"x" * 500)]
    assert sent(hasty, *drops).startswith(b"HTTP/1.1 400")
    assert sent(hasty) == b""  # nothing at all
    assert time.monotonic() - begun < 30  # all of it would take 50
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    again = sent(
        hasty, whole, b"", b"", b"", b"", b"", whole, b"", b"", b"\r\n", b"\r\n", b"\r\n", b"\r\n", b"\r\n", b"\r\n"
    )
    assert again.count(b"HTTP/1.1 200") == 2  # between requests it waits longer, but not for ever


def test_a_head_without_end_is_given_up(shared_server: Running) -> None:
    begun = time.monotonic()
    parts = [b"x" * 16_384] * (LARGEST_HEAD // 16_384 + 3)
    reply = sent(shared_server, b"GET /healthz HTTP/1.1\r\nX-Long: ", *parts, pause=0)
    assert reply == b"" or reply.startswith(b"HTTP/1.1 400")
    assert time.monotonic() - begun < HEAD_SECONDS / 2


def test_a_body_that_comes_byte_by_byte_is_given_up(hasty: Running) -> None:
    begun = time.monotonic()
    head = b"POST /api/evaluations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    drops = [b"x"] * 300
    chunks = [b"1\r\nx\r\n"] * 300
    for framing, pieces in ((b"Content-Length: 1000000", drops), (b"Transfer-Encoding: chunked", chunks)):
        assert sent(hasty, head + framing + b"\r\n\r\n", *pieces).startswith(b"HTTP/1.1 408")
    assert time.monotonic() - begun < 30  # all of it would take 60


# --- keeping others waiting ---------------------------------------------------------------------------------


def waits(running: Running, client: Client, requests: list[tuple[str, str, Any]]) -> tuple[list[Reply], float, float]:
    """The replies, the seconds they took together, and the longest that anybody else had to wait meanwhile."""

    async def others() -> float:
        longest = 0.0
        while True:
            begun = time.perf_counter()
            try:
                await asyncio.sleep(0.002)
            except asyncio.CancelledError:
                return longest
            longest = max(longest, time.perf_counter() - begun)

    async def scenario() -> tuple[list[Reply], float, float]:
        watching = asyncio.create_task(others())
        begun = time.perf_counter()
        replies = await asyncio.gather(*(client.send(*request) for request in requests))
        took = time.perf_counter() - begun
        watching.cancel()
        return list(replies), took, await watching

    return running.run(scenario())


def test_what_takes_seconds_keeps_nobody_else_waiting(hasty: Running) -> None:
    patterns = [
        {"name": f"p{number}", "regex": f"(alpha|beta|gam+a).{{0,{number % 5}}}w{number}?", "score": 1}
        for number in range(300)
    ]
    rules = [{"type": "pattern_detection", "patterns": patterns}]
    heavy = short(scoring_type="cumulative", max_score=1_000, rules=rules)
    words = ("alpha", "beta", "gamma", "Gerald", "1974", "doctor", "95% CI", "the", "moth.", "Ann Smith")
    text = " ".join(random.Random(1).choices(words, k=20_000))  # noqa: S311
    made = hasty.anyone.post("/api/evaluations", heavy).json["id"]
    game = hasty.anyone.post("/api/games", {"name": "Moth night"}).headers["Location"]
    attached = [{"evaluation_id": made, "weight": 0.5, "config_overrides": {"max_score": n}} for n in (500, 600)]
    assert hasty.anyone.post(f"{game}/evaluations", {"evaluations": attached}).status == 201
    tryout, rounds = f"/api/evaluations/{made}/test", [{"response": text[n : 15_000 + n]} for n in range(4)]
    for requests in (
        [("POST", tryout, {"response": text})],
        [("POST", tryout, {"response": text[:30_000]})] * 6,
        [("POST", f"{game}/evaluate", {"player": "ann", "rounds": rounds})],
    ):
        replies, took, longest = waits(hasty, hasty.anyone, requests)
        assert {reply.status for reply in replies} == {200}
        assert longest < max(took * 3 / 4, 0.05), f"others waited for {longest:.2f} s of {took:.2f} s"
