"""Where the runs of a server lie: object stores beside its own folder, read where they are, and nothing beyond them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from object_server import BUCKET, WORDS, FailingProxy, put_objects, use_objects
from rubrica.cli.serve import run_places
from rubrica.engine.load import rubric_from_data
from rubrica.errors import BusyError, InputError, MissingError, RubricaError
from rubrica.runs.case_texts import CaseTexts
from rubrica.runs.execute import execute_run
from rubrica.runs.mirror.copy import copies_home
from rubrica.runs.mirror.mirror import mirrored
from rubrica.runs.objects.address import ObjectAddress
from rubrica.runs.objects.object_store import ObjectStore
from rubrica.runs.request import CaseChoice, RunRequest
from rubrica.runs.stored import StoredRun
from rubrica.workspace import store_place as places_module
from rubrica.workspace.run_jobs import stopped_job
from rubrica.workspace.run_listing import RunLine
from rubrica.workspace.run_places import RunPlaces
from rubrica.workspace.run_target import RunTarget

TEAM = f"s3://{BUCKET}/team/runs"


@pytest.fixture
def home(object_server: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of runs of a server, on a machine with a cache of its own."""
    use_objects(monkeypatch, object_server[1])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "runs"


def cases(folder: Path, name: str = "cases.jsonl") -> Path:
    rows = ({"id": f"c{n}", "prompt": f"Say {n}.", "response": "word " * (n % 6)} for n in range(12))
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n")
    return folder / name


def judged(output: str | Path, source: str | Path, **how: Any) -> None:
    request = RunRequest(CaseChoice(str(source)), Path(), rubric_from_data(WORDS), **how).kept_at(str(output))
    execute_run(request)


def unlike(line: RunLine) -> RunLine:
    """A line without what tells one run from another."""
    return replace(line, id="", started="", name="")


@pytest.mark.parametrize("bulk", [False, True])
def test_a_run_in_a_bucket_is_listed_without_being_fetched_and_opens_as_one_on_disk(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bulk: bool
) -> None:
    source, name = cases(tmp_path), f"far-{bulk}"
    judged(home / "near", source, bulk=bulk)
    judged(f"{TEAM}/{name}", source, bulk=bulk)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "server"))
    places = RunPlaces(home, [TEAM])
    lines = {line.name: line for line in places.lines()}
    assert unlike(lines[name]) == unlike(lines["near"])
    assert (lines[name].state, lines[name].evaluations, lines[name].usd) == ("finished", 12, None)
    near, far = places.overview("near"), places.overview(name)
    assert (far.broken, far.line) == (near.broken, lines[name])
    assert near.broken == 1
    assert far.summary is not None
    assert near.summary is not None
    assert far.summary["rubrics"] == near.summary["rubrics"]
    assert places.rubrics(name) == places.rubrics("near")
    assert not copies_home().exists()  # so far nothing was fetched but what is small
    assert [row.score for row in places.opened(name).rows()] == [row.score for row in places.opened("near").rows()]
    assert places.opened(name).path.is_relative_to(copies_home())
    assert places.target("near") == RunTarget(home / "near")
    assert stopped_job(places, name) is None  # nobody goes on with it here
    with pytest.raises(InputError, match="there is a run called"):
        places.new_target(name)


@pytest.mark.parametrize(
    "name", ["", "..", ".", "../../secret", "runs/x", "a\\b", "cases", "line\nbreak", "\0", "x*", "%2e%2e", "none"]
)
def test_a_name_never_leads_out_of_the_places(home: Path, tmp_path: Path, name: str) -> None:
    judged(f"s3://{BUCKET}/secret", cases(tmp_path))
    places = RunPlaces(home, [TEAM])
    for read in (places.opened, places.manifest, places.overview, places.target):
        with pytest.raises(MissingError):
            read(name)


def test_of_runs_that_are_called_alike_the_first_place_has_the_one_that_opens(home: Path, tmp_path: Path) -> None:
    place = f"s3://{BUCKET}/alike"
    judged(home / "monday", cases(tmp_path))
    judged(tmp_path / "more" / "tuesday", cases(tmp_path))
    judged(f"{place}/monday", cases(tmp_path))
    places = RunPlaces(home, [str(tmp_path / "more"), place])
    assert places.opened("monday").path == home / "monday"
    assert places.opened("tuesday").path == tmp_path / "more" / "tuesday"
    shown = [(line.name, line.state) for line in places.lines()]
    assert sorted(shown[:2]) == [("monday", "finished"), ("tuesday", "finished")]
    assert shown[2:] == [(f"{place}/monday", "unreadable")]


def test_how_far_a_run_in_a_bucket_is_tells_whoever_works_on_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places_module, "FRESH", 0.0)
    places, name = RunPlaces(home, [TEAM]), f"{TEAM}/under-way"
    request = RunRequest(CaseChoice(str(cases(tmp_path))), Path(), rubric_from_data(WORDS)).kept_at(name)
    with mirrored(name, lambda _: None):
        request.folder.mkdir(parents=True)
        request.manifest(datetime(2026, 5, 4, tzinfo=UTC)).write(request.folder)
        (request.folder / "evaluations.jsonl").write_text("{}\n{}\n")
    line = places.overview("under-way").line
    assert (line.state, line.evaluations) == ("interrupted", 2)
    with mirrored(name, lambda _: None):
        assert places.overview("under-way").line.state == "running"
        assert [line.state for line in places.lines() if line.name == "under-way"] == ["running"]


def test_a_store_that_cannot_be_reached_is_told_and_hides_no_other_run(
    home: Path, object_server: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged(home / "near", cases(tmp_path))
    proxy = FailingProxy(object_server[1], every=1_000)
    monkeypatch.setattr(places_module, "PATIENCE", 0.1)
    with proxy.serving() as port:
        use_objects(monkeypatch, port)
        places = RunPlaces(home, [TEAM])
        proxy.down = True
        assert [(line.name, line.state) for line in places.lines()] == [("near", "finished"), (TEAM, "unreadable")]
        assert "cannot be reached" in places.lines()[1].why
        assert places.manifest("near") is not None
        with pytest.raises(BusyError, match=r"^the object store of some runs cannot be reached"):
            places.opened("far")


def test_what_lies_in_a_bucket_and_is_no_run_is_told(home: Path, tmp_path: Path) -> None:
    place = f"s3://{BUCKET}/odd"
    store, address = ObjectStore(ObjectAddress.of(place)), ObjectAddress.of(place)
    store.write(address.under("notes/today.txt"), b"buy milk")
    store.write(address.under("torn/index.json"), b"{")
    escaping = {"version": "1", "files": {"run.json": [["../../../secret/index.json", 2]]}}
    store.write(address.under("escaping/index.json"), json.dumps(escaping).encode())
    lines = {line.name: line for line in RunPlaces(home, [place]).lines()}
    assert {line.state for line in lines.values()} == {"unreadable"}
    assert "holds no run" in lines["notes"].why
    assert "does not describe a run" in lines["torn"].why
    assert "outside of the run" in lines["escaping"].why
    with pytest.raises(RubricaError, match="outside of the run"):
        RunPlaces(home, [place]).opened("escaping")


def test_a_run_made_in_bulk_is_explained_from_cases_of_its_place_alone(
    home: Path, object_server: tuple[Path, int], tmp_path: Path
) -> None:
    put_objects(object_server[1], "team/runs/cases", [cases(tmp_path)])
    judged(f"{TEAM}/inside", f"{TEAM}/cases/cases.jsonl", bulk=True)
    judged(f"{TEAM}/outside", cases(tmp_path, "private.jsonl"), bulk=True)
    places = RunPlaces(home, [TEAM])
    inside, outside = places.opened("inside"), places.opened("outside")
    assert [found.case for found in inside.records({("c3", 0)})] == ["c3"]
    assert CaseTexts(inside).of([("c3", 0)])["c3", 0].prompt == "Say 3."
    with pytest.raises(RubricaError, match=r"private.jsonl is not opened from here .*rubrica explain"):
        list(outside.records({("c3", 0)}))
    assert CaseTexts(outside).of([("c3", 0)]) == {}
    assert len(list(outside.rows())) == 12
    assert [found.case for found in StoredRun.open(f"{TEAM}/outside").records({("c3", 0)})] == ["c3"]  # on one's own


@contextmanager
def web_server(folder: Path) -> Iterator[int]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_run_on_a_web_server_opens_by_its_name(home: Path, object_server: tuple[Path, int], tmp_path: Path) -> None:
    judged(f"{TEAM}/published", cases(tmp_path))
    with web_server(object_server[0] / "team") as port:
        place = f"http://127.0.0.1:{port}/runs"
        places = RunPlaces(home, [place])
        assert places.lines() == []
        assert places.overview("published").line.evaluations == 12
        assert len(list(places.opened("published").rows())) == 12
        assert len(list(StoredRun.open(f"{place}/published").rows())) == 12
        with pytest.raises(MissingError):
            places.opened("unpublished")


def test_the_first_folder_that_is_named_is_where_runs_are_started() -> None:
    assert run_places([]) == (Path("runs"), ())
    assert run_places([TEAM]) == (Path("runs"), (TEAM,))
    assert run_places([TEAM, "mine", "theirs", "mine"]) == (Path("mine"), (TEAM, "theirs"))
    for wrong, said in (
        ("s3://bucket", "such as"),
        ("s3://bucket/*", "such as"),
        ("https://u:p@host/runs", "password"),
    ):
        with pytest.raises(InputError, match=said):
            run_places([wrong])
