"""The lock files hold what pyproject.toml asks for, all of it, exactly, and nothing of the machine that wrote them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("core", "dev", "weights")
PYTHONS = ("3.11", "3.12", "3.13")
_ENTRY = re.compile(
    r"^(?P<name>[a-z0-9.-]+)==(?P<version>[^\s;]+)(?: ; (?P<marker>[^\\\n]+?))? \\\n(?P<hashes>(?: {4}--hash=.*\n)+)"
)


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    version: str
    marker: Marker | None

    def is_for(self, python: str) -> bool:
        here = {"python_version": python, "python_full_version": f"{python}.9", "sys_platform": "linux"}
        return self.marker is None or self.marker.evaluate(here)


def lock_text(lock: str) -> str:
    return (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")


def entries_of(lock: str) -> list[Entry]:
    found = []
    for match in re.finditer(_ENTRY.pattern, lock_text(lock), re.MULTILINE):
        marker = Marker(match["marker"]) if match["marker"] else None
        found.append(Entry(canonicalize_name(match["name"]), match["version"], marker))
    return found


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def asked_by(lock: str) -> Iterator[Requirement]:
    """What pyproject.toml asks for where this lock is installed."""
    data = project()
    extras: dict[str, list[str]] = data["project"]["optional-dependencies"]
    groups: dict[str, list[str]] = data["dependency-groups"]
    every_extra = [line for lines in extras.values() for line in lines]
    lines = {
        "core": [*data["project"]["dependencies"], *groups["build"], *data["build-system"]["requires"]],
        "dev": [*data["project"]["dependencies"], *groups["build"], *every_extra],
        "weights": groups["weights"],
    }[lock]
    yield from (each for each in map(Requirement, lines) if each.name != "rubrica")


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_satisfies_pyproject(lock: str, python: str) -> None:
    pinned = {entry.name: entry.version for entry in entries_of(lock) if entry.is_for(python)}
    for asked in asked_by(lock):
        version = pinned.get(canonicalize_name(asked.name))
        assert version is not None, f"requirements/{lock}.txt has no {asked.name}: run `make lock`"
        assert asked.specifier.contains(version, prereleases=True), f"{asked} is locked at {version}: run `make lock`"


def test_the_development_extra_has_every_other_extra() -> None:
    extras: dict[str, list[str]] = project()["project"]["optional-dependencies"]
    itself = next(each for each in map(Requirement, extras["dev"]) if each.name == "rubrica")
    assert itself.extras == set(extras) - {"dev"}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_dependency_has_an_upper_bound(lock: str) -> None:
    open_ended = [str(asked) for asked in asked_by(lock) if not any(each.operator == "<" for each in asked.specifier)]
    assert open_ended == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_a_hash(lock: str) -> None:
    pinned = re.findall(r"^[a-z0-9.-]+==", lock_text(lock), re.MULTILINE)
    assert pinned
    assert len(entries_of(lock)) == len(pinned)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_host_and_no_path(lock: str) -> None:
    assert not re.search(r"://|file:|@ |--(index-url|extra-index-url|find-links|trusted-host)|^-e|^/", lock_text(lock))


def test_the_demo_runs_on_the_versions_that_are_tested() -> None:
    tested = {(entry.name, entry.version) for entry in entries_of("dev")}
    assert [
        (entry.name, entry.version) for entry in entries_of("core") if (entry.name, entry.version) not in tested
    ] == []


@pytest.mark.parametrize("lock", ["core", "dev"])
def test_what_locked_packages_require_is_locked_too(lock: str) -> None:
    """Packages are installed one by one as locked, and nothing is resolved then."""
    names = {entry.name for entry in entries_of(lock)}
    missing = []
    for name in names:
        try:
            required = requires(name) or []
        except PackageNotFoundError:
            continue  # for another platform
        for line in required:
            needed = Requirement(line)
            here = needed.marker is None or needed.marker.evaluate({"extra": ""})
            if here and canonicalize_name(needed.name) not in names:
                missing.append(f"{name} requires {line}")
    assert missing == []


def test_make_installs_from_the_locks_alone() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    installing = [line for line in makefile.splitlines() if "pip install" in line]
    exact = [line for line in installing if "--no-deps" in line or re.search(r"'[a-z-]+==[\d.]+'$", line)]
    assert exact == installing
    assert "LOCKED := $(PIP) --require-hashes" in makefile
