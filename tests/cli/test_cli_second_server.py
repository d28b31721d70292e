"""A second `rubrica serve` on one SQLite file is refused; other commands work beside a server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli_runs import Cli

from rubrica.store.serving import sole_server


@pytest.mark.parametrize("command", ["serve", "gateway"])
def test_a_second_server_is_refused_and_keys_are_made_beside_the_first(cli: Cli, tmp_path: Path, command: str) -> None:
    place = str(tmp_path / "shared.db")
    with sole_server(place, command):
        refused = cli(command, "--port", "0", "--db", place)
        assert refused.exit_code != 0
        assert f"served already by the process {os.getpid()}" in " ".join(refused.stderr.split())
        made = cli("keys", "create", "--role", "admin", "--db", place)
        assert made.exit_code == 0
        assert made.stdout.startswith("rk_")


def test_a_limit_on_a_model_without_a_price_is_refused_before_anything_is_served(cli: Cli, tmp_path: Path) -> None:
    place = str(tmp_path / "mine.db")
    refused = cli("serve", "--db", place, "--judge", "http://10.0.0.5:8080/v1#m", "--usd-per-day", "2")
    assert refused.exit_code != 0
    assert "price unknown, so --usd-per-day cannot be kept" in " ".join(refused.stderr.split())


def test_a_key_is_made_with_what_it_may_spend(cli: Cli, tmp_path: Path) -> None:
    place = str(tmp_path / "mine.db")
    made = cli("keys", "create", "--role", "author", "--usd-per-day", "2.5", "--db", place, "--json")
    assert '"usd_per_day": 2.5' in made.stdout
    assert "2.5" in cli("keys", "list", "--db", place).stdout
