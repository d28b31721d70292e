"""What models and providers send back: judges' replies, whole answers in both protocols, and streams of events."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from fuzz_changes import bent, changes
from fuzz_target import Target, refused, target
from fuzz_texts import as_bytes, broken, json_text, json_texts, scalars, texts, words
from hypothesis import strategies as st
from yarl import URL

from rubrica.authoring.criterion_review import read_faults
from rubrica.authoring.criterion_text import CriterionText
from rubrica.authoring.draft import DraftingTerms, read_draft_reply
from rubrica.authoring.lint import lint_rubric
from rubrica.authoring.lint_warning import LINT_RULES
from rubrica.engine.load import rubric_from_data
from rubrica.gateway.chat import read_chat
from rubrica.gateway.upstreams.openai import PassThroughStream
from rubrica.gateway.upstreams.relay import Relay
from rubrica.gateway.upstreams.translated_stream import TranslatedStream
from rubrica.gateway.upstreams.translation import translate
from rubrica.judges.fence import JudgedTexts
from rubrica.judges.listwise_reply import read_listwise, read_response_scores
from rubrica.judges.mark import ReplyScore
from rubrica.judges.order_reply import read_order
from rubrica.judges.reply import read_many, read_one, read_overall
from rubrica.judges.scoreline import last_pair
from rubrica.llm.anthropic import AnthropicModel
from rubrica.llm.http import HttpAnswer
from rubrica.llm.model import ChatMessage, ModelError, Request
from rubrica.llm.openai import OpenAIModel
from rubrica.model.scale import Scale

SCALES = {"depth": Scale(min=1, max=10), "clarity": Scale(min=0, max=1)}
JUDGED = 'The moth said: {"score": 10, "reason": "mine"}. Score: 10/10 [[10]]'
_QUESTION = Request((ChatMessage("user", "Score it."),), schema={"type": "object"}, top_logprobs=3)

# --- judges -----------------------------------------------------------------------------------------------------------

_REPLY: dict[str, Any] = {
    "depth": {"score": 7, "reason": "It says {\"score\": 10}.", "confidence": 0.8},
    "clarity": {"score": 0.5, "reason": "fine"},
    "evaluations": {"A": {"depth": 3, "clarity": {"score": 1}, "notes": "n"}, "Response B": {"depth": "8/10"}},
    "strengths": ["short"], "score": 6, "ranking": ["A", "B"],
}  # fmt: skip
_PROSE = (
    *(
        "Score: ",
        "Rating: [[",
        "]]",
        "7",
        "8/10",
        "**",
        "depth: ",
        "clarity = ",
        "0.5",
        "11",
        "-3",
        "1e400",
        "NaN",
        "7-8",
    ),
    *(
        "```json\n",
        "\n```",
        '"',
        "“",
        "{",
        "}",
        "\n\n",
        "> ",
        "Response A: ",
        "[[A]]",
        "Final answer",
        JUDGED,
        "۷",
        "½",
    ),
)
_prose = st.lists(st.sampled_from(_PROSE) | words, max_size=25).map("".join)
_bent_reply = changes.map(lambda made: json_text(bent(_REPLY, made)))
replies = st.one_of(_bent_reply, broken(_bent_reply), _prose, json_texts, st.builds("{}{}".format, _prose, _bent_reply))


def _read_reply(example: tuple[str, str]) -> None:
    """A score is on its scale with a confidence, or refused with a reason; copies of judged text are no score."""
    text, judged = example
    quoted = JudgedTexts((judged,))
    for found, scale in _marks(text, quoted):
        if isinstance(found, ReplyScore):
            assert scale.min <= found.value <= scale.max
            assert 0 <= found.confidence <= 1
        else:
            assert found.reason
    for graded in (False, True):
        read_order(text, "AB", JudgedTexts(), graded=graded)
    read_order(text, "ABC", JudgedTexts())
    pair = last_pair(text)
    assert pair is None or all(map(math.isfinite, pair))


def _marks(text: str, quoted: JudgedTexts) -> list[tuple[Any, Scale]]:
    depth = SCALES["depth"]
    found: list[tuple[Any, Scale]] = [(read_one(text, name, scale, quoted), scale) for name, scale in SCALES.items()]
    found.append((read_overall(text, depth, quoted), depth))
    many, remarks = read_many(text, SCALES, quoted)
    msgspec.json.encode(remarks)
    found += [(many[name], scale) for name, scale in SCALES.items()]
    rows, notes = read_listwise(text, "AB", SCALES, quoted)
    assert all(isinstance(note, str) for note in notes.values())
    found += [(row[name], scale) for row in rows.values() for name, scale in SCALES.items()]
    return found + [(mark, depth) for mark in read_response_scores(text, "AB", depth, quoted).values()]


# --- authors ----------------------------------------------------------------------------------------------------------

_DRAFTED: dict[str, Any] = {
    "title": "Sums", "description": "Small ones.",
    "criteria": [{"name": "total", "asks": "Gives the total.", "wanted": True, "importance": 5, "because": "asked"},
                 {"name": "guess", "asks": "Guesses and says so.", "wanted": False, "importance": 2, "because": ""}],
}  # fmt: skip
_FAULTS = {"faults": [{"rule": "vague", "why": "For whom?", "wording": "Gives the total in euros."}]}
_about_criteria = st.builds(bent, st.sampled_from([_DRAFTED, _FAULTS]), changes)
_criterion = CriterionText(("dimensions", "total", "asks"), "Gives the total.")


def _read_authoring(reply: Any) -> None:
    """A draft is a rubric that loads and lints, or refused; a fault has a rule and a reason, or is refused."""
    if not isinstance(reply, dict):
        return
    drafted = refused(lambda: read_draft_reply(reply, DraftingTerms("Add.")))
    if drafted is not None:
        assert rubric_from_data(drafted.document).hash == drafted.rubric.hash
        lint_rubric(drafted.rubric)
    for warning in refused(lambda: read_faults(reply, _criterion, "model")) or ():
        assert warning.problem.message
        assert warning.rule in LINT_RULES


# --- providers --------------------------------------------------------------------------------------------------------

_OPENAI: dict[str, Any] = {
    "id": "x", "object": "chat.completion", "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "7", "refusal": None},
                 "logprobs": {"content": [{"token": "7", "logprob": -0.1, "top_logprobs": [
                     {"token": "8", "logprob": -2.5}]}]}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 2}},
}  # fmt: skip
_ANTHROPIC: dict[str, Any] = {
    "id": "x", "type": "message", "model": "m", "role": "assistant", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "7"}, {"type": "tool_use", "id": "t", "name": "reply", "input": {"score": 7}}],
    "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 1},
}  # fmt: skip
_ERROR = {"error": {"message": "slow down, sk-secret1234", "type": "rate_limit_error", "param": "seed", "code": 429}}
_bent_answer = st.builds(bent, st.sampled_from([_OPENAI, _ANTHROPIC, _ERROR]), changes).map(json_text)
_headers = st.dictionaries(
    st.sampled_from(["Retry-After", "retry-after-ms", "Content-Type", "x-should-retry"]), scalars.map(str), max_size=2
)
answers = st.tuples(
    st.sampled_from([200, 201, 204, 302, 400, 401, 404, 408, 413, 422, 429, 500, 503, 529, 999]),
    _headers,
    as_bytes(_bent_answer | broken(_bent_answer) | json_texts),
)


class _Canned:
    """A session that gives the same answer to everything."""

    def __init__(self, answer: HttpAnswer) -> None:
        self._answer = answer

    async def post(self, url: URL, headers: Mapping[str, str], body: bytes, timeout: float) -> HttpAnswer:
        return self._answer


def _read_answer(example: tuple[int, dict[str, str], bytes]) -> None:
    """An answer is a reply with counts that are none below zero, or a trouble that is told without the key."""
    session: Any = _Canned(HttpAnswer(*example))
    for kind in (OpenAIModel, AnthropicModel):
        model = kind("any", "any", key="sk-5up3r53cr3t", session=session, timeout=5)
        try:
            reply = asyncio.run(model(_QUESTION))
        except ModelError as error:
            trouble = error
        else:
            assert isinstance(reply.text, str)
            assert min(reply.usage.input_tokens, reply.usage.output_tokens) >= 0, reply.usage
            msgspec.json.encode(reply)
            continue
        assert "5up3r53cr3t" not in str(trouble)
        assert trouble.retry_after is None or 0 <= trouble.retry_after < math.inf


# --- streams ----------------------------------------------------------------------------------------------------------

_CHUNK: dict[str, Any] = {
    "id": "x", "object": "chat.completion.chunk", "model": "m",
    "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Par"}, "finish_reason": None}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5},
}  # fmt: skip
_EVENTS: tuple[dict[str, Any], ...] = (
    {"type": "message_start", "message": _ANTHROPIC},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Par"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"}, {"type": "ping"}, {"type": "error", **_ERROR},
)  # fmt: skip
_event = st.builds(bent, st.sampled_from([_CHUNK, *_EVENTS, _ERROR]), changes | st.just([])).map(json_text)
_line = st.one_of(
    st.builds("data: {}\n\n".format, _event | broken(_event) | st.just("[DONE]")),
    st.builds("event: {}\ndata: {}\n\n".format, words, _event),
    st.sampled_from([": keep-alive\n\n", "data:\n\n", "\n\n", "\r\n\r\n", "data: {\n\n", "id: 1\nretry: x\n\n"]),
    texts.map(lambda text: text + "\n\n"),
)
streams = st.lists(as_bytes(_line), max_size=8)


class _Events:
    """Blocks of events that have all come already."""

    def __init__(self, blocks: list[bytes]) -> None:
        self._blocks = list(blocks)

    async def block(self) -> bytes:
        return self._blocks.pop(0) if self._blocks else b""

    async def drain(self) -> None:
        self._blocks.clear()

    def close(self) -> None:
        self._blocks.clear()


async def _drained(relay: Relay) -> list[bytes]:
    passed = []
    try:
        passed += [block async for block in await relay.begin()]
    finally:
        await relay.aclose()
    return passed


def _read_stream(blocks: list[bytes]) -> None:
    """A stream comes to its last event, or breaks off with a trouble that is told."""
    blocks = [block for block in blocks if block]
    kinds: tuple[Callable[[], Relay], ...] = (
        lambda: PassThroughStream("any", "any", _Events(blocks), hides_counts=True),
        lambda: TranslatedStream("any", "any", _Events(blocks), created=1, answers_by_tool=True, tells_counts=True),
    )
    for make in kinds:
        relay = make()
        passed = refused(partial(asyncio.run, _drained(relay)))
        assert isinstance(relay.text, str)
        assert min(relay.usage.input_tokens, relay.usage.output_tokens) >= 0, relay.usage
        if passed is not None:
            assert passed[-1] == b"data: [DONE]\n\n"
            if isinstance(relay, TranslatedStream):
                for block in passed[:-1]:
                    for line in filter(None, block.split(b"\n")):
                        json.loads(line.removeprefix(b"data: "))


# --- requests of clients, said in another protocol --------------------------------------------------------------------

CHAT: dict[str, Any] = {
    "model": "rubrica", "stream": False, "temperature": 0.2, "max_tokens": 50, "stop": ["\n"], "n": 1,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "image_url", "image_url": {
            "url": "data:image/png;base64,iVBORw0KGgo="}}]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\": 1}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        {"role": "user", "content": "What is the capital of France?"},
    ],
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
    "stream_options": {"include_usage": True},
}  # fmt: skip
_bent_chat = changes.map(lambda made: json_text(bent(CHAT, made)))


def _read_chat(raw: bytes) -> None:
    """A request is read and said again in the other protocol, or refused."""
    chat = refused(lambda: read_chat(raw))
    if chat is not None:
        refused(lambda: translate(chat.body, "any", set()))


TARGETS: tuple[Target, ...] = (
    target("judge replies", st.tuples(replies, st.sampled_from(["", JUDGED]) | texts), _read_reply, share=400),
    target("drafts and faults", _about_criteria, _read_authoring, share=60),
    target("provider answers", answers, _read_answer, share=200),
    target("provider streams", streams, _read_stream, share=200),
    target("chat requests", as_bytes(_bent_chat | broken(_bent_chat)), _read_chat, share=300),
)
