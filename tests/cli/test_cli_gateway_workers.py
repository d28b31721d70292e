"""`rubrica gateway` in several processes, and its file read again while it runs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest
from cli_runs import Cli, process

from rubrica.gateway.process import PUBLISHED

pytestmark = pytest.mark.usefixtures("_elsewhere")
CHAT = {"model": "gpt-4", "messages": [{"role": "user", "content": "What is the capital of France?"}]}
PATIENCE = 30.0


@pytest.fixture
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RUBRICA_DB", "RUBRICA_BUDGET", "RUBRICA_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in ("paris", "lyon"):
        Path(f"{name}.jsonl").write_text(json.dumps({"reply": f"It is {name.title()}."}))


@contextmanager
def gateway(*args: str) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """A gateway as a process, where it listens, and what it logs."""
    log = Path("gateway.log")
    with log.open("wb") as errors:
        running = process("gateway", "--port", "0", *args, stderr=errors, from_scratch=True)
        try:
            assert running.stdout is not None
            said = ""
            while "curl" not in said:
                line = running.stdout.readline().decode()
                assert line or running.poll() is None, log.read_text()
                said += line
            yield running, said.partition("http://")[2].partition("/")[0], log
        finally:
            running.kill()
            running.communicate()


def ask(place: str, path: str = "/v1/chat/completions") -> str:
    """The reply to a request over a connection of its own."""
    connection = HTTPConnection(place, timeout=PATIENCE)
    if path.startswith("/v1"):
        connection.request("POST", path, json.dumps(CHAT), {"x-sleipner-cache": "off"})
    else:
        connection.request("GET", path)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    assert reply.status == 200, text
    return str(json.loads(text)["choices"][0]["message"]["content"]) if path.startswith("/v1") else text


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.05)


def children(pid: int) -> set[int]:
    """Processes that a process started and that still live, except the one in which multiprocessing keeps its books."""
    living = set()
    for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended between the list and this look at it
            if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes():
                living.add(child)
    return living


def published() -> list[Path]:
    """Where workers told each other their figures."""
    return [*Path(tempfile.gettempdir()).glob("rubrica-gateway-*/*.prom")]


def requests(place: str) -> float:
    lines = ask(place, "/metrics").splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("rubrica_gateway_requests_total"))


def test_two_workers_share_the_work_the_figures_and_the_database(cli: Cli) -> None:
    with gateway("--tier0", "scripted:paris.jsonl", "--workers", "2") as (running, place, log):
        workers = children(running.pid)
        assert len(workers) == 2
        assert {ask(place) for _ in range(20)} == {"It is Paris."}
        until(lambda: requests(place) == 20)
        time.sleep(1.5 * PUBLISHED)
        os.kill(min(workers), signal.SIGKILL)
        until(lambda: len(children(running.pid) - {min(workers)}) == 2)
        assert "started again" in log.read_text()
        renewed = children(running.pid)
        assert {ask(place) for _ in range(10)} == {"It is Paris."}
        assert requests(place) >= 20  # what a worker counted is not lost with it
        until(lambda: len(published()) == 3)  # the new one serves, and so tells its figures
        assert children(running.pid) == renewed
        assert log.read_text().count("started again") == 1
        running.send_signal(signal.SIGTERM)
        assert running.wait(PATIENCE) == 0
        assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    shown = json.loads(cli("gateway", "stats", "--json").stdout)
    assert shown["all"]["requests"] >= 20


def test_hanging_up_reads_the_file_again_and_a_wrong_one_changes_nothing() -> None:
    config = Path("gateway.yaml")
    config.write_text("tier0: scripted:paris.jsonl\n")
    with gateway("--config", "gateway.yaml") as (running, place, log):
        assert ask(place) == "It is Paris."
        config.write_text("tier0: scripted:lyon.jsonl\n")
        running.send_signal(signal.SIGHUP)
        until(lambda: ask(place) == "It is Lyon.")
        config.write_text("teir0: scripted:paris.jsonl\ngrading: {deadline: 0}\n")
        running.send_signal(signal.SIGHUP)
        until(lambda: "stays as it was" in log.read_text())
        assert "did you mean 'tier0'?" in log.read_text()
        assert "grading.deadline" in log.read_text()
        assert ask(place) == "It is Lyon."
        assert requests(place) >= 3  # figures go on
        with socket.create_server(("127.0.0.1", 0)) as silent:
            slow = f"http://127.0.0.1:{silent.getsockname()[1]}/v1#slow"
            config.write_text(f"tier0: {slow}\ntier1: scripted:paris.jsonl\nhedge: {{tier0: 0.05}}\n")
            running.send_signal(signal.SIGHUP)
            until(lambda: ask(place) == "It is Paris.")
            until(lambda: "hedged: slow of tier-0 was not waited for\n" in log.read_text())  # told, as warnings are
