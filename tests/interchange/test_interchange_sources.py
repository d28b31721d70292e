"""What other tools wrote is read with bounds: size, depth, keys given twice, numbers that are none."""

from __future__ import annotations

import pytest

from rubrica.errors import RubricError
from rubrica.interchange.label_names import LONGEST, id_of_name, name_of, name_of_id, with_legend, without_legend
from rubrica.interchange.source_data import read_source


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' is given twice"),
        ("a: 1\na: 2", "the key 'a' is given twice"),
        ('[{"weight": NaN}]', "NaN is not a number"),
        ('[{"weight": -Infinity}]', "-Infinity is not a number"),
        ("[" * 100_000, "nested too deeply"),
        ('{"x": ' * 80 + "1" + "}" * 80, "nested too deeply"),
        ("&a [*a]", "nested too deeply"),
        ('{"a": 1', "not valid YAML or JSON"),
        ("", "empty"),
        ("x" * 2_000_001, "characters"),
    ],
)
def test_hostile_texts_get_a_clear_error(text: str, said: str) -> None:
    with pytest.raises(RubricError, match=said):
        read_source(text)


def test_a_tag_runs_nothing() -> None:
    assert read_source("!!python/object/apply:os.system ['true']") == ["true"]


def test_json_of_any_layout_is_read() -> None:
    assert read_source('\ufeff{\n\t"path": "a\\/b"}') == {"path": "a/b"}


@pytest.mark.parametrize("text", ["", "  ", "123", "é à", "日本語", "a" * 500, "class", "-", "x\x00y"])
def test_any_text_becomes_a_name(text: str) -> None:
    taken: set[str] = set()
    for _ in range(3):
        name = name_of(text, taken)
        assert name not in taken
        assert name.isascii()
        assert name.isidentifier()
        assert len(name) <= LONGEST
        taken.add(name)


def test_ids_that_are_uuids_can_be_told_back() -> None:
    found = "6f1c2a34-5b67-4c89-8d01-23456789abcd"
    assert id_of_name(name_of_id(found, ())) == found


def test_a_legend_is_only_taken_off_where_it_names_the_answers() -> None:
    asks = with_legend("Which?", {"answer_1": "1", "answer_2": "2"})
    assert without_legend(asks, ["answer_1", "answer_2"]) == ("Which?", {"answer_1": "1", "answer_2": "2"})
    assert without_legend(asks, ["yes", "no"])[0] == asks
