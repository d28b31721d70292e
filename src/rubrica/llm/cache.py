"""Replies kept in a SQLite file, so that the same question to the same model is paid for once.

Calls are made straight from the event loop: a lookup takes about 10 µs and a store 60 µs in WAL mode, where handing
either to a thread takes 200 µs. A cache is a convenience: once open, whatever goes wrong with it costs a note, never
a reply.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from rubrica.errors import RubricaError
from rubrica.files import make_private_file, make_private_folder
from rubrica.jsontext import UNREADABLE
from rubrica.llm.model import Model, Reply, Request

_LOCK_WAIT = 0.25  # seconds to wait for another process that is writing
_OPEN_TRIES = 40  # SQLite does not wait by itself while another process creates the same file
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, model TEXT NOT NULL, reply BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
"""


class CacheError(RubricaError):
    """The cache file cannot be used at all."""


class CacheStats(msgspec.Struct, frozen=True):
    """What a cache holds and how often it helped."""

    entries: int
    bytes: int  # on disk, with the write-ahead log
    hits: int  # over the life of the file
    misses: int


def _open_database(path: Path) -> sqlite3.Connection:
    for tries_left in reversed(range(_OPEN_TRIES)):
        db = sqlite3.connect(path, timeout=_LOCK_WAIT, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")  # a power cut may lose the last replies, not the file
            db.executescript(_SCHEMA)
            return db
        except sqlite3.Error as error:
            db.close()
            if not (_is_lock(error) and tries_left):
                raise
            time.sleep(0.05)
    raise AssertionError("the last try returns or raises")


def _is_lock(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


class ReplyCache:
    """A file of replies by key. Several processes may use the same file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, ReplyCache(Path(folder) / "replies.sqlite") as cache:
    ...     cache.stats().entries
    0
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.notes: list[str] = []  # what went wrong since it was opened, each kind once
        self._lock = threading.Lock()
        self._hits = self._misses = 0
        self._impatient = False
        try:
            make_private_folder(self.path.parent)
            make_private_file(self.path)
            self._db = _open_database(self.path)
        except (OSError, sqlite3.Error) as error:
            raise CacheError(
                f"{self.path}: cannot be used as a reply cache: {error} "
                "(delete the file, choose another one with RUBRICA_CACHE, or go without: RUBRICA_CACHE=off)"
            ) from error

    def get(self, key: bytes) -> Reply | None:
        """The reply kept under a key, marked as cached."""
        try:
            with self._lock:
                row = self._db.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
            reply = None if row is None else msgspec.json.decode(row[0], type=Reply)
        except (sqlite3.Error, *UNREADABLE) as error:
            self._note("reading", error)
            reply = None
        if reply is None:
            self._misses += 1
            return None
        self._hits += 1
        return msgspec.structs.replace(reply, cached=True)

    def put(self, key: bytes, model: str, reply: Reply) -> bool:
        """Keep a complete reply. Refused, truncated and odd ones are not kept; says whether it was."""
        if reply.stop != "end" or reply.cached:
            return False
        try:
            row = (key, model, msgspec.json.encode(reply))
        except UnicodeEncodeError as error:  # half a surrogate pair in the text
            self._note("writing", error)
            return False
        return self._write("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", row)

    def forget(self, key: bytes) -> None:
        """Drop one reply, such as one that nobody could read."""
        self._write("DELETE FROM replies WHERE key = ?", (key,))

    def stats(self) -> CacheStats:
        try:
            with self._lock:
                (entries,) = self._db.execute("SELECT count(*) FROM replies").fetchone()
                counts = dict(self._db.execute("SELECT name, count FROM counts").fetchall())
        except sqlite3.Error as error:
            raise CacheError(f"{self.path}: cannot be read: {error} (delete the file to start anew)") from error
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        size = sum(file.stat().st_size for file in files if file.exists())
        hits = counts.get("hits", 0) + self._hits
        return CacheStats(entries, size, hits, counts.get("misses", 0) + self._misses)

    def clear(self) -> int:
        """Drop every reply and give the space back; how many there were."""
        try:
            with self._lock:
                count = self._db.execute("DELETE FROM replies").rowcount
                self._db.execute("DELETE FROM counts")
                self._db.execute("VACUUM")
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise CacheError(f"{self.path}: cannot be cleared: {error} (try again, or delete the file)") from error
        self._hits = self._misses = 0
        return int(count)

    def close(self) -> None:
        """Add this object's hits and misses to the file's and close it. Closing twice is fine."""
        for name, count in (("hits", self._hits), ("misses", self._misses)):
            if count:
                self._write(
                    "INSERT INTO counts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET count = count + excluded.count",
                    (name, count),
                )
        self._hits = self._misses = 0
        self._db.close()

    def __enter__(self) -> ReplyCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, statement: str, values: tuple[Any, ...]) -> bool:
        try:
            with self._lock:
                self._db.execute(statement, values)
                if self._impatient:
                    self._wait_for_locks(_LOCK_WAIT)
        except sqlite3.Error as error:
            self._note("writing", error)
            if _is_lock(error):  # whoever holds it holds it long: do not stop the event loop for every reply
                self._wait_for_locks(0.0)
            return False
        return True

    def _wait_for_locks(self, seconds: float) -> None:
        self._impatient = seconds == 0.0
        self._db.execute(f"PRAGMA busy_timeout={round(seconds * 1000)}")

    def _note(self, doing: str, error: Exception) -> None:
        note = f"{self.path}: reply cache not used while {doing}: {error}"
        if note not in self.notes:
            self.notes.append(note)


def reply_key(model: str, request: Request, *, salt: str = "", repeat: int = 0) -> bytes:
    """A SHA-256 over everything a reply depends on.

    Image files count by content, not by name. The order of a schema's fields counts: models write them in that order.

    >>> from rubrica.llm.model import ChatMessage
    >>> ask = Request((ChatMessage("user", "hello"),))
    >>> reply_key("openai:a", ask) == reply_key("openai:a", ask, repeat=1)
    False
    """
    images = [_digest(image) for message in request.messages for image in message.images]
    parts = (model, request, salt, repeat, images)
    try:
        text = msgspec.json.encode(parts, enc_hook=_plain)
    except UnicodeEncodeError:  # half a surrogate pair: only escapes can carry it
        text = json.dumps(msgspec.to_builtins(parts, enc_hook=_plain)).encode()
    return hashlib.sha256(text).digest()


def _digest(image: str) -> str:
    if image.startswith(("http://", "https://", "data:")):
        return ""  # the URL itself is part of the request
    try:
        return hashlib.sha256(Path(image).read_bytes()).hexdigest()
    except OSError:
        return "unreadable"  # the model will say so


def _plain(value: object) -> object:
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise NotImplementedError(f"a request cannot hold a {type(value).__name__}")


class Cached:
    """A Model that asks only what it has no reply to. `identity` tells apart servers that share a model name.

    A reply from the cache has `cached` set; its tokens and duration are those of the day it was made.
    """

    __slots__ = ("_cache", "_identity", "_model")

    def __init__(self, model: Model, cache: ReplyCache, *, identity: str = "") -> None:
        self._model = model
        self._cache = cache
        self._identity = identity or model.name

    @property
    def name(self) -> str:
        return self._model.name

    async def __call__(self, request: Request) -> Reply:
        return await self.ask(request)

    async def ask(self, request: Request, *, salt: str = "", repeat: int = 0) -> Reply:
        """The reply to a request. `salt` is what else it stands for: the dimension's definition, the prompt's hash."""
        key = reply_key(self._identity, request, salt=salt, repeat=repeat)
        kept = self._cache.get(key)
        if kept is not None:
            return kept
        reply = await self._model(request)
        self._cache.put(key, self.name, reply)
        return reply

    def forget(self, request: Request, *, salt: str = "", repeat: int = 0) -> None:
        """Drop the reply to a request, so that it is asked anew: for replies that could not be read."""
        self._cache.forget(reply_key(self._identity, request, salt=salt, repeat=repeat))

    async def close(self) -> None:
        """Close the model. The cache belongs to whoever opened it."""
        await self._model.close()
