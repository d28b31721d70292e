"""Lets the tests import `docs`, a package of the repository, and keeps the machine's own settings out of examples."""

import os
import sys
from pathlib import Path

import pytest
from docs_pages import ROOT

sys.path.insert(0, str(ROOT))


@pytest.fixture(autouse=True)
def home_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No settings and keys but the defaults, and nothing written to anybody's home folder."""
    for name in [name for name in os.environ if name.startswith(("RUBRICA_", "ANTHROPIC_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    return home
