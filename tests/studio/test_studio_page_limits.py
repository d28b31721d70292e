"""Pages of the studio: bounded in number, freed when nobody comes, and each for its own visitor."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from datetime import UTC, datetime
from typing import Any

import pytest
from nicegui import Client, ui
from socketio.exceptions import ConnectionError as SocketError
from studio_server import Browsing, StudioServer, becomes, field_of, typed

from rubrica.store.keys import revoke_key
from rubrica.studio import page_limits, sockets

NEW = "/build/new?begin=judged"


def pages_of(visitor: Browsing) -> list[Client]:
    owner = str(visitor.issued.key.id)
    visits = [(page, page_limits.visit_of(page)) for page in Client.instances.values()]
    return [page for page, visit in visits if visit is not None and visit.owner == owner]


def test_pages_that_no_browser_connects_to_are_few_and_soon_gone(
    studio: StudioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = studio.visitor()
    assert {reply.status_code for reply in visitor.asked(["/build/new"] * 30)} == {200}
    assert 1 <= len(pages_of(visitor)) <= page_limits.MOST_UNCONNECTED
    gone = [weakref.ref(page) for page in pages_of(visitor)]
    monkeypatch.setattr(page_limits, "CONNECTS", 0.1)
    asyncio.run(becomes(lambda: not pages_of(visitor)))

    def freed() -> bool:
        gc.collect()
        return all(page() is None for page in gone)

    asyncio.run(becomes(freed))


def test_pages_are_counted_for_each_visitor(studio: StudioServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_limits, "PAGES_PER_MINUTE", 5)
    bot, person = studio.visitor(), studio.visitor()
    replies = bot.asked([*["/no/such/page"] * 5, *["/build/new"] * 5])
    assert [reply.status_code for reply in replies[:5]] == [404] * 5
    assert 429 in [reply.status_code for reply in replies[5:7]]
    assert int(next(reply for reply in replies if reply.status_code == 429).headers["Retry-After"]) >= 1
    assert person.ask("GET", "/build/new").status_code == 200


def test_a_connected_page_stays_while_others_request_many(
    studio: StudioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_limits, "MOST_UNCONNECTED", 3)
    monkeypatch.setattr(page_limits, "MOST_UNCONNECTED_OF_ALL", 4)
    person, bot = studio.visitor(), studio.visitor()

    async def story() -> None:
        page = person.page(NEW)
        async with person.connected(page.id) as socket:
            for visitor in (bot, person):
                visitor.asked(["/build/new"] * 6)
            assert Client.instances.get(page.id) is page
            await socket.emit("event", typed(page, "Title", "Still here"))
            await becomes(lambda: field_of(page, "Title").value == "Still here")

    asyncio.run(story())


def test_a_visitor_with_very_many_pages_is_asked_to_close_some(
    studio: StudioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_limits, "MOST_PAGES", 3)
    replies = studio.visitor().asked(["/build/new"] * 4)
    assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
    assert "Close some" in replies[-1].text


def test_a_page_takes_no_socket_of_another_visitor(studio: StudioServer) -> None:
    ann, eve = studio.visitor(), studio.visitor()

    async def story() -> None:
        page = ann.page(NEW)
        for page_id in (page.id, "", "none"):
            with pytest.raises(SocketError):
                async with eve.connected(page_id):
                    pass
        assert not page.has_socket_connection
        async with ann.connected(page.id):
            await becomes(lambda: page.has_socket_connection)

    asyncio.run(story())


def test_a_socket_speaks_for_its_own_page_only(studio: StudioServer) -> None:
    ann, eve = studio.visitor(), studio.visitor()

    async def story() -> None:
        hers, theirs = ann.page(NEW), eve.page(NEW)
        async with ann.connected(hers.id) as ann_socket, eve.connected(theirs.id) as eve_socket:
            before = field_of(hers, "Title").value
            await eve_socket.emit("event", typed(hers, "Title", "Written by Eve"))
            handshake = {"client_id": hers.id, "tab_id": "x", "document_id": "y"}
            assert await eve_socket.call("handshake", handshake) is False
            await eve_socket.emit("event", typed(theirs, "Title", "Mine"))
            await becomes(lambda: field_of(theirs, "Title").value == "Mine")  # what came before has been looked at
            assert field_of(hers, "Title").value == before
            await ann_socket.emit("event", typed(hers, "Title", "Hers"))
            await becomes(lambda: field_of(hers, "Title").value == "Hers")

    asyncio.run(story())


@pytest.mark.parametrize("end", ["sign out", "revoke"])
def test_an_open_page_ends_with_its_session(studio: StudioServer, end: str) -> None:
    visitor = studio.visitor()

    async def story() -> None:
        page = visitor.page(NEW)
        async with visitor.connected(page.id) as socket:
            sent: list[str] = []
            socket.on("open", lambda message: sent.append(message["path"]))
            await becomes(lambda: page.has_socket_connection)
            if end == "revoke":
                studio.write(revoke_key, visitor.issued.key.id, datetime.now(UTC))
            else:
                visitor.ask("POST", "/signout")
            await becomes(lambda: not socket.connected, 5)
            assert sent == ["/signin"]
        with pytest.raises(SocketError):
            async with visitor.connected(page.id):
                pass

    asyncio.run(story())


def test_messages_of_odd_shapes_change_nothing_and_break_nothing(
    studio: StudioServer, caplog: pytest.LogCaptureFixture
) -> None:
    visitor = studio.visitor()

    async def story() -> None:
        page = visitor.page(NEW)
        async with visitor.connected(page.id) as socket:
            good = typed(page, "Title", "Fine")
            wrong: dict[str, list[Any]] = {
                "id": [{"a": 1}, 2**62, "1"],
                "listener_id": ["none", [], None],
                "args": ["x", ["{"], [7], ["[" * 5000 + "]" * 5000]],
                "client_id": [["x"], None],
            }
            odd = [{**good, key: value} for key, values in wrong.items() for value in values]
            for message in (None, "text", [1], {}, *odd):
                await socket.emit("event", message)
            plain: list[Any] = [None, 7, {"client_id": page.id}, {"client_id": page.id, "level": "x", "message": "y"}]
            for name in ("ack", "log", "javascript_response", "handshake", "no_such"):
                for message in plain:
                    await socket.emit(name, message)
            await socket.emit("event", good)
            await becomes(lambda: field_of(page, "Title").value == "Fine")

    asyncio.run(story())
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_a_field_takes_only_text_and_only_so_much(studio: StudioServer) -> None:
    visitor = studio.visitor()

    async def story() -> None:
        page = visitor.page(NEW)
        async with visitor.connected(page.id) as socket:
            kept: list[str] = []
            socket.on("run_javascript", lambda message: kept.append(message["code"]))
            description = typed(page, "What good means here, in a sentence or two", "y" * 300_000)
            await socket.emit("event", {**typed(page, "Title", ""), "args": ['{"odd": [1]}']})
            await socket.emit("event", description)
            await becomes(lambda: any("yyyy" in code for code in kept))
            draft = next(code for code in kept if "yyyy" in code)
            assert "odd" not in draft
            assert draft.count("y") < 250_000
            await socket.emit("event", {**description, "args": ['"short"']})
            await becomes(lambda: any("short" in code for code in kept))

    asyncio.run(story())


def test_a_page_that_sends_messages_without_end_is_disconnected(
    studio: StudioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "MESSAGES_PER_MINUTE", 20)
    visitor = studio.visitor()

    async def story() -> None:
        page = visitor.page(NEW)
        async with visitor.connected(page.id) as socket:
            for _ in range(40):
                await socket.emit("ack", {"client_id": page.id, "next_message_id": 0})
            await becomes(lambda: not socket.connected)

    asyncio.run(story())


def test_a_visitor_has_so_many_sockets(studio: StudioServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "MOST_SOCKETS", 1)
    visitor, other = studio.visitor(), studio.visitor()

    async def story() -> None:
        pages = [visitor.page("/build/new") for _ in range(2)]
        async with visitor.connected(pages[0].id):
            with pytest.raises(SocketError):
                async with visitor.connected(pages[1].id):
                    pass
            async with other.connected(other.page("/build/new").id):
                pass
        await becomes(lambda: not pages[0].has_socket_connection)
        async with visitor.connected(pages[1].id):
            pass

    asyncio.run(story())


def test_a_file_is_uploaded_to_a_page_by_its_own_visitor_only(studio: StudioServer) -> None:
    ann, eve = studio.visitor(), studio.visitor()
    page = ann.page("/runs")
    element = next(one for one in page.elements.values() if isinstance(one, ui.upload))
    path = f"/_nicegui/client/{page.id}/upload/{element.id}"
    assert eve.ask("POST", path, files={"file": b"x"}).status_code == 404
    assert ann.ask("POST", path, files={"file": b"x"}).status_code != 404
