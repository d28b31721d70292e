"""The reader of exchanges: what it reads of a prompt and a response, and what adapters change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rubrica.errors import StoredError
from rubrica.text import adapted_layers
from rubrica.text.adapted_layers import ADAPTED, FROZEN, Adapters, in_one, stored_adapters
from rubrica.text.exchange import Exchange
from rubrica.text.exchange_reader import FILE, PROMPT_TOKENS, RESPONSE_TOKENS, ExchangeReader, pair_tokens
from rubrica.text.minilm import LAYERS, WIDTH, MiniLm, layer_weights
from rubrica.text.sentence_model import sentence_model

found_model = sentence_model()
pytestmark = pytest.mark.skipif(found_model is None, reason="no sentence model is installed")

RANK = 2
ASKED = Exchange("What is the capital of France?", "Paris.")
EXCHANGES = [ASKED, Exchange("", "No."), Exchange("Tell me more. " * 30, "It rained, and then it did not. " * 40)]


@pytest.fixture(scope="module")
def model() -> MiniLm:
    assert found_model is not None
    return found_model


def adapters(model: MiniLm, changed: Adapters | None = None) -> Adapters:
    """Adapters that add nothing, with a head that tells the first number of the response, but for what is changed."""
    weight, bias = np.zeros((5, 2 * WIDTH), np.float16), np.zeros(5, np.float16)
    weight[0, WIDTH] = 1
    found = {"head.weight": weight, "head.bias": bias}
    for number in range(FROZEN, LAYERS):
        for name, each in layer_weights(model.weights, number).items():
            matrix = name.removesuffix(".weight")
            if matrix in ADAPTED:
                found[f"{number}.{matrix}.up"] = np.zeros((each.shape[0], RANK), np.float16)
                found[f"{number}.{matrix}.down"] = np.ones((RANK, each.shape[1]), np.float16)
    return found | dict(changed or {})


def test_adapters_that_add_nothing_leave_the_sentence_model_as_it_is(model: MiniLm) -> None:
    ids, parts = (np.array([each]) for each in pair_tokens(model, ASKED))
    hidden = model.read(ids, parts, np.zeros((1, 1, 1, ids.shape[1]), np.float32), LAYERS)
    expected = hidden[parts[0] == 1, 0].mean()
    assert ExchangeReader(model, [adapters(model)]).scores([ASKED])[0, 0] == pytest.approx(expected, abs=1e-4)


def test_an_adapter_adds_its_product_to_its_matrix(model: MiniLm) -> None:
    name = f"{LAYERS - 1}.output.dense"
    up = np.zeros((WIDTH, RANK), np.float16)
    up[0] = 0.01
    plain, changed = (
        ExchangeReader(model, [each]).scores([ASKED])[0, 0]
        for each in (adapters(model), adapters(model, {f"{name}.up": up}))
    )
    assert changed != pytest.approx(plain, abs=1e-3)
    bias = layer_weights(model.weights, LAYERS - 1)["output.LayerNorm.bias"] + 1
    moved = adapters(model, {f"{LAYERS - 1}.output.LayerNorm.bias": bias.astype(np.float16)})
    assert ExchangeReader(model, [moved]).scores([ASKED])[0, 0] == pytest.approx(plain + 1, abs=1e-2)


def test_a_reply_is_scored_by_the_kinds_it_is_of(model: MiniLm) -> None:
    head = np.zeros(5, np.float16)
    head[1:] = [3, -3, 2, -2]  # nearly all of the first kind, in which it is unsafe
    weight = np.zeros((5, 2 * WIDTH), np.float16)
    reader = ExchangeReader(model, [adapters(model, {"head.bias": head, "head.weight": weight})])
    share = 1 / (1 + np.exp(-6))
    assert reader.scores([ASKED])[0] == pytest.approx([0, 2 * share - 2 * (1 - share)], abs=1e-3)


def test_what_several_trainings_say_is_averaged(model: MiniLm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raised = [adapters(model, {"head.bias": np.array([bias, 0, 0, 0, 0], np.float16)}) for bias in (0, 1, 5)]
    np.savez(tmp_path / FILE, allow_pickle=False, **in_one(raised))
    monkeypatch.setattr(adapted_layers, "files", lambda _: tmp_path)
    one, several = (ExchangeReader(model, each).scores(EXCHANGES)[:, 0] for each in (raised[:1], stored_adapters(FILE)))
    assert several == pytest.approx(one + 2, abs=1e-3)


def test_an_exchange_has_the_same_scores_alone_and_among_others(model: MiniLm) -> None:
    reader = ExchangeReader(model, stored_adapters(FILE))
    together = reader.scores(EXCHANGES * 6)
    assert np.allclose(together, np.concatenate([reader.scores([each]) for each in EXCHANGES] * 6), atol=1e-4)
    assert reader.scores([]).shape == (0, 2)


def test_of_a_long_text_the_beginning_and_the_end_are_read(model: MiniLm) -> None:
    body = "one two three four five " * 200
    ids, parts = pair_tokens(model, Exchange(body, f"first {body} last"))
    assert [parts.count(0), parts.count(1)] == [PROMPT_TOKENS + 2, RESPONSE_TOKENS + 1]
    first, last = (model.pieces(word, 1)[0] for word in ("first", "last"))
    response = [each for each, part in zip(ids, parts, strict=True) if part == 1]
    assert response[0] == first
    assert response[-2] == last


def test_a_file_that_holds_no_adapters_is_told_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FILE).write_bytes(b"not a model")
    monkeypatch.setattr(adapted_layers, "files", lambda _: tmp_path)
    with pytest.raises(StoredError, match="train it again"):
        stored_adapters(FILE)
