"""Files and folders that only their owner reads: what was judged, what models replied, who may do what."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

LOG = logging.getLogger("rubrica")
FILE_MODE, FOLDER_MODE = 0o600, 0o700
OTHERS = 0o007
BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite puts beside a file. New ones get the mode of the file itself."""


def make_private_file(path: Path) -> None:
    """Make an empty file for its owner alone, whatever the umask; of one that is there, take away what others may do.

    A file that is there is not opened: closing it again would end the locks that SQLite holds on it. What its group may
    do is left as it is: somebody has chosen that.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
    except FileExistsError:
        for suffix in ("", *BESIDE):
            _shut(Path(f"{path}{suffix}"))


def make_private_folder(path: Path) -> None:
    """Make a folder for its owner alone, and those above it if need be; one that is there is left as it is."""
    path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)


def _shut(file: Path) -> None:
    with suppress(FileNotFoundError):
        mode = file.stat().st_mode
        if not (stat.S_ISREG(mode) and mode & OTHERS):
            return
        try:
            file.chmod(stat.S_IMODE(mode) & ~OTHERS)
        except PermissionError:
            LOG.warning("%s: everybody on this machine may read it, and it is not ours to change (chmod o= it)", file)
