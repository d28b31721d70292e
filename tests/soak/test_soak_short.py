"""The soak itself, for a few seconds: both processes serve under load, nothing is lost, and everything ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from soak_run import Soak, under_load


@pytest.mark.slow
def test_a_few_seconds_of_soak_find_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = [f"sqlite:///{tmp_path / name}.db" for name in ("server", "gateway")]
    soaking = under_load(Soak(seconds=4.0, kills=0), tmp_path, *places)
    assert asyncio.run(asyncio.wait_for(soaking, 240)) == []
    told = capsys.readouterr().out
    assert "server: answered 200" in told
    assert "gateway: answered 200" in told
    assert "records checked" in told
