"""Prices from the bundled list, and token estimates."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.llm.model import Usage
from rubrica.llm.price import estimate_tokens, price

MILLION = 1_000_000


def test_input_and_output_tokens_have_their_own_prices() -> None:
    name = "anthropic:claude-haiku-4-5"
    read, written = price(name, Usage(input_tokens=MILLION)), price(name, Usage(output_tokens=MILLION))
    assert read is not None
    assert written is not None
    assert 0 < read < written
    assert price(name, Usage(MILLION, MILLION)) == pytest.approx(read + written)


def test_cached_tokens_are_cheaper() -> None:
    name = "openai:gpt-4o-mini"
    full, cached = price(name, Usage(MILLION)), price(name, Usage(MILLION, cached_input_tokens=MILLION))
    assert full is not None
    assert cached is not None
    assert 0 < cached < full


@pytest.mark.parametrize("tokens", [1_000, MILLION])  # by the rates, and by the list itself
def test_tokens_written_to_the_cache_cost_a_quarter_more_with_anthropic(tokens: int) -> None:
    name = "anthropic:claude-haiku-4-5"
    plain, written = price(name, Usage(tokens)), price(name, Usage(tokens, cache_write_tokens=tokens))
    assert plain is not None
    assert written is not None
    assert written == pytest.approx(1.25 * plain)
    half = Usage(tokens, cache_write_tokens=tokens // 2)
    assert price(name, half) == pytest.approx((plain + written) / 2)


@pytest.mark.parametrize(
    "name", ["openai:no-such-model", "nobody:gpt-4o-mini", "gpt-4o-mini", "http://localhost:8000/v1#qwen", "", ":"]
)
def test_an_unknown_price_is_unknown_and_not_zero(name: str) -> None:
    assert price(name, Usage(100, 100)) is None


def test_a_known_providers_url_has_its_prices() -> None:
    usage = Usage(1000, 1000)
    assert price("https://api.openai.com/v1#gpt-4o-mini", usage) == price("openai:gpt-4o-mini", usage)


@pytest.mark.parametrize("name", ["local:", "local:/models/a.gguf", "scripted:a.jsonl", "replay:b.jsonl"])
def test_nobody_bills_for_models_of_our_own(name: str) -> None:
    assert price(name, Usage(100, 100)) == 0.0


def test_a_provider_that_counts_more_cached_than_input_tokens_is_still_priced() -> None:
    assert price("openai:gpt-4o-mini", Usage(10, 5, cached_input_tokens=50)) is not None


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("word", 1, 1),
        ("The answer names the right capital, but gives no reason for it.", 12, 18),
        ("extraordinarily", 2, 4),
        ("3.14159265", 4, 8),
        ("这个回答是对的", 5, 9),
        ("\n\n\n    return x\n", 3, 6),
    ],
)
def test_token_estimates_are_near_what_tokenizers_count(text: str, least: int, most: int) -> None:
    assert least <= estimate_tokens(text) <= most


@given(st.text(max_size=300), st.text(max_size=300))
def test_two_texts_have_about_the_tokens_of_both(one: str, two: str) -> None:
    assert abs(estimate_tokens(f"{one}\n{two}") - estimate_tokens(one) - estimate_tokens(two)) <= 3


def test_connecting_does_not_load_the_price_list_or_a_client() -> None:
    code = (
        "import sys; from rubrica.llm.connect import connect; "
        "print([name for name in ('genai_prices', 'aiohttp', 'xllamacpp') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
