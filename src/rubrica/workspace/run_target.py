"""Where a run is made: a folder of this machine, or a place in an object store with the copy of it that is here."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rubrica.errors import BusyError, ConflictError, StoreError
from rubrica.files import FOLDER_MODE, make_private_folder
from rubrica.runs.files.manifest import Manifest, mark_ended, read_manifest
from rubrica.runs.mirror.claim import StorePace
from rubrica.runs.mirror.mirror import mirrored
from rubrica.runs.objects.address import store_address
from rubrica.runs.objects.object_store import ObjectStore, ObjectStoreError

from .run_folders import is_run_name

STARTED = ".started"
"""The folder beside the runs of a server that keeps what its runs in object stores are made by."""
LOG = logging.getLogger("rubrica.server")
PATIENCE = 5.0
"""Seconds for which a store that fails is asked again, while somebody waits for an answer."""


@dataclass(frozen=True, slots=True)
class RunTarget:
    """A run to be made, or to be gone on with."""

    folder: Path
    address: str = ""  # in an object store, whose copy the folder is; empty: the folder is all there is

    def make(self, manifest: Manifest) -> None:
        """Write what a run is made by: from now on the run is there, whatever happens to this process."""
        make_private_folder(self.folder.parent)
        try:
            with self._committed():
                if self.address and read_manifest(self.folder) is None:
                    make_private_folder(self.folder)
                else:
                    self.folder.mkdir(mode=FOLDER_MODE)
                manifest.write(self.folder)
        except FileExistsError:
            raise ConflictError(f"there is a run called {self.folder.name!r} already; choose another name") from None
        except OSError as error:
            raise StoreError(f"the folder of the run cannot be made: {error.strerror}") from None

    def discard(self) -> None:
        """Take back what `make` made."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.address:
            address = store_address(self.address)
            with _reaching_store():
                store = ObjectStore(address, PATIENCE)
                store.delete([info.key for info in store.listed(address.key)])

    def mark_ended(self, ending: Literal["stopped", "failed"], reason: str = "") -> None:
        """Write down how a run ended before its end."""
        with self._committed():
            mark_ended(self.folder, ending, reason)

    @contextmanager
    def _committed(self) -> Iterator[None]:
        """Whatever is written to the folder meanwhile lies in the store then, too."""
        if not self.address:
            yield
            return
        with _reaching_store(), mirrored(self.address, LOG.info, StorePace(patience=PATIENCE)):
            yield


def keep_started(runs: Path, manifest: Manifest) -> None:
    """Keep what a run in an object store is made by, where only the server writes."""
    folder = runs / STARTED / manifest.id
    make_private_folder(folder)
    manifest.write(folder)


def read_started(runs: Path, run_id: str) -> Manifest | None:
    """What a run in an object store is made by; None where it was not started here."""
    return read_manifest(runs / STARTED / run_id) if is_run_name(run_id) else None


@contextmanager
def _reaching_store() -> Iterator[None]:
    try:
        yield
    except ObjectStoreError as error:
        raise unreachable(error) from error


def unreachable(error: ObjectStoreError) -> BusyError:
    """What whoever looks for a run is told; where and why is for whoever runs the server."""
    LOG.warning("%s", error)
    return BusyError("the object store of some runs cannot be reached; try again in a while", own=False)
