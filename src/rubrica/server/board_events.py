"""A leaderboard as a stream of server-sent events: the board whenever it changes, until no more rounds are taken."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from fastapi import Response
from starlette.types import Receive, Scope, Send

from rubrica.errors import RubricaError
from rubrica.games.live_boards import BoardNews, LiveBoards

from .event_stream import EVENTS, KEEP_ALIVE, STILL_THERE, event_block, stream_end, stream_part, stream_start
from .gateway.presence import ClientPresence
from .payloads import leaderboard_payload

Admit = Callable[[], Awaitable[bool]]
"""Whether whoever follows may still do so; a RubricaError says why not."""


class BoardEvents(Response):
    """The stream. It ends with the game, with the client, or when the client may not follow any more."""

    def __init__(
        self, boards: LiveBoards, game_id: UUID, admit: Admit, presence: ClientPresence, seen: str = ""
    ) -> None:
        super().__init__(media_type=EVENTS)
        self._boards, self._game_id, self._admit, self._presence = boards, game_id, admit, presence
        self._seen = seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as ASGI calls it
        await self._presence.attend(receive, self._tell(send))

    async def _tell(self, send: Send) -> None:
        await send(stream_start())
        seen = self._seen
        async with self._boards.watching(self._game_id) as live:
            while True:
                news = await live.after(seen, KEEP_ALIVE)
                try:
                    if not await self._admit():
                        break
                except RubricaError as error:  # such as a game that is private by now
                    await send(stream_part(event_block("error", {"detail": str(error)}, "last")))
                    break
                if news is None:
                    await send(stream_part(STILL_THERE))
                    continue
                seen = news.mark
                await send(stream_part(event_block("ended" if news.ended else "board", board_news(news), seen)))
                if news.ended:
                    break
        await send(stream_end())


def board_news(news: BoardNews) -> dict[str, object]:
    """What an event says."""
    board = {key: value for key, value in leaderboard_payload(news.board).items() if key not in ("own", "offset")}
    return {"game": news.name, "status": news.status, **board}
