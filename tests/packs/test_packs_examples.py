"""Every bundled rubric loads, and every example comes out as expected, offline."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rubrica
from education_samples import expected_verdict
from rubrica.engine.cases import Case
from rubrica.packs.library import PACKS, bundled_rubrics, examples
from rubrica.text import sentence_model

CASES = [pytest.param(pack, case, id=f"{pack}-{case.id}") for pack in PACKS for case in examples(pack)]


@pytest.mark.parametrize(("pack", "case"), CASES)
def test_an_example_gets_its_expected_verdict(pack: str, case: Case) -> None:
    evaluation = rubrica.evaluate(case.rubric or pack, context=case.context)
    assert case.expect is not None
    assert evaluation.verdict == expected_verdict(case), evaluation.reason
    if "score" in case.expect:
        assert evaluation.score == pytest.approx(case.expect["score"])


@pytest.fixture
def _no_sentence_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As after `make demo`, which installs the core alone."""
    monkeypatch.setattr(sentence_model, "PACKAGE", "no_such_package")
    sentence_model.sentence_model.cache_clear()
    yield
    sentence_model.sentence_model.cache_clear()


@pytest.mark.usefixtures("_no_sentence_model")
def test_without_the_sentence_model_examples_get_their_expected_verdicts_too() -> None:
    for pack in PACKS:
        for case in examples(pack):
            wanted: str | list[str] = (case.expect or {})["verdict"]
            evaluation = rubrica.evaluate(case.rubric or pack, context=case.context)
            assert evaluation.verdict in ([wanted] if isinstance(wanted, str) else wanted), case.id


def conversational_bounds() -> tuple[float, float] | None:
    """Those of a reply about a topic, as the voice companion estimates it."""
    asked, reply = "I planted tomatoes on the balcony.", "Which kind did you plant, the small ones or the big ones?"
    return rubrica.evaluate("voice-companion", prompt=asked, response=reply).dimensions["conversational_quality"].bounds


@pytest.mark.usefixtures("_no_sentence_model")
def test_what_was_measured_with_the_sentence_model_bounds_nothing_without_it() -> None:
    assert conversational_bounds() == (0, 1)


def test_what_was_measured_with_the_sentence_model_bounds_a_reply_where_it_is_installed() -> None:
    low, high = conversational_bounds() or (0, 1)
    assert high - low < 1


@pytest.mark.parametrize("name", [bundled.name for bundled in bundled_rubrics()])
def test_a_bundled_rubric_is_called_by_its_file_and_loads(name: str) -> None:
    assert rubrica.load(name).name == name


@pytest.mark.parametrize("pack", PACKS)
def test_the_examples_of_a_pack_have_their_own_ids_and_differ_in_verdict(pack: str) -> None:
    cases = list(examples(pack))
    assert len({case.id for case in cases}) == len(cases) >= 8
    assert len({expected_verdict(case) for case in cases if case.expect}) >= 2


def test_a_bundled_rubric_is_found_by_title_version_and_pack() -> None:
    assert rubrica.load("Speed Demon").name == "speed-demon"
    assert rubrica.load("arena/speed-demon").name == "speed-demon"
    assert rubrica.load("answer-quality@2.5.0").name == "answer-quality"
    with pytest.raises(rubrica.RubricError):
        rubrica.load("answer-quality@9.9.9")
