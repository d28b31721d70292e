"""What the gateway reads out of a request, and what it leaves alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.errors import InputError
from rubrica.gateway.chat import Chat, ChatTurn, read_chat
from rubrica.gateway.grading import excerpt_of

ASKED = {"role": "user", "content": "What is it?"}
PNG = "data:image/png;base64,iVBORw0KGgo="


def chat(*messages: Any, **more: Any) -> Chat:
    return read_chat(json.dumps({"messages": messages or [ASKED], **more}).encode())


def part(url: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def test_the_question_is_the_last_user_message() -> None:
    found = chat(
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who won?"},
        {"role": "assistant", "content": "Nobody."},
        {"role": "user", "content": [{"type": "text", "text": "And"}, {"type": "text", "text": "why?"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    )
    assert found.question == "And\nwhy?"
    assert found.turns[0] == ChatTurn("system", "Be brief.")
    assert found.turns[-1] == ChatTurn("assistant", "")


def test_every_key_of_the_body_stays_as_it_came() -> None:
    body = {
        "model": "gpt-4",
        "messages": [{**ASKED, "name": "ann"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
        "response_format": {"type": "json_object"},
        "brand_new": {"nested": [1, 2.5, None]},
    }
    assert read_chat(json.dumps(body).encode()).body == body


def test_a_role_that_nobody_knows_reaches_the_model_but_not_the_grader() -> None:
    found = chat({"role": "function", "name": "f", "content": "7"}, ASKED)
    assert found.body["messages"][0]["role"] == "function"
    assert excerpt_of(found, "Seven.", 1_000).turns == ()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"messages": []}',
        b'{"messages": "hi"}',
        b'{"messages": [1]}',
        b'{"messages": [{"content": "hi"}]}',
        b'{"messages": [{"role": 1, "content": "hi"}]}',
        b'{"messages": [{"role": "user", "content": 7}]}',
        b'{"messages": [{"role": "user", "content": "hi"}], "stream": "yes"}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_request_is_refused_with_words(raw: bytes) -> None:
    with pytest.raises(InputError):
        read_chat(raw)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"n": 3}, "3 answers"),
        ({"audio": {"voice": "x"}}, "sound"),
        ({"modalities": ["text", "audio"]}, "sound"),
        ({"messages": [{"role": "system", "content": "hi"}]}, "no question"),
        ({"messages": [{"role": "user", "content": "  "}]}, "no question"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]}, "input_audio"),
        ({"messages": [{"role": "user", "content": [part("/etc/hosts"), {"type": "text", "text": "?"}]}]}, "address"),
        ({"messages": [{"role": "user", "content": [part("file:///x"), {"type": "text", "text": "?"}]}]}, "address"),
    ],
)
def test_what_no_grader_could_judge_says_why(more: dict[str, Any], why: str) -> None:
    found = read_chat(json.dumps({"messages": [ASKED], **more}).encode())
    assert why in found.ungradable


@pytest.mark.parametrize("more", [{"n": 1}, {"n": None}, {"modalities": None}, {"modalities": 7}, {"tools": []}, {}])
def test_a_plain_question_can_be_graded(more: dict[str, Any]) -> None:
    assert chat(**more).ungradable == ""


def test_images_of_the_whole_conversation_count() -> None:
    found = chat(
        {"role": "user", "content": [part(PNG), {"type": "text", "text": "What is that?"}]},
        {"role": "assistant", "content": "A cat."},
        {"role": "user", "content": "Which colour?"},
    )
    assert found.images == (PNG,)
    assert not found.ungradable


@pytest.mark.parametrize(
    ("options", "wanted"),
    [({"include_usage": True}, True), ({"include_usage": 1}, False), ({}, False), (None, False), ([], False)],
)
def test_token_counts_are_wanted_only_by_who_says_so(options: Any, wanted: bool) -> None:
    assert chat(stream_options=options).wants_usage is wanted


def test_only_texts_are_in_words() -> None:
    assert chat().in_words
    assert not chat({"role": "user", "content": [part(PNG)]}).in_words
    assert not chat({**ASKED, "name": "ann"}).in_words


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
odd_message = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool", "x"]) | anything,
        "content": st.text(max_size=9)
        | anything
        | st.lists(
            st.fixed_dictionaries(
                {}, optional={"type": st.sampled_from(["text", "image_url"]) | anything, "image_url": anything}
            ),
            max_size=2,
        ),
    },
)


@given(
    st.fixed_dictionaries(
        {"messages": st.lists(odd_message, max_size=3) | anything},
        optional={"n": anything, "modalities": anything, "stream_options": anything, "audio": anything},
    )
)
def test_whatever_is_sent_is_read_or_refused(body: dict[str, Any]) -> None:
    try:
        found = read_chat(json.dumps(body).encode())
    except InputError:
        return
    assert found.body == body
    assert isinstance(found.question, str)
    assert found.wants_usage in (True, False)
    assert found.in_words in (True, False)
