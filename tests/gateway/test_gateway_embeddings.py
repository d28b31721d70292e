"""Embeddings through the gateway: one model, passed through, priced, budgeted and recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest
from gateway_stage import Scripted, provided, stage
from loopback import Loopback

from rubrica.errors import InputError, RubricaError
from rubrica.gateway.vectors import input_tokens

SMALL = "openai:text-embedding-3-small"
PATH = "/v1/embeddings"


def test_the_official_client_gets_its_vectors(tmp_path: Path) -> None:
    provider = Loopback()
    with provided(tmp_path, provider, embeddings=SMALL) as on, on.client() as client:
        raw = client.embeddings.with_raw_response.create(
            model="anything", input=["Paris", "Why?"], encoding_format="float", dimensions=2
        )
        found = raw.parse()
        assert [one.embedding for one in found.data] == [[5.0, 0.0], [4.0, 1.0]]
        assert found.usage.prompt_tokens == 20
        assert (raw.headers["x-sleipner-model"], raw.headers["x-sleipner-cost"]) == (SMALL, "0.0000004")
        record = on.record(raw.headers["x-sleipner-trace"])
        assert (record.tier, record.model, record.status, record.input_tokens) == ("embeddings", SMALL, 200, 20)
        assert record.total_usd == pytest.approx(4e-7)
        assert b'tier="embeddings"' in on.get("/metrics").body
    sent = provider.seen[-1].body
    assert (sent["model"], sent["dimensions"]) == ("text-embedding-3-small", 2)


def test_without_a_model_the_setting_is_named(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted()) as on, on.client() as client:
        with pytest.raises(openai.NotFoundError, match="embeddings: openai:") as missing:
            client.embeddings.create(model="any", input="Paris")
        assert missing.value.code == "not_found"


def test_a_budget_holds(tmp_path: Path) -> None:
    provider = Loopback()
    with provided(tmp_path, provider, embeddings=SMALL, budget={"usd_per_day": 1e-6}) as on:
        trace = f"00-{'ab' * 16}-{'cd' * 8}-01"
        assert on.post(PATH, {"input": "Paris"}, traceparent=trace).status == 200
        assert provider.seen[0].headers["traceparent"] == trace
        refused = on.post(PATH, {"input": "word " * 1000})
        assert (refused.status, refused.json["error"]["code"]) == (429, "insufficient_quota")
        assert on.record(refused).status == 429
    assert provider.requests == 1


def test_trouble_is_told_and_booked(tmp_path: Path) -> None:
    with provided(tmp_path, Loopback(faults=["error", "refused"]), embeddings=SMALL) as on:
        down = on.post(PATH, {"input": "Paris"})
        assert (down.status, down.json["error"]["type"]) == (503, "server_error")
        assert on.record(down).status == 503
        assert on.post(PATH, {"input": "Paris"}).status == 400


@pytest.mark.parametrize("given", [None, "", [], [""], [1, "a"], {"text": "a"}, [[]], ["a"] * 2049])
def test_inputs_that_are_none_are_refused(given: Any) -> None:
    with pytest.raises(InputError, match="input"):
        input_tokens({"input": given})


def test_a_model_of_another_protocol_is_refused_at_the_start(tmp_path: Path) -> None:
    with (
        pytest.raises(RubricaError, match="does not speak OpenAI's protocol"),
        provided(tmp_path, Loopback(), Loopback(), embeddings="anthropic:claude-haiku-4-5"),
    ):
        pass
