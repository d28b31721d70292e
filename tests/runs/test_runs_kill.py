"""Runs that end in the middle: kill -9, Ctrl-C, a full disk, a provider that dies. Nothing is lost or done twice."""

from __future__ import annotations

import random
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest
from runs_judged import (
    JUDGE,
    KIND,
    by_case,
    cases,
    command,
    environment,
    finished,
    provided,
    score_of,
    stored_lines,
    timeless,
    write_cases,
)

from process_forks import Fork, start_fork
from rubrica.runs.stored import StoredRun

KILLS, CASES = 15, 300


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    file = tmp_path / "kind.yaml"
    file.write_text(KIND)
    return file


def wait_for(size: int, folder: Path, process: subprocess.Popen[str] | Fork) -> None:
    """Wait until so many bytes are stored, or the run is over."""
    file = folder / "evaluations.jsonl"
    while process.poll() is None and (file.stat().st_size if file.exists() else 0) < size:
        time.sleep(0.002)


@pytest.mark.slow
def test_a_run_killed_many_times_at_random_ends_as_if_it_had_not_been(tmp_path: Path, rubric: Path) -> None:
    dice = random.Random(20)  # noqa: S311 - moments, not secrets
    file, folder, straight = write_cases(tmp_path / "c.jsonl", cases(CASES)), tmp_path / "run", tmp_path / "straight"
    inside = 0
    with provided(latency=0.04) as server:
        env = environment(server, tmp_path)
        told = (file, "-r", rubric, "-J", JUDGE, "-j", "4")
        for _ in range(KILLS):
            process = start_fork("run", *told, "-o", folder, env=env)
            wait_for(sum(map(len, stored_lines(folder))) + dice.randint(0, 8_000), folder, process)
            time.sleep(dice.random() * 0.03)
            process.kill()
            kept = [line for line in stored_lines(folder) if line.endswith(b"\n")]
            assert len({timeless(line)["case"] for line in kept}) == len(kept)  # whole lines, no case twice
            inside += 0 < len(kept) < CASES
        assert inside >= KILLS // 2
        server.latency = 0.0
        code, said = finished(*told, "-o", folder, env=env)
        assert code == 0, said
        assert finished(*told, "-o", straight, env=env)[0] == 0
    assert "done before" in said
    assert by_case(folder) == by_case(straight)
    assert len(by_case(folder)) == CASES
    assert {row.case: row.score for row in StoredRun.open(folder).rows()} == {
        f"case-{n}": score_of(n) for n in range(CASES)
    }
    assert len(server.seen) <= 2 * CASES + KILLS * 4  # asked again is only what was under way


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path: Path, rubric: Path) -> None:
    file, folder = write_cases(tmp_path / "c.jsonl", cases(200)), tmp_path / "run"
    with provided(latency=0.02) as server:
        env = environment(server, tmp_path)
        told = (file, "-r", rubric, "-J", JUDGE, "-j", "4", "-o", folder)
        process = command(*told, env=env)
        wait_for(5_000, folder, process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        kept = len(stored_lines(folder))
        assert process.returncode == 130
        assert f"interrupted: {kept} judged in" in said
        assert "the same command goes on" in said
        assert 0 < kept < 200
        code, _ = finished(*told, env=env)
    assert code == 0
    assert len(by_case(folder)) == 200


def test_a_full_disk_stops_the_run_and_costs_nothing(tmp_path: Path, rubric: Path) -> None:
    file, folder = write_cases(tmp_path / "c.jsonl", cases(60)), tmp_path / "run"

    def nearly_full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    with provided() as server:
        env = environment(server, tmp_path)
        told = (file, "-r", rubric, "-J", JUDGE, "-o", folder)
        code, said = finished(*told, env=env, preexec_fn=nearly_full)
        kept = stored_lines(folder)
        assert code == 1
        assert "cannot be written" in said
        assert "the same command goes on" in said
        assert 0 < len(kept) < 60
        assert all(timeless(line)["verdict"] for line in kept)
        code, said = finished(*told, env=env)
    assert code == 0, said
    assert f"{len(kept)} evaluations done before" in said
    assert len(by_case(folder)) == 60
    assert len(server.seen) < 60 + 65  # what was under way when it stopped, and no more


def test_a_provider_that_dies_stops_the_run_and_its_cases_are_asked_again(tmp_path: Path, rubric: Path) -> None:
    file, folder = write_cases(tmp_path / "c.jsonl", cases(100)), tmp_path / "run"
    with provided(faults=[*[None] * 30, *["error"] * 10_000]) as server:
        env = environment(server, tmp_path)
        told = (file, "-r", rubric, "-J", JUDGE, "-j", "2", "-o", folder)
        code, said = finished(*told, env=env)
        kept = len(stored_lines(folder))
        assert code == 1
        assert "no model answered the last 20 cases" in said
        assert "the same command goes on" in said
        assert 28 <= kept <= 30
        server.faults = ()
        code, said = finished(*told, env=env)
    assert code == 0, said
    assert {one["verdict"] for one in by_case(folder).values()} == {"pass", "fail"}
    assert len(by_case(folder)) == 100


def test_a_second_process_in_the_folder_is_refused(tmp_path: Path, rubric: Path) -> None:
    file, folder = write_cases(tmp_path / "c.jsonl", cases(50)), tmp_path / "run"
    with provided(latency=1.0) as server:
        env = environment(server, tmp_path)
        told = (file, "-r", rubric, "-J", JUDGE, "-j", "2", "-o", folder)
        first = command(*told, env=env)
        wait_for(100, folder, first)
        code, said = finished(*told, env=env)
        assert code == 1
        assert re.search(rf"process \d+ is running in {folder}", said)
        first.kill()
        first.communicate()
        server.latency = 0.0
        assert finished(*told, env=env)[0] == 0
    assert len(by_case(folder)) == 50
