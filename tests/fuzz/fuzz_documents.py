"""Documents: YAML and JSON of any kind, rubrics bent from the bundled ones, bundles and settings files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from fuzz_changes import bent, bent_rubric, bent_rubrics, changes, rubric_names
from fuzz_target import Check, Target, all_finite, refused, target
from fuzz_texts import as_bytes, broken, data, json_texts, numbers, scalars, words, yaml_texts
from hypothesis import strategies as st

import rubrica
from rubrica.council.settings import load_council
from rubrica.engine.document import read_document
from rubrica.engine.load import rubric_from_data, rubric_from_text
from rubrica.games.overrides import check_overrides, overridden
from rubrica.gateway.settings import settings_from_text
from rubrica.gateway.starter import starter
from rubrica.llm.settings import load_settings, setting_names
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric
from rubrica.report.rubric_page import rubric_html, rubric_markdown
from rubrica.workspace.bundle import draft_of, read_bundle
from rubrica.workspace.draft import read_draft

_NUMBER = re.compile(r"-?[0-9.]+([eE][-+]?[0-9]+)?")
RESPONSE = "Paris is the capital of France. It has 2.1 million people, and 2 + 2 = 4."


def _read_text(text: str) -> None:
    """A document is read or refused; what is read is read the same once it is written down again."""
    found = refused(lambda: read_document(text))
    refused(lambda: rubric_from_text(text))
    if found is not None:
        again = read_document(yaml.safe_dump(found.data, sort_keys=False, width=10_000))
        assert repr(again.data) == repr(found.data)
        assert all(line >= 1 for line in found.lines.values())


def _read_json(text: str) -> None:
    """What is JSON for others means the same here, or is refused."""
    found = refused(lambda: read_document(text))
    try:
        meant = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return
    if found is not None and isinstance(meant, dict | list) and text.isascii():
        assert json.dumps(_texts(found.data)) == json.dumps(_texts(meant))


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _texts(value: Any) -> Any:
    """Its shape and its texts; numbers are left out, for YAML reads some a little differently (1e5 is a text there)."""
    if isinstance(value, dict):
        return {key: _texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_texts(inner) for inner in value]
    return value if isinstance(value, str) and not _NUMBER.fullmatch(value) else None


def _read_bent_rubric(example: tuple[str, Any]) -> None:
    """A rubric that is accepted can be written down, read again, shown and judged with."""
    name, made = example
    document = bent_rubric(name, made)
    loaded = refused(lambda: rubric_from_data(document)) if isinstance(document, dict) else None
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    refused(lambda: rubric_from_text(text))
    refused(lambda: read_draft(document))
    if loaded is not None:
        _use(loaded)


def _use(loaded: Rubric) -> None:
    again = rubric_from_data(loaded.model_dump(mode="json", exclude_defaults=True))
    assert again.hash == loaded.hash
    assert rubric_markdown(loaded)
    assert rubric_html(loaded)
    result = refused(lambda: rubrica.evaluate(loaded, prompt="What is the capital of France?", response=RESPONSE))
    if result is not None:
        sound(result)


def sound(result: Evaluation) -> None:
    """Values are finite or absent, the score lies within its bounds, and the record survives being stored."""
    all_finite(result.to_dict())
    if result.score is not None:
        assert result.bounds[0] <= result.score <= result.bounds[1]
    assert Evaluation.from_json(result.to_json()).to_json() == result.to_json()


def _read_bundle(example: tuple[str, Any, Any]) -> None:
    name, made, further = example
    bundle = bent({"bundle": 1, "rubric": bent_rubric(name, []), "examples": [{"response": RESPONSE}]}, made)
    whole = {**bundle, **further} if isinstance(bundle, dict) else bundle
    draft = refused(lambda: draft_of(whole))
    refused(lambda: read_bundle(yaml.safe_dump(whole)))
    if draft is not None:
        assert not draft.is_public
        assert rubric_from_data(draft.definition).hash == draft.rubric.hash


def _override(example: tuple[str, Any]) -> None:
    """What a game changes in a definition is refused, or gives a definition that can be judged with."""
    name, patch = example
    definition = bent_rubric(name, [])

    def checked() -> bool:
        check_overrides(definition, patch)
        return True

    if refused(checked):
        changed = refused(lambda: rubric_from_data(overridden(definition, patch)))
        if changed is not None:
            _use(changed)


@contextmanager
def _settings_files() -> Iterator[Check]:
    with TemporaryDirectory() as folder:
        here = Path(folder)

        def check(example: tuple[bytes, dict[str, str]]) -> None:
            content, environ = example
            (here / "rubrica.toml").write_bytes(content)
            (here / "council.yaml").write_bytes(content)
            found = refused(lambda: load_settings(environ, folder=here, home=here))
            if found is not None:
                assert all(item.value is not None for item in found.shown())
            refused(lambda: load_council(here / "council.yaml", environ=environ))

        yield check


@cache
def _starter() -> Any:
    return yaml.safe_load(starter())


def _gateway_settings(example: Any) -> None:
    kind, value = example
    text = value if kind == "text" else yaml.safe_dump(bent(_starter(), value))
    refused(lambda: settings_from_text(text))


_setting = st.sampled_from([*setting_names(), "models", "weights", "tier", "rubric", "chair", "quorum"])
_toml_value = st.one_of(
    numbers.map(str), words.map(json.dumps), st.just("[[["), st.just("{a = {b = 1}}"), data().map(json.dumps)
)
_toml = st.lists(st.builds("{} = {}".format, _setting | words, _toml_value), max_size=4).map("\n".join)
_environ = st.dictionaries(
    st.sampled_from(
        [
            *(f"RUBRICA_{name.upper()}" for name in setting_names()),
            *("RUBRICA_CONFIG", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "XDG_CONFIG_HOME", "RUBRICA_NONSENSE"),
            *("LLM_COUNCIL_SAFETY_GATE", "LLM_COUNCIL_SAFETY_SCORE_CAP", "LLM_COUNCIL_WEIGHT_ACCURACY"),
        ]
    ),
    (words | scalars.map(str)).map(lambda text: text.replace("\x00", "")),
    max_size=3,
)
_further = st.dictionaries(st.sampled_from(["bundle", "examples", "provenance", "rubric"]), data(leaves=5), max_size=2)
_patches = st.dictionaries(
    st.sampled_from(["dimensions", "scale", "gates", "verdicts", "score", "judging", "version", "name", "rules"])
    | words,
    data(leaves=6),
    max_size=3,
)

TARGETS: tuple[Target, ...] = (
    target("yaml", yaml_texts, _read_text, share=200),
    target("json", json_texts, _read_json, share=400),
    target("rubrics", bent_rubrics, _read_bent_rubric, share=60),
    target("bundles", st.tuples(rubric_names, changes, _further), _read_bundle, share=40),
    target("overrides", st.tuples(rubric_names, _patches), _override, share=40),
    target(
        "gateway settings",
        st.tuples(st.just("text"), yaml_texts) | st.tuples(st.just("changes"), changes),
        _gateway_settings,
        share=200,
    ),
    Target("settings files", st.tuples(as_bytes(_toml | broken(_toml) | yaml_texts), _environ), _settings_files),
)
