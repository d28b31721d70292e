"""`rubrica gateway`, and what `stats`, `tune`, `labels` and `init` tell of it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from cli_runs import Cli, process

from gateway_samples import record, traffic
from rubrica import load
from rubrica.gateway.settings import GatewaySettings, settings_from_text
from rubrica.gateway.starter import starter
from rubrica.store.database import Database
from rubrica.store.gateway import Feedback, GradedDimension, RequestRecord, TierComparison, add_feedback, add_requests
from rubrica.store.upgrade import upgrade
from rubrica.workspace.access import LOCAL

pytestmark = pytest.mark.usefixtures("_elsewhere")
CAPITAL = {"model": "gpt-4", "messages": [{"role": "user", "content": "What is the capital of France?"}]}
RUBRIC = load("answer-quality").reference
REPLY = {"reply": "The capital of France is Paris."}


@pytest.fixture
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RUBRICA_DB", "RUBRICA_BUDGET", "RUBRICA_CONFIG", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def running(*args: str) -> Iterator[tuple[subprocess.Popen[bytes], str, str]]:
    """A gateway as a process: itself, what it said, and its host and port."""
    Path("replies.jsonl").write_text(json.dumps(REPLY) + "\n")
    gateway = process("gateway", "--port", "0", *args)
    try:
        assert gateway.stdout is not None
        said = ""
        while "curl" not in said:
            line = gateway.stdout.readline().decode()
            assert line or gateway.poll() is None, gateway.communicate()[1].decode()
            said += line
        place = re.search(r"serving +http://([\d.:]+)/v1", said)
        assert place is not None
        yield gateway, said, place[1]
    finally:
        gateway.kill()
        gateway.communicate()


def ask(place: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], Any]:
    connection = HTTPConnection(place, timeout=60)
    connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
    reply = connection.getresponse()
    told = json.loads(reply.read())
    connection.close()
    return reply.status, {name.lower(): value for name, value in reply.getheaders()}, told


def books(place: Path, entries: Iterable[RequestRecord | TierComparison]) -> None:
    """A database with these requests in it."""

    async def fill() -> None:
        await upgrade(str(place))
        async with Database.open(str(place)) as database:
            await database.write(add_requests, list(entries))

    asyncio.run(fill())


# --- running ----------------------------------------------------------------------------------------------


def test_the_gateway_says_what_it_uses_and_a_command_to_try(tmp_path: Path) -> None:
    with running("--tier0", "scripted:replies.jsonl") as (gateway, said, place):
        assert "tier-0      scripted:replies.jsonl" in said
        assert "tier-1      none" in said
        assert "grader      none: graded offline" in said
        assert "database    rubrica.db" in said
        command = next(line for line in said.splitlines() if "curl" in line)
        assert f"curl http://{place}/v1/chat/completions" in command
        body = re.search(r"-d '(.*)'", command)
        assert body is not None
        status, headers, told = ask(place, "/v1/chat/completions", json.loads(body[1]))
        assert (status, headers["x-sleipner-tier"]) == (200, "tier-0")
        assert told["choices"][0]["message"]["content"] == REPLY["reply"]
        assert "server" not in headers
        gateway.send_signal(signal.SIGINT)
        assert gateway.wait(30) == 0
    assert (tmp_path / "rubrica.db").exists()


def test_what_is_answered_until_the_end_is_in_the_figures(cli: Cli) -> None:
    with running("--tier0", "scripted:replies.jsonl") as (gateway, _, place):
        assert ask(place, "/v1/chat/completions", CAPITAL)[0] == 200
        gateway.send_signal(signal.SIGTERM)
        gateway.wait(30)
    assert json.loads(cli("gateway", "stats", "--json").stdout)["all"]["requests"] == 1


def test_a_file_sets_everything_and_options_win(tmp_path: Path) -> None:
    (tmp_path / "gateway.yaml").write_text(
        "tier0: openai:gpt-4o-mini\nbudget: {usd_per_day: 2.5}\nallowance: {controls: []}\n"
        'council: {models: ["local:"], tier: quick}\n'
    )
    for name in ("ann", "bo", "dee"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"reply": f"{name} says so."}))
    council = ["--council", "scripted:ann.jsonl, scripted:bo.jsonl", "--chair", "scripted:dee.jsonl"]
    with running("--config", "gateway.yaml", "--tier0", "scripted:replies.jsonl", *council) as (_, said, place):
        assert "2.5 US dollars a day" in said
        assert "council     scripted:ann.jsonl, scripted:bo.jsonl; chair scripted:dee.jsonl" in said
        assert ask(place, "/v1/chat/completions", CAPITAL)[0] == 200
        status, _, told = ask(place, "/v1/chat/completions?debug=full", CAPITAL)
        assert (status, told["error"]["type"]) == (403, "permission_error")
        status, headers, told = ask(place, "/v1/chat/completions", {**CAPITAL, "model": "council"})
        assert (status, headers["x-sleipner-tier"]) == (200, "council")
        assert told["choices"][0]["message"]["content"] == "dee says so."


def test_a_chair_needs_a_council(cli: Cli) -> None:
    alone = cli("gateway", "--chair", "scripted:dee.jsonl", "--port", "0")
    assert (alone.exit_code, "--council" in alone.stderr) == (1, True)


def test_keys_are_asked_for_once_there_are_some(cli: Cli) -> None:
    key = cli("keys", "create", "--role", "player").stdout.strip()
    with running("--tier0", "scripted:replies.jsonl") as (_, said, place):
        assert "keys        required" in said
        assert "Bearer YOUR_KEY" in said
        assert ask(place, "/v1/chat/completions", CAPITAL)[0] == 401
        assert ask(place, "/v1/chat/completions", CAPITAL, Authorization=f"Bearer {key}")[0] == 200


def test_a_budget_for_commands_is_told_not_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICA_BUDGET", "3")
    with running("--tier0", "scripted:replies.jsonl") as (_, said, _place):
        assert "budget.usd_per_day" in said


@pytest.mark.parametrize("host", ["0.0.0.0", "gateway.example"])  # noqa: S104
def test_others_are_not_served_while_there_are_no_keys(cli: Cli, host: str) -> None:
    result = cli("gateway", "--host", host, "--port", "0")
    assert result.exit_code == 1
    assert "keys create --role player" in result.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("teir0: openai:gpt-4o\n", "gateway.yaml:1: teir0: there is no such setting (did you mean 'tier0'?)"),
        ("grading:\n  deadline: 0\n", "gateway.yaml:2: grading.deadline"),
        ("grading: {rubric: nowhere}\n", "nowhere"),
        ("grading: {thresholds: {POETIC: 3}}\n", "POETIC"),
        ("tier0: gpt-4\n", "names no model"),
        ("tier0: openai:gpt-4o\n", "OPENAI_API_KEY"),
        ("- a\n", "settings are keys"),
        ("tier0: [\n", "not valid YAML"),
    ],
)
def test_settings_that_cannot_be_are_told_before_anything_is_served(
    cli: Cli, tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "gateway.yaml").write_text(text)
    result = cli("gateway", "--config", "gateway.yaml", "--port", "0")
    assert result.exit_code == 1
    assert told in result.stderr


def test_a_file_that_is_not_there_is_told(cli: Cli) -> None:
    result = cli("gateway", "--config", "nowhere.yaml")
    assert (result.exit_code, "nowhere.yaml" in result.stderr) == (1, True)


# --- init -------------------------------------------------------------------------------------------------


def test_init_writes_every_setting_with_what_holds_without_it(cli: Cli, tmp_path: Path) -> None:
    assert "gateway --config gateway.yaml" in cli("gateway", "init").stdout
    text = (tmp_path / "gateway.yaml").read_text()
    assert settings_from_text(text) == GatewaySettings()
    for name in GatewaySettings.model_fields:
        assert re.search(rf"^(# )?{name}:", text, re.MULTILINE)


def test_every_line_in_comments_may_be_taken_out_of_them() -> None:
    """What is offered as an example must be one."""
    names = "tier1|grader|mode|stop|model|usd_per_day|experiment|  name|  rubric|  share"
    opened = re.sub(rf"^( *)# ((?:{names}):.*)$", r"\1\2", starter(), flags=re.MULTILINE)
    settings = settings_from_text(opened)
    assert settings.tier1 is not None
    assert settings.experiment is not None
    assert settings.grading.stop == "decided"
    assert settings.budget.usd_per_day == 50


def test_init_leaves_a_file_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "gateway.yaml").write_text("mine")
    assert cli("gateway", "init").exit_code == 1
    assert (tmp_path / "gateway.yaml").read_text() == "mine"
    assert cli("gateway", "init", "--force").exit_code == 0


# --- stats ------------------------------------------------------------------------------------------------


def test_stats_show_what_there_is(cli: Cli, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    books(tmp_path / "rubrica.db", traffic(300, start=now - timedelta(days=6), over=timedelta(days=6)))
    shown = cli("gateway", "stats").stdout
    parts = ("Cost", "Time, in milliseconds", "Classification", "Experiment", "Spending by model", "Spending by day")
    for words in ("By question type", "By day", *parts):
        assert words in shown
    assert re.search(r"requests +300", shown)
    assert re.search(r"FACTUAL +\d+ +\d+ % \(\d+–\d+\)", shown)
    assert max(map(len, shown.splitlines())) <= 120
    only = json.loads(cli("gateway", "stats", "--type", "factual", "--json").stdout)
    assert list(only["types"]) == ["FACTUAL"]
    assert json.loads(cli("gateway", "stats", "--days", "1", "--json").stdout)["all"]["requests"] < 300


def test_stats_of_nothing_say_so(cli: Cli, tmp_path: Path) -> None:
    assert cli("gateway", "stats").exit_code == 1  # there is no database
    books(tmp_path / "rubrica.db", [])
    assert "no requests" in cli("gateway", "stats").stderr


# --- tune -------------------------------------------------------------------------------------------------


def compared(count: int) -> Iterator[RequestRecord | TierComparison]:
    """Factual answers of which those from 80 on are as good as tier-1's."""
    now = datetime.now(UTC) - timedelta(hours=1)
    for number in range(count):
        score = 60.0 + 40.0 * number / count
        one = record(now, score=score, passed=score >= 85, rubric=RUBRIC)
        yield one
        yield TierComparison(
            one.trace, min(100.0, score + (0.5 if score >= 80 else 30.0)), 0.5 if score >= 80 else 30.0
        )


def test_tune_proposes_a_threshold_and_applies_it_on_demand(cli: Cli, tmp_path: Path) -> None:
    books(tmp_path / "rubrica.db", compared(400))
    file = tmp_path / "gateway.yaml"
    file.write_text("# mine\ntier0: 'local:'\n")
    shown = cli("gateway", "tune", "--config", "gateway.yaml")
    assert re.search(r"FACTUAL +85 +\d+ +change", shown.stdout)
    assert re.search(r"CREATIVE +70 +– +cannot tell", shown.stdout)
    assert file.read_text() == "# mine\ntier0: 'local:'\n"
    applied = cli("gateway", "tune", "--config", "gateway.yaml", "--apply")
    assert applied.exit_code == 0
    text = file.read_text()
    assert text.startswith("# mine\n")
    found = settings_from_text(text).grading.thresholds
    assert list(found) == ["FACTUAL"]
    assert 75 <= found["FACTUAL"] <= 84
    again = cli("gateway", "tune", "--config", "gateway.yaml", "--apply")
    assert "nothing to apply" in again.stderr
    assert re.search(rf"FACTUAL +{found['FACTUAL']:g} +{found['FACTUAL']:g} +keep", again.stdout)


def test_tune_says_what_to_write_where_it_cannot(cli: Cli, tmp_path: Path) -> None:
    books(tmp_path / "rubrica.db", compared(400))
    (tmp_path / "gateway.yaml").write_text("{tier0: 'local:'}\n")
    result = cli("gateway", "tune", "--config", "gateway.yaml", "--apply")
    assert result.exit_code == 1
    assert "thresholds:\n    FACTUAL:" in result.stderr
    assert (tmp_path / "gateway.yaml").read_text() == "{tier0: 'local:'}\n"


def test_tune_applies_to_a_file_only(cli: Cli) -> None:
    assert cli("gateway", "tune", "--apply").exit_code == 2


def test_tune_is_steady_and_tells_programs_too(cli: Cli, tmp_path: Path) -> None:
    books(tmp_path / "rubrica.db", compared(100))
    first, second = (cli("gateway", "tune", "--json").stdout for _ in range(2))
    assert first == second
    assert {one["question_type"] for one in json.loads(first)} == {
        "ANALYTICAL", "CREATIVE", "ETHICAL", "FACTUAL", "TECHNICAL",
    }  # fmt: skip


# --- labels -----------------------------------------------------------------------------------------------


def test_labels_are_what_people_and_judges_gave_the_same_answers(cli: Cli, tmp_path: Path) -> None:
    judged = {"accuracy": GradedDimension(7, 0.8, "openai:gpt-4o")}
    one = record(datetime.now(UTC) - timedelta(hours=1), dimension_scores=judged, rubric=RUBRIC)
    books(tmp_path / "rubrica.db", [one])

    async def rate() -> None:
        async with Database.open(str(tmp_path / "rubrica.db")) as database:
            await database.write(add_feedback, Feedback(one.trace, 5), LOCAL.user_id, datetime.now(UTC))

    asyncio.run(rate())
    whole = cli("gateway", "labels")
    assert (whole.stdout, "1 left out" in whole.stderr) == ("", True)
    (line,) = cli("gateway", "labels", "--stands-for", "accuracy").stdout.splitlines()
    assert json.loads(line)["human"] == {"accuracy": 10.0}
    assert json.loads(line)["scores"] == {"accuracy": 7.0}
    assert cli("gateway", "labels", "--stands-for", "wit").exit_code == 1


# --- prune ------------------------------------------------------------------------------------------------


def test_prune_counts_and_then_deletes(cli: Cli, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    old = [record(at=now - timedelta(days=days), prompt="What?", answer="That.") for days in (1, 20, 100)]
    books(tmp_path / "rubrica.db", old)
    assert "1 record would be deleted" in cli("gateway", "prune", "--older-than", "90d", "--dry-run").stderr
    assert "texts of 2" in cli("gateway", "prune", "--older-than", "2w", "--texts-only").stderr
    (tmp_path / "gateway.yaml").write_text("records: {days: 10}\n")
    assert "2 records were deleted" in cli("gateway", "prune", "--config", "gateway.yaml").stderr
    assert json.loads(cli("gateway", "stats", "--json", "--days", "365").stdout)["all"]["requests"] == 1


def test_prune_wants_to_know_how_old(cli: Cli) -> None:
    asked = cli("gateway", "prune")
    assert (asked.exit_code, "--older-than 90d" in asked.stderr) == (2, True)
    assert "such as 12h" in cli("gateway", "prune", "--older-than", "soon").stderr
