"""`pull`, `push` and `eval --server` against a server that means harm: clear errors, and nothing outside the folder."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from cli_runs import GOOD, Cli, WriteLines

from rubrica.cli import remote

RUBRIC = {"name": "tiny", "dimensions": {"a": {"formula": "word_count"}}, "verdicts": [{"label": "seen"}]}


class Hostile(ThreadingHTTPServer):
    """Answers every request with the same status, headers and body, and remembers who asked for what."""

    status = 200
    body = b""
    headers: dict[str, str]
    asked: list[tuple[str, str | None]]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.headers, self.asked = {}, []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answers(self, body: Any, status: int = 200, **headers: str) -> None:
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.status, self.headers = status, headers


class _Answering(BaseHTTPRequestHandler):
    server: Hostile

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.server.status)
        for name, value in {"Content-Length": str(len(self.server.body)), **self.server.headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        try:
            self.wfile.write(self.server.body)
        except OSError:
            self.close_connection = True  # the client has heard enough

    do_POST = do_PUT = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hostile]:
    inside = tmp_path / "deep" / "inside"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    monkeypatch.setenv("RUBRICA_API_KEY", "secret-key")
    monkeypatch.setattr(remote, "ATTEMPTS", 1)
    with Hostile() as server:
        monkeypatch.setenv("RUBRICA_SERVER", server.url)
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def bundle(name: object, version: object = "1.0.0", rubric: object = RUBRIC) -> dict[str, object]:
    return {"bundle": 1, "rubric": rubric, "provenance": {"name": name, "version": version}}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def refused(result: Any) -> str:
    """What a command said when it refused: one clear error, and no traceback."""
    assert result.exit_code not in (0, 100)
    assert "Traceback" not in result.stderr
    return str(result.stderr)


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "../../tiny",
        "/tmp/tiny",  # noqa: S108 - nothing is written there
        "a/b",
        "a\\b",
        "..",
        "",
        "-",
        "tiny\0",
        "tiny\n",
        "Tiny",
        "x" * 65,
        "tiny.yaml",
        "\x1b[31mtiny",
        "makefile",
    ],
)
def test_a_name_that_is_not_the_one_asked_for_writes_nothing(
    hostile: Hostile, cli: Cli, tmp_path: Path, name: str
) -> None:
    hostile.answers(bundle(name))
    said = refused(cli("pull", "tiny"))
    assert "the server calls it" in said
    assert "\x1b" not in said
    assert files(tmp_path) == set()


def test_what_was_asked_for_is_written_beside_and_a_file_is_never_replaced_unasked(hostile: Hostile, cli: Cli) -> None:
    hostile.answers(bundle("tiny"))
    assert cli("pull", "tiny").exit_code == 0
    assert files(Path()) == {"tiny.yaml"}
    assert "exists" in refused(cli("pull", "tiny"))
    Path("tiny.yaml").unlink()
    Path("kept").write_text("mine")
    Path("tiny.yaml").symlink_to("kept")
    assert "exists" in refused(cli("pull", "tiny"))
    assert cli("pull", "tiny", "--force").exit_code == 0
    assert Path("kept").read_text() == "mine"
    assert cli("pull", "0" * 8 + "-0000-0000-0000-" + "0" * 12, "--format", "json").exit_code == 0
    assert "tiny.json" in files(Path())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"\xff\xfe",
        b"[" * 100_000,
        [],
        None,
        7,
        {},
        {"provenance": {}},
        bundle(None),
        bundle(["tiny"]),
        bundle("tiny", version=3),
        bundle("tiny", rubric="x"),
        bundle("tiny", rubric=None),
        {"rubric": RUBRIC, "provenance": "tiny"},
    ],
)
@pytest.mark.parametrize("command", ["pull", "push", "eval"])
def test_an_answer_of_another_shape_is_told_as_one(
    hostile: Hostile, cli: Cli, tiny: Path, write_lines: WriteLines, body: Any, command: str
) -> None:
    cases = write_lines([GOOD])
    before = files(Path())
    hostile.answers(body)
    asked: dict[str, list[str | Path]] = {
        "pull": ["tiny"],
        "push": [tiny],
        "eval": [cases, "-r", "tiny", "--server", hostile.url],
    }
    said = refused(cli(command, *asked[command]))
    assert "this is no answer of a Rubrica server" in said
    assert files(Path()) == before


def test_an_answer_without_end_is_not_read_to_its_end(
    hostile: Hostile, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "LARGEST_ANSWER", 1_000_000)
    hostile.answers(gzip.compress(b" " * 20_000_000), Content_Encoding="gzip")
    assert "the answer is larger than 1,000,000 bytes" in refused(cli("pull", "tiny"))


def test_a_redirect_is_not_followed_and_gets_no_key(hostile: Hostile, cli: Cli) -> None:
    with Hostile() as other:
        thread = Thread(target=other.serve_forever, args=(0.01,))
        thread.start()
        for status in (301, 302, 303, 307, 308):
            hostile.answers(b"", status, Location=f"{other.url}/api/evaluations/tiny/export")
            assert "it sends us on to" in refused(cli("pull", "tiny"))
        other.shutdown()
        thread.join()
    assert other.asked == []
    assert {key for _, key in hostile.asked} == {"Bearer secret-key"}


@pytest.mark.parametrize(
    "body",
    [{"problems": ["x", 3]}, {"problems": [{"message": {"a": 1}, "path": 3}]}, {"detail": ["x"]}, [], b"\x1b[31m"],
)
def test_an_error_of_another_shape_is_an_error_all_the_same(hostile: Hostile, cli: Cli, body: Any) -> None:
    hostile.answers(body, 422)
    assert "error" in refused(cli("pull", "tiny"))


def test_what_a_server_says_cannot_steer_the_terminal(hostile: Hostile, cli: Cli) -> None:
    hostile.answers({"detail": "\x1b]0;owned\x07" + "x" * 1_000_000}, 400)
    said = refused(cli("pull", "tiny"))
    assert "\x1b" not in said
    assert len(said) < 5_000
    hostile.answers(bundle("tiny", version="\x1b[31m1"))
    assert "\x1b" not in cli("pull", "tiny").stderr
