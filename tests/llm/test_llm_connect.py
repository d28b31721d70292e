"""From what a user writes to a model."""

from __future__ import annotations

import asyncio
import builtins
from pathlib import Path
from typing import Any

import pytest

from rubrica.errors import RubricaError
from rubrica.gateway.parts import GatewayModels, GatewayParts
from rubrica.gateway.settings import GatewaySettings
from rubrica.judges.jury import Jury
from rubrica.llm.budget import Budgeted
from rubrica.llm.cache import Cached, ReplyCache
from rubrica.llm.connect import check_keys, connect
from rubrica.llm.model import ChatMessage, ModelError, Request
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.provider_table import model_forms
from rubrica.llm.retry import RetryingModel
from rubrica.llm.scripted import ReplayModel, ScriptedModel
from rubrica.llm.settings import Settings, load_settings

ASK = Request((ChatMessage("user", "rate this"),))
KEYS = Settings(openai_key="sk-openai-0123456789", anthropic_key="sk-ant-0123456789", http_key="sk-http-0123456789")


@pytest.mark.parametrize("spec", ["", "gpt-4", "openai:", "anthropic:", "scripted:", "replay:", "cohere:x"])
def test_what_names_no_model_is_refused_with_the_forms(spec: str) -> None:
    with pytest.raises(RubricaError) as error:
        connect(spec, KEYS)
    assert all(form in str(error.value) for form in model_forms())


def test_a_server_without_a_model_is_refused_with_the_syntax() -> None:
    with pytest.raises(RubricaError, match=r"write http://localhost:8000/v1#MODEL"):
        connect("http://localhost:8000/v1", KEYS)


@pytest.mark.parametrize(("spec", "variable"), [("openai:m", "OPENAI_API_KEY"), ("anthropic:m", "ANTHROPIC_API_KEY")])
def test_a_missing_key_is_said_before_anything_is_sent(spec: str, variable: str) -> None:
    with pytest.raises(RubricaError, match=variable):
        connect(spec, Settings())


def test_a_server_of_ones_own_needs_no_key() -> None:
    settings = Settings(openai_base_url="http://localhost:1/v1")
    assert connect("openai:m", settings).name == "openai:m"
    assert connect("http://localhost:1/v1#m", settings).name == "http://localhost:1/v1#m"


def test_calls_to_one_model_with_one_key_share_their_gate() -> None:
    gates = ProviderLimits()

    def gate(spec: str, settings: Settings) -> Any:
        from rubrica.llm.http import HttpSession

        model = connect(spec, settings, session=HttpSession(), gates=gates)
        assert isinstance(model, Budgeted)
        assert isinstance(model.model, RetryingModel)
        return model.model.limit, model.model.breaker

    one = gate("openai:a", KEYS)
    assert gate("openai:a", KEYS) == one
    assert gate("openai:b", KEYS) != one  # that a model is down or limited says nothing about another
    assert gate("anthropic:a", KEYS) != one
    assert gate("openai:a", KEYS.model_copy(update={"openai_base_url": "http://localhost:1/v1"})) != one
    assert gate("openai:a", Settings(openai_key="sk-another-0123456789")) != one
    assert gate("http://localhost:1/v1#a", KEYS) == gate("http://localhost:1/v1#a", KEYS) != one


def test_settings_decide_attempts_deadline_and_concurrency() -> None:
    from rubrica.llm.http import HttpSession

    settings = KEYS.model_copy(update={"attempts": 2, "deadline": 9.0, "concurrency": 3})
    model = connect("openai:a", settings, session=HttpSession())
    assert isinstance(model, Budgeted)
    resilient = model.model
    assert isinstance(resilient, RetryingModel)
    assert (resilient.patience.attempts, resilient.patience.call_deadline) == (2, 9.0)
    assert (resilient.limit.most, resilient.limit.limit) == (3, 3)


def test_an_unreachable_server_is_told_and_the_session_closed() -> None:
    async def run() -> None:
        settings = Settings(attempts=1)
        model = connect("http://127.0.0.1:9/v1#m", settings)
        try:
            with pytest.raises(ModelError) as error:
                await model(ASK)
            assert error.value.trouble == "unreachable"
        finally:
            await model.close()

    asyncio.run(run())  # an open session would be a ResourceWarning, and so an error


def test_replies_of_servers_are_cached_and_those_of_scripts_are_not(tmp_path: Path) -> None:
    script = tmp_path / "s.jsonl"
    script.write_text('{"reply": "7"}')
    with ReplyCache(tmp_path / "c.sqlite") as cache:
        assert isinstance(connect("openai:a", KEYS, cache=cache), Cached)
        assert isinstance(connect(f"scripted:{script}", KEYS, cache=cache), ScriptedModel)
        tape = tmp_path / "t.jsonl"
        tape.write_text("")
        assert isinstance(connect(f"replay:{tape}", KEYS, cache=cache), ReplayModel)


@pytest.mark.parametrize(
    ("spec", "module", "remedy"),
    [
        ("openai:a", "rubrica.llm.openai", r"pip install 'rubrica\[judges\]'"),
        ("local:", "rubrica.llm.local", r"pip install 'rubrica\[local\]'"),
    ],
)
def test_a_missing_extra_is_named(spec: str, module: str, remedy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **more: Any) -> Any:
        if name == module:
            raise ModuleNotFoundError("No module", name="the-package")
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(RubricaError, match=f"the-package is missing .{remedy}"):
        connect(spec, KEYS)


def test_a_server_has_a_key_of_its_own_and_sees_no_other() -> None:
    settings = load_settings(
        {"RUBRICA_HTTP_KEY": "any-0123456789", "RUBRICA_HTTP_KEY_ONE_EXAMPLE_8000": "one-0123456789"},
        folder=Path("nowhere"),
        home=Path("nowhere"),
    )
    assert settings.key_of_address("http://one.example:8000/v1") == "one-0123456789"
    assert settings.key_of_address("http://one.example/v1") == "any-0123456789"
    assert settings.unused == ()
    assert "one-0123456789" not in repr(settings)
    check_keys(["http://one.example:8000/v1#m", "http://two.example/v1#m"], settings)


def test_one_key_for_several_servers_is_refused_wherever_models_are_named() -> None:
    names = ["http://one.example/v1#m", "http://two.example/v1#m"]
    settings = Settings.model_validate({"http_key": "any-0123456789"})
    with pytest.raises(RubricaError, match="RUBRICA_HTTP_KEY_ONE_EXAMPLE, RUBRICA_HTTP_KEY_TWO_EXAMPLE"):
        Jury(names, settings, cached=False)
    tiers = GatewaySettings(tier0=names[0], tier1=names[1])
    with pytest.raises(RubricaError, match="several servers"):
        GatewayParts.open(tiers, GatewayModels(settings))
    Jury([names[0], "http://one.example/v1#another"], settings, cached=False)
