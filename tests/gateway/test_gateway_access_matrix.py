"""Who may do what at the gateway: every row of the access table, as every caller."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gateway_stage import Scripted, Staged, stage

from access_table import CALLERS, GATEWAY, Row
from rubrica.workspace.access import Role

ROLES: dict[str, Role] = {
    "viewer": "viewer", "player": "player", "author": "author", "other": "author", "admin": "admin",
}  # fmt: skip
Asked = tuple[Staged, dict[str, dict[str, str]]]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A gateway with keys, and the headers that every caller sends."""
    with stage(tmp_path_factory.mktemp("gateway"), Scripted()) as on:
        keys = {caller: on.key(role=role, user=f"the {caller}", per_minute=100_000) for caller, role in ROLES.items()}
        yield on, {"nobody": {}, **{caller: {"Authorization": f"Bearer {key}"} for caller, key in keys.items()}}


@pytest.mark.parametrize("row", GATEWAY, ids=lambda row: f"{row.method} {row.path}")
def test_a_path_of_the_gateway_answers_each_caller_as_they_may(asked: Asked, row: Row) -> None:
    on, headers = asked
    path = row.path
    for name, value in row.things.items():
        path = path.replace(f"{{{name}}}", value)
    statuses = {caller: on.run(on.send(row.method, path, row.body, headers[caller])).status for caller in CALLERS}
    assert statuses == dict(zip(CALLERS, map(int, row.statuses.split()), strict=True))
