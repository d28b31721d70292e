"""The long fuzzing run: ``make fuzz MINUTES=10`` tries every target with new examples until the time is over.

Each target runs in processes of its own, a while at a time, so that one that dies, hangs or fills the memory is a
finding like any other. What failed once is kept under .hypothesis/fuzz and tried first the next time. A finding is
printed with a command that repeats it; with any, the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from fuzz_target import Target, bounded, read_example, written
from fuzz_targets import TARGETS
from hypothesis import HealthCheck, given, seed, settings
from hypothesis.database import DirectoryBasedExampleDatabase

PLACE = Path(".hypothesis/fuzz").absolute()
ROUND = 50  # examples between two looks at the clock
SHORTEST, LONGEST = 5.0, 60.0  # seconds that a target is tried in one go
GRACE = 300.0  # seconds beyond its time after which a process is taken to hang
MOST_SHOWN = 4_000  # characters of a finding


@dataclass
class Tally:
    """What is known of one target."""

    examples: int = 0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--targets", default="", help="those to try, with commas between; else all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--example", type=Path, help="a file with one example, tried on the one target")
    parser.add_argument("--alone", type=float, metavar="SECONDS", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    wanted = [name.strip() for name in given.targets.split(",") if name.strip()]
    chosen = [target for target in TARGETS if not wanted or target.name in wanted]
    unknown = set(wanted) - {target.name for target in chosen}
    if unknown or not chosen:
        parser.error(f"no such target: {', '.join(sorted(unknown))}; there are {', '.join(t.name for t in TARGETS)}")
    if given.example is not None:
        return _repeat(chosen[0], read_example(given.example.read_text(encoding="utf-8")))
    if given.alone is not None:
        print(json.dumps(_tried(chosen[0], given.alone, given.seed)))
        return 0
    return _run(chosen, given.minutes * 60, given.jobs, given.seed)


# --- in a process of its own ------------------------------------------------------------------------------------------


def _tried(target: Target, seconds: float, first_seed: int) -> dict[str, Any]:
    """Try a target for a while: how many examples that were, and what failed, if anything."""
    last = _last_example(target)
    tried, started = 0, time.monotonic()
    found: dict[str, Any] | None = None
    with target.opened() as check:

        def holds(example: Any) -> None:
            nonlocal tried
            tried += 1
            last.write_text(written(example), encoding="utf-8")
            with bounded():
                check(example)

        for once_failed in target.begins_with:
            holds(once_failed)
        for number in count(first_seed):
            if time.monotonic() - started > seconds:
                break
            try:
                _one_round(target, holds, number)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is a finding
                found = {"error": _short(error), "example": last.read_text(encoding="utf-8")}
                break
    return {"examples": tried, "seconds": time.monotonic() - started, "found": found}


def _short(error: BaseException) -> str:
    """A traceback without its middle, where it is long."""
    told = "".join(traceback.format_exception(error))
    half = MOST_SHOWN // 2
    return told if len(told) <= MOST_SHOWN else f"{told[:half]}\n…\n{told[-half:]}"


def _one_round(target: Target, holds: Any, number: int) -> None:
    @settings(
        max_examples=ROUND,
        deadline=None,
        database=DirectoryBasedExampleDatabase(PLACE / "examples" / _file_name(target)),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @seed(number)
    @given(target.examples)
    def round_of_examples(example: Any) -> None:
        holds(example)

    round_of_examples()


def _repeat(target: Target, example: Any) -> int:
    with target.opened() as check, bounded():
        check(example)
    print(f"{target.name}: the example holds")
    return 0


def _file_name(target: Target) -> str:
    return target.name.replace(" ", "-")


def _last_example(target: Target) -> Path:
    path = PLACE / f"{_file_name(target)}.last"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


# --- over all of them -------------------------------------------------------------------------------------------------


def _run(targets: Sequence[Target], seconds: float, jobs: int, first_seed: int) -> int:
    tallies = {target.name: Tally() for target in targets}
    started = time.monotonic()
    each = min(max(seconds * jobs / len(targets) / 2, SHORTEST), LONGEST)
    print(f"fuzzing {len(targets)} targets for {seconds / 60:g} minutes, seed {first_seed}")
    with ThreadPoolExecutor(jobs) as pool:

        def turn(job: tuple[int, Target]) -> None:
            number, target = job
            left = seconds - (time.monotonic() - started)
            tally = tallies[target.name]
            if left > 1 and not tally.findings:
                _add(tally, target, _apart(target, min(each, left), first_seed + 1_000_003 * number))
                _show(target, tally, time.monotonic() - started)

        for turns in _turns(targets, lambda: time.monotonic() - started < seconds):
            list(pool.map(turn, turns))
    return _told(tallies)


def _turns(targets: Sequence[Target], goes_on: Any) -> Iterator[list[tuple[int, Target]]]:
    numbers = count(1)
    while goes_on():
        yield [(next(numbers), target) for target in targets]


def _apart(target: Target, seconds: float, number: int) -> dict[str, Any]:
    """Try a target in a process of its own; one that dies or hangs is a finding with the example it was at."""
    own = [sys.executable, __file__, "--targets", target.name, "--alone", str(seconds), "--seed", str(number)]
    try:
        ended = subprocess.run(own, capture_output=True, text=True, timeout=seconds + GRACE, check=False)
    except subprocess.TimeoutExpired:
        return _died(target, f"not done {GRACE:.0f} s after its time")
    if ended.returncode != 0:
        return _died(target, f"ended with exit code {ended.returncode}: {ended.stderr[-MOST_SHOWN:]}")
    result: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return result


def _died(target: Target, how: str) -> dict[str, Any]:
    last = _last_example(target)
    example = last.read_text(encoding="utf-8") if last.exists() else ""
    return {"examples": 0, "seconds": 0.0, "found": {"error": how, "example": example}}


def _add(tally: Tally, target: Target, result: dict[str, Any]) -> None:
    tally.examples += result["examples"]
    tally.seconds += result["seconds"]
    if result["found"] is not None:
        kept = PLACE / f"{_file_name(target)}.finding"
        kept.write_text(result["found"]["example"], encoding="utf-8")
        again = f"make fuzz TARGETS='{target.name}' EXAMPLE={kept}"
        told = result["found"]["example"][:MOST_SHOWN]
        tally.findings.append(f"{result['found']['error']}\nexample: {told}\nto repeat it: {again}")


def _show(target: Target, tally: Tally, elapsed: float) -> None:
    state = "FAILED" if tally.findings else "held"
    print(f"{elapsed:6.0f} s  {target.name:20} {tally.examples:8,} examples  {state}", flush=True)


def _told(tallies: dict[str, Tally]) -> int:
    """Print what was done; the exit code."""
    total = sum(tally.examples for tally in tallies.values())
    failed = {name: tally for name, tally in tallies.items() if tally.findings}
    untried = [name for name, tally in tallies.items() if not tally.examples and not tally.findings]
    for name, tally in failed.items():
        print(f"\n--- {name}\n{tally.findings[0]}")
    print(f"\n{total:,} examples on {len(tallies)} targets, {len(failed)} findings")
    if untried:
        print(f"no time was left for {', '.join(untried)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
