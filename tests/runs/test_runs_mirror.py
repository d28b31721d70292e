"""Runs that are kept in an object store."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner, Result

import rubrica
from object_server import BUCKET, WORDS, FailingProxy, environment, use_objects
from rubrica.cli.app import app
from rubrica.engine.load import rubric_from_data
from rubrica.errors import RubricaError
from rubrica.runs.events import RunAdvanced, RunEvent
from rubrica.runs.execute import execute_run
from rubrica.runs.mirror import mirror
from rubrica.runs.mirror.claim import RunClaim, StorePace
from rubrica.runs.mirror.copy import RunCopy, scan
from rubrica.runs.mirror.index import MirrorIndex
from rubrica.runs.mirror.mirror import mirrored
from rubrica.runs.mirror.prune import prune_copies
from rubrica.runs.objects.address import ObjectAddress
from rubrica.runs.objects.object_store import ObjectStore
from rubrica.runs.request import CaseChoice, JudgeSettings, RunRequest
from rubrica.runs.stored import StoredRun

PACE = StorePace(commit=0.05, beat=0.1, expiry=1.2, patience=5.0)


@pytest.fixture
def bucket(object_server: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_objects(monkeypatch, object_server[1])
    on_machine(monkeypatch, tmp_path, "one")
    return object_server[0]


def on_machine(patch: pytest.MonkeyPatch, folder: Path, name: str) -> None:
    """From now on, this is another machine: it has a cache of its own."""
    patch.setenv("XDG_CACHE_HOME", str(folder / name))


def cases(folder: Path, count: int = 60) -> Path:
    path = folder / "cases.jsonl"
    rows = ({"id": f"c{n}", "response": "word " * (n % 13 + 1)} for n in range(count))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def request_to(address: str, source: Path, data: dict[str, Any] = WORDS, **how: Any) -> RunRequest:
    request = RunRequest(CaseChoice(str(source)), Path(), rubric_from_data(data), **how).kept_at(address)
    return replace(request, store=replace(request.store, pace=PACE)) if request.store is not None else request


def invoke(*args: str) -> Result:
    return CliRunner(env={"COLUMNS": "200", "RUBRICA_JUDGE": ""}).invoke(app, args, prog_name="rubrica")


def scores(place: str) -> dict[str, float | None]:
    return {row.case: row.score for row in StoredRun.open(place).rows()}


@pytest.mark.parametrize("bulk", [False, True])
def test_a_run_in_a_bucket_is_the_run_on_disk_and_opens_on_every_machine(
    bucket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bulk: bool
) -> None:
    monkeypatch.setattr(mirror, "LARGEST", 5_000)  # so that a file of lines has several segments
    source, name = cases(tmp_path), f"s3://{BUCKET}/runs/plain-{bulk}"
    execute_run(request_to(str(tmp_path / "disk"), source, bulk=bulk))
    execute_run(request_to(name, source, bulk=bulk))
    on_machine(monkeypatch, tmp_path, "two")
    assert scores(name) == scores(str(tmp_path / "disk"))
    run = rubrica.Run.open(name)
    assert run.folder.name == f"plain-{bulk}"
    assert run.summary().evaluations == 60
    assert run.evaluation("c7").case == "c7"
    assert (run.folder / "report.html").stat().st_size > 1_000
    fetched = {path: path.stat().st_ino for path in run.folder.iterdir()}
    assert {path: path.stat().st_ino for path in rubrica.Run.open(name).folder.iterdir()} == fetched
    assert not list((bucket / "runs" / f"plain-{bulk}" / "claims").glob("*"))
    segments = list((bucket / "runs" / f"plain-{bulk}" / "segments").glob("*-evaluations.jsonl"))
    assert bulk or len(segments) > 5
    again = execute_run(request_to(name, source, bulk=bulk))
    assert (again.counts.added, again.counts.skipped) == ((60, 0) if bulk else (0, 60))


def test_a_changed_rubric_moves_the_run_aside_in_the_bucket_too(bucket: Path, tmp_path: Path) -> None:
    source, name = cases(tmp_path), f"s3://{BUCKET}/runs/changed"
    execute_run(request_to(name, source))
    segments = {path.name for path in (bucket / "runs/changed/segments").iterdir()}
    other = {**WORDS, "verdicts": [{"label": "pass", "when": "score >= 9"}, {"label": "fail"}]}
    execute_run(request_to(name, source, other))
    address = ObjectAddress.of(name)
    index = MirrorIndex.read(ObjectStore(address), address)
    assert index is not None
    assert {"earlier/1/run.json", "earlier/1/evaluations.jsonl", "run.json"} <= set(index.files)
    assert index.segments == {path.name for path in (bucket / "runs/changed/segments").iterdir()}
    assert index.files["earlier/1/evaluations.jsonl"][0].name in segments  # which was not written again


PROGRAM = """
import sys, time
from msgspec.structs import replace
from pathlib import Path
from rubrica.engine.load import rubric_from_data
from rubrica.runs.execute import execute_run
from rubrica.runs.events import RunAdvanced
from rubrica.runs.mirror.claim import StorePace
from rubrica.runs.request import CaseChoice, JudgeSettings, RunRequest
import json
name, source, data, judge = sys.argv[1:]
judging = JudgeSettings((judge,), jobs=1, cached=False)
request = RunRequest(CaseChoice(source), Path(), rubric_from_data(json.loads(data)), judging).kept_at(name)
request = replace(request, store=replace(request.store, pace=StorePace(0.05, 0.1, 1.2, 5.0)))
execute_run(request, lambda event: time.sleep(0.2) if isinstance(event, RunAdvanced) else None)
"""


def test_a_driver_that_is_killed_is_followed_by_another_machine_that_asks_only_for_what_is_missing(
    bucket: Path, object_server: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = {**WORDS, "name": "tone", "dimensions": {"kind": {"asks": "Is it kind?", "weight": 1}}}
    script = tmp_path / "judge.jsonl"
    reply = {"pattern": "word", "reply": {"score": 7, "reason": "kind", "confidence": 0.9}}
    script.write_text(json.dumps(reply) + "\n")
    source, name = cases(tmp_path, 400), f"s3://{BUCKET}/runs/killed"
    told = [sys.executable, "-c", PROGRAM, name, str(source), json.dumps(kind), f"scripted:{script}"]
    env = {**os.environ, **environment(object_server[1]), "XDG_CACHE_HOME": str(tmp_path / "one")}
    driver = subprocess.Popen(told, env=env)
    address, store = ObjectAddress.of(name), ObjectStore(ObjectAddress.of(name))
    until, committed = time.monotonic() + 60, 0
    while committed < 10 and driver.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
        index = MirrorIndex.read(store, address)
        found = index.files.get("evaluations.jsonl", ()) if index is not None else ()
        committed = sum(segment.size for segment in found) // 800  # more than an evaluation has
    assert driver.poll() is None, "it ended before it could be killed"
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    on_machine(monkeypatch, tmp_path, "two")
    heard: list[RunEvent] = []
    judging = JudgeSettings((f"scripted:{script}",), cached=False)
    outcome = execute_run(replace(request_to(name, source, kind), judging=judging), heard.append)
    assert outcome.ending == "finished"
    assert outcome.counts.skipped >= 10
    assert outcome.counts.added + outcome.counts.skipped == 400
    execute_run(replace(request_to(str(tmp_path / "disk"), source, kind), judging=judging))
    assert scores(name) == scores(str(tmp_path / "disk"))
    assert len(list(StoredRun.open(name).evaluations())) == 400


def test_a_store_that_fails_one_write_in_ten_costs_nothing(
    bucket: Path, object_server: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, source, name = FailingProxy(object_server[1], every=10), cases(tmp_path), f"s3://{BUCKET}/runs/shaky"
    with proxy.serving() as port:
        use_objects(monkeypatch, port)
        request = request_to(name, source)
        execute_run(request, lambda event: time.sleep(0.3) if isinstance(event, RunAdvanced) else None)
        execute_run(request_to(f"{name}-bulk", source, bulk=True))
    assert proxy.failed > 1
    use_objects(monkeypatch, object_server[1])
    on_machine(monkeypatch, tmp_path, "two")
    execute_run(request_to(str(tmp_path / "disk"), source))
    assert scores(name) == scores(f"{name}-bulk") == scores(str(tmp_path / "disk"))


def test_a_store_that_is_gone_ends_the_run_and_the_same_request_goes_on(
    bucket: Path, object_server: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, source, name = FailingProxy(object_server[1], every=1_000), cases(tmp_path, 200), f"s3://{BUCKET}/runs/gone"
    with proxy.serving() as port:
        use_objects(monkeypatch, port)
        request = request_to(name, source)
        assert request.store is not None
        request = replace(request, store=replace(request.store, pace=replace(PACE, patience=0.2)))

        def cut(event: RunEvent) -> None:
            if isinstance(event, RunAdvanced):
                proxy.down = True
                time.sleep(0.6)

        with pytest.raises(RubricaError, match=r"cannot be reached.*what was judged is in .*same command goes on"):
            execute_run(request, cut)
        proxy.down = False
        outcome = execute_run(request)
    assert outcome.ending == "finished"
    use_objects(monkeypatch, object_server[1])
    on_machine(monkeypatch, tmp_path, "two")
    assert len(scores(name)) == 200


def test_one_driver_at_a_time_has_a_run(bucket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, notes = f"s3://{BUCKET}/runs/claimed", list[str]()
    with mirrored(name, notes.append, PACE):
        with pytest.raises(RubricaError, match=f"process {os.getpid()} is running"), mirrored(name, print, PACE):
            pass
        on_machine(monkeypatch, tmp_path, "two")
        said = f"process {os.getpid()} on .* is running"
        with pytest.raises(RubricaError, match=said), mirrored(name, notes.append, PACE):
            pass
        assert "waiting whether it is at work" in notes[0]
    address = ObjectAddress.of(name)
    store = ObjectStore(address)
    dead = RunClaim(store, address, "another copy", PACE)
    dead.take(print)
    with mirrored(name, notes.append, PACE) as check:
        check()
        with pytest.raises(RubricaError, match=r"took .* over|taken over"):
            dead.renew()


def test_of_those_that_come_at_once_at_most_one_has_it(bucket: Path) -> None:
    address, outcomes, over = ObjectAddress.of(f"s3://{BUCKET}/runs/race"), list[str](), Event()
    pace = replace(PACE, expiry=2.0)

    def come(copy: str) -> None:
        claim = RunClaim(ObjectStore(address), address, copy, pace)
        try:
            claim.take(lambda _: None)
        except RubricaError:
            outcomes.append("withdraws")
            return
        outcomes.append("has it")
        while not over.wait(0.05):
            claim.renew()

    threads = [Thread(target=come, args=(copy,)) for copy in "abc"]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 20
    while len(outcomes) < 3 and time.monotonic() < until:
        time.sleep(0.02)
    over.set()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 3
    assert outcomes.count("has it") <= 1


def test_copies_of_runs_are_bounded_and_what_was_never_committed_stays(
    bucket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"s3://{BUCKET}/bounded/{name}" for name in ("oldest", "unfinished", "newest")]
    copies = [RunCopy(ObjectAddress.of(name)) for name in names]
    for age, (name, copy) in enumerate(zip(names, copies, strict=True)):
        execute_run(request_to(name, cases(tmp_path, 5)))
        os.utime(copy.place, (1_000 + age, 1_000 + age))
    with (copies[1].folder / "evaluations.jsonl").open("a") as file:
        file.write("{}\n")
    each = sum(path.stat().st_size for path in copies[2].place.rglob("*") if path.is_file())
    assert prune_copies(most=10 * each) == []
    assert prune_copies(most=each // 2, now=1_500.0) == []  # they were used within the hour
    with mirrored(names[0], lambda _: None, PACE):
        os.utime(copies[0].place, (1_000, 1_000))
        assert copies[0].place not in prune_copies(most=2 * each + each // 2, now=9_000.0)
    os.utime(copies[0].place, (1_000, 1_000))
    execute_run(request_to(names[2], cases(tmp_path, 5)))
    os.utime(copies[2].place, (1_002, 1_002))
    assert prune_copies(most=2 * each + each // 2, now=9_000.0) == [copies[0].place]
    assert not copies[0].folder.exists()
    monkeypatch.setenv("RUBRICA_RUN_COPIES", "0")
    assert prune_copies(now=9_000.0) == [copies[2].place]
    assert copies[1].folder.is_dir()
    assert len(scores(names[0])) == 5  # fetched again


def test_a_curriculum_is_kept_in_a_bucket_and_opens_on_another_machine(
    bucket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = {"question": "What is 2 + 3?", "options": ["A) 5", "B) 6", "C) 4", "D) 1"], "answer": "A", "grade": 3}
    Path("bank.jsonl").write_text(json.dumps({"id": "q", "explanation": "2 + 3 = 5.", **told}) + "\n")
    place = f"s3://{BUCKET}/bank"
    ran = invoke("curriculum", "evaluate", "bank.jsonl", "--offline", "-o", place, "--baseline", "off")
    assert ran.exit_code == 0, ran.output
    assert f"summary {place}" in ran.output
    assert not Path("s3:").exists()
    here = StoredRun.open(place)
    on_machine(monkeypatch, tmp_path, "two")
    there = StoredRun.open(place)
    assert there.path != here.path
    assert list(scores(place)) == ["q"]
    assert [path.name for path in scan(there.path)] == [path.name for path in scan(here.path)]


def test_commands_that_take_no_address_say_so_and_make_no_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mira.txt").write_text("Be Mira.")
    place = f"s3://{BUCKET}/runs"
    ran = invoke("companion", "evaluate", "--prompt", "mira.txt", "--model", "local:", "-o", place)
    assert ran.exit_code == 2, ran.output
    assert "a folder of this machine is wanted" in " ".join(ran.output.replace("│", "").split())
    assert [path.name for path in tmp_path.iterdir()] == ["mira.txt"]


def test_places_that_hold_no_run_are_told(bucket: Path, tmp_path: Path) -> None:
    source = cases(tmp_path, 2)
    store = ObjectStore(ObjectAddress.of(f"s3://{BUCKET}/data"))
    store.write("data/pictures.bin", b"1")
    with pytest.raises(RubricaError, match=r"holds pictures.bin, but no run"):
        execute_run(request_to(f"s3://{BUCKET}/data", source))
    with pytest.raises(RubricaError, match="there is no run at"):
        StoredRun.open(f"s3://{BUCKET}/runs/none")
    for place in ("https://example.org/run", f"s3://{BUCKET}", f"s3://{BUCKET}/runs/*"):
        with pytest.raises(RubricaError, match="a run is kept at"):
            request_to(place, source)
    store.write("evil/index.json", b'{"version": "1", "files": {"../../x": []}}')
    with pytest.raises(RubricaError, match="outside of the run"):
        StoredRun.open(f"s3://{BUCKET}/evil")


class _EmptyContainer(BaseHTTPRequestHandler):
    """A container that holds nothing, and remembers what it was asked for."""

    def do_HEAD(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(404)
        self.send_header("x-ms-error-code", "BlobNotFound")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


def test_another_server_that_speaks_like_azures_may_be_one_without_encryption(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _EmptyContainer) as server:
        server.asked = []  # type: ignore[attr-defined]
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "someone")
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", b64encode(b"a key").decode())
        monkeypatch.setenv("AZURE_ENDPOINT", f"http://127.0.0.1:{server.server_port}/someone")
        assert ObjectStore(ObjectAddress.of("az://cases"), patience=5).find("runs/monday/index.json") is None
        server.shutdown()
        assert server.asked == ["/someone/cases/runs/monday/index.json"]  # type: ignore[attr-defined]
