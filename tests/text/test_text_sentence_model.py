"""The sentence model: nearness in meaning, the same for a text alone and among others."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrica.text.minilm import TOKENS, MiniLm
from rubrica.text.sentence_model import PACKAGE, sentence_model, similarity


@pytest.fixture(scope="module")
def model() -> MiniLm:
    found = sentence_model()
    assert isinstance(found, MiniLm)
    return found


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("How old are you?", "What is your age?", "The train leaves from platform nine."),
        ("My dog passed away last night.", "I lost my pet yesterday.", "How do I sort a list in Python?"),
        ("Solve 3x + 4 = 19 for x.", "Find the unknown in a linear equation.", "Bake the bread for forty minutes."),
    ],
)
def test_a_paraphrase_is_nearer_than_another_subject(text: str, near: str, far: str) -> None:
    close, distant = similarity(text, near), similarity(text, far)
    assert close is not None
    assert distant is not None
    assert close > distant + 0.2


def test_a_text_has_one_vector_alone_among_others_and_asked_for_again(model: MiniLm) -> None:
    texts = ["A cat sat down.", "", "Two cats sat down and watched the boats go by. " * 9, "naïve café 中文"]
    together = model.encode(texts)
    alone = np.stack([model._vectors([text])[0] for text in texts])  # past what is kept
    assert np.allclose(together, alone, atol=1e-5)
    assert np.array_equal(together[::-1], model.encode(texts[::-1]))
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)


def test_only_the_beginning_of_a_long_text_is_read(model: MiniLm) -> None:
    head = "word " * TOKENS
    assert model.similarity(head + "and then the end", head + "quite another end") == pytest.approx(1.0)


def test_accents_capitals_and_final_letters_are_read_as_the_model_learnt_them(model: MiniLm) -> None:
    pieces = model._pieces
    assert pieces.tokens("CAFÉ au lait", 20) == pieces.tokens("cafe\u0301 AU lait", 20)
    assert pieces.tokens("ΠΑΦΟΣ", 20)[-2] != pieces.tokens("παφος", 20)[-2]  # letter by letter: no final sigma
    assert len(pieces.tokens("中文字", 20)) == 5
    assert pieces.tokens("x" * 200, 20) == pieces.tokens("y" * 200, 20)  # both unknown


@given(st.text(max_size=300))
@settings(max_examples=40, deadline=None)
def test_any_text_has_a_vector_of_length_one(text: str) -> None:
    model = sentence_model()
    assert model is not None
    vectors = model.encode([text])
    assert np.isfinite(vectors).all()
    assert abs(float(np.linalg.norm(vectors[0])) - 1.0) < 1e-4


def test_without_its_weights_there_is_no_model_and_nothing_fails() -> None:
    code = (
        "import importlib.util as u; real = u.find_spec\n"
        f"u.find_spec = lambda name, *rest: None if name == {PACKAGE!r} else real(name, *rest)\n"
        "from rubrica.text.sentence_model import sentence_model, similarity\n"
        "print(sentence_model(), similarity('a', 'b'))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.split() == ["None", "None"]
