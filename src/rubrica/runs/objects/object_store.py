"""One object store, as this program uses it: list, read, write and delete, each tried again while that can help.

Credentials come from the environment, as each cloud names them: ``AWS_ACCESS_KEY_ID``, ``GOOGLE_SERVICE_ACCOUNT``,
``AZURE_STORAGE_ACCOUNT_NAME`` and so on; ``AWS_ENDPOINT_URL`` and ``AZURE_ENDPOINT`` name other servers that speak like
them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rubrica.errors import RubricaError
from rubrica.extras import requires

from .address import ObjectAddress

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ClientConfig, RetryConfig
    from obstore.store import ObjectStore as Store

PATIENCE = 60.0
"""Seconds for which a store that fails is asked again."""
_CHUNK = 8_000_000
_QUERY = re.compile(r"\?\S*")
_MOST_SAID = 300
_CREDENTIALS = {
    "s3": ", and at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL",
    "gs": ", and at GOOGLE_SERVICE_ACCOUNT or GOOGLE_APPLICATION_CREDENTIALS, the path of a key file",
    "az": ", and at AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY and AZURE_ENDPOINT",
}
_ENDPOINTS = {"s3": ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"), "az": ("AZURE_ENDPOINT", "AZURE_STORAGE_ENDPOINT")}
"""The variables that name another server, which may be one without encryption."""


class ObjectStoreError(RubricaError):
    """A store could not be reached, or refused; the message says which and why."""


class ObjectInfo(msgspec.Struct, frozen=True):
    """An object as its store lists it."""

    key: str
    size: int
    changed: datetime  # by the clock of the store
    tag: str  # another one when its content is another one


class ObjectStore:
    """A bucket, a container, or a web server."""

    def __init__(self, address: ObjectAddress, patience: float = PATIENCE) -> None:
        with requires("cloud", str(address)):
            import obstore
            from obstore.exceptions import BaseError
            from obstore.store import HTTPStore, from_url
        self.root = address.root
        self._way_out = f"look at the address and the network{_CREDENTIALS.get(address.scheme, '')}"
        self._api = obstore
        self._failures = (BaseError, OSError)
        plain = address.scheme == "http" or any(
            os.environ.get(name, "").startswith("http://") for name in _ENDPOINTS.get(address.scheme, ())
        )
        client: ClientConfig = {
            "allow_http": plain,
            "connect_timeout": timedelta(seconds=min(patience, 10)),
            "read_timeout": timedelta(seconds=30),
            "timeout": timedelta(hours=12),  # of a whole file, however large
        }
        again: RetryConfig = {
            "max_retries": 1_000,
            "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=5), "base": 2},
            "retry_timeout": timedelta(seconds=patience),
        }
        self._store: Store
        with self._told(address.root):
            if address.is_web:
                self._store = HTTPStore.from_url(address.root, client_options=client, retry_config=again)
            else:
                self._store = from_url(address.root, client_options=client, retry_config=again)

    def find(self, key: str) -> ObjectInfo | None:
        """What is known of one object; None where there is none."""
        try:
            with self._told(key):
                return _info(self._api.head(self._store, key))
        except FileNotFoundError:
            return None

    def listed(self, folder: str) -> Iterator[ObjectInfo]:
        """Every object under a folder, in no order."""
        with self._told(folder):
            for several in self._api.list(self._store, folder or None):
                yield from map(_info, several)

    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder, in order."""
        with self._told(folder):
            found = self._api.list_with_delimiter(self._store, folder or None)
        return sorted(one.rpartition("/")[2] for one in found["common_prefixes"])

    def read(self, key: str) -> bytes | None:
        """A small object, whole; None where there is none."""
        try:
            with self._told(key):
                return bytes(self._api.get(self._store, key).bytes())
        except FileNotFoundError:
            return None

    def read_range(self, key: str, start: int, end: int) -> tuple[bytes, ObjectInfo]:
        """Some bytes of an object, and what the whole of it was. A FileNotFoundError where there is none."""
        with self._told(key):
            found = self._api.get(self._store, key, options={"range": (start, end)})
            return bytes(found.bytes()), _info(found.meta)

    def copy_to(self, key: str, path: Path, *, adding: bool = False) -> ObjectInfo:
        """Write an object to a file, at its end with `adding`; what it was. A FileNotFoundError where there is none."""
        with self._told(key), path.open("ab" if adding else "wb") as stream:
            found = self._api.get(self._store, key)
            for block in found.stream(min_chunk_size=_CHUNK):
                stream.write(block)
            return _info(found.meta)

    def write(self, key: str, content: bytes | Path) -> None:
        """Write an object. It appears whole or not at all."""
        try:
            with self._told(key):
                self._api.put(self._store, key, content)
        except FileNotFoundError:
            raise ObjectStoreError(f"there is no {self.root}; make it first") from None

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that are gone already are no matter."""
        for key in keys:
            try:
                with self._told(key):
                    self._api.delete(self._store, key)
            except FileNotFoundError:
                continue

    @contextmanager
    def _told(self, key: str) -> Iterator[None]:
        """Whatever a store answers is told in one line, without signatures. What is not there stays a
        FileNotFoundError."""
        try:
            yield
        except FileNotFoundError:
            raise
        except self._failures as error:
            message = _QUERY.sub("", str(error).partition("Debug source")[0].strip().partition("\n")[0])[:_MOST_SAID]
            place = key if key.startswith(self.root) else f"{self.root}/{key}"
            why = f"there is no {self.root}" if "404 Not Found" in message else message or type(error).__name__
            raise ObjectStoreError(f"{place} cannot be reached: {why} ({self._way_out})") from None


def _info(found: ObjectMeta) -> ObjectInfo:
    size, changed = found["size"], found["last_modified"]
    tag = found["e_tag"] or found["version"] or changed.isoformat()
    return ObjectInfo(found["path"], size, changed, tag.removeprefix("W/").strip('"'))
