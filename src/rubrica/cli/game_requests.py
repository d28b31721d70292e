"""The games of a server as commands ask for them: by id or by name, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from rubrica.errors import RubricaError
from rubrica.hints import did_you_mean

from .game_tables import GameAnswer
from .remote import Remote, RemoteReply, remote

PAGE = 200
MOST_PAGES = 500


@contextmanager
def asking_games(server: str) -> Iterator[GameRequests]:
    with remote(server) as (there, runner):
        yield GameRequests(there, runner)


class GameRequests:
    """The games of a server, asked one request after the other."""

    def __init__(self, there: Remote, runner: asyncio.Runner) -> None:
        self._there, self._runner = there, runner

    def get(self, path: str) -> RemoteReply:
        return self._runner.run(self._there.get(path))

    def post(self, path: str, data: Any) -> RemoteReply:
        return self._runner.run(self._there.post(path, data))

    def patch(self, path: str, data: Any) -> RemoteReply:
        return self._runner.run(self._there.patch(path, data))

    def set(self, path: str, data: Any) -> RemoteReply:
        return self._runner.run(self._there.put(path, data))

    def delete(self, path: str) -> RemoteReply:
        return self._runner.run(self._there.delete(path))

    def pages(self, path: str, **asked: object) -> Iterator[Any]:
        """The items of a list, page by page."""
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            asked["limit"] = PAGE
            told = {**asked, **({} if cursor is None else {"cursor": cursor})}
            page = self.get(f"{path}?{urlencode(told)}").read(_Page)
            yield from page.items
            cursor = page.next
            if cursor is None:
                return

    def path(self, game: str) -> str:
        """The path of a game by its id or its name."""
        if is_id(game):
            return f"/api/games/{quote(game, safe='')}"
        known = [msgspec.convert(item, GameAnswer) for item in self.pages("/api/games")]
        found = [each for each in known if each.name == game]
        if not found:
            meant = did_you_mean(game, [each.name for each in known], "`rubrica games list` shows those you see")
            raise RubricaError(f"you see no game called {game!r} ({meant})")
        if len(found) > 1:
            raise RubricaError(f"several games are called {game!r}: {', '.join(each.id for each in found)}")
        return f"/api/games/{found[0].id}"


class _Page(msgspec.Struct, frozen=True):
    items: list[Any]
    next: str | None = None


def is_id(text: str) -> bool:
    """Whether a text is an id.

    >>> is_id("018f0000-0000-7000-8000-000000000000"), is_id("Moth night")
    (True, False)
    """
    return len(text) == 36 and text.count("-") == 4 and " " not in text
