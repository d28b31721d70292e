"""Texts and plain data that somebody might send: odd characters, odd numbers, YAML and JSON in every style."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import yaml
from hypothesis import strategies as st

LARGEST_NUMBER = 1e308
"""Of the numbers that are put into documents."""
DEEPEST = 300
"""Levels by which data are nested on purpose; texts are nested further, for nothing here has to build them."""
DEEPEST_TEXT = 30_000
"""Levels by which a text is nested on purpose."""
LONGEST_RUN = 20_000
"""Times that one piece of text is repeated."""

ODD_NUMBERS: tuple[Any, ...] = (
    *(0, -0.0, 1, -1, 0.1, 1e-320, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, -(10**30)),
    *(LARGEST_NUMBER, -LARGEST_NUMBER, float("nan"), float("inf"), float("-inf"), True, False),
)
ODD_TEXTS = (
    *("", " ", "\n", "\t", "\r\n", "\x00", "\x1b[31m", "\u2028", "\ufeff", "\u202e", "\ud800", "é", "e\u0301", "ﷺ"),
    *("𝟙", "漢字", "👩‍👩‍👧", "null", "true", "no", "~", "1e999", "0x10", "1_000", "2026-02-30", "<<", "=", "*a", "&a"),
    *("!!python/object:os.system", "{{7*7}}", "${x}", "%s%n", "../../etc/passwd", "'\"`;--", "<script>", "-" * 50),
)

numbers = st.sampled_from(ODD_NUMBERS) | st.integers(-100, 100) | st.floats(width=64)
words = st.sampled_from(ODD_TEXTS) | st.text(max_size=20)
longer = st.builds(lambda piece, times: piece * times, st.text(min_size=1, max_size=6), st.integers(1, LONGEST_RUN))
texts = words | longer | st.lists(words, max_size=6).map(" ".join)
scalars = st.none() | st.booleans() | numbers | words


def _wrapped(value: Any, levels: int, kind: str) -> Any:
    for _ in range(levels):
        value = [value] if kind == "list" else {"a": value}
    return value


def data(keys: st.SearchStrategy[str] = words, leaves: int = 10) -> st.SearchStrategy[Any]:
    """Plain data of any shape, now and then nested deeply."""
    shapes = st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=leaves,
    )
    deep = st.builds(_wrapped, scalars, st.integers(1, DEEPEST), st.sampled_from(["list", "mapping"]))
    return shapes | deep


def _dumped(value: Any, flow: bool | None, style: str | None, width: int) -> str:
    return str(yaml.safe_dump(value, default_flow_style=flow, default_style=style, width=width, allow_unicode=True))


_TOKENS = (
    *("- ", "? ", ": ", ", ", "[", "]", "{", "}", "#c\n", "&a ", "*a ", "!!int ", "!!binary ", "!!set ", "!t ", "| \n"),
    *(">-\n", "|9\n", "'", '"', "\\", "%YAML 9\n", "---\n", "...\n", "\n", "  ", "\t", "<<: ", "name: ", "~", "1"),
    *("0o8", "1:2", "9" * 400, ".nan", "-.INF", "2026-13-99", "\r", "\x85", "@", "`", "a", "é", "\x07", "\ud800"),
)
yaml_tokens = st.lists(st.sampled_from(_TOKENS), max_size=40).map("".join)
yaml_dumps = st.builds(
    _dumped,
    data(),
    st.sampled_from([True, False, None]),
    st.sampled_from([None, '"', "'", "|", ">"]),
    st.sampled_from([8, 80, 10_000]),
)

_JSON_PIECES = (
    *("{", "}", "[", "]", ",", ":", '"', "\\u", "\\ud83d", "\\u0000", "null", "tru", "NaN", "-Infinity", "1e9999", "-"),
    *("0123", "1.", ".5", "9" * 5_000, '"a":', '"a":1,"a":2', "//", "\ufeff", " ", "\n", "\x00", "'x'", '"\x01"'),
)


def _broken(text: str, cuts: list[tuple[int, str]]) -> str:
    for at, piece in cuts:
        place = at % (len(text) + 1)
        text = text[:place] + piece + text[place + at % 3 :]
    return text


def broken(source: st.SearchStrategy[str], pieces: tuple[str, ...] = _JSON_PIECES) -> st.SearchStrategy[str]:
    """Texts with something put in, taken out or overwritten at a few places."""
    cuts = st.lists(st.tuples(st.integers(0, 100_000), st.sampled_from(pieces) | st.characters()), max_size=4)
    return st.builds(_broken, source, cuts)


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


json_dumps = st.builds(lambda value, plain: json.dumps(value, ensure_ascii=plain), data(), st.booleans())
json_tokens = st.lists(st.sampled_from(_JSON_PIECES), max_size=30).map("".join)
deep_texts = st.builds(
    lambda piece, levels, rest: piece * levels + rest,
    st.sampled_from(["- ", "[", "{", "a: [", '{"a":', "? ", "- - ", "!!map {", "&a [", "[{a: "]),
    st.integers(1, DEEPEST_TEXT),
    st.sampled_from(["", "1", "]", "}", "\n"]),
)
yaml_texts = deep_texts | yaml_dumps | yaml_tokens | broken(yaml_dumps, _TOKENS) | texts
json_texts = deep_texts | json_dumps | json_tokens | broken(json_dumps) | texts


def as_bytes(source: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    """The texts in UTF-8 for the most part, else in another encoding or with bytes that are none."""
    encode: list[Callable[[str], bytes]] = [
        lambda text: text.encode("utf-8", "surrogatepass"),
        *[lambda text: text.encode("utf-8", "replace")] * 6,
        lambda text: text.encode("utf-16", "surrogatepass"),
        lambda text: text.encode("latin-1", "replace"),
        lambda text: text.encode("utf-8", "replace") + b"\xff\xfe\x80",
    ]
    return st.builds(lambda text, how: how(text), source, st.sampled_from(encode)) | st.binary(max_size=200)
