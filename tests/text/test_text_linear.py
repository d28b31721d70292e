"""Texts give the same numbers everywhere, the quick way and the plain one agree, and files are checked."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.errors import StoredError
from rubrica.text.hashing import LONGEST, FeatureLayout
from rubrica.text.linear import LinearModel, load, to_bytes

GROUPS = {"greetings": ("hello", "bonjour", "привет*"), "code": ("python", "代码")}
LAYOUT = FeatureLayout(bits=10, grams=(3, 4), groups=GROUPS)
LABELS = ("one", "two", "three")


def model() -> LinearModel:
    """Weights that differ from row to row and label to label, without a pattern."""
    count = len(LABELS) << LAYOUT.bits
    return LinearModel(LABELS, LAYOUT, array("b", (zlib.crc32(b"%d" % at) % 255 - 127 for at in range(count))), 0.01)


def by_hand(text: str) -> list[float]:
    """The scores straight from the definition: the text's vector times the weights."""
    weights, labels = model().weights, len(LABELS)
    vector = LAYOUT.vector(text)
    return [
        0.01 * sum(value * weights[row * labels + label] for row, value in vector.items()) for label in range(labels)
    ]


@given(st.one_of(st.text(), st.text(alphabet="aB1 '\n?诗歌はเวลา{}$^=\ud800", max_size=80)))
def test_the_quick_scores_are_the_vector_times_the_weights(text: str) -> None:
    assert model().scores(text) == pytest.approx(by_hand(text), abs=1e-9)
    assert sum(model().chances(text).values()) == pytest.approx(1)


def test_a_text_gives_the_same_numbers_in_another_process() -> None:
    text = "Écris-moi 3 poèmes, s'il te plaît: 代码 и стихи?"
    made = f"FeatureLayout(10, (3, 4), {GROUPS!r})"
    code = f"from rubrica.text.hashing import FeatureLayout; print({made}.vector({text!r}))"
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(LAYOUT.vector(text))


def test_rows_are_those_that_the_weights_were_learnt_for() -> None:
    assert [LAYOUT.row(key) for key in ("w hello", "g <he", "^ hello", "f asks")] == [374, 1010, 313, 613]


def test_words_of_a_group_count_alike_in_any_language() -> None:
    flags = [set(LAYOUT.read(text).flags) for text in ("hello", "bonjour", "приветствую")]
    assert all("f any greetings" in found and "f start greetings" in found for found in flags)
    assert "f any greetings" not in LAYOUT.read("goodbye").flags


def test_unspaced_scripts_are_read_by_letters_and_pairs() -> None:
    assert LAYOUT.read("写代码").words == ["写代", "代码", "写", "代", "码"]
    assert "f any code" in LAYOUT.read("写代码").flags


def test_only_the_ends_of_a_long_text_are_read() -> None:
    start, end = "a " * (LONGEST * 3 // 8), "z " * (LONGEST // 8)
    assert LAYOUT.vector(start + "middle " * 10_000 + end) == LAYOUT.vector(start + "other " * 90_000 + end)


def test_a_model_is_the_same_after_it_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "model.weights"
    path.write_bytes(to_bytes(model()))
    again = load(path)
    assert (again.labels, again.weights, again.scale) == (LABELS, model().weights, 0.01)
    assert again.chances("hello, python") == model().chances("hello, python")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not compressed",
        zlib.compress(b"{}\n"),
        zlib.compress(zlib.decompress(to_bytes(model()))[:-1]),
        zlib.compress(zlib.decompress(to_bytes(model())).replace(b'"format":1', b'"format":9')),
    ],
)
def test_a_file_that_is_no_model_says_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.weights"
    path.write_bytes(content)
    with pytest.raises(StoredError, match="train"):
        load(path)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoredError, match="none"):
        load(tmp_path / "none.weights")
