"""The studio of a test process: runs wait in its database for a worker, and some lie in an object store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from studio_server import StudioServer, studio_server

from databases import Server
from object_server import BUCKET, use_objects
from rubrica.server.settings import ServerSettings

FAR = f"s3://{BUCKET}/studio/runs"
"""Where runs lie that the studio shows beside its own."""


@pytest.fixture(scope="session")
def studio(
    postgres: Server,
    postgres_template: str,
    object_server: tuple[Path, int],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[StudioServer]:
    folder = tmp_path_factory.mktemp("studio")
    url = postgres.url(postgres.create(postgres_template))
    settings = ServerSettings(url, preload=False, runs=folder / "runs", more_runs=(FAR,), queued_runs=True, run_jobs=0)
    with pytest.MonkeyPatch.context() as patch:
        use_objects(patch, object_server[1])  # the store is known from now on
        with studio_server(settings) as running:
            yield running
