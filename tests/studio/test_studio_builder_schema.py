"""The builder's forms and the rubric's schema: every field has a place, and what the schema says is what is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, cast

import pytest
from nicegui import Client, background_tasks, core, ui

from rubrica.model import calibration
from rubrica.model.json_schema import rubric_schema
from rubrica.model.rubric import Rubric
from rubrica.model.rules import rule_documents
from rubrica.scorers.rule_table import rule_types
from rubrica.studio.builder.document import Data, Path, at, put
from rubrica.studio.builder.editor import DraftEditor
from rubrica.studio.builder.form_schema import FieldSchema, field_at, fields_at, formula_keys, may_leave_out
from rubrica.studio.builder.hand_made import HAND_MADE
from rubrica.studio.builder.panels import Panels

LEARNED = {  # by `rubrica calibrate`, not written
    name for name, kind in vars(calibration).items() if getattr(kind, "__module__", "") == calibration.__name__
}
PATTERN = {"keywords": ["sorry"], "count": "capped", "at_most": 2}
RULES = [
    *({**kind.begins, "name": f"rule {name}"} for name, kind in rule_types().items()),
    {"type": "pattern_detection", "patterns": [{**PATTERN, "score": 1}, {"regex": "so+", "score": 2}]},
    {"type": "penalty", "patterns": [{**PATTERN, "penalty": -1}]},
    {
        "type": "metric_threshold",
        "metric": "word_count",
        "thresholds": [{"operator": "<", "value": 5, "score": 1}, {"default": True, "score_formula": "2"}],
    },
]
CHECKS = [{"name": "short", "that": "word_count < 9"}]
FULL: Data = {
    "name": "full",
    "dimensions": {
        "judged": {
            "asks": "Is it?",
            "examples": [{"response": "Yes."}],
            "offline": {"rules": RULES, "scoring": "binary"},
        },
        "checked": {"checks": CHECKS},
        "ruled": {"rules": RULES, "scoring": "proportional"},
        "counted": {"formula": "word_count"},
        "divided": {"parts": {"first": {"asks": "And?", "offline": {"checks": CHECKS}}, "other": {"formula": "1"}}},
    },
    "sections": {"manner": {"dimensions": ["judged"], "formula": "judged", "verdicts": [{"label": "well"}]}},
    "profiles": {"by": "kind", "A": {"threshold": 5, "weights": {"judged": 1}}},
    "score": {"formula": "judged"},
    "gates": [{"name": "low", "when": "judged < 2", "cap": 1}, {"name": "no", "when": "1 > 2", "verdict": "fail"}],
    "verdicts": [{"label": "pass", "when": "score > 1"}, {"label": "fail"}],
    "on_unscored": {"neutral": 1},
    "notes": {"by": "subject", "algebra": {"text": "Count.", "also": ["maths"]}},
    "patterns": {"excuse": {"keywords": ["sorry"]}},
    "context": {"stars": {"says": "how many"}},
    "settings": {"strict": True, "least": 1},
}
SHORT: Data = {"name": "short", "scoring_type": "binary", "rules": RULES}


def filled(document: Data) -> Data:
    """The document with one of each thing that a form made from the schema lists."""
    for path in containers(document):
        for key, field in fields_at(document, path).items():
            by_hand = key in HAND_MADE.get(field.model, {}) or field.model.startswith(tuple(LEARNED))
            if field.kind == "groups" and not by_hand and not at(document, (*path, key)):
                return filled(put(document, (*path, key), [{}]))
    return document


def containers(document: Data, path: Path = ()) -> Iterator[Path]:
    """The mappings with fields of their own: those of the document, and those that it could have."""
    fields = fields_at(document, path)
    if fields:
        yield path
    here = at(document, path) if path else document
    inner = here if isinstance(here, Mapping) else range(len(here)) if isinstance(here, list) else ()
    for step in dict.fromkeys([*inner, *(key for key, field in fields.items() if field.kind == "group")]):
        yield from containers(document, (*path, step))


def everything(document: Data) -> Iterator[Path]:
    """Every fold of the form."""
    for path in containers(document):
        for length in range(1, len(path) + 1):
            yield path[:length]
        yield (*path, "more")
        yield from ((*path, key) for key in fields_at(document, path))


def drawn(document: Data, look: Callable[[DraftEditor], Any]) -> Any:
    """What one finds on the page of a draft with every fold open."""

    async def draw() -> Any:
        core.loop = asyncio.get_running_loop()
        with Client(ui.page("")) as client:
            editor = DraftEditor(cast("Any", None), client, "key", document, opened=set(everything(document)))
            Panels(editor)
            found = look(editor)
        client.delete()
        await asyncio.gather(*background_tasks.running_tasks)
        return found

    before = core.loop
    try:
        return asyncio.run(draw())
    finally:
        core.loop = before


def labels_of(editor: DraftEditor) -> list[str]:
    return [one.text for one in editor.client.elements.values() if isinstance(one, ui.label)]


def placed_of(paths: Iterable[Path], editor: DraftEditor) -> set[Path]:
    return {path for path in paths if editor.has_place(path)}


def element_at(editor: DraftEditor, path: Path) -> ui.element:
    found = editor.nearest(path)
    assert found is not None
    assert found[0] == path
    return found[1].element


def test_every_field_of_the_schema_has_a_place_in_the_builder() -> None:
    known: dict[tuple[str, str], FieldSchema] = {}
    placed: set[tuple[str, str]] = set()
    for document in map(filled, (FULL, SHORT)):
        paths = [path for path in containers(document) if path[:1] != ("calibration",)]
        fields = {(*path, key): field for path in paths for key, field in fields_at(document, path).items()}
        found = drawn(document, partial(placed_of, fields))
        known |= {(field.model, field.key): field for field in fields.values()}
        placed |= {(fields[path].model, fields[path].key) for path in found}
    models = {model for model, _ in known}
    assert models == rubric_schema()["$defs"].keys() - LEARNED  # none is missing in these documents
    by_hand = {(model, key) for model, keys in HAND_MADE.items() for key in keys}
    groups = {name for name, field in known.items() if field.kind == "group"}  # their fields are looked for instead
    assert known.keys() - placed - by_hand - groups == set()
    assert by_hand - known.keys() == set()
    assert all(reason for keys in HAND_MADE.values() for reason in keys.values())


def test_no_field_is_left_to_the_document_tab() -> None:
    for document in (FULL, SHORT):
        assert not [text for text in drawn(document, labels_of) if "Document tab" in text]


def test_a_field_shows_what_its_model_says() -> None:
    def look(editor: DraftEditor) -> dict[str, Any]:
        return dict(element_at(editor, ("judging", "panel")).props)

    said = Rubric.model_fields["judging"].annotation
    assert said is not None
    panel = said.model_fields["panel"]
    shown = drawn(FULL, look)
    assert shown["label"] == panel.title
    assert shown["title"].casefold() == f"{panel.description}.".casefold()
    assert (float(shown["min"]), float(shown["max"])) == (1, 50)


def test_the_choices_of_a_closed_set_can_be_told_apart() -> None:
    seen = set()
    for document in (FULL, SHORT):
        for path in containers(document):
            for field in fields_at(document, path).values():
                if field.kind == "choice":
                    words = [*(field.choices or {}).values()]
                    assert len(set(words)) == len(words) > 0, field
                    seen.add((field.model, field.key))
    assert {("Judging", "mode"), ("ShortForm", "scoring_type"), ("Pattern", "field")} <= seen


@pytest.mark.parametrize("kind", sorted(rule_documents()))
def test_a_rule_is_read_by_its_own_model(kind: str) -> None:
    document: Data = {"dimensions": {"a": {"rules": [{"type": kind}]}}}
    keys = fields_at(document, ("dimensions", "a", "rules", 0)).keys()
    assert keys == rule_documents()[kind].model_fields.keys() - {"type"}


def test_a_value_that_counts_anyway_is_left_out_unless_it_alone_says_that_something_is_there() -> None:
    own: Path = ("dimensions", "a", "scale", "min")
    assert may_leave_out({}, ("scale", "min"), 0)
    assert not may_leave_out({"dimensions": {"a": {"scale": {"min": 2}}}}, own, 0)
    assert may_leave_out({"dimensions": {"a": {"scale": {"min": 2, "max": 5}}}}, own, 0)
    assert field_at({"dimensions": {"a": {}}}, own).default is None  # it has the rubric's scale
    assert may_leave_out({"judging": {"panel": 3}}, ("judging", "panel"), 1)


def test_formulas_are_known_by_the_schema() -> None:
    assert {"formula", "when", "that", "applies", "expression", "cap", "before", "add"} <= formula_keys()
    assert not {"title", "because", "metric", "regex"} & formula_keys()
