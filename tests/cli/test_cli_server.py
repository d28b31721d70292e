"""`rubrica serve`, `rubrica db` and `rubrica keys`."""

from __future__ import annotations

import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from cli_runs import STEADY, Cli, process

from rubrica import __version__
from rubrica.store.tables import metadata

pytestmark = pytest.mark.usefixtures("_elsewhere")


@pytest.fixture
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RUBRICA_DB", raising=False)


@contextmanager
def running(*args: str) -> Iterator[tuple[subprocess.Popen[bytes], str, str]]:
    """A server as a process: itself, what it said, and its host and port."""
    server = process("serve", "--port", "0", *args)
    try:
        assert server.stdout is not None
        said = ""
        while "Ctrl+C" not in said:
            line = server.stdout.readline().decode()
            assert line or server.poll() is None, server.communicate()[1].decode()
            said += line
        place = re.search(r"serving +http://(\S+)", said)
        assert place is not None
        yield server, said, place[1]
    finally:
        server.kill()
        server.communicate()


def ask(place: str, path: str, key: str = "", method: str = "GET") -> tuple[int, Any]:
    connection = HTTPConnection(place, timeout=30)
    connection.request(method, path, headers={"Authorization": f"Bearer {key}"} if key else {})
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, json.loads(body) if body else None


def test_serve_makes_its_database_and_says_where_it_is(tmp_path: Path) -> None:
    with running() as (server, said, place):
        assert f"docs      http://{place}/docs" in said
        assert "database  rubrica.db" in said
        assert "everybody on this machine is an admin" in said
        assert "judge     none" in said
        assert ask(place, "/healthz") == (200, {"status": "ok", "version": __version__})
        status, listed = ask(place, "/api/evaluations?limit=200")
        assert status == 200
        assert "speed-demon" in {item["slug"] for item in listed["items"]}
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0
    assert (tmp_path / "rubrica.db").exists()


def test_serve_asks_for_keys_once_there_are_some(cli: Cli) -> None:
    key = cli("keys", "create", "--role", "viewer", "--db", "arena.db").stdout.strip()
    with running("--db", "arena.db") as (_, said, place):
        assert "keys      required" in said
        assert ask(place, "/api/whoami")[0] == 401
        assert ask(place, "/api/whoami", key)[1]["role"] == "viewer"


def test_serve_ends_with_the_requests_under_way_answered_on_sigterm() -> None:
    with running() as (server, _, place):
        assert ask(place, "/healthz")[0] == 200
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) in (0, -signal.SIGTERM)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "rubrica.example"])  # noqa: S104
def test_serve_refuses_other_machines_while_there_are_no_keys(cli: Cli, host: str) -> None:
    result = cli("serve", "--host", host, "--port", "0")
    assert result.exit_code == 1
    assert "keys create --role admin" in result.stderr
    assert "keys create --role admin --db team.db" in cli("serve", "--host", host, "--db", "team.db").stderr


def test_serve_tells_a_port_that_is_taken(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = cli("serve", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 1
    assert "--port" in result.stderr


@pytest.mark.parametrize("size", ["", "0", "2GB", "-1", "999", "1e6", "101MB", "x"])
def test_serve_refuses_a_body_limit_that_is_none(cli: Cli, size: str) -> None:
    assert cli("serve", "--max-body", size).exit_code == 2


def test_serve_tells_a_judge_that_cannot_be(cli: Cli) -> None:
    result = cli("serve", "--port", "0", "--judge", "nobody")
    assert result.exit_code == 1
    assert "nobody" in result.stderr


@pytest.mark.parametrize(
    "command", [("serve", "--port", "0"), ("db", "upgrade"), ("keys", "create", "--role", "admin")]
)
def test_a_file_that_is_no_database_is_told(cli: Cli, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "notes.txt").write_text("Not a database, but long enough to be looked at as one.\n" * 20)
    result = cli(*command, "--db", "notes.txt")
    assert result.exit_code == 1
    assert "notes.txt" in result.stderr


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("db", "status"), ("keys", "list")])
def test_a_database_of_a_later_rubrica_is_left_alone(cli: Cli, tmp_path: Path, command: tuple[str, ...]) -> None:
    cli("db", "upgrade")
    with closing(sqlite3.connect(tmp_path / "rubrica.db")) as db:
        db.execute("UPDATE rubrica_revision SET version_num = '9999'")
        db.commit()
    result = cli(*command)
    assert result.exit_code == 1
    assert "later Rubrica (revision 9999" in result.stderr


@pytest.mark.parametrize("place", [".", "no/such/folder/rubrica.db", "mysql://x/y", ""])
def test_a_place_where_no_database_can_be_is_told(cli: Cli, place: str) -> None:
    for command in (("serve", "--port", "0"), ("keys", "create", "--role", "admin")):
        result = cli(*command, "--db", place)
        assert (result.exit_code, result.stderr.startswith("error: ")) == (1, True), result.output


def test_db_status_looks_without_making_a_file(cli: Cli, tmp_path: Path) -> None:
    result = cli("db", "status")
    assert result.exit_code == 0
    assert "not there yet" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_db_upgrade_brings_a_database_up_to_date_once(cli: Cli) -> None:
    first, second = cli("db", "upgrade"), cli("db", "upgrade")
    assert "upgraded to revision" in first.stdout
    assert "up to date" in second.stdout
    told = json.loads(cli("db", "status", "--json").stdout)
    assert told["revision"] == told["newest"]
    assert told["pending"] == []


def test_db_takes_its_place_from_the_environment(cli: Cli, tmp_path: Path) -> None:
    cli("db", "upgrade", env={**STEADY, "RUBRICA_DB": "other.db"})
    assert (tmp_path / "other.db").exists()
    assert "RUBRICA_DB" not in cli("config", env={**STEADY, "RUBRICA_DB": "other.db"}).output


def test_db_works_on_both_kinds_of_database(cli: Cli, empty_database_url: str) -> None:
    assert "(rubrica db upgrade" in cli("db", "status", "--db", empty_database_url).stdout
    assert "upgraded to revision" in cli("db", "upgrade", "--db", empty_database_url).stdout
    assert "up to date" in cli("db", "status", "--db", empty_database_url).stdout


def test_db_refuses_tables_of_somebody_else(cli: Cli, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        db.execute(f"CREATE TABLE {next(iter(metadata.tables))} (id INTEGER)")
    result = cli("db", "upgrade", "--db", "shop.db")
    assert result.exit_code == 1
    assert "shop.db" in result.stderr


def test_keys_are_printed_once_and_listed_by_their_beginning(cli: Cli, database_url: str) -> None:
    made = cli("keys", "create", "--role", "author", "--user", "ann", "--label", "laptop", "--db", database_url)
    secret = made.stdout.strip()
    assert re.fullmatch(r"rk_[\w-]{32}", secret)
    assert "author for ann" in made.stderr
    listed = cli("keys", "list", "--db", database_url)
    assert secret[:11] in listed.stdout
    assert secret not in listed.stdout
    (row,) = json.loads(cli("keys", "list", "--json", "--db", database_url).stdout)
    assert (row["user"], row["role"], row["label"], row["per_minute"]) == ("ann", "author", "laptop", 600)
    assert not {"key", "digest"} & set(row)


def test_a_key_is_revoked_by_its_beginning(cli: Cli) -> None:
    kept, ended = (cli("keys", "create", "--role", "player").stdout.strip() for _ in range(2))
    assert "revoked" in cli("keys", "revoke", ended[:9]).stderr
    rows = {row["prefix"]: row["revoked_at"] for row in json.loads(cli("keys", "list", "--json").stdout)}
    assert rows[kept[:11]] is None
    assert rows[ended[:11]] is not None
    assert cli("keys", "revoke", ended[:9]).exit_code == 1  # there is no such key any more


def test_an_admin_without_a_name_is_the_local_user_so_that_nothing_is_lost(cli: Cli) -> None:
    users = [json.loads(cli("keys", "create", "--role", "admin", "--json").stdout)["user_id"] for _ in range(2)]
    assert users == ["00000000-0000-0000-0000-000000000001"] * 2


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("create",), 2),
        (("create", "--role", "owner"), 2),
        (("create", "rk_abcd", "--role", "admin"), 2),
        (("revoke",), 2),
        (("create", "--role", "admin", "--per-minute", "0"), 2),
        (("create", "--role", "admin", "--user", "a\nb"), 1),
        (("list",), 1),  # there is no database
        (("revoke", "rk_abcdefg"), 1),
    ],
)
def test_keys_that_cannot_be_are_refused(cli: Cli, tmp_path: Path, args: tuple[str, ...], code: int) -> None:
    assert cli("keys", *args).exit_code == code


def test_a_key_is_told_what_it_may_choose_and_spend(cli: Cli) -> None:
    key = cli("keys", "create", "--role", "player").stdout.strip()
    told = cli("keys", "allow", key[:11], "--usd-per-day", "5", "--control", "debug", "--json")
    assert json.loads(told.stdout)["allowances"] == {
        "controls": ["debug"],
        "models": [],
        "choices": {},
        "usd_per_day": 5.0,
        "usd_per_month": None,
        "requests_per_minute": None,
        "tokens_per_minute": None,
        "team": None,
    }
    told = cli("keys", "allow", key[:11], "--team", "research", "--tokens-per-minute", "5000")
    assert "5,000 tokens a minute" in told.stderr
    assert "as a member of research" in told.stderr
    assert "lets everybody" in cli("keys", "allow", key[:11]).stderr
    chosen = cli("keys", "allow", key[:11], "--choose", "threshold=90", "--json")
    assert json.loads(chosen.stdout)["allowances"]["choices"] == {"threshold": "90"}
    assert cli("keys", "allow", key[:11], "--choose", "threshold=high").exit_code == 2
    refused = cli("keys", "allow", key[:11], "--control", "everything")
    assert refused.exit_code == 2
    assert "'debug'" in refused.stderr


def test_a_short_beginning_revokes_nothing(cli: Cli) -> None:
    cli("keys", "create", "--role", "admin")
    assert cli("keys", "revoke", "rk_").exit_code == 1
    assert [row["revoked_at"] for row in json.loads(cli("keys", "list", "--json").stdout)] == [None]


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn", "sqlalchemy", "alembic"])
def test_without_its_extra_a_command_says_what_to_install(missing: str) -> None:
    result = _without(missing, "serve")
    assert result.returncode == 1
    line = "pip install 'rubrica[studio]'"
    assert result.stderr.strip().endswith(f"{missing} is missing ({line})")
    root = Path(__file__).parents[2]
    assert f"`rubrica serve` does needs `{line}`" in " ".join((root / "README.md").read_text().split())
    assert f"It needs `{line}`" in (root / "docs/studio.md").read_text()
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    brought = {extra for need in extras["studio"] for extra in re.findall(r"[a-z]+", need.partition("[")[2])}
    assert {"judges", "server", "tables"} <= brought  # whatever the command and its pages load


def test_without_the_extra_everything_else_works() -> None:
    assert "serve" in _without("sqlalchemy", "--help").stdout
    assert _without("sqlalchemy", "list").returncode == 0


def _without(module: str, *args: str) -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.modules[{module!r}] = None; from rubrica.cli.app import main; main()"
    command = [sys.executable, "-c", code, *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**STEADY, "HOME": "."})
