"""A real S3 server on loopback, and a proxy before it that fails some of the writes."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from rubrica.runs.objects.address import ObjectAddress
from rubrica.runs.objects.object_store import ObjectStore

KEYS = ("access-key-1", "secret-key-1")
BUCKET = "bucket"
WORDS: dict[str, Any] = {
    "name": "words",
    "scale": {"min": 0, "max": 10},
    "dimensions": {"length": {"formula": "min(10, word_count)", "weight": 1}},
    "score": {"weighted": True, "out_of": 10},
    "verdicts": [{"label": "pass", "when": "score >= 3"}, {"label": "fail"}],
}
"""What the runs that lie in the store are judged by."""


@contextmanager
def serving_objects(root: Path) -> Iterator[int]:
    """An S3 server over a folder; its port."""
    (root / BUCKET).mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    rclone = Path(sys.executable).with_name("rclone")
    told = (
        "--addr",
        f"127.0.0.1:{port}",
        "--auth-key",
        ",".join(KEYS),
        "--log-level",
        "ERROR",
    )
    server = subprocess.Popen([rclone, "serve", "s3", *told, "--config", root / "rclone.conf", root])
    try:
        _wait_for(port)
        yield port
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture(scope="session")
def object_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """The S3 server of this test process: the folder of its bucket, and its port. Each test uses names of its own."""
    root = tmp_path_factory.mktemp("objects")
    with serving_objects(root) as port:
        yield root / BUCKET, port


def use_objects(patch: pytest.MonkeyPatch, port: int) -> None:
    """Have everything here ask this server."""
    for name, value in environment(port).items():
        patch.setenv(name, value)


def environment(port: int) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": KEYS[0],
        "AWS_SECRET_ACCESS_KEY": KEYS[1],
        "AWS_REGION": "us-east-1",
    }


def put_objects(port: int, folder: str, files: Iterable[Path]) -> None:
    """Write files to the server. It would not see what is put into its folder behind its back."""
    with pytest.MonkeyPatch.context() as patch:
        use_objects(patch, port)
        address = ObjectAddress.of(f"s3://{BUCKET}/{folder}")
        for path in files:
            ObjectStore(address).write(address.under(path.name), path)


class FailingProxy(ThreadingHTTPServer):
    """Passes requests on, but for one write in `every`, and for all while `down`."""

    daemon_threads = True

    def __init__(self, behind: int, every: int) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.behind, self.every = behind, every
        self.writes = self.failed = 0
        self.fetched: list[str] = []  # what was read, by its name
        self.sent = 0  # bytes of it
        self.down = False

    @contextmanager
    def serving(self) -> Iterator[int]:
        thread = Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self.server_port
        finally:
            self.shutdown()
            self.server_close()
            thread.join()

    def fails(self, method: str) -> bool:
        self.writes += method == "PUT"
        fails = self.down or (method == "PUT" and self.writes % self.every == 0)
        self.failed += fails
        return fails


class _Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def pass_on(self) -> None:
        server = self.server
        assert isinstance(server, FailingProxy)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if server.fails(self.command):
            self._answer(503, {}, b"")
            return
        if self.command == "GET" and "?" not in self.path:
            server.fetched.append(self.path)
        behind = HTTPConnection("127.0.0.1", server.behind, timeout=10)
        try:
            behind.request(self.command, self.path, body or None, dict(self.headers))  # the host is signed
            reply = behind.getresponse()
            partial = reply.status == 200 and "Content-Range" in reply.headers  # as rclone says it
            data = reply.read()
            server.sent += len(data) if self.command == "GET" and "?" not in self.path else 0
            self._answer(206 if partial else reply.status, dict(reply.headers), data)
        finally:
            behind.close()

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = pass_on  # noqa: N815 - names of the library

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response_only(status)
        kept = {
            name: value for name, value in headers.items() if name.lower() not in ("transfer-encoding", "connection")
        }
        kept.setdefault("Content-Length", str(len(body)))
        for name, value in kept.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def _wait_for(port: int) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.02)
    raise TimeoutError("the S3 server did not start")
