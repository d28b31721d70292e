"""A chat completion request as the gateway sees it: passed on as it came, read only as far as routing needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubrica.errors import InputError, JsonError
from rubrica.jsontext import decode_json

SHOWN_ROLES = ("system", "developer", "user", "assistant", "tool")
"""Roles whose texts a grader is shown; messages of others only reach the model."""

READABLE_PARTS = ("text", "image_url", "refusal")
IMAGE_SCHEMES = ("https://", "http://", "data:image/")
"""Pictures that a grader may be sent. A path would be read on the gateway's own machine."""


MOST_MESSAGES, MOST_IMAGES = 5_000, 500
MOST_VALUES = 200_000
"""Values of a body: texts, numbers, lists and objects together."""

MOST_ASKED = {"n": 128, "max_tokens": 1_000_000, "max_completion_tokens": 1_000_000}
"""The largest number of answers and tokens that a request may ask for."""


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One message, as text."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Chat:
    """A request for a chat completion.

    >>> chat = read_chat(b'{"model": "gpt-4", "messages": [{"role": "user", "content": "What is 2 + 2?"}]}')
    >>> chat.question, chat.stream, chat.ungradable
    ('What is 2 + 2?', False, '')
    """

    body: dict[str, Any]  # as it came; every key that is not ours reaches the model
    turns: tuple[ChatTurn, ...]
    stream: bool
    images: tuple[str, ...] = ()  # URLs that the conversation shows
    ungradable: str = ""  # why no answer to it can be graded
    size: int = 0  # bytes of the body
    owner: str = ""  # whose it is: what is remembered of it is for them alone

    @property
    def question(self) -> str:
        """The text of the last user message."""
        return next((turn.text for turn in reversed(self.turns) if turn.role == "user"), "")

    @property
    def repeatable(self) -> bool:
        """Whether equal requests are meant to have equal answers."""
        return self.body.get("temperature") == 0

    @property
    def in_words(self) -> bool:
        """Whether its messages hold nothing but their text."""
        messages = self.body["messages"]
        return all(set(message) == {"role", "content"} and isinstance(message["content"], str) for message in messages)

    @property
    def wants_usage(self) -> bool:
        """Whether a stream shall end with its token counts."""
        options = self.body.get("stream_options")
        return isinstance(options, dict) and options.get("include_usage") is True


def read_chat(raw: bytes) -> Chat:
    """A request from its body; an InputError says what a client has to mend."""
    return chat_of(read_body(raw), len(raw))


def read_body(raw: bytes) -> dict[str, Any]:
    """The JSON object of a request, in any protocol; refused where it is none, or has too many values."""
    if len(raw) > MOST_VALUES and _values(raw) > MOST_VALUES:
        raise InputError(f"the body has more than {MOST_VALUES:,} values")
    try:
        body = decode_json(raw)
    except JsonError as error:
        raise InputError(f"the body is not JSON that can be read: {error}") from None
    if not isinstance(body, dict):
        raise InputError("the body is a JSON object")
    return body


def chat_of(body: dict[str, Any], size: int) -> Chat:
    """A request from its data; `size` is that of its body in bytes."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InputError("`messages` is a list of at least one message")
    if not isinstance(body.get("stream", False), bool | None):
        raise InputError("`stream` is true or false")
    _check_bounds(body, messages)
    turns = tuple(_turn(message, place) for place, message in enumerate(messages))
    images = tuple(_images(messages))
    if len(images) > MOST_IMAGES:
        raise InputError(f"there are {len(images):,} pictures; a request has {MOST_IMAGES:,} at most")
    return Chat(body, turns, body.get("stream") is True, images, _ungradable(body, turns, images), size)


def _values(raw: bytes) -> int:
    """The most values that a JSON text can hold. To count them takes a fiftieth of the time that making them does."""
    marks = (b",", b"[", b"{")
    most = sum(raw.count(mark) for mark in marks)
    if most <= MOST_VALUES:
        return most
    bare = _STRING.sub(b"", raw)
    return sum(bare.count(mark) for mark in marks)


def _check_bounds(body: Mapping[str, Any], messages: Sequence[object]) -> None:
    """Refuse what no model takes, before it costs time or money."""
    if len(messages) > MOST_MESSAGES:
        raise InputError(f"there are {len(messages):,} messages; a request has {MOST_MESSAGES:,} at most")
    parts = sum(
        len(content) for one in messages if isinstance(one, dict) and isinstance(content := one.get("content"), list)
    )
    if parts > MOST_MESSAGES:
        raise InputError(f"the messages have {parts:,} parts; a request has {MOST_MESSAGES:,} at most")
    for name, most in MOST_ASKED.items():
        value = body.get(name)
        if isinstance(value, int | float) and value > most:
            raise InputError(f"`{name}` is {value:,}; it is {most:,} at most")


def _turn(message: object, place: int) -> ChatTurn:
    if not isinstance(message, dict) or not isinstance(role := message.get("role"), str):
        raise InputError(f"messages[{place}] needs a role, such as {', '.join(SHOWN_ROLES)}")
    content = message.get("content")
    if content is None or isinstance(content, str):
        return ChatTurn(role, content or "")
    if not isinstance(content, list):
        raise InputError(f"messages[{place}].content is a text or a list of parts")
    return ChatTurn(role, "\n".join(_texts(content)))


def _texts(parts: Sequence[object]) -> list[str]:
    found = (part.get("text") for part in parts if isinstance(part, dict))
    return [text for text in found if isinstance(text, str)]


def _parts(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The parts of messages that are more than one text."""
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            yield from (part for part in content if isinstance(part, dict))


def _images(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for part in _parts(messages):
        image = part.get("image_url") if part.get("type") == "image_url" else None
        url = image.get("url") if isinstance(image, dict) else image
        if isinstance(url, str):
            yield url


def _ungradable(body: Mapping[str, Any], turns: Sequence[ChatTurn], images: Sequence[str]) -> str:
    """Why an answer could not be held against a question: there are several, or one of them is not in words."""
    if isinstance(body.get("n"), int) and body["n"] > 1:
        return f"{body['n']} answers were asked for at once"
    modalities = body.get("modalities")
    if body.get("audio") is not None or (isinstance(modalities, list) and "audio" in modalities):
        return "the answer is sound"
    unread = next((part["type"] for part in _parts(body["messages"]) if _unread(part)), None)
    if unread is not None:
        return f"the question holds {unread!r}, which a grader cannot read"
    if not all(url.lower().startswith(IMAGE_SCHEMES) for url in images):
        return "an image of the question is no web address"
    if not any(turn.role == "user" and turn.text.strip() for turn in turns):
        return "no question is asked in words"
    return ""


def _unread(part: Mapping[str, Any]) -> bool:
    return isinstance(kind := part.get("type"), str) and kind not in READABLE_PARTS
