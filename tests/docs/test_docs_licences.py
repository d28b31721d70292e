"""Every locked package is listed with its licence."""

from __future__ import annotations

import doctest
import re

from docs import licences

ROW = re.compile(
    r"^\| (?P<name>[a-z0-9-]+) \| (?P<version>\d\S*) \| (?P<licence>[^|]+) \| (?P<locks>[a-z, ]+) \|$", re.MULTILINE
)


def rows() -> list[re.Match[str]]:
    return list(ROW.finditer(licences.PAGE.read_text(encoding="utf-8")))


def test_every_locked_package_is_listed_with_its_version() -> None:
    listed = {(row["name"], row["version"]): row["locks"].split(", ") for row in rows()}
    wanted = {(pin.name, pin.version): locks for pin, locks in licences.locked().items()}
    assert listed == wanted, "run `make licences`"


def test_a_listed_licence_is_the_one_that_the_installed_package_names() -> None:
    told = {row["name"]: licences.installed_licence(row["name"]) for row in rows()}
    assert sum(licence is not None for licence in told.values()) > 100
    assert {row["name"]: row["licence"] for row in rows() if told[row["name"]] not in (None, row["licence"])} == {}


def test_every_listed_package_has_a_licence() -> None:
    assert [row["name"] for row in rows() if not row["licence"].strip() or row["licence"] == "None"] == []


def test_examples_in_the_docstrings_run() -> None:
    assert doctest.testmod(licences).failed == 0
