from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import Page, evaluation, span_of

from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.model.context import Context
from rubrica.model.evaluation import Cost, DimensionResult, Evaluation, GateResult, RuleHit, SectionResult
from rubrica.model.evidence import Span
from rubrica.packs.library import PACKS, examples, load
from rubrica.report.excerpt import visible
from rubrica.report.page import MOST_CARDS, report_html, write_report

HOSTILE = [
    "<script>alert(1)</script>",
    "</mark></div><img src=x onerror=alert(1)>",
    "\"' onmouseover='alert(1)' x=\"",
    "</style><svg onload=alert(1)>",
    "&lt;b&gt; &amp;amp; {{ 7 * 7 }} {% raw %}",
    "\u202eمرحبا\u202c hello",
    "nul \x00 and \x1b[31m escape",
    "\n\n leading and trailing \n",
]


def shown_response(page: Page) -> str:
    return page.texts("judged")[-1]


def assert_harmless(page: Page) -> None:
    for tag, attributes in page.elements:
        assert tag not in {"script", "img", "iframe", "object", "link", "base", "form", "a"}
        assert not [name for name in attributes if name.startswith("on") or name in {"src", "href", "xlink:href"}]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text_wherever_it_stands(text: str) -> None:
    hit = RuleHit(text, "penalty", -1.0, text, text, 2, (Span("response", 0, len(text), text, text),), text)
    given_one = evaluation(
        text,
        (hit,),
        verdict=text,
        reason=text,
        case=text,
        rubric=text,
        version=text,
        hash=text,
        profile=text,
        band=text,
        errors=(text,),
        gates=(GateResult(text, True, "verdict", text, verdict=text, reason=text, spans=hit.spans),),
        sections={text: SectionResult(1.0, text, text)},
        context=Context(prompt=text, response=text, images=({"url": text, "alt": text},)),
    )
    page = Page(report_html([given_one, given_one], title=text))
    assert_harmless(page)
    assert shown_response(page) == visible(text)


@given(st.text(max_size=300), st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=5))
def test_the_text_content_of_the_response_is_the_response(text: str, places: list[tuple[int, int]]) -> None:
    spans = tuple(Span("response", low, high, text[low:high][:200]) for low, high in places)
    one = evaluation(hits=(RuleHit("r", "adjust", 0.1, "because", spans=spans),), context=Context(response=text))
    page = Page(report_html([one]))
    assert one.context is not None
    assert shown_response(page) == visible(one.context.response) or not one.context.response
    assert_harmless(page)


def test_marks_stand_on_exactly_the_text_the_spans_name() -> None:
    text = "It is 7 + 6 = 15, um, because <b>bold</b>."
    hits = (
        RuleHit("sums", "penalty", -2.0, "a sum is wrong", spans=(span_of(text, "7 + 6 = 15"),)),
        RuleHit("bold", "adjust", 0.5, "speaks up", spans=(span_of(text, "<b>bold</b>"), span_of(text, "um"))),
    )
    page = Page(report_html([evaluation(text, hits)]))
    assert page.marks == [
        ("7 + 6 = 15", "Dimension 1: a sum is wrong (−2)"),
        ("um", "Dimension 1: speaks up (+0.5)"),
        ("<b>bold</b>", "Dimension 1: speaks up (+0.5)"),
    ]


def test_spans_mark_the_field_they_belong_to() -> None:
    hits = (RuleHit("r", "adjust", 1.0, "asks", spans=(Span("prompt", 0, 4, "What"),)),)
    gate = GateResult("g", True, "cap", "x", 40.0, spans=(Span("history", 6, 9, "two"),))
    context = {"prompt": "What?", "response": "That.", "round_history": [{"response": "one, "}, {"response": "two"}]}
    page = Page(report_html([evaluation(hits=hits, gates=(gate,), context=Context.of(context))]))
    assert [text for text, _ in page.marks] == ["What", "two"]


def test_overlapping_evidence_names_every_rule() -> None:
    text = "always works"
    spans = (Span("response", 0, 12, text), Span("response", 0, 6, "always"))
    hits = tuple(RuleHit(f"r{n}", "penalty", -1.0, f"reason {n}", spans=(span,)) for n, span in enumerate(spans))
    page = Page(report_html([evaluation(text, hits)]))
    assert page.marks == [
        ("always", "Dimension 1: reason 1 (−1); Dimension 1: reason 0 (−1)"),
        (" works", "Dimension 1: reason 0 (−1)"),
    ]


def test_a_long_response_is_shortened_around_its_marks() -> None:
    text = "a " * 5_000 + "needle" + " b" * 5_000
    page = Page(report_html([evaluation(text, (RuleHit("r", "adjust", 1.0, spans=(span_of(text, "needle"),)),))]))
    assert [mark for mark, _ in page.marks] == ["needle"]
    assert len(shown_response(page)) < 2_000
    assert len(page.texts("gap")) == 2


def test_cards_are_written_as_evaluations_come() -> None:
    out = StringIO()
    written: list[int] = []

    def stream() -> Iterator[Evaluation]:
        for number in range(4):
            written.append(out.getvalue().count("<article"))
            yield evaluation(case=f"case-{number}")

    assert write_report(stream(), out, title="stream") == 4
    assert written == [0, 1, 2, 3]


def test_cards_are_capped_while_the_summary_counts_everything() -> None:
    total = MOST_CARDS + 1_234
    one, other = evaluation(), evaluation(verdict="fail", score=20.0, bounds=(20.0, 20.0))
    out = StringIO()
    assert write_report((one if n % 2 else other for n in range(total)), out, title="many") == total
    page = Page(out.getvalue())
    assert page.count("article") == MOST_CARDS
    assert "And 1,234 more not drawn" in page.texts("note")[-1]
    summary = page.texts("summary")[0]
    assert f"{total:,} evaluations" in summary
    assert summary.count("867") == 4  # each half, in the filter and in the table
    assert "50 / 100" in summary


def test_one_evaluation_needs_no_summary_and_none_says_so() -> None:
    assert not Page(report_html([evaluation()])).texts("summary")
    assert "Nothing was evaluated." in report_html([])


def test_the_summary_keeps_rubrics_and_versions_apart() -> None:
    page = Page(report_html([evaluation(), evaluation(version="2.0.0"), evaluation(rubric="other")]))
    summary = page.texts("summary")[0]
    assert all(reference in summary for reference in ("sample@1.0.0", "sample@2.0.0", "other@1.0.0"))


def test_verdicts_carry_a_sign_beside_their_colour() -> None:
    verdicts = ["pass", "revise", "fail", "inconclusive", "scored"]
    page = Page(report_html([evaluation(verdict=verdict) for verdict in verdicts]))
    assert page.texts("badge") == ["✓ pass", "~ revise", "✕ fail", "? inconclusive", "• scored"]


def test_an_open_score_shows_its_range_instead_of_a_number() -> None:
    page = Page(report_html([evaluation(score=None, bounds=(31.0, 88.0), verdict="inconclusive", steps=())]))
    assert page.texts("figure")[0].split() == ["31", "to", "88", "/", "100"]
    assert not page.texts("waterfall")


def test_dimensions_without_a_score_say_why() -> None:
    results = {
        "plain": DimensionResult(8, 0.8, low=1, high=10),
        "assumed": DimensionResult(5, 0.5, "neutral", "no answer", 0.0, "llm", low=1, high=10),
        "absent": DimensionResult(None, None, "not_applicable", "nothing to judge"),
        "saved": DimensionResult(None, None, "not_needed", "decided"),
        "lost": DimensionResult(None, None, "unscored", "the judge failed", source="llm"),
        "stood_in": DimensionResult(6, 0.6, offline=True, low=1, high=10),
    }
    page = Page(report_html([_with(results)]))
    assert page.texts("state") == ["neutral stand-in", "does not apply", "not needed", "not scored"]
    assert page.texts("warn") == ["offline stand-in"]


def _with(results: dict[str, DimensionResult]) -> Evaluation:
    plain = evaluation()
    fields = {name: getattr(plain, name) for name in plain.__struct_fields__}
    return Evaluation(**(fields | {"dimensions": results}))


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        (None, None),
        (Cost(None, 1_200, 80), "price unknown (1,200 tokens in, 80 out)"),
        (Cost(0.5, 1_200, 80), "$0.500 (1,200 tokens in, 80 out)"),
    ],
)
def test_the_footer_tells_version_hash_time_and_cost(cost: Cost | None, told: str | None) -> None:
    footer = Page(report_html([evaluation(cost=cost)])).texts("traces")[0]
    assert footer == "sample@1.0.00123456789ab12 ms" + (told or "")


def test_rules_checks_and_errors_are_listed_with_their_points() -> None:
    hits = (
        RuleHit("length", "adjust", 0.2, "good length"),
        RuleHit("marks", "penalty", -0.3, "formatting", count=2, spans=(Span("response", 0, 5, "Paris"),)),
        RuleHit("has a source", "check", 0.0, "no source is named"),
        RuleHit("broken", "custom_expression", 0.0, error="division by zero"),
    )
    page = Page(report_html([evaluation(hits=hits)]))
    assert page.texts("points") == ["+0.2", "−0.3", "fails", "—"]
    assert page.texts("what")[1] == "formatting (2 times) Paris"
    assert page.texts("what")[2] == "has a source: no source is named"
    assert page.texts("error") == ["could not be applied: division by zero"]


def test_gates_sections_and_errors_stand_on_the_card() -> None:
    page = Page(
        report_html(
            [
                evaluation(
                    verdict="inconclusive",
                    gates=(
                        GateResult("ceiling", True, "cap", "accuracy < 5", 40.0, reason="wrong facts"),
                        GateResult("unsure", None, "verdict", "x > 1", verdict="fail"),
                    ),
                    sections={"facts": SectionResult(88.5, "accept", "fine"), "images": SectionResult(None)},
                    errors=("no question_type was given",),
                )
            ]
        )
    )
    assert page.texts("fired") == ["Gate ceiling: the score is at most 40. Wrong facts."]
    unsure = "Gate unsure: cannot tell whether it applies; if it does, the verdict is fail. x > 1"
    assert page.texts("unsure") == [unsure]
    assert "Facts" in page.texts("sections")[0]
    assert "no question_type was given" in page.texts("errors")[0]


def test_a_gate_that_may_apply_is_shown_only_where_the_verdict_hangs_on_it() -> None:
    gates = (GateResult("unsure", None, "verdict", "x > 1", verdict="fail"),)
    assert Page(report_html([evaluation(verdict="fail", gates=gates)])).texts("unsure") == []
    assert Page(report_html([evaluation(verdict="inconclusive", gates=gates)])).texts("unsure") != []


def test_an_evaluation_without_its_context_shows_the_kept_quotes() -> None:
    hits = (RuleHit("r", "adjust", 1.0, "found", spans=(Span("response", 3, 9, "needle"),)),)
    html = report_html([evaluation(hits=hits, context=None)])
    assert "<q>needle</q>" in html
    assert not Page(html).texts("judged")


def test_the_page_loads_nothing() -> None:
    html = report_html([evaluation()])
    assert "http://" not in html
    assert "https://" not in html
    assert not re.search(r"url\(|@import|\bsrc=|\bhref=", html)
    assert "default-src 'none'" in html


def test_every_drawing_is_named_or_hidden_from_screen_readers() -> None:
    page = Page(report_html([evaluation(hits=(RuleHit("r", "adjust", 1.0, "found"),))]))
    drawings = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert len(drawings) > 5
    for attributes in drawings:
        assert attributes.get("aria-hidden") == "true" or (attributes["role"] == "img" and attributes["aria-label"])


def test_the_same_evaluations_give_the_same_page() -> None:
    evaluations = [evaluation(), evaluation(verdict="fail"), evaluation(dimensions=1)]
    assert report_html(evaluations, title="t") == report_html(list(evaluations), title="t")


@pytest.mark.parametrize("count", [1, 2, 7, 12, 20])
def test_any_number_of_dimensions_makes_a_card(count: int) -> None:
    page = Page(report_html([evaluation(dimensions=count)]))
    assert page.count("tr") == count + 1


@pytest.mark.parametrize("pack", PACKS)
def test_every_bundled_example_makes_a_sound_card(pack: str) -> None:
    cases = list(examples(pack))
    rubrics = {rubric.name: rubric for rubric in (load(case.rubric or pack) for case in cases)}
    results = [evaluate(compile_rubric(load(case.rubric or pack)), case.context, case.id) for case in cases]
    page = Page(report_html(results, title=pack, rubrics=rubrics))
    assert_harmless(page)
    assert page.count("article") == len(cases)
    for case, title in zip(cases, page.texts("says"), strict=True):
        assert case.id in title
    for result, shown in zip(results, page.texts("badge"), strict=True):
        assert shown.endswith(result.verdict.replace("_", " "))
