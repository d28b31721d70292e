"""What the policies say of versions and roles is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

import rubrica
from rubrica.workspace.access import Role

ROOT = Path(__file__).resolve().parents[2]


def test_the_package_and_its_metadata_have_the_same_version() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert data["project"]["version"] == rubrica.__version__


def test_the_changelog_begins_with_what_is_not_released() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased"


@pytest.mark.parametrize("role", get_args(Role))
def test_the_threat_model_says_what_each_role_may_do_at_worst(role: str) -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = re.findall(rf"^\| an? {role}\b[^|]*\| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    assert len(rows) == 1
    assert "Not:" in rows[0]
